"""An interior point method for a block that sweeps do not settle: large C on a wide kernel couples all of its rows.

Most losses have conjugates that are quadratic on a box, with at most one kink, at 0 (``BoxedLoss``).
Each of some twenty steps solves one linear system of the rows that are not settled at a bound, whatever C is and
however alike the rows are. The system comes from Newton's method on the optimality conditions, with the products of
each distance to a bound and its multiplier held at a number that goes to 0; each step is taken twice, the second time
with what the first, plain one says of the curvature (Mehrotra's predictor and corrector). Where there is a kink, a
coefficient is the difference of two numbers that are not negative.

Solutions are inside the box by a trace. The sweeps that follow put rows on their bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dsekl.losses import Box, BoxedLoss

from .block import ROUNDING, Floats

Places = NDArray[np.intp]

MOST_STEPS = 60

PRECISION = 1e-7
"""Sum of all products of distance and multiplier, over the block's objective, that ends the steps."""

PULL = 0.01
"""Of the pull to where coefficients were, over what solves for the squared loss add."""

TRACE = 1e-6
"""Share of its box by which a solution may be off its bound."""

INSIDE = 0.99
"""Share of the way to the nearest bound that a step may go."""

MOST_ROUNDS = 4
"""Systems that are solved, each with the rows that the one before it has missed."""

FEWEST_WAITING = 256
"""Rows at their bounds that a system has at least, the nearest to leaving them."""

MISSED = 0.01
"""Slope, over the typical one, from which on a row that is held at its bound is missed."""

ROOM = 1e-2
"""Share of its box that each number is away from the bounds at first."""


def solve_boxed(K: NDArray[Any], y: Floats, C: Floats, coef: Floats, f: NDArray[Any], loss: BoxedLoss) -> bool:
    """Move one output of a block to its optimum, ``coef`` and f in place; False, and nothing moved, if none was found.

    Most rows are at a bound and stay there: a system of the others, and of those that are nearest to leaving, is much
    smaller. Where more rows leave than were thought, it is solved again with them.
    """
    box = loss.box(y, C)
    if not np.isfinite(box.hi - box.lo).all():
        return False
    moved = False
    room = _room(box, y, coef, f)
    for _ in range(MOST_ROUNDS):
        rows = _nearest_to_moving(room)
        if not len(rows) or not _solve_rows(K, y, C, coef, f, loss, box, rows):
            break
        moved = True
        room = _room(box, y, coef, f)
        others = np.delete(room, rows)
        if not (others < -MISSED * np.abs(f - y).mean()).any():
            break
    return moved


def _room(box: Box, y: Floats, coef: Floats, f: NDArray[Any]) -> Floats:
    """Return how far each row's slope is from moving it off its bound or kink; at most 0 for those that are on none."""
    slope, trace = f - y + box.ridge * coef, TRACE * (box.hi - box.lo)
    right = np.where(coef < box.hi - trace, slope + np.where(coef >= -trace, box.margin, -box.margin), np.inf)
    left = np.where(coef > box.lo + trace, np.where(coef <= trace, box.margin, -box.margin) - slope, np.inf)
    return np.minimum(right, left)


def _nearest_to_moving(room: Floats) -> NDArray[np.intp]:
    """Return the rows that move, and as many again of those nearest to it."""
    count = int(np.count_nonzero(room <= 0))
    most = min(count + max(count, FEWEST_WAITING), int(np.count_nonzero(room < np.inf)))
    return np.sort(np.argsort(room, kind="stable")[:most])


