"""The kernel matrix of sparse points (CSR), whatever the number of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from dsekl.compiled import pointer, profile_signature
from dsekl.kernels import Pairwise, VectorKernel
from dsekl.rows import ArrayRows, CsrRows, Rows
from dsekl.workers import ALONE, Workers, chunks

from .gram import Array, Floats, Indices, Values, count, require, require_array
from .loops.walk import (
    COMPARE,
    FEWEST_ENTRIES,
    SLAB_FEATURES,
    comparison_signature,
    multiply_for,
    slab_starts,
    table_width,
)
from .placement import Placement, refuse_overflow

FEWEST_ROWS_A_TASK = 512
"""Each task spreads all columns into a table of its own, which few rows would not pay for."""

WIDE = 256
"""Features from which on a spatial tree prunes next to nothing, so that a sparse gram, which has none, loses none."""

MOST_FILLED = 1 / 3
"""Share of entries that are not 0, up to which walking over them is faster than the dense tile (at 0.19: 1.9 times)."""

MOST_OFFSET = 4.0
"""Mean square of the points over their variance, up to which float32 does not need them centred."""


LOOKED_AT = 4096
"""Rows that tell whether most entries are 0."""


def mostly_empty(kernel: VectorKernel, rows: ArrayRows) -> bool:
    """Tell whether dense rows (pixels, counts, many one-hot codes) are better treated as sparse ones."""
    if rows.n_features < WIDE or len(rows) == 0 or kernel.pairwise not in (Pairwise.DOT, Pairwise.SQUARED_DISTANCE):
        return False
    some = np.asarray(rows.sample(LOOKED_AT), dtype=np.float64)
    offset = np.square(some).mean(axis=0).sum() / max(some.var(axis=0).sum(), np.finfo(np.float64).tiny)
    return bool(np.count_nonzero(some) <= MOST_FILLED * some.size and offset <= MOST_OFFSET)


def _norms(data: sparse.csr_array, pairwise: Pairwise) -> Array:
    match pairwise:
        case Pairwise.SQUARED_DISTANCE:
            norms = data.multiply(data).sum(axis=1)
        case Pairwise.MANHATTAN | Pairwise.CHI_SQUARED:
            norms = abs(data).sum(axis=1)
        case _:
            norms = np.zeros(data.shape[0])
    return np.asarray(norms, dtype=data.dtype).reshape(-1)


@dataclass(frozen=True)
class SparsePoints:
    """Placed points as CSR, with what each point gives against an empty one."""

    data: sparse.csr_array
    norms: Array

    @staticmethod
    def of(data: sparse.csr_array, pairwise: Pairwise) -> SparsePoints:
        norms = _norms(data, pairwise)
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
    workers: Workers

    @staticmethod
    def of(
        kernel: VectorKernel,
        rows: ArrayRows | CsrRows,
        gamma: float | Floats,
        dtype: str,
        budget: int,
        workers: Workers,
    ) -> SparseGram:
        """Return the gram of raw rows with themselves."""
        placement = Placement.of(kernel, gamma, rows, dtype)
        points = SparsePoints.of(placement.sparse(rows), kernel.pairwise)
        return SparseGram(kernel, placement, points, points, budget, workers)

    @property
    def n_rows(self) -> int:
        return len(self.row_points)

    @property
    def n_terms(self) -> int:
        return len(self.col_points)

    @property
    def symmetric(self) -> bool:
        return self.row_points is self.col_points

    @property
    def order(self) -> None:
        return None

    @property
    def reach(self) -> float:
        return np.inf

    def columns(self, cols: Indices) -> SparseColumns:
        return SparseColumns(self, cols)

    def product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        return self.columns(cols).product(rows, V)

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        return replace(self, row_points=self.col_points, col_points=self.row_points).product(cols, rows, V)

    def add_product(self, cols: Indices, V: Array, out: Floats) -> int:
        return self.columns(cols).add_product(self.row_points, V, out)

    def block(self, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)

    def diagonal(self) -> Floats:
        points = self.row_points
        tile = np.zeros((1, len(points)), dtype=self.placement.dtype)
        if self.kernel.pairwise is Pairwise.DOT:
            tile[0] = points.data.multiply(points.data).sum(axis=1)
        self.kernel.profile()(tile, self.kernel.params())
        return np.asarray(tile[0], dtype=np.float64)

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, self.budget // (n_cols * 8))

    def at(self, rows: Rows) -> SparseGram:
        if not isinstance(rows, ArrayRows | CsrRows):
            raise TypeError(f"kernel={self.kernel!r} takes rows of numbers, not {type(rows).__name__}")
        return replace(self, row_points=SparsePoints.of(self.placement.sparse(rows), self.kernel.pairwise))

    def with_rows(self, rows: Indices) -> SparseGram:
        return replace(self, row_points=self.row_points.take(rows))

    def restricted(self, cols: Indices) -> SparseGram:
        return replace(self, col_points=self.col_points.take(cols))

    def detached(self) -> SparseGram:
        return replace(self, row_points=self.row_points.take(slice(0)))

    def square(self) -> SparseGram:
        return replace(self, row_points=self.col_points)

    def with_workers(self, workers: Workers) -> SparseGram:
        return replace(self, workers=workers)

    def to_values(self) -> Values:
        csr, norms = self.col_points.data, self.col_points.norms
        points = {"entries": csr.data, "features": csr.indices, "starts": csr.indptr, "norms": norms}
        return {"kind": "sparse", **points, **self.placement.to_values(), "budget": self.budget}

    @staticmethod
    def from_values(kernel: VectorKernel, values: Values, budget: int) -> SparseGram:
        """Return what ``to_values`` described."""
        placement, entries = Placement.from_values(values), values["entries"]
        features, starts, norms = values["features"], values["starts"], values["norms"]
        require_array(entries, "entries of the kernel's type", placement.dtype)
        require(all(isinstance(part, np.ndarray) for part in (features, starts)), "places of entries")
        require(features.dtype == starts.dtype and features.dtype in (np.int32, np.int64), "places of entries")
        require(features.ndim == starts.ndim == 1 and len(starts) > 0, "places of entries")
        require_array(norms, "norms of the kernel's type", placement.dtype)
        require(kernel.pairwise is not Pairwise.CHI_SQUARED or entries.min(initial=0) >= 0, "no negative entries")
        rows = sparse.csr_array((entries, features, starts), shape=(len(starts) - 1, placement.scale.size))
        rows.check_format(full_check=True)
        require(rows.has_canonical_format, "entries in order")
        require(norms.shape == rows.shape[:1], "one norm per point")
        require(np.allclose(norms, _norms(rows, kernel.pairwise), rtol=1e-3), "the norms of its points")
        points = SparsePoints(rows, norms)
        return SparseGram(kernel, placement, points.take(slice(0)), points, budget, ALONE)


class SparseColumns:
    """Some column points of a sparse gram."""

    def __init__(self, gram: SparseGram, cols: Indices) -> None:
        self._gram = gram
        self._points = gram.col_points.take(cols)

    def __len__(self) -> int:
        return len(self._points)

    def product(self, rows: Indices, V: Array) -> Floats:
        out = np.zeros((count(rows, self._gram.n_rows), V.shape[1]))
        self.add_product(self._gram.row_points.take(rows), V, out)
        return out

    def add_product(self, points: SparsePoints, V: Array, out: Floats) -> int:
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

        rows_a_task = max(FEWEST_ROWS_A_TASK, -(-len(points) // (4 * gram.workers.count)))
        gram.workers.map(task, chunks(len(points), rows_a_task))
