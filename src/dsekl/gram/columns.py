"""Columns of the kernel matrix of dense points: what is packed, pruned and spread over threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import comparison_signature, pointer, profile_signature
from dsekl.kernels import Pairwise

from .gram import Array, Indices
from .loops.microtile import COMPARE, LINE_BYTES, TILE_ROWS
from .loops.strips import fill_for, multiply_for, runs_near
from .points import Packed

if TYPE_CHECKING:
    from .dense import DenseGram, Points

STRIP_BYTES = 2**17
"""Packed columns that one strip uses: half of a small second-level cache."""

MOST_STRIP_GROUPS = 32
"""Groups in a strip: 6 x 32 x 64 bytes are 12 KB, which fit the first-level cache."""

TASKS_A_WORKER = 8
"""Tasks that even out what pruning leaves uneven."""

LEAST_PARALLEL_WORK = 2_000_000
"""Multiplications below which threads cost more than they save."""


class DenseColumns:
    """Some column points, packed."""

    def __init__(self, gram: DenseGram, packed: Packed) -> None:
        dtype = gram.placement.dtype
        self._gram, self._packed, self._n_cols = gram, packed, len(packed)
        nowhere = np.empty((0, 0), dtype=dtype)
        self._boxes = packed.boxes if np.isfinite(gram.reach) and len(packed) else (nowhere, nowhere)
        self._reach = gram.reach if len(packed) else np.inf
        line_bytes = LINE_BYTES * max(1, packed.points.shape[1])
        self._strip_groups = max(4, min(MOST_STRIP_GROUPS, STRIP_BYTES // line_bytes))
        self._compare = pointer(COMPARE[gram.kernel.pairwise], comparison_signature(dtype))
        self._profile = pointer(gram.kernel.profile(), profile_signature(dtype))
        self._params = gram.kernel.params()

    @staticmethod
    def of(gram: DenseGram, cols: Indices) -> DenseColumns:
        """Pack some columns of a gram."""
        return DenseColumns(gram, Packed.of(np.ascontiguousarray(gram.col_points.data[cols])))

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

    def add_product(self, points: Points, V: Array, out: NDArray[np.float64]) -> int:
        """Add ``K(points, cols) @ V`` to ``out``; return the evaluations made."""
        dtype = self._gram.placement.dtype
        weights = np.zeros((V.shape[1], self._packed.norms.size), dtype=dtype)
        weights[:, : self._n_cols] = V.T
        multiply = multiply_for(dtype)
        runs = self._runs(points)

        def task(part: NDArray[np.intp]) -> int:
            held = points.held(part, *runs)
            sums = out[held.rows]
            evaluations = multiply(*held.arrays, *self._cols(), weights, self._strip_groups, *self._kernel(), sums)
            if not isinstance(held.rows, slice):
                out[held.rows] = sums
            return int(evaluations)

        return sum(self._gram.workers.map(task, self._tasks(points, *runs, prune=True)))

    def block(self, rows: Indices) -> Array:
        dtype = self._gram.placement.dtype
        points = self._gram.row_points.take(self._gram.row_places(rows))
        out = np.empty((len(points), self._n_cols), dtype=dtype)
        fill = fill_for(dtype)
        runs = self._runs(points)

        def task(part: NDArray[np.intp]) -> None:
            held = points.held(part, *runs)
            fill(*held.arrays, *self._cols(), self._strip_groups, *self._kernel(), out[held.rows])

        self._gram.workers.map(task, self._tasks(points, *runs, prune=False))
        return out

    def _runs(self, points: Points) -> tuple[NDArray[np.int64], Array, Array]:
        """Return where the runs of rows start, and their boxes; unpruned, a few long runs keep columns cached."""
        if np.isfinite(self._gram.reach) and self._n_cols:
            return points.run_starts, *points.boxes
        n_runs = TASKS_A_WORKER * self._gram.workers.count
        size = min(TILE_ROWS * max(1, -(-len(points) // (TILE_ROWS * n_runs))), points.most_rows)
        starts = np.minimum(np.arange(-(-len(points) // size) + 1) * size, len(points))
        nowhere = np.empty((len(starts), 0), dtype=self._gram.placement.dtype)
        return starts, nowhere, nowhere

    def _cols(self) -> tuple[Any, ...]:
        manhattan = self._gram.kernel.pairwise is Pairwise.MANHATTAN
        return self._packed.lines, self._packed.norms, *self._boxes, self._reach, manhattan

    def _kernel(self) -> tuple[Any, ...]:
        return self._compare, self._profile, self._params

    def _tasks(
        self, points: Points, starts: NDArray[np.int64], lo: Array, hi: Array, prune: bool
    ) -> list[NDArray[np.intp]]:  # fmt: skip
        """Cut the runs into several tasks per worker; small work stays with one.

        Runs in a file that the columns cannot reach are not worth reading, where ``prune`` allows to leave them out.
        """
        if points.in_file and prune and np.isfinite(self._reach):
            everything = (side[-1] for side in self._boxes)
            runs = runs_near(lo, hi, *everything, self._reach, self._gram.kernel.pairwise is Pairwise.MANHATTAN)
        else:
            runs = np.arange(len(starts) - 1, dtype=np.intp)
        if not len(runs):
            return []
        n_rows = int((starts[runs + 1] - starts[runs]).sum())
        work = n_rows * self._n_cols * self._packed.points.shape[1]
        n_tasks = min(len(runs), TASKS_A_WORKER * self._gram.workers.count if work >= LEAST_PARALLEL_WORK else 1)
        if points.in_file:
            # Neighbours share pages of the file, so they are read together.
            return np.array_split(runs, min(len(runs), max(n_tasks, -(-n_rows // points.most_rows))))
        # Near runs are neighbours in number: dealt out round-robin, they do not all fall to one worker.
        return [np.ascontiguousarray(runs[k::n_tasks]) for k in range(n_tasks)]


class StoredColumns:
    """Some columns of points in a file, packed when they are used."""

    def __init__(self, gram: DenseGram, cols: Indices) -> None:
        self._gram = gram
        self._cols = np.arange(gram.n_terms)[cols] if isinstance(cols, slice) else cols

    def __len__(self) -> int:
        return len(self._cols)

    def block(self, rows: Indices) -> Array:
        return DenseColumns.of(self._gram, self._cols).block(rows)

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        return self._gram.product(rows, self._cols, V)