def _solve_rows(
    K: NDArray[Any], y: Floats, C: Floats, coef: Floats, f: NDArray[Any], loss: BoxedLoss, box: Box, rows: Places
) -> bool:
    """Move some rows to the optimum with the others held; False, and nothing moved, if none was found.

    A trace of a pull to where the coefficients were keeps rounded kernel values positive definite.
    """
    lo, hi, start = box.lo[rows], box.hi[rows], coef[rows]
    M = K[np.ix_(rows, rows)].astype(np.float64)
    pull = PULL * ROUNDING[K.dtype.name] * float(np.trace(M))
    M[np.diag_indices_from(M)] += box.ridge[rows] + pull
    slope = f[rows] - y[rows] + box.ridge[rows] * start
    sides = (
        _Numbers(np.array([1.0, -1.0]), np.zeros((2, len(rows))), np.stack([hi, -lo]), box.margin)
        if box.margin > 0
        else _Numbers(np.array([1.0]), lo[None], hi[None], 0.0)
    )
    try:
        with np.errstate(all="ignore"):
            found = _minimum(M, slope, start, sides)
    except LinAlgError:
        return False
    if not np.isfinite(found).all():
        return False
    change = np.clip(found, lo, hi) - start
    move = change.astype(K.dtype) @ K[rows]
    before, after = (loss.conjugate(y[rows], c, C[rows]).sum() for c in (start, start + change))
    if not before - after - change @ (f[rows] + 0.5 * move[rows]) > 0:
        return False
    coef[rows] = np.clip(start + change, lo, hi)
    f += move
    return True


@dataclass
class _Numbers:
    """What coefficients are sums of: with their signs, bounds, and the margin that each costs."""

    signs: Floats
    lo: Floats
    hi: Floats
    margin: float

    def begin(self, coef: Floats) -> Floats:
        """Return numbers inside the bounds, near to those of ``coef``."""
        room = ROOM * (self.hi - self.lo)
        return np.clip(self.signs[:, None] * coef, self.lo + room, self.hi - room)


def _minimum(M: Floats, slope: Floats, start: Floats, sides: _Numbers) -> Floats:
    """Minimise ``slope' (c - start) + 1/2 (c - start)' M (c - start) + margin |c|`` on the box."""
    signs = sides.signs[:, None]
    z = sides.begin(start)
    coef = (signs * z).sum(axis=0)
    g = slope + M @ (coef - start)
    size = max(float(np.abs(g).mean()), np.finfo(np.float64).tiny)
    alpha, beta = np.full_like(z, size), np.full_like(z, size)
    for _ in range(MOST_STEPS):
        a, b = z - sides.lo, sides.hi - z
        products = float((a * alpha).sum() + (b * beta).sum())
        off = signs * g + sides.margin - alpha + beta
        objective = abs(float((slope + g) @ (coef - start))) + abs(float(slope @ start)) + sides.margin * float(z.sum())
        if products <= PRECISION * objective and float(np.abs(off * z).sum()) <= PRECISION * objective:
            break
        D = alpha / a + beta / b
        E = 1.0 / (1.0 / D).sum(axis=0)
        system = M.copy()
        system[np.diag_indices_from(system)] += E
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        center, bend_a, bend_b = 0.0, np.zeros_like(a), np.zeros_like(b)
        for corrected in (False, True):
            pull_a, pull_b = (center - bend_a) / a, (center - bend_b) / b
            right = -(signs * g + sides.margin) + pull_a - pull_b
            goal = E * (signs * right / D).sum(axis=0)
            d_coef = cho_solve(factor, goal, check_finite=False)
            d_g = goal - E * d_coef
            d_z = (right - signs * d_g) / D
            d_alpha, d_beta = pull_a - alpha * d_z / a - alpha, pull_b + beta * d_z / b - beta
            t = min(_share(a, d_z), _share(b, -d_z), _share(alpha, d_alpha), _share(beta, d_beta))
            if not corrected:
                left = ((a + t * d_z) * (alpha + t * d_alpha)).sum() + ((b - t * d_z) * (beta + t * d_beta)).sum()
                center = (float(left) / products) ** 3 * products / (2 * z.size)
                bend_a, bend_b = d_z * d_alpha, -d_z * d_beta
        z, alpha, beta = z + t * d_z, alpha + t * d_alpha, beta + t * d_beta
        g, coef = g + t * d_g, coef + t * d_coef
    return np.asarray(coef)


def _share(distance: Floats, change: Floats) -> float:
    """Return the share of a change that keeps all distances above 0, at most 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(change < 0, -INSIDE * distance / change, 1.0)
    return float(min(1.0, shares.min()))
