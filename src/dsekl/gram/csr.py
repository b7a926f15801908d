"""The kernel matrix of sparse points (CSR), whatever the number of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.kernels import Pairwise, VectorKernel

from .contract import Array, Indices, count
from .function_pointer import pointer, profile_signature
from .placement import Placement, refuse_overflow
from .threads import chunks, spread
from .walk import COMPARE, FEWEST_ENTRIES, SLAB_FEATURES, comparison_signature, multiply_for, slab_starts, table_width

FEWEST_ROWS_A_TASK = 512
"""Each task spreads all columns into a table of its own, which few rows would not pay for."""

WIDE = 256
"""Features from which on a spatial tree prunes next to nothing, so that a sparse gram, which has none, loses none."""

MOST_FILLED = 1 / 3
"""Share of entries that are not 0, up to which walking over them is faster than the dense tile (at 0.19: 1.9 times)."""

MOST_OFFSET = 4.0
"""Mean square of the points over their variance, up to which float32 does not need them centred."""


def mostly_empty(kernel: VectorKernel, X: Array) -> bool:
    """Tell whether dense rows (pixels, counts, many one-hot codes) are better treated as sparse ones."""
    if X.shape[1] < WIDE or len(X) == 0 or kernel.pairwise not in (Pairwise.DOT, Pairwise.SQUARED_DISTANCE):
        return False
    some = np.asarray(X[:: -(-len(X) // 4096)], dtype=np.float64)
    offset = np.square(some).mean(axis=0).sum() / max(some.var(axis=0).sum(), np.finfo(np.float64).tiny)
    return bool(np.count_nonzero(some) <= MOST_FILLED * some.size and offset <= MOST_OFFSET)


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
        if isinstance(indices, slice) and indices == slice(None):
            return self
        return SparsePoints(self.data[indices], np.ascontiguousarray(self.norms[indices]))

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Starts (n, n_slabs + 1) of the points' entries, slab by slab, the entries' features and values, the norms."""
        features = self.data.indices.astype(np.int32, copy=False)
        n_slabs = min(-(-self.data.shape[1] // SLAB_FEATURES), self.data.nnz // (FEWEST_ENTRIES * max(1, len(self))))
        first_features = np.linspace(0, self.data.shape[1], max(1, n_slabs), endpoint=False, dtype=np.int32)
        starts = slab_starts(self.data.indptr.astype(np.int64, copy=False), features, first_features)
        return starts, features, self.data.data, self.norms

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
        return self.columns(cols).add_product(self.row_points, V, out)

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
        self._gram = gram
        self._points = gram.col_points.take(cols)

    def __len__(self) -> int:
        return len(self._points)

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        out = np.zeros((count(rows, self._gram.n_rows), V.shape[1]))
        self.add_product(self._gram.row_points.take(rows), V, out)
        return out

    def add_product(self, points: SparsePoints, V: Array, out: NDArray[np.float64]) -> int:
        """Add ``K(points, cols) @ V`` to ``out``; return the evaluations made."""
        self._run(points, np.ascontiguousarray(V.T, dtype=self._gram.placement.dtype), out)
        return len(points) * len(self)

    def block(self, rows: Indices) -> Array:
        points = self._gram.row_points.take(rows)
        out = np.empty((len(points), len(self)), dtype=self._gram.placement.dtype)
        self._run(points, np.empty((0, len(self)), dtype=out.dtype), out)
        return out

    def _run(self, points: SparsePoints, V: Array, out: Array) -> None:
        gram, dtype = self._gram, self._gram.placement.dtype
        multiply = multiply_for(dtype, out.dtype.name)
        compare = pointer(COMPARE[gram.kernel.pairwise], comparison_signature(dtype))
        profile = pointer(gram.kernel.profile(), profile_signature(dtype))
        rows, cols, params = points.arrays, self._points.arrays, gram.kernel.params()

        def task(part: slice) -> None:
            table = np.zeros((gram.placement.scale.size, table_width(dtype)), dtype=dtype)
            multiply(*rows, part.start, part.stop, *cols, table, compare, profile, params, V, out)

        rows_a_task = max(FEWEST_ROWS_A_TASK, -(-len(points) // (4 * gram.n_threads)))
        spread(task, chunks(len(points), rows_a_task), gram.n_threads)
