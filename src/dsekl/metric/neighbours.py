"""How well neighbours predict, and how that changes with the weight of each feature, compiled.

A row's target is predicted by the mean of some columns' targets, weighted by ``exp(-s)`` with s their distance. With
``p`` the weights of the mean, ``m`` the mean and ``e = m - y`` its error, the squared error changes with the distance
to column j by ``-2 p_j e (y_j - m)``, and the distance with the logarithm of a feature's gamma by that feature's own
part of it. Points come scaled, so that this part is the plain (squared) difference.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import boolean, float64, intp, types
from numpy.typing import NDArray

from dsekl.compiled import NUMBER, comparison_signature, compiled, cube, inlined, matrix, njit, pointer, vector
from dsekl.gram.loops.microtile import COMPARE, TILE_ROWS
from dsekl.gram.points import DensePoints, pack
from dsekl.kernels import Pairwise
from dsekl.kernels.elementary import FAST, decay
from dsekl.workers import Workers, chunks

NEGLIGIBLE = 1e-8
"""Weight of a column, relative to the nearest one's, below which it is left out."""

ROWS_A_TASK = 48
"""Rows of a task, whatever the threads, so that sums are in one order."""

Floats = NDArray[np.float64]


@inlined(fastmath=FAST)
def _closeness(line: Any, col_weights: Any) -> Any:
    """Turn distances into weights relative to the nearest column's; return their sum."""
    nearest = line[0]
    for j in range(col_weights.size):
        nearest = min(nearest, line[j])
    total = line.dtype.type(0.0)
    for j in range(col_weights.size):
        line[j] = decay(line[j] - nearest) * col_weights[j]
        total += line[j]
    return total


@inlined(fastmath=FAST)
def _add_parts(row: Any, col: Any, pull: Any, manhattan: Any, parts: Any) -> None:
    if manhattan:
        for k in range(row.size):
            parts[k] += pull * abs(row[k] - col[k])
    else:
        for k in range(row.size):
            parts[k] += pull * (row[k] - col[k]) * (row[k] - col[k])


@njit(cache=True, nogil=True)
def _accumulate(
    rows: Any, row_norms: Any, row_targets: Any, row_weights: Any, begin: Any, end: Any,
    cols: Any, packed: Any, col_norms: Any, groups: Any, col_targets: Any, col_weights: Any,
    compare: Any, manhattan: Any, gradient: Any,
) -> Any:  # fmt: skip
    """Add the gradient of some rows' squared errors to ``gradient``; return the errors' sum."""
    n_cols, n_outputs = col_targets.shape
    tile = np.empty((TILE_ROWS, packed.shape[0] * packed.shape[2]), dtype=rows.dtype)
    mean, error = np.empty(n_outputs), np.empty(n_outputs)
    parts = np.empty(rows.shape[1], dtype=rows.dtype)
    loss = 0.0
    for first in range(begin, end, TILE_ROWS):
        compare(rows, row_norms, first, packed, col_norms, groups, tile)
        for r in range(min(TILE_ROWS, end - first)):
            i = first + r
            total = _closeness(tile[r], col_weights)
            for o in range(n_outputs):
                mean[o] = 0.0
            for j in range(n_cols):
                if tile[r, j] > NEGLIGIBLE:
                    for o in range(n_outputs):
                        mean[o] += tile[r, j] * col_targets[j, o]
            own = 0.0
            for o in range(n_outputs):
                mean[o] /= total
                error[o] = mean[o] - row_targets[i, o]
                own += error[o] * mean[o]
                loss += row_weights[i] * error[o] * error[o]
            for k in range(parts.size):
                parts[k] = 0.0
            for j in range(n_cols):
                if tile[r, j] > NEGLIGIBLE:
                    pull = -own
                    for o in range(n_outputs):
                        pull += error[o] * col_targets[j, o]
                    _add_parts(rows[i], cols[j], rows.dtype.type(pull * tile[r, j] / total), manhattan, parts)
            for k in range(parts.size):
                gradient[k] -= 2.0 * row_weights[i] * parts[k]
    return loss


@lru_cache(maxsize=2)
def _accumulate_for(dtype: str) -> Any:
    number = NUMBER[dtype]
    rows = [matrix(number), vector(number), matrix(float64), vector(float64), intp, intp]
    cols = [matrix(number), cube(number), vector(number), vector(intp), matrix(float64), vector(number)]
    compare = types.FunctionType(comparison_signature(dtype))
    return compiled(_accumulate, float64(*rows, *cols, compare, boolean, vector(float64)))


def neighbour_loss(
    rows: NDArray[Any], row_targets: Floats, row_weights: Floats,
    cols: NDArray[Any], col_targets: Floats, col_weights: Floats, pairwise: Pairwise, workers: Workers,
) -> tuple[float, Floats]:  # fmt: skip
    """Return the mean squared error of the rows' targets, and its gradient in the logarithm of each feature's gamma.

    ``rows`` and ``cols`` are points of one dtype, scaled by gamma.
    """
    dtype = rows.dtype.name
    points = DensePoints.of(rows)
    packed, norms = pack(cols)
    groups = np.arange(len(packed), dtype=np.intp)
    compare = pointer(COMPARE[pairwise], comparison_signature(dtype))
    accumulate = _accumulate_for(dtype)
    share = row_weights / row_weights.sum()
    left = (points.data, points.norms, row_targets, share)
    right = (cols, packed, norms.reshape(-1), groups, col_targets, col_weights.astype(dtype))

    def task(part: slice) -> tuple[float, Floats]:
        gradient = np.zeros(rows.shape[1])
        loss = accumulate(*left, part.start, part.stop, *right, compare, pairwise is Pairwise.MANHATTAN, gradient)
        return loss, gradient

    results = workers.map(task, chunks(len(rows), ROWS_A_TASK))
    return float(sum(loss for loss, _ in results)), np.sum([gradient for _, gradient in results], axis=0)
