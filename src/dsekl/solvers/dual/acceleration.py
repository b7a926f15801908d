"""For the squared loss: the best point in the span of the last epochs, at no kernel evaluation.

An epoch over blocks is a step of Gauss and Seidel's method, slow where the kernel is wide and rows far apart in the
sweep depend on each other. The predictions F = K coef of past epochs are known, so the dual objective is known on the
whole plane through their coefficients, and its minimum there is a small linear system; as in conjugate gradients, each
epoch then profits from all directions taken before.
"""

from __future__ import annotations

import numpy as np

from ..solver import Problem
from ..state import Floats
from .block import ROUNDING
from .dual_state import MEMORY, DualState

RESOLUTION = 1e-10
"""Curvatures below this share of the greatest, with directions of one length, are rounding and no direction to go."""


MOST_NOISE = 0.03
"""Rounding of a kernel value, over the ridge 1 / C, above which F says too little of the curvature."""


def is_resolved(problem: Problem, state: DualState) -> bool:
    """Tell whether kernel values are exact enough, beside the ridge, for F to show the curvature of a plane.

    Where they are rounded by about as much as the ridge, as float32 ones are at a C of 1e5, the curvature is rounding,
    and the plane's minimum may be anywhere.
    """
    first = np.arange(1)
    rounding = ROUNDING[problem.gram.block(first, first).dtype.name] * float(state.diagonal.max())
    return rounding * problem.C * float(problem.weights.max()) <= MOST_NOISE


def remember(state: DualState) -> None:
    """Keep coefficients and predictions as they are, if no others are kept: a plane needs a second point."""
    if state.past_coef is None:
        state.past_coef, state.past_F = state.coef[None].copy(), state.F[None].copy()


def accelerate(problem: Problem, state: DualState) -> None:
    """Move ``coef`` and F of the active rows to the minimum over the plane through their values after the last epochs.

    There is no acceleration where F says too little of the curvature.
    """
    if not is_resolved(problem, state):
        return
    C = problem.C * problem.weights
    counted = state.active & (C > 0)
    nothing = np.empty((0, *state.coef.shape))
    past_coef = nothing if state.past_coef is None else state.past_coef
    past_F = nothing if state.past_F is None else state.past_F
    for o in range(state.coef.shape[1]) if len(past_coef) else ():
        coef, F, y = state.coef[counted, o], state.F[counted, o], problem.targets[counted, o]
        directions, moves = coef - past_coef[:, counted, o], F - past_F[:, counted, o]
        curvature = directions @ (moves + directions / C[counted]).T
        weights = lowest(0.5 * (curvature + curvature.T), directions @ (F + coef / C[counted] - y))
        state.coef[counted, o] += weights @ directions
        state.F[:, o] += weights @ (state.F[:, o] - past_F[:, :, o])
    state.past_coef = np.concatenate([past_coef[-MEMORY + 1 :], state.coef[None]])
    state.past_F = np.concatenate([past_F[-MEMORY + 1 :], state.F[None]])


def lowest(curvature: Floats, slope: Floats) -> Floats:
    """Return how far to go along each direction; they are given one length first, since epochs differ by far in it."""
    squares = np.diag(curvature)
    length = np.divide(1.0, np.sqrt(np.maximum(squares, 0.0)), out=np.zeros(len(squares)), where=squares > 0)
    scaled = curvature * length * length[:, None]
    return np.asarray(length * np.linalg.lstsq(scaled, -length * slope, rcond=RESOLUTION)[0])
