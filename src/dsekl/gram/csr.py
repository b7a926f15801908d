"""Fused products for sparse points (CSR), whatever the number of features.

Some columns at a time are spread into a small dense table with one line per feature. A row then walks over
its own entries only: ``pairwise(x, z) = pairwise(0, z) + sum over the entries of x of [d(x_k, z_k) - d(0, z_k)]``,
which holds for every comparison that is a sum over features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import float64, njit, types, void
from numpy.typing import NDArray
from scipy import sparse

from dsekl.kernels import Pairwise, VectorKernel
from dsekl.kernels.elementary import FAST

from .contract import Array, Indices, count
from .function_pointer import NUMBER, compiled, matrix, pointer, profile_signature, vector
from .microtile import distances_from_dots
from .placement import Placement, refuse_overflow
from .threads import chunks, spread

TABLE_WIDTH = 64
"""Columns in the dense table, four cache lines of float32 for each feature."""

INDEX = types.int64


@njit(cache=True, nogil=True)
def _spread_columns(indptr: Any, indices: Any, data: Any, first: Any, last: Any, table: Any) -> None:
    for j in range(first, last):
        for at in range(indptr[j], indptr[j + 1]):
            table[indices[at], j - first] = data[at]


@njit(cache=True, nogil=True)
def _clear_columns(indptr: Any, indices: Any, first: Any, last: Any, table: Any) -> None:
    for at in range(indptr[first], indptr[last]):
        table[indices[at]] = 0.0


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_dot(line: Any, x: Any, z: Any) -> None:
    for j in range(line.size):
        line[j] += x * z[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_manhattan(line: Any, x: Any, z: Any) -> None:
    for j in range(line.size):
        line[j] += abs(x - z[j]) - abs(z[j])


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_chi_squared(line: Any, x: Any, z: Any) -> None:
    for j in range(line.size):
        both = x + z[j]
        if both > 0:
            line[j] += (x - z[j]) * (x - z[j]) / both - z[j]


_ADD = {
    Pairwise.DOT: _add_dot,
    Pairwise.SQUARED_DISTANCE: _add_dot,
    Pairwise.MANHATTAN: _add_manhattan,
    Pairwise.CHI_SQUARED: _add_chi_squared,
}


@njit(cache=True, nogil=True)
def _not_below_zero(line: Any) -> None:
    """A distance that was added up in pieces may miss 0 by rounding."""
    for j in range(line.size):
        line[j] = max(line[j], line.dtype.type(0.0))


@njit(cache=True, nogil=True)
def _fill_strip(
    row_ptr: Any, row_indices: Any, row_data: Any, row: Any, alone: Any, table: Any, add: Any, strip: Any
) -> None:
    """One row against the table's columns; ``alone`` holds what each column gives against an empty row."""
    strip[0, :] = alone
    for at in range(row_ptr[row], row_ptr[row + 1]):
        add(strip[0], row_data[at], table[row_indices[at]])


@njit(cache=True, nogil=True)
def _multiply(
    row_ptr: Any, row_indices: Any, row_data: Any, row_norms: Any,
    col_ptr: Any, col_indices: Any, col_data: Any, col_norms: Any,
    table: Any, distances: Any, metric: Any, add: Any, profile: Any, params: Any, V: Any, out: Any,
) -> None:  # fmt: skip
    """``out += K(rows, cols) @ V``; for ``V`` without rows, ``out = K(rows, cols)``."""
    n_cols = col_ptr.size - 1
    strip = np.empty((1, table.shape[1]), dtype=row_data.dtype)
    alone = np.zeros(table.shape[1], dtype=row_data.dtype)
    for first in range(0, n_cols, table.shape[1]):
        last = min(n_cols, first + table.shape[1])
        _spread_columns(col_ptr, col_indices, col_data, first, last, table)
        if not distances:
            alone[: last - first] = col_norms[first:last]
        for i in range(row_ptr.size - 1):
            _fill_strip(row_ptr, row_indices, row_data, i, alone, table, add, strip)
            if distances:
                distances_from_dots(strip[0, : last - first], row_norms[i], col_norms[first:last], table.shape[0])
            elif metric:
                _not_below_zero(strip[0])
            # Lanes past the last column keep an earlier value, so that a profile never meets an invented point.
            for j in range(last - first, table.shape[1]):
                strip[0, j] = strip[0, 0]
            profile(strip, params)
            if V.shape[0] == 0:
                out[i, first:last] = strip[0, : last - first]
            else:
                for o in range(V.shape[1]):
                    total = 0.0
                    for j in range(last - first):
                        total += strip[0, j] * V[first + j, o]
                    out[i, o] += total
        _clear_columns(col_ptr, col_indices, first, last, table)


def _multiply_for(dtype: str) -> Any:
    number = NUMBER[dtype]
    add = types.FunctionType(_add_signature(dtype))
    profile = types.FunctionType(profile_signature(dtype))
    csr = (vector(INDEX), vector(INDEX), vector(number), vector(number))
    return compiled(
        _multiply,
        void(*csr, *csr, matrix(number), types.boolean, types.boolean, add, profile, vector(float64), matrix(float64),
             matrix(float64)),
    )  # fmt: skip


def _add_signature(dtype: str) -> Any:
    number = NUMBER[dtype]
    return void(vector(number), number, vector(number))


