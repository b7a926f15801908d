"""The kernel matrix of dense points: what is packed, pruned and spread over threads.

For kernels that decay with distance, the training points are put into a spatial order, and pairs of runs that the
kernel cannot reach are never evaluated. Every skipped kernel value is below ``kernel_tol``, so f is wrong by at most
``kernel_tol * |coef|_1``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Pairwise, VectorKernel

from .contract import Array, Indices, count
from .function_pointer import comparison_signature, pointer, profile_signature
from .microtile import COMPARE, LINE_BYTES, TILE_ROWS
from .placement import Placement
from .points import DensePoints, boxes_of, pack
from .strips import fill_for, multiply_for
from .threads import chunks, spread
from .tree import spatial_order

PANEL_BYTES = 2**17
"""Packed columns that one strip uses: half of a small second-level cache."""

MOST_PANEL_GROUPS = 32
"""Lines in a strip: 6 x 32 x 64 bytes are 12 KB, which fit the first-level cache."""

TASKS_A_THREAD = 8
"""Tasks that even out what pruning leaves uneven."""

LEAST_PARALLEL_WORK = 2_000_000
"""Multiplications below which threads cost more than they save."""

FEWEST_ORDERED = 1_000
"""Points below which an order saves nothing."""


@dataclass(frozen=True)
class DenseGram:
    """The kernel matrix between two sets of dense points.

    ``order`` tells which raw row each row point is, where the training rows were put into a spatial order.
    ``row_rank`` is the place of each raw query row among the row points, where queries were.
    """

    kernel: VectorKernel
    placement: Placement
    row_points: DensePoints
    col_points: DensePoints
    budget: int
    n_threads: int
    reach: float
    order: NDArray[np.intp] | None = None
    row_rank: NDArray[np.intp] | None = None

    @staticmethod
    def of(
        kernel: VectorKernel, X: Array, gamma: Any, dtype: str, budget: int, n_threads: int, kernel_tol: float
    ) -> DenseGram:
        """Return the gram of raw rows ``X`` with themselves."""
        kernel.profile()  # refuses bad parameters before anything is computed from them
        placement = Placement.of(kernel, gamma, X, dtype)
        reach = kernel.reach(kernel_tol) if kernel_tol > 0 else np.inf
        data, order, leaf = placement.dense(X), None, None
        if np.isfinite(reach) and len(data) >= FEWEST_ORDERED:
            order, leaf = spatial_order(data, n_threads)
            data = data[order]
        points = DensePoints.of(data, leaf)
        return DenseGram(kernel, placement, points, points, budget, n_threads, reach, order)

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
        chosen = self.row_points.take(self.row_places(rows))
        return replace(self, row_points=self.col_points, col_points=chosen, row_rank=None).product(cols, slice(None), V)

    def add_product(self, cols: Indices, V: Array, out: NDArray[np.float64]) -> int:
        return self.columns(cols).add_product(self.row_points, V, out)

    def block(self, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)

    def diagonal(self, rows: Indices) -> NDArray[np.float64]:
        points = self.row_points.take(rows)
        match self.kernel.pairwise:
            case Pairwise.DOT:
                tile = points.norms[None].copy()
            case _:
                tile = np.zeros((1, len(points)), dtype=points.data.dtype)
        self.kernel.profile()(tile, self.kernel.params())
        return np.asarray(tile[0], dtype=np.float64)

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, self.budget // (max(1, n_cols) * self.col_points.data.itemsize))

    def at(self, X: Any) -> DenseGram:
        data, rank, leaf = self.placement.dense(X), None, None
        if np.isfinite(self.reach) and len(data) >= FEWEST_ORDERED:
            order, leaf = spatial_order(data, self.n_threads)
            data, rank = data[order], np.empty_like(order)
            rank[order] = np.arange(len(order))
        return replace(self, row_points=DensePoints.of(data, leaf), order=None, row_rank=rank)

    def with_rows(self, rows: Indices) -> DenseGram:
        return replace(self, row_points=self.row_points.take(rows), order=None)

    def restricted(self, cols: Indices) -> DenseGram:
        return replace(self, col_points=self.col_points.take(cols))

    def detached(self) -> DenseGram:
        return replace(self, row_points=self.row_points.take(slice(0)), order=None, row_rank=None)

    def threaded(self, n_threads: int) -> DenseGram:
        return replace(self, n_threads=n_threads)

    def row_places(self, rows: Indices) -> Indices:
        """Return where the rows that the caller means are among the row points."""
        return rows if self.row_rank is None else self.row_rank[rows]


class DenseColumns:
    """Some column points, packed."""

    def __init__(self, gram: DenseGram, cols: Indices) -> None:
        dtype = gram.placement.dtype
        data = np.ascontiguousarray(gram.col_points.data[cols])
        self._gram = gram
        self._n_cols = len(data)
        self._packed, self._norms = pack(data)
        width = self._packed.shape[2]
        if np.isfinite(gram.reach) and len(data):
            # The box of each group, and behind them the box of all.
            starts = np.minimum(np.arange(len(self._packed) + 1) * width, len(data))
            lo, hi = boxes_of(data, starts)
            self._boxes = np.vstack([lo, lo.min(axis=0)]), np.vstack([hi, hi.max(axis=0)])
        else:
            self._boxes = np.empty((0, 0), dtype=dtype), np.empty((0, 0), dtype=dtype)
        self._panel = max(4, min(MOST_PANEL_GROUPS, PANEL_BYTES // (LINE_BYTES * max(1, data.shape[1]))))
        self._compare = pointer(COMPARE[gram.kernel.pairwise], comparison_signature(dtype))
        self._profile = pointer(gram.kernel.profile(), profile_signature(dtype))
        self._params = gram.kernel.params()

    def __len__(self) -> int:
        return self._n_cols

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        rank = self._gram.row_rank
        if rank is not None and isinstance(rows, slice) and rows == slice(None):
            # All queries: computed in their spatial order, returned in the caller's.
            ordered = np.zeros((len(rank), V.shape[1]))
            self.add_product(self._gram.row_points, V, ordered)
            return ordered[rank]
        points = self._gram.row_points.take(self._gram.row_places(rows))
        out = np.zeros((len(points), V.shape[1]))
        self.add_product(points, V, out)
        return out

    def add_product(
        self, points: DensePoints, V: Array, out: NDArray[np.float64], runs: NDArray[np.intp] | None = None
    ) -> int:
        """Add ``K(points, cols) @ V`` to ``out``, for some runs of the points or all; return the evaluations made."""
        dtype = self._gram.placement.dtype
        weights = np.zeros((V.shape[1], self._norms.size), dtype=dtype)
        weights[:, : self._n_cols] = V.T
        multiply = multiply_for(dtype)
        starts, *boxes = self._runs(points)

        def task(part: NDArray[np.intp]) -> int:
            rows = (points.data, points.norms, part, starts, *boxes)
            return int(multiply(*rows, *self._cols(), weights, self._panel, *self._kernel(), out))

        return sum(spread(task, self._tasks(starts, runs), self._gram.n_threads))

    def block(self, rows: Indices) -> Array:
        dtype = self._gram.placement.dtype
        points = self._gram.row_points.take(self._gram.row_places(rows))
        out = np.empty((len(points), self._n_cols), dtype=dtype)
        fill = fill_for(dtype)
        starts, *boxes = self._runs(points)

        def task(part: NDArray[np.intp]) -> None:
            rows = (points.data, points.norms, part, starts, *boxes)
            fill(*rows, *self._cols(), self._panel, *self._kernel(), out)

        spread(task, self._tasks(starts, None), self._gram.n_threads)
        return out

    def _runs(self, points: DensePoints) -> tuple[NDArray[np.int64], Array, Array]:
        """Return where the runs of rows start, and their boxes; unpruned, a few long runs keep columns cached."""
        if np.isfinite(self._gram.reach) and self._n_cols:
            return points.run_starts, *points.boxes
        n_runs = TASKS_A_THREAD * self._gram.n_threads
        size = TILE_ROWS * max(1, -(-len(points) // (TILE_ROWS * n_runs)))
        starts = np.minimum(np.arange(-(-len(points) // size) + 1) * size, len(points))
        nowhere = np.empty((len(starts), 0), dtype=points.data.dtype)
        return starts, nowhere, nowhere

    def _cols(self) -> tuple[Any, ...]:
        reach = self._gram.reach if self._n_cols else np.inf
        return self._packed, self._norms, *self._boxes, reach, self._gram.kernel.pairwise is Pairwise.MANHATTAN

    def _kernel(self) -> tuple[Any, ...]:
        return self._compare, self._profile, self._params

    def _tasks(self, starts: NDArray[np.int64], runs: NDArray[np.intp] | None) -> list[NDArray[np.intp]]:
        """Cut the runs into several tasks per thread; small work stays on one thread."""
        runs = np.arange(len(starts) - 1, dtype=np.intp) if runs is None else runs
        if not len(runs):
            return []
        work = (starts[runs + 1] - starts[runs]).sum() * self._n_cols * self._packed.shape[1]
        n_tasks = TASKS_A_THREAD * self._gram.n_threads if work >= LEAST_PARALLEL_WORK else 1
        # Near runs are neighbours in number: dealt out like cards, they do not all fall to one thread.
        return [np.ascontiguousarray(runs[k::n_tasks]) for k in range(min(n_tasks, len(runs)))]
