"""The kernel matrix of sparse points (CSR), whatever the number of features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from dsekl.compiled import pointer, profile_signature
from dsekl.kernels import Pairwise, VectorKernel
from dsekl.rows import ArrayRows, CsrRows, Rows, StoredRows
from dsekl.workers import ALONE, Workers, chunks

from .gram import Array, Floats, Indices, Values, count, require, require_array
from .loops.walk import COMPARE, comparison_signature, multiply_for, table_width
from .placement import Placement
from .sparse_points import Features, SparsePoints, norms_of
from .tables import Part, parts

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


@dataclass(frozen=True)
class SparseGram:
    """The kernel matrix between two sets of sparse points, whose features are numbered by those of the columns."""

    kernel: VectorKernel
    placement: Placement
    features: Features
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
        placement = Placement.of_sparse(kernel, gamma, rows, dtype)
        data = placement.sparse(rows)
        features = Features.of(data)
        points = SparsePoints.of(data, kernel.pairwise, features)
        return SparseGram(kernel, placement, features, points, points, budget, workers)

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
        if isinstance(rows, StoredRows):  # a prediction's part, few enough to be held
            rows = ArrayRows(rows.dense(slice(None)))
        if not isinstance(rows, ArrayRows | CsrRows):
            raise TypeError(f"kernel={self.kernel!r} takes rows of numbers, not {type(rows).__name__}")
        points = SparsePoints.of(self.placement.sparse(rows), self.kernel.pairwise, self.features)
        return replace(self, row_points=points)

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

    def row_matrix(self) -> sparse.csr_array:
        """Return the row points of a symmetric gram with all features of X."""
        return self.features.original(self.row_points.data)

    def to_values(self) -> Values:
        csr, norms = self.features.original(self.col_points.data), self.col_points.norms
        points = {"entries": csr.data, "features": csr.indices, "starts": csr.indptr, "norms": norms}
        return {"kind": "sparse", **points, **self.placement.to_values(), "budget": self.budget}

    @staticmethod
    def from_values(kernel: VectorKernel, values: Values, budget: int) -> SparseGram:
        """Return what ``to_values`` described."""
        # Files of format 1 have the centre of dense rows that are mostly zero, which their points never had.
        placement, entries = replace(Placement.from_values(values), center=None, reshaping=None), values["entries"]
        features, starts, norms = values["features"], values["starts"], values["norms"]
        require_array(entries, "entries of the kernel's type", placement.dtype)
        require(all(isinstance(part, np.ndarray) for part in (features, starts)), "places of entries")
        require(features.dtype == starts.dtype and features.dtype in (np.int32, np.int64), "places of entries")
        require(features.ndim == starts.ndim == 1 and len(starts) > 0, "places of entries")
        require_array(norms, "norms of the kernel's type", placement.dtype)
        require(kernel.pairwise is not Pairwise.CHI_SQUARED or entries.min(initial=0) >= 0, "no negative entries")
        rows = sparse.csr_array((entries, features, starts), shape=(len(starts) - 1, placement.n_features))
        rows.check_format(full_check=True)
        require(rows.has_canonical_format, "entries in order")
        require(norms.shape == rows.shape[:1], "one norm per point")
        require(np.allclose(norms, norms_of(rows, kernel.pairwise), rtol=1e-3), "the norms of its points")
        known = Features.of(rows)
        points = SparsePoints(known.numbered(rows), norms)
        return SparseGram(kernel, placement, known, points.take(slice(0)), points, budget, ALONE)


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
        gram, (starts, features, _, _) = self._gram, self._points.arrays
        row_features = points.arrays[1]
        for part in parts(row_features, starts, features, gram.features.count, gram.placement.dtype, gram.budget):
            self._run_part(part, points, V, out)

    def _run_part(self, part: Part, points: SparsePoints, V: Array, out: Array) -> None:
        gram, dtype = self._gram, self._gram.placement.dtype
        multiply = multiply_for(dtype, out.dtype.name)
        compare = pointer(COMPARE[gram.kernel.pairwise], comparison_signature(dtype))
        profile = pointer(gram.kernel.profile(), profile_signature(dtype))
        row_starts, _, row_entries, row_norms = points.arrays
        col_starts, _, col_entries, col_norms = self._points.arrays
        rows = (row_starts, part.row_lines, row_entries, row_norms)
        cols = (col_starts, part.col_lines, col_entries, col_norms)
        params, n_features = gram.kernel.params(), gram.placement.n_features

        def task(some: slice) -> None:
            table = np.zeros((part.n_lines, table_width(dtype)), dtype=dtype)
            multiply(
                *rows, some.start, some.stop, *cols, part.begin, part.end, n_features,
                table, compare, profile, params, V, out,
            )  # fmt: skip

        at_once = part.tables_within(gram.budget)
        n_tasks = 4 * gram.workers.count if at_once >= gram.workers.count else at_once
        gram.workers.map(task, chunks(len(points), max(FEWEST_ROWS_A_TASK, -(-len(points) // n_tasks))))
