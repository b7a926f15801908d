"""How well neighbours predict, and how that changes with the weight of each feature, as matrix products.

A row's target is predicted by the mean of some columns' targets, weighted by ``exp(-s)`` with s their squared distance.
With ``p`` the weights of the mean, ``m`` the mean and ``e = m - y`` its error, the squared error changes with the
distance to column j by ``-2 a_j`` with ``a_j = p_j e (y_j - m)``, and the distance with the logarithm of a feature's
gamma by that feature's own part of it, ``(x - z_j)^2`` once points are scaled. The ``a_j`` of a row add up to 0, so the
sum over j of ``a_j (x - z_j)^2`` is that of ``a_j z_j^2 - 2 x a_j z_j``: two products, and no array of differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.workers import Workers, chunks

ROWS_A_TASK, FEWER_ROWS = 64, 16
"""Rows of a task, and of one whose pairs would not fit a core's cache; whatever the threads, so that sums are in one
order."""

MOST_PAIRS, FEW_FEATURES = 2**18, 32
"""Pairs of a task that fit a core's cache, and features up to which that saves more than products of few rows cost."""

Floats = NDArray[np.float64]


def neighbour_loss(
    rows: NDArray[Any], row_targets: Floats, row_weights: Floats,
    cols: NDArray[Any], col_targets: Floats, col_weights: Floats, workers: Workers,
) -> tuple[float, Floats]:  # fmt: skip
    """Return the mean squared error of the rows' targets, and its gradient in the logarithm of each feature's gamma.

    ``rows`` and ``cols`` are points of one dtype, scaled by the root of gamma.
    """
    dtype = rows.dtype
    share = row_weights / row_weights.sum()
    squares = cols * cols
    # A column's own norm is one more feature; a row's is the same for all columns.
    extended = np.column_stack([cols, -squares.sum(axis=1, dtype=np.float64).astype(dtype)])
    known = _weighted(col_targets, col_weights, dtype)

    def task(part: slice) -> tuple[float, Floats]:
        x = rows[part]
        closeness = np.column_stack([2 * x, np.ones(len(x), dtype)]) @ extended.T
        closeness -= closeness.max(axis=1, keepdims=True)
        mean, total = _mean(closeness, known)
        error = mean - row_targets[part]
        loss = float(share[part] @ (error**2).sum(axis=1))
        pull = share[part, None] * error / total
        pull = np.column_stack([pull, -(pull * mean).sum(axis=1)]).astype(dtype)
        closeness *= pull @ known.T
        gradient = (np.ones(len(x), dtype) @ closeness) @ squares - 2 * (x * (closeness @ cols)).sum(axis=0)
        return loss, -2 * np.asarray(gradient, dtype=np.float64)

    results = workers.map(task, chunks(len(rows), _rows_a_task(cols)))
    return float(sum(loss for loss, _ in results)), np.sum([gradient for _, gradient in results], axis=0)


def squared_errors(
    rows: NDArray[Any], row_targets: Floats, cols: NDArray[Any], col_targets: Floats, col_weights: Floats,
    factors: Floats, workers: Workers,
) -> Floats:  # fmt: skip
    """Return each row's squared error where squared distances count ``factors`` times, all from the same product."""
    dtype = rows.dtype
    norms, known = np.einsum("ij,ij->i", cols, cols), _weighted(col_targets, col_weights, dtype)

    def task(part: slice) -> Floats:
        nearness = (2 * rows[part]) @ cols.T
        nearness -= norms
        nearness -= nearness.max(axis=1, keepdims=True)
        scaled = np.empty_like(nearness)
        means = [_mean(np.multiply(nearness, dtype.type(factor), out=scaled), known)[0] for factor in factors]
        return np.asarray([((mean - row_targets[part]) ** 2).sum(axis=1) for mean in means])

    return np.concatenate(workers.map(task, chunks(len(rows), _rows_a_task(cols))), axis=1)


def _rows_a_task(cols: NDArray[Any]) -> int:
    n_cols, n_features = cols.shape
    return FEWER_ROWS if ROWS_A_TASK * n_cols > MOST_PAIRS and n_features <= FEW_FEATURES else ROWS_A_TASK


def _weighted(targets: Floats, weights: Floats, dtype: Any) -> NDArray[Any]:
    """Return targets times weights, and the weights themselves: a product with these has a mean and what divides it."""
    return np.column_stack([targets * weights[:, None], weights]).astype(dtype)


def _mean(closeness: NDArray[Any], known: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the mean of the columns' targets and the sum of its weights, which stay in place of their logarithms."""
    np.exp(closeness, out=closeness)
    sums = np.asarray(closeness @ known, dtype=np.float64)
    total = np.where(sums[:, -1:] > 0, sums[:, -1:], 1.0)
    return sums[:, :-1] / total, total
