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

ROWS_A_TASK = 64
"""Rows of a task, whatever the threads, so that sums are in one order."""

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
    # A column's weight is a distance less; a row's own norm is the same for all columns.
    offsets = (np.log(col_weights) - squares.sum(axis=1, dtype=np.float64)).astype(dtype)
    known = col_targets.astype(dtype)

    def task(part: slice) -> tuple[float, Floats]:
        x = rows[part]
        closeness = (2 * x) @ cols.T
        closeness += offsets
        mean = _mean(closeness, known)
        error = mean - row_targets[part]
        loss = float(share[part] @ (error**2).sum(axis=1))
        pull = (share[part, None] * error).astype(dtype)
        closeness *= pull @ known.T - (pull * mean).sum(axis=1, keepdims=True)
        gradient = closeness.sum(axis=0) @ squares - 2 * (x * (closeness @ cols)).sum(axis=0)
        return loss, -2 * np.asarray(gradient, dtype=np.float64)

    results = workers.map(task, chunks(len(rows), ROWS_A_TASK))
    return float(sum(loss for loss, _ in results)), np.sum([gradient for _, gradient in results], axis=0)


def squared_errors(
    rows: NDArray[Any], row_targets: Floats, cols: NDArray[Any], col_targets: Floats, col_weights: Floats,
    factors: Floats, workers: Workers,
) -> Floats:  # fmt: skip
    """Return each row's squared error where squared distances count ``factors`` times, all from the same product."""
    dtype = rows.dtype
    norms = np.einsum("ij,ij->i", cols, cols)
    offsets, known = np.log(col_weights).astype(dtype), col_targets.astype(dtype)

    def task(part: slice) -> Floats:
        nearness = (2 * rows[part]) @ cols.T
        nearness -= norms
        means = [_mean(dtype.type(factor) * nearness + offsets, known) for factor in factors]
        return np.asarray([((mean - row_targets[part]) ** 2).sum(axis=1) for mean in means])

    return np.concatenate(workers.map(task, chunks(len(rows), ROWS_A_TASK)), axis=1)


def _mean(closeness: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of the columns' targets, and leave its weights in place of their logarithms."""
    closeness -= closeness.max(axis=1, keepdims=True)
    np.exp(closeness, out=closeness)
    closeness /= closeness.sum(axis=1, keepdims=True)
    return np.asarray(closeness @ known)
