"""The kernel matrix of dense points, in memory or in a file.

For kernels that decay with distance, the training points are put into a spatial order, and pairs of runs that the
kernel cannot reach are never evaluated. Every skipped kernel value is below ``kernel_tol``, so f is wrong by at most
``kernel_tol * |coef|_1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Pairwise, VectorKernel
from dsekl.rows import ArrayRows, CsrRows, DenseRows, Reshaping, Rows, StoredRows
from dsekl.workers import ALONE, Workers, chunks

from .columns import DenseColumns, StoredColumns
from .gram import Array, Columns, Floats, Indices, Values, count, require, require_array
from .placement import Placement
from .points import DensePoints
from .stored_order import stored_in_order
from .stored_points import StoredPoints
from .tree import spatial_order

FEWEST_ORDERED = 1_000
"""Points below which an order saves nothing."""

PACKED_SHARE = 0.25
"""Share of the memory budget that a model's points may take a second time, packed."""

Points = DensePoints | StoredPoints
Order = NDArray[np.intp]


@dataclass(frozen=True)
class DenseGram:
    """The kernel matrix between two sets of dense points.

    ``order`` tells which raw row each row point is, where the training rows were put into a spatial order.
    ``row_rank`` is the place of each raw query row among the row points, where queries were.
    """

    kernel: VectorKernel
    placement: Placement
    row_points: Points
    col_points: Points
    budget: int
    workers: Workers
    reach: float
    order: NDArray[np.intp] | None = None
    row_rank: NDArray[np.intp] | None = None

    @staticmethod
    def of(
        kernel: VectorKernel, rows: DenseRows, gamma: float | Floats, dtype: str, budget: int, workers: Workers,
        kernel_tol: float, reshaping: Reshaping | None = None,
    ) -> DenseGram:  # fmt: skip
        """Return the gram of raw rows with themselves."""
        kernel.profile()  # refuses bad parameters before anything is computed from them
        placement = Placement.of(kernel, gamma, rows, dtype, reshaping)
        reach = kernel.reach(kernel_tol) if kernel_tol > 0 else np.inf
        points, order = _points(placement, rows, reach, budget, workers)
        return DenseGram(kernel, placement, points, points, budget, workers, reach, order)

    @property
    def n_rows(self) -> int:
        return len(self.row_points)

    @property
    def n_terms(self) -> int:
        return len(self.col_points)

    @property
    def symmetric(self) -> bool:
        return self.row_points is self.col_points

    def columns(self, cols: Indices) -> Columns:
        # Columns of points in a file would together be a copy of it, so they are packed when they are used.
        return StoredColumns(self, cols) if self.col_points.in_file else DenseColumns.of(self, cols)

    def product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        out = np.zeros((count(rows, self.n_rows), V.shape[1]))
        for columns, part in self._packed(cols):
            out += columns.product(rows, V[part])
        return out

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        # A kernel is symmetric, so the transpose is the same product with the two sides exchanged.
        chosen = self.row_points.take(self.row_places(rows))
        return replace(self, row_points=self.col_points, col_points=chosen, row_rank=None).product(cols, slice(None), V)

    def add_product(self, cols: Indices, V: Array, out: Floats) -> int:
        return sum(columns.add_product(self.row_points, V[part], out) for columns, part in self._packed(cols))

    def block(self, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)

    def diagonal(self) -> Floats:
        if self.kernel.pairwise is Pairwise.DOT:
            tile = self.row_points.norms[None].copy()
        else:
            tile = np.zeros((1, self.n_rows), dtype=self.placement.dtype)
        self.kernel.profile()(tile, self.kernel.params())
        return np.asarray(tile[0], dtype=np.float64)

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, self.budget // (max(1, n_cols) * self._item_bytes))

    def at(self, rows: Rows) -> DenseGram:
        if not isinstance(rows, ArrayRows | CsrRows | StoredRows):
            raise TypeError(f"kernel={self.kernel!r} takes rows of numbers, not {type(rows).__name__}")
        points, order = _points(self.placement, rows, self.reach, self.budget, self.workers)
        rank = None
        if order is not None:
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
        return replace(self, row_points=points, order=None, row_rank=rank)

    def with_rows(self, rows: Indices) -> DenseGram:
        return replace(self, row_points=self.row_points.take(rows), order=None)

    def restricted(self, cols: Indices) -> DenseGram:
        return replace(self, col_points=self.col_points.take(cols))

    def square(self) -> DenseGram:
        return replace(self, row_points=self.col_points, order=None, row_rank=None)

    def detached(self) -> DenseGram:
        nothing, kept = self.row_points.take(slice(0)), self.col_points.kept(self.budget)
        return replace(self, row_points=nothing, col_points=kept, order=None, row_rank=None)

    def with_workers(self, workers: Workers) -> DenseGram:
        return replace(self, workers=workers)

    def to_values(self) -> Values:
        data = np.asarray(self.col_points.data)  # those of a mapped X may be in a file of their own
        points = {"data": data, "norms": self.col_points.norms, "leaf": self.col_points.leaf}
        return {
            "kind": "dense",
            **points,
            "reach": float(self.reach),
            **self.placement.to_values(),
            "budget": self.budget,
        }

    @staticmethod
    def from_values(kernel: VectorKernel, values: Values, budget: int) -> DenseGram:
        """Return what ``to_values`` described."""
        placement, data, leaf, norms = Placement.from_values(values), values["data"], values["leaf"], values["norms"]
        require(isinstance(data, np.ndarray) and data.dtype == placement.dtype, "points of the kernel's type")
        require(data.ndim == 2 and data.shape[1] == placement.n_features, "points with one column per feature")
        require_array(leaf, "leaves", "int64")
        require_array(norms, "norms of the kernel's type", placement.dtype)
        require(norms.shape == leaf.shape == data.shape[:1], "one norm and one leaf per point")
        # A norm is finite if and only if its point is; so one pass over the points finds all that is wrong with both.
        require(np.allclose(np.einsum("ij,ij->i", data, data), norms, rtol=1e-3), "the norms of its points")
        require(kernel.pairwise is not Pairwise.CHI_SQUARED or data.min(initial=0) >= 0, "points that are not negative")
        points = DensePoints(data, norms, leaf)
        reach = values["reach"]
        require(type(reach) is float and reach > 0, "a reach of the kernel")
        return DenseGram(kernel, placement, points.take(slice(0)), points, budget, ALONE, reach)

    def row_places(self, rows: Indices) -> Indices:
        """Return where the rows that the caller means are among the row points."""
        return rows if self.row_rank is None else self.row_rank[rows]

    @property
    def _item_bytes(self) -> int:
        return np.dtype(self.placement.dtype).itemsize

    def _packed(self, cols: Indices) -> Iterator[tuple[DenseColumns, slice]]:
        """Yield as many columns at a time as the budget holds twice, raw and packed, and which of ``cols`` they are.

        New rows may come one at a time: for them, all columns stay packed if they are few for the budget.
        """
        points = self.col_points
        of_new_rows = not self.symmetric and isinstance(cols, slice) and cols == slice(None)
        if of_new_rows and isinstance(points, DensePoints) and points.data.nbytes <= PACKED_SHARE * self.budget:
            yield DenseColumns(self, points.packed), slice(None)
            return
        indices = np.arange(self.n_terms)[cols] if isinstance(cols, slice) else cols
        point_bytes = self._item_bytes * max(1, self.placement.n_features)
        for part in chunks(len(indices), max(1024, self.budget // (2 * point_bytes))):
            yield DenseColumns.of(self, indices[part]), part


def _points(
    placement: Placement, rows: DenseRows | CsrRows, reach: float, budget: int, workers: Workers
) -> tuple[Points, Order | None]:
    """Return the points of raw rows, and their spatial order where the kernel has a reach to prune by."""
    ordered = np.isfinite(reach) and len(rows) >= FEWEST_ORDERED
    if isinstance(rows, StoredRows):
        if not ordered:
            return StoredPoints.of(placement.stored(rows)), None
        stored, order, leaf = stored_in_order(placement, rows, budget, workers)
        return StoredPoints.of(stored, leaf), order
    data = placement.in_memory(rows)
    if not ordered:
        return DensePoints.of(data), None
    order, leaf = spatial_order(data, workers)
    return DensePoints.of(data[order], leaf), order
