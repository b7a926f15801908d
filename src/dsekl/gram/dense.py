"""Fused products for dense points.

The columns are packed once into lines of 64 bytes. Threads then take chunks of rows; for each, a panel of
packed columns stays in the cache while the tiles of ``microtile`` fill a strip of pairwise values, the
kernel's profile turns the strip into kernel values, and the strip meets V. A strip never leaves the first
cache, so the kernel matrix is never written to memory.

Each row's sum runs over the columns in one fixed order, whatever the chunks and threads, so results do not
depend on either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import float64, intp, njit, types, void
from numpy.typing import NDArray

from dsekl.kernels import VectorKernel
from dsekl.kernels.elementary import FAST

from .contract import Array, Indices, count
from .function_pointer import NUMBER, comparison_signature, compiled, cube, matrix, pointer, profile_signature, vector
from .microtile import COMPARE, LINE_BYTES, TILE_ROWS, line_width
from .placement import Placement, refuse_overflow
from .threads import chunks, spread

PANEL_BYTES = 2**17
"""Packed columns that one strip uses: half of a small second-level cache."""

MOST_PANEL_GROUPS = 32
"""Lines in a strip: 6 x 32 x 64 bytes are 12 KB, which fit the first-level cache."""


@njit(cache=True, nogil=True)
def _pack(points: Any, packed: Any, norms: Any) -> None:
    """Interleave ``points`` into lines; the last group repeats the last point, so every value in it is a real one."""
    n_groups, n_features, width = packed.shape
    for g in range(n_groups):
        for lane in range(width):
            point = points[min(g * width + lane, points.shape[0] - 1)]
            square = 0.0
            for k in range(n_features):
                packed[g, k, lane] = point[k]
                square += float(point[k]) * float(point[k])
            norms[g, lane] = square


@njit(cache=True, nogil=True)
def _square_norms(points: Any, norms: Any) -> None:
    for i in range(points.shape[0]):
        square = 0.0
        for k in range(points.shape[1]):
            square += float(points[i, k]) * float(points[i, k])
        norms[i] = square


@njit(cache=True, nogil=True, fastmath=FAST)
def _weigh(strip: Any, weights: Any) -> Any:
    total = strip.dtype.type(0.0)
    for j in range(strip.size):
        total += strip[j] * weights[j]
    return total


@njit(cache=True, nogil=True)
def _multiply(
    rows: Any, row_norms: Any, cols: Any, col_norms: Any, V: Any, groups: Any,
    panel: Any, compare: Any, profile: Any, params: Any, out: Any,
) -> None:  # fmt: skip
    """``out += K(rows, cols) @ V.T`` over the given groups of packed columns."""
    width = cols.shape[2]
    strip_memory = np.empty(TILE_ROWS * panel * width, dtype=rows.dtype)
    for start in range(0, groups.size, panel):
        chosen = groups[start : start + panel]
        length = chosen.size * width
        strip = strip_memory[: TILE_ROWS * length].reshape(TILE_ROWS, length)
        norms = col_norms[chosen].reshape(length)
        weights = np.empty((V.shape[0], length), dtype=rows.dtype)
        for g in range(chosen.size):
            weights[:, g * width : (g + 1) * width] = V[:, chosen[g] * width : (chosen[g] + 1) * width]
        for first in range(0, rows.shape[0], TILE_ROWS):
            compare(rows, row_norms, first, cols, norms, chosen, strip)
            profile(strip, params)
            for r in range(min(TILE_ROWS, rows.shape[0] - first)):
                for o in range(V.shape[0]):
                    out[first + r, o] += _weigh(strip[r], weights[o])


@njit(cache=True, nogil=True)
def _fill(
    rows: Any, row_norms: Any, cols: Any, col_norms: Any, groups: Any,
    panel: Any, compare: Any, profile: Any, params: Any, out: Any,
) -> None:  # fmt: skip
    """``out = K(rows, cols)`` for all packed columns."""
    width = cols.shape[2]
    strip_memory = np.empty(TILE_ROWS * panel * width, dtype=rows.dtype)
    for start in range(0, groups.size, panel):
        chosen = groups[start : start + panel]
        length = chosen.size * width
        strip = strip_memory[: TILE_ROWS * length].reshape(TILE_ROWS, length)
        norms = col_norms[chosen].reshape(length)
        left = start * width
        right = min(left + length, out.shape[1])
        for first in range(0, rows.shape[0], TILE_ROWS):
            compare(rows, row_norms, first, cols, norms, chosen, strip)
            profile(strip, params)
            for r in range(min(TILE_ROWS, rows.shape[0] - first)):
                out[first + r, left:right] = strip[r, : right - left]


def _pointer_types(dtype: str) -> tuple[Any, Any]:
    return types.FunctionType(comparison_signature(dtype)), types.FunctionType(profile_signature(dtype))


def _multiply_for(dtype: str) -> Any:
    number = NUMBER[dtype]
    compare, profile = _pointer_types(dtype)
    points, norms = matrix(number), vector(number)
    return compiled(
        _multiply,
        void(points, norms, cube(number), matrix(number), matrix(number), vector(intp), intp, compare, profile,
             vector(float64), matrix(float64)),
    )  # fmt: skip


def _fill_for(dtype: str) -> Any:
    number = NUMBER[dtype]
    compare, profile = _pointer_types(dtype)
    points, norms = matrix(number), vector(number)
    return compiled(
        _fill,
        void(points, norms, cube(number), matrix(number), vector(intp), intp, compare, profile, vector(float64),
             matrix(number)),
    )  # fmt: skip


@dataclass(frozen=True)
class DensePoints:
    """Placed points (n, n_features) and, for distances, their squared norms."""

    data: Array
    norms: Array

    @staticmethod
    def of(data: Array) -> DensePoints:
        norms = np.empty(len(data), dtype=data.dtype)
        _square_norms(data, norms)
        refuse_overflow(norms)
        return DensePoints(data, norms)

    def take(self, indices: Indices) -> DensePoints:
        return DensePoints(np.ascontiguousarray(self.data[indices]), np.ascontiguousarray(self.norms[indices]))

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True)
class DenseGram:
    """The kernel matrix between two sets of dense points."""

    kernel: VectorKernel
    placement: Placement
    row_points: DensePoints
    col_points: DensePoints
    budget: int
    n_threads: int

    @staticmethod
    def of(kernel: VectorKernel, X: Array, gamma: Any, dtype: str, budget: int, n_threads: int) -> DenseGram:
        """Return the gram of raw rows ``X`` with themselves."""
        placement = Placement.of(kernel, gamma, X, dtype)
        points = DensePoints.of(placement.dense(X))
        return DenseGram(kernel, placement, points, points, budget, n_threads)

    @property
    def n_rows(self) -> int:
        return len(self.row_points)

    @property
    def n_terms(self) -> int:
        return len(self.col_points)

    def columns(self, cols: Indices) -> DenseColumns:
        return DenseColumns(self, cols)

    def product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        indices = np.arange(self.n_terms)[cols]
        line_bytes = self.col_points.data.itemsize * max(1, self.placement.scale.size)
        parts = chunks(len(indices), max(1024, self.budget // line_bytes))
        return sum(
            (self.columns(indices[part]).product(rows, V[part]) for part in parts),
            start=np.zeros((count(rows, self.n_rows), V.shape[1])),
        )

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        # A kernel is symmetric, so the transpose is the same product with the two sides exchanged.
        return replace(self, row_points=self.col_points, col_points=self.row_points).product(cols, rows, V)

    def block(self, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, self.budget // (n_cols * self.col_points.data.itemsize))

    def at(self, X: Array) -> DenseGram:
        return replace(self, row_points=DensePoints.of(self.placement.dense(X)))

    def restricted(self, cols: Indices) -> DenseGram:
        return replace(self, col_points=self.col_points.take(cols))

    def detached(self) -> DenseGram:
        return replace(self, row_points=self.row_points.take(slice(0)))

    def threaded(self, n_threads: int) -> DenseGram:
        return replace(self, n_threads=n_threads)


class DenseColumns:
    """Some column points, packed."""

    def __init__(self, gram: DenseGram, cols: Indices) -> None:
        dtype = gram.placement.dtype
        points = gram.col_points.data[cols]
        self._gram = gram
        self._n_cols = len(points)
        width = line_width(dtype)
        n_groups = -(-len(points) // width)
        n_features = points.shape[1]
        self._packed = np.empty((n_groups, n_features, width), dtype=dtype)
        self._norms = np.empty((n_groups, width), dtype=dtype)
        if n_groups:
            _pack(np.ascontiguousarray(points), self._packed, self._norms)
        self._groups = np.arange(n_groups, dtype=np.intp)
        self._panel = max(4, min(MOST_PANEL_GROUPS, PANEL_BYTES // (LINE_BYTES * n_features)))
        self._compare = pointer(COMPARE[gram.kernel.pairwise], comparison_signature(dtype))
        self._profile = pointer(gram.kernel.profile(), profile_signature(dtype))
        self._params = gram.kernel.params()

    def __len__(self) -> int:
        return self._n_cols

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        dtype = self._gram.placement.dtype
        points = self._gram.row_points.take(rows)
        out = np.zeros((len(points), V.shape[1]))
        weights = np.zeros((V.shape[1], self._norms.size), dtype=dtype)
        weights[:, : self._n_cols] = V.T
        multiply = _multiply_for(dtype)

        def task(part: slice) -> None:
            multiply(
                points.data[part], points.norms[part], self._packed, self._norms, weights, self._groups,
                self._panel, self._compare, self._profile, self._params, out[part],
            )  # fmt: skip

        spread(task, self._row_chunks(len(points)), self._gram.n_threads)
        return out

    def block(self, rows: Indices) -> Array:
        dtype = self._gram.placement.dtype
        points = self._gram.row_points.take(rows)
        out = np.empty((len(points), self._n_cols), dtype=dtype)
        fill = _fill_for(dtype)

        def task(part: slice) -> None:
            fill(
                points.data[part], points.norms[part], self._packed, self._norms, self._groups,
                self._panel, self._compare, self._profile, self._params, out[part],
            )  # fmt: skip

        spread(task, self._row_chunks(len(points)), self._gram.n_threads)
        return out

    def _row_chunks(self, n_rows: int) -> list[slice]:
        """Cut the rows into a few chunks per thread, whole tiles each; small work stays on one thread."""
        work = n_rows * self._n_cols * self._packed.shape[1]
        n_chunks = 1 if work < 2_000_000 else 4 * self._gram.n_threads
        return chunks(n_rows, TILE_ROWS * max(1, -(-n_rows // (TILE_ROWS * n_chunks))))
