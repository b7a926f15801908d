"""For the squared loss: the best point in the span of the last epochs, at no kernel evaluation.

An epoch over blocks is a step of Gauss and Seidel's method, slow where the kernel is wide and rows far apart in the
sweep depend on each other. The predictions F = K coef of past epochs are known, so the dual objective is known on the
whole plane through their coefficients, and its minimum there is a small linear system; as in conjugate gradients, each
epoch then profits from all directions taken before.
"""

from __future__ import annotations

import numpy as np

from ..solver import Problem
from .block import ROUNDING
from .dual_state import MEMORY, DualState

RESOLUTION = 1e-6
"""Curvatures below this share of the greatest are rounding, and no direction to go."""


MOST_NOISE = 0.03
"""Rounding of a kernel value, over the ridge 1 / C, above which F says too little of the curvature."""


def accelerate(problem: Problem, state: DualState) -> None:
    """Move ``coef`` and F to the minimum over the plane through their values after the last epochs.

    Where kernel values are rounded by about as much as the ridge, as float32 ones are at a C of 1e5, the plane's
    curvature is rounding, and its minimum may be anywhere: there is no acceleration then.
    """
    first = np.arange(1)
    rounding = ROUNDING[problem.gram.block(first, first).dtype.name] * float(state.diagonal.max())
    if rounding * problem.C * float(problem.weights.max()) > MOST_NOISE:
        return
    C = problem.C * problem.weights
    counted = C > 0
    nothing = np.empty((0, *state.coef.shape))
    past_coef = nothing if state.past_coef is None else state.past_coef
    past_F = nothing if state.past_F is None else state.past_F
    for o in range(state.coef.shape[1]) if len(past_coef) else ():
        coef, F, y = state.coef[counted, o], state.F[counted, o], problem.targets[counted, o]
        directions, moves = coef - past_coef[:, counted, o], F - past_F[:, counted, o]
        curvature = directions @ (moves + directions / C[counted]).T
        slope = directions @ (F + coef / C[counted] - y)
        weights = np.linalg.lstsq(0.5 * (curvature + curvature.T), -slope, rcond=RESOLUTION)[0]
        state.coef[counted, o] += weights @ directions
        state.F[:, o] += weights @ (state.F[:, o] - past_F[:, :, o])
    state.past_coef = np.concatenate([past_coef[-MEMORY + 1 :], state.coef[None]])
    state.past_F = np.concatenate([past_F[-MEMORY + 1 :], state.F[None]])
