"""Steps that need no tuning: the gradient on some centres, divided by the curvature of their block.

A plain gradient step is slow where the kernel is wide: its block ``K`` has a few large singular values and many small
ones, one step size must suit the largest, and the small ones hardly move. Newton's step on the block moves all alike::

    (K' W K / n_rows + damping)^-1  gradient,     W the curvature of the loss at the rows, times their weights

It is near 1 in length whatever the kernel, so a fixed factor serves. The damping holds back directions that so few rows
say nothing about; it changes the way and not the end, because where the gradient is 0 there is no step. (Gradient and
curvature come from the same random rows and are not independent, so the end is that of eq. 4 up to a term that falls as
the number of rows in a step grows.) ``benchmarks/steps.py`` has chosen the constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.gram import times, transposed_times
from dsekl.gram.gram import require_squares

from .block_gradient import steepness
from .solver import Problem
from .state import Floats

DAMPING = 1e-3
"""Of the curvature of a single row: below it, directions are left to later blocks."""

ITERATIONS, PRECISION = 50, 1e-3
"""Of the conjugate gradients that apply it: enough for the directions that the damping leaves."""

TINY = float(np.finfo(np.float64).tiny)

MOST_COLS = 500
"""Centres of one preconditioner: its block of kernel values then stays in the cache."""

MOST_ROWS = 1000
"""Rows that a preconditioner looks at."""

FIRST_STEP = 1.0
"""Factor of the steps in the first epoch."""

AVERAGE = 2
"""The model is a mean of the coefficients, those of step t counting t to this power."""

SCHEDULE, SCHEDULE_OF_THE_LAST = "constant", "inverse_sqrt"
"""How the factor shrinks with the number of the epoch: the mean needs no shrinking, the last coefficients do."""

SHORTEST = 1e-12
"""Factor below which steps do not become shorter."""

WORSE_THAN_NOTHING = 2.0
"""Loss over that of f = 0 at which a step was too long, and all later ones become half as long."""


def direction(problem: Problem, K: NDArray[Any], rows: NDArray[np.intp], gradient: Floats, n_blocks: int = 1) -> Floats:
    """Return the preconditioned gradient of the mean loss on the centres of ``K``, a block of values at ``rows``.

    ``n_blocks`` is how many blocks of centres step at once: each then takes its share.
    """
    curvature = steepness(problem) * problem.weights[rows, None]
    damping = DAMPING * float(curvature.mean()) * require_squares(K) ** 2 + 2.0 * problem.penalty / problem.n_rows

    def system(vectors: Floats) -> Floats:
        bent = transposed_times(K, curvature * times(K, vectors)) * (n_blocks / len(rows))
        return bent + max(damping, TINY) * vectors

    return _conjugate_gradients(system, gradient)


def _conjugate_gradients(system: Callable[[Floats], Floats], right: Floats) -> Floats:
    """Return the solutions for all columns of the right side, or what so many iterations make of them.

    The block's products add up in a fixed order on one thread, so the result does not depend on BLAS and its threads.
    """
    solution, residual, search = np.zeros_like(right), right.copy(), right.copy()
    square = first = np.square(residual).sum(axis=0)
    for _ in range(ITERATIONS):
        if (square <= PRECISION**2 * first).all():
            break
        bent = system(search)
        step = square / np.maximum((search * bent).sum(axis=0), TINY)
        solution += step * search
        residual -= step * bent
        last, square = square, np.square(residual).sum(axis=0)
        search = residual + square / np.maximum(last, TINY) * search
    return solution
