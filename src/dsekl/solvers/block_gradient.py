"""The gradient on a block of the kernel matrix, which both of the paper's algorithms step along.

For ``E = sum_i weights_i loss(y_i, f_i) + lambda |coef|^2`` (the paper's eq. 4 with its norm squared) on some rows, and
``f = K[rows, cols] coef[cols]``::

    dE / dcoef[cols] = K[rows, cols].T  weights loss'(y, f)  +  2 lambda coef[cols]

At fixed centres (cols) the first term is unbiased over random rows, up to the factor N / n_rows. It is biased over
random centres, because the loss is not linear in f: the expected gradient is that of the expected loss of expansions in
a random subset of the centres. The paper adds the second term whole at each step, whatever the number of rows, so that
its steps weigh the penalty N / n_rows times as much as all rows do (docs/guide/model.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.gram import Columns, row_blocks, times, transposed_times

from .solver import Problem
from .state import Floats

BLOCK_BYTES = 2**24
"""A block of this size is worth the few calls from Python that it takes, and still fits a large cache."""

DIVERGED = 1e10
"""Loss over that of f = 0 at which a run has diverged: first steps of the paper's size overshoot by less."""

MOST_PROBED = 1000
POWER_STEPS = 20


def rows_a_block(problem: Problem, n_cols: int, n_workers: int) -> int:
    """Return how many rows a block should have: within the budget of one worker, and small enough to stay cached."""
    in_budget = problem.gram.chunk_rows(n_cols * n_workers)
    return max(1, min(in_budget, BLOCK_BYTES // (4 * n_cols)))


def steepness(problem: Problem) -> float:
    """Return the loss's curvature; a loss with a kink turns by its whole slope within the scale of the targets."""
    scale = float(np.abs(problem.targets).mean())
    return problem.loss.curvature or 1.0 / max(scale, np.finfo(np.float64).tiny)


def safe_step(problem: Problem, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> float:
    """Return one over the curvature of a step's objective, the largest step that cannot overshoot.

    The curvature is that of the loss times the largest eigenvalue of ``K[rows, cols].T K[rows, cols]``, found by
    power iteration on a part of the block of at most a thousand rows and centres, plus that of the penalty.
    """
    some_rows, some_cols = rows[:MOST_PROBED], cols[:MOST_PROBED]
    K = problem.gram.columns(some_cols).block(some_rows).astype(np.float64)
    vector = np.full(len(some_cols), 1.0 / np.sqrt(len(some_cols)))
    eigenvalue = 0.0
    for _ in range(POWER_STEPS):
        vector = K.T @ (K @ vector)
        eigenvalue = float(np.linalg.norm(vector))
        if not 0.0 < eigenvalue < np.inf:
            break
        vector /= eigenvalue
    share = (len(rows) / len(some_rows)) * (len(cols) / len(some_cols))
    return 1.0 / (float(problem.weights.max()) * steepness(problem) * share * eigenvalue + 2.0 * problem.penalty)


class CurvatureBound:
    """A number that no eigenvalue of ``K.T K`` is above, for the price of reading K, which comes in parts of its rows.

    The sum of squares is one bound; the greatest row sum times the greatest column sum is another, nearly tight where
    no value is negative.
    """

    def __init__(self, n_cols: int) -> None:
        self._squares, self._row_sum, self._col_sums = 0.0, 0.0, np.zeros(n_cols)

    def add(self, K: NDArray[Any]) -> None:
        size = np.abs(K.astype(np.float64))
        self._squares += float(np.square(size).sum())
        self._row_sum = max(self._row_sum, float(size.sum(axis=1).max(initial=0.0)))
        self._col_sums += size.sum(axis=0)

    @property
    def value(self) -> float:
        return min(self._squares, self._row_sum * float(self._col_sums.max(initial=0.0)))


def diverged(problem: Problem, loss: float, rows: NDArray[np.intp]) -> bool:
    """Tell whether the summed loss of some rows is out of all proportion to that of f = 0, or no number."""
    y, weights = problem.targets[rows], problem.weights[rows, None]
    nothing = float((weights * problem.loss.value(y, np.zeros_like(y))).sum())
    return not loss <= DIVERGED * max(nothing, np.finfo(np.float64).tiny)


def sizes(problem: Problem) -> str:
    """Return the sizes that a step has to suit, in words."""
    largest, heaviest = float(np.abs(problem.targets).max()), float(problem.weights.max())
    return f"targets y of up to {largest:.3g} and weights of up to {heaviest:.3g}"


def data_gradient(
    problem: Problem,
    columns: Columns,
    rows: NDArray[np.intp],
    coef: Floats,
    n_workers: int = 1,
    bound: CurvatureBound | None = None,
) -> tuple[Floats, float]:
    """Return ``K[rows, cols].T weights loss'(y, f)`` and the rows' summed loss, with f from these centres only.

    Each kernel value is computed once: a block of rows gives f, then its share of the gradient, and of the ``bound``
    on the block's curvature if one is asked for.
    """
    gradient = np.zeros_like(coef)
    total = 0.0
    for part, K in row_blocks(columns, rows, rows_a_block(problem, len(coef), n_workers)):
        if bound is not None:
            bound.add(K)
        f = times(K, coef)
        y, weights = problem.targets[rows[part]], problem.weights[rows[part], None]
        total += float((weights * problem.loss.value(y, f)).sum())
        gradient += transposed_times(K, weights * problem.loss.gradient(y, f))
    return gradient, total