@dataclass(frozen=True)
class SparsePoints:
    """Placed points as CSR, with what each point gives against an empty one."""

    data: sparse.csr_array
    norms: Array

    @staticmethod
    def of(data: sparse.csr_array, pairwise: Pairwise) -> SparsePoints:
        match pairwise:
            case Pairwise.SQUARED_DISTANCE:
                norms = data.multiply(data).sum(axis=1)
            case Pairwise.MANHATTAN | Pairwise.CHI_SQUARED:
                norms = abs(data).sum(axis=1)
            case _:
                norms = np.zeros(data.shape[0])
        norms = np.asarray(norms, dtype=data.dtype).reshape(-1)
        refuse_overflow(norms)
        return SparsePoints(data, norms)

    def take(self, indices: Indices) -> SparsePoints:
        return SparsePoints(self.data[indices], np.ascontiguousarray(self.norms[indices]))

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        indptr, indices = (part.astype(np.int64, copy=False) for part in (self.data.indptr, self.data.indices))
        return indptr, indices, self.data.data, self.norms

    def __len__(self) -> int:
        return int(self.data.shape[0])


@dataclass(frozen=True)
class SparseGram:
    """The kernel matrix between two sets of sparse points."""

    kernel: VectorKernel
    placement: Placement
    row_points: SparsePoints
    col_points: SparsePoints
    budget: int
    n_threads: int

    @staticmethod
    def of(kernel: VectorKernel, X: Any, gamma: Any, dtype: str, budget: int, n_threads: int) -> SparseGram:
        """Return the gram of raw sparse rows ``X`` with themselves."""
        placement = Placement.of(kernel, gamma, X, dtype)
        points = SparsePoints.of(placement.sparse(X), kernel.pairwise)
        return SparseGram(kernel, placement, points, points, budget, n_threads)

    @property
    def n_rows(self) -> int:
        return len(self.row_points)

    @property
    def n_terms(self) -> int:
        return len(self.col_points)

    def columns(self, cols: Indices) -> SparseColumns:
        return SparseColumns(self, cols)

    def product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        return self.columns(cols).product(rows, V)

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        return replace(self, row_points=self.col_points, col_points=self.row_points).product(cols, rows, V)

    def add_product(self, cols: Indices, V: Array, out: NDArray[np.float64]) -> int:
        out += self.product(slice(None), cols, V)
        return len(out) * len(V)

    def block(self, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)

    def diagonal(self, rows: Indices) -> NDArray[np.float64]:
        points = self.row_points.take(rows)
        tile = np.zeros((1, len(points)), dtype=self.placement.dtype)
        if self.kernel.pairwise is Pairwise.DOT:
            tile[0] = points.data.multiply(points.data).sum(axis=1)
        self.kernel.profile()(tile, self.kernel.params())
        return np.asarray(tile[0], dtype=np.float64)

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, self.budget // (n_cols * 8))

    def at(self, X: Any) -> SparseGram:
        return replace(self, row_points=SparsePoints.of(self.placement.sparse(X), self.kernel.pairwise))

    def with_rows(self, rows: Indices) -> SparseGram:
        return replace(self, row_points=self.row_points.take(rows))

    def restricted(self, cols: Indices) -> SparseGram:
        return replace(self, col_points=self.col_points.take(cols))

    def detached(self) -> SparseGram:
        return replace(self, row_points=self.row_points.take(slice(0)))

    def threaded(self, n_threads: int) -> SparseGram:
        return replace(self, n_threads=n_threads)


class SparseColumns:
    """Some column points of a sparse gram."""

    def __init__(self, gram: SparseGram, cols: Indices) -> None:
        dtype = gram.placement.dtype
        self._gram = gram
        self._points = gram.col_points.take(cols)
        self._add = pointer(_ADD[gram.kernel.pairwise], _add_signature(dtype))
        self._profile = pointer(gram.kernel.profile(), profile_signature(dtype))
        self._params = gram.kernel.params()

    def __len__(self) -> int:
        return len(self._points)

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        out = np.zeros((count(rows, self._gram.n_rows), V.shape[1]))
        self._run(rows, np.ascontiguousarray(V, dtype=np.float64), out)
        return out

    def block(self, rows: Indices) -> Array:
        out = np.empty((count(rows, self._gram.n_rows), len(self)))
        self._run(rows, np.empty((0, 1)), out)
        return out.astype(self._gram.placement.dtype, copy=False)

    def _run(self, rows: Indices, V: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        dtype = self._gram.placement.dtype
        points = self._gram.row_points.take(rows)
        multiply = _multiply_for(dtype)
        col_arrays = self._points.arrays()
        pairwise = self._gram.kernel.pairwise
        distances = pairwise is Pairwise.SQUARED_DISTANCE
        metric = pairwise in (Pairwise.MANHATTAN, Pairwise.CHI_SQUARED)

        def task(part: slice) -> None:
            table = np.zeros((self._gram.placement.scale.size, TABLE_WIDTH), dtype=dtype)
            multiply(
                *points.take(part).arrays(), *col_arrays, table, distances, metric, self._add, self._profile,
                self._params, V, out[part],
            )  # fmt: skip

        n_threads = self._gram.n_threads
        spread(task, chunks(len(points), max(64, -(-len(points) // n_threads))), n_threads)
