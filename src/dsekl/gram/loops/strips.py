"""The compiled products: runs of rows against packed columns, strip by strip.

A run is a few neighbouring rows with a bounding box; packed columns come in groups, with a box each. A group that the
kernel cannot reach from the run is skipped. Of the others, as many as a strip has stay in the cache while the tiles of
``microtile`` fill the strip with pairwise values, the kernel's profile turns them into kernel values, and the strip
meets V. A strip never leaves the first-level cache, so the kernel matrix is never written to memory.

Each row's sum runs over the columns in one fixed order, whatever the threads, so results do not depend on them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import boolean, float64, int64, intp, types

from dsekl.compiled import (
    NUMBER,
    comparison_signature,
    compiled,
    cube,
    inlined,
    matrix,
    njit,
    profile_signature,
    vector,
)
from dsekl.kernels.elementary import FAST

from .microtile import TILE_ROWS, dot_tile

MANY_OUTPUTS = 4
"""Outputs from which on their sums are a matrix product worth a tile, not a dot product each."""


@inlined(fastmath=FAST)
def _within_reach(lo: Any, hi: Any, other_lo: Any, other_hi: Any, reach: Any, manhattan: Any) -> Any:
    """Tell whether two boxes have points at a distance below ``reach``."""
    total = lo.dtype.type(0.0)
    for k in range(lo.size):
        gap = max(lo[k] - other_hi[k], other_lo[k] - hi[k])
        if gap > 0:
            total += gap if manhattan else gap * gap
            if total >= reach:
                return False
    return True


@inlined()
def _groups_near(lo: Any, hi: Any, col_lo: Any, col_hi: Any, reach: Any, manhattan: Any, near: Any) -> Any:
    """Write the groups within reach of a box to ``near``; return how many. The last box holds all groups."""
    n_groups = near.size
    if reach == np.inf:
        for g in range(n_groups):
            near[g] = g
        return n_groups
    count = 0
    if _within_reach(lo, hi, col_lo[n_groups], col_hi[n_groups], reach, manhattan):
        for g in range(n_groups):
            if _within_reach(lo, hi, col_lo[g], col_hi[g], reach, manhattan):
                near[count] = g
                count += 1
    return count


@njit(cache=True, nogil=True)
def runs_near(lo: Any, hi: Any, other_lo: Any, other_hi: Any, reach: Any, manhattan: Any) -> Any:
    """Return the runs within reach of one box."""
    near = np.empty(lo.shape[0], dtype=np.intp)
    count = 0
    for run in range(lo.shape[0]):
        if _within_reach(lo[run], hi[run], other_lo, other_hi, reach, manhattan):
            near[count] = run
            count += 1
    return near[:count]


@inlined(fastmath=FAST)
def _weigh(strip: Any, weights: Any) -> Any:
    total = strip.dtype.type(0.0)
    for j in range(strip.size):
        total += strip[j] * weights[j]
    return total


@inlined()
def pack_weights(weights: Any, width: int) -> Any:
    """Return the weights (n_outputs, length) side by side in lines, for the tile; nothing for few outputs."""
    n_outputs, length = weights.shape
    n_groups = (n_outputs + width - 1) // width if n_outputs >= MANY_OUTPUTS else 0
    packed = np.empty((n_groups * length, width), dtype=weights.dtype)
    for g in range(n_groups):
        for j in range(length):
            for lane in range(width):
                o = g * width + lane
                packed[g * length + j, lane] = weights[o, j] if o < n_outputs else 0.0
    return packed


@inlined()
def add_weighted(strip: Any, weights: Any, packed: Any, sums: Any, first: Any, n_rows: Any, out: Any) -> None:
    """``out[first : first + n_rows] += strip @ weights.T``; many outputs go through the tile that makes the strip."""
    n_outputs, width = weights.shape[0], packed.shape[1]
    if packed.shape[0] == 0:
        for r in range(n_rows):
            for o in range(n_outputs):
                out[first + r, o] += _weigh(strip[r], weights[o])
        return
    for start in range(0, n_rows, TILE_ROWS):
        for group, o in enumerate(range(0, n_outputs, width)):
            dot_tile(strip, start, packed, group, sums, o)
        for r in range(min(TILE_ROWS, n_rows - start)):
            for o in range(n_outputs):
                out[first + start + r, o] += sums[r, o]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _multiply(
    rows: Any, row_norms: Any, runs: Any, run_starts: Any, row_lo: Any, row_hi: Any,
    cols: Any, col_norms: Any, col_lo: Any, col_hi: Any, reach: Any, manhattan: Any,
    V: Any, strip_groups: Any, compare: Any, profile: Any, params: Any, out: Any,
) -> Any:  # fmt: skip
    """``out[rows of runs] += K(rows of runs, cols) @ V.T``; return the number of kernel evaluations."""
    width = cols.shape[2]
    near = np.empty(cols.shape[0], dtype=np.intp)
    strip_memory = np.empty(TILE_ROWS * strip_groups * width, dtype=rows.dtype)
    norms_memory = np.empty(strip_groups * width, dtype=rows.dtype)
    evaluations = 0
    for run in runs:
        begin, end = run_starts[run], run_starts[run + 1]
        n_near = _groups_near(row_lo[run], row_hi[run], col_lo, col_hi, reach, manhattan, near)
        evaluations += (end - begin) * n_near * width
        for start in range(0, n_near, strip_groups):
            chosen = near[start : min(n_near, start + strip_groups)]
            length = chosen.size * width
            strip = strip_memory[: TILE_ROWS * length].reshape(TILE_ROWS, length)
            norms = norms_memory[:length]
            weights = np.empty((V.shape[0], length), dtype=rows.dtype)
            for g in range(chosen.size):
                for lane in range(width):
                    norms[g * width + lane] = col_norms[chosen[g], lane]
                    for o in range(V.shape[0]):
                        weights[o, g * width + lane] = V[o, chosen[g] * width + lane]
            packed = pack_weights(weights, width)
            sums = np.empty((TILE_ROWS, V.shape[0] + width), dtype=rows.dtype)
            for first in range(begin, end, TILE_ROWS):
                compare(rows, row_norms, first, cols, norms, chosen, strip)
                profile(strip, params)
                add_weighted(strip, weights, packed, sums, first, min(TILE_ROWS, end - first), out)
    return evaluations


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _fill(
    rows: Any, row_norms: Any, runs: Any, run_starts: Any, row_lo: Any, row_hi: Any,
    cols: Any, col_norms: Any, col_lo: Any, col_hi: Any, reach: Any, manhattan: Any,
    strip_groups: Any, compare: Any, profile: Any, params: Any, out: Any,
) -> Any:  # fmt: skip
    """``out[rows of runs] = K(rows of runs, cols)``, 0 out of reach; return the number of kernel evaluations."""
    width = cols.shape[2]
    near = np.empty(cols.shape[0], dtype=np.intp)
    strip_memory = np.empty(TILE_ROWS * strip_groups * width, dtype=rows.dtype)
    norms_memory = np.empty(strip_groups * width, dtype=rows.dtype)
    evaluations = 0
    for run in runs:
        begin, end = run_starts[run], run_starts[run + 1]
        n_near = _groups_near(row_lo[run], row_hi[run], col_lo, col_hi, reach, manhattan, near)
        evaluations += (end - begin) * n_near * width
        if n_near < near.size:
            for i in range(begin, end):
                for j in range(out.shape[1]):
                    out[i, j] = 0.0
        for start in range(0, n_near, strip_groups):
            chosen = near[start : min(n_near, start + strip_groups)]
            length = chosen.size * width
            strip = strip_memory[: TILE_ROWS * length].reshape(TILE_ROWS, length)
            norms = norms_memory[:length]
            for g in range(chosen.size):
                for lane in range(width):
                    norms[g * width + lane] = col_norms[chosen[g], lane]
            for first in range(begin, end, TILE_ROWS):
                compare(rows, row_norms, first, cols, norms, chosen, strip)
                profile(strip, params)
                for r in range(min(TILE_ROWS, end - first)):
                    for g in range(chosen.size):
                        left = chosen[g] * width
                        for lane in range(min(width, out.shape[1] - left)):
                            out[first + r, left + lane] = strip[r, g * width + lane]
    return evaluations


def _sides(dtype: str) -> list[Any]:
    """Return the types of the two sides of a product: rows with runs and boxes, packed columns with boxes."""
    number = NUMBER[dtype]
    boxes = [matrix(number), matrix(number)]
    rows = [matrix(number), vector(number), vector(intp), vector(int64), *boxes]
    return [*rows, cube(number), matrix(number), *boxes, float64, boolean]


def _kernel(dtype: str) -> list[Any]:
    return [
        types.FunctionType(comparison_signature(dtype)), types.FunctionType(profile_signature(dtype)), vector(float64)
    ]  # fmt: skip


@lru_cache(maxsize=2)
def multiply_for(dtype: str) -> Any:
    """Return the compiled product for a number type."""
    return compiled(_multiply, int64(*_sides(dtype), matrix(NUMBER[dtype]), intp, *_kernel(dtype), matrix(float64)))


@lru_cache(maxsize=2)
def fill_for(dtype: str) -> Any:
    """Return the compiled block for a number type."""
    return compiled(_fill, int64(*_sides(dtype), intp, *_kernel(dtype), matrix(NUMBER[dtype])))
