"""Points in a file, with the face of ``DensePoints``: what is one number per row is in memory, the points are not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsekl.rows import RowFile, StoredRows

from .gram import Array, Indices
from .loops.microtile import TILE_ROWS
from .points import DensePoints, Held, boxes_of, run_starts, square_norms
from .tree import LEAF

HELD_BYTES = 2**23
"""Points that a task of a product reads into memory; as few are taken out of the file for good."""


@dataclass(frozen=True, eq=False)
class StoredPoints:
    """Placed points in a file, their squared norms, and the tree's leaf of each."""

    data: StoredRows
    norms: Array
    leaf: NDArray[np.int64]

    @staticmethod
    def of(data: StoredRows, leaf: NDArray[np.int64] | None = None) -> StoredPoints:
        """Return points with the leaves of a spatial order, or one leaf for all where there is no order."""
        norms = np.concatenate([square_norms(rows) for _, rows in data.chunks()])
        return StoredPoints(data, norms, np.zeros(len(data), dtype=np.int64) if leaf is None else leaf)

    in_file: ClassVar = True

    @property
    def most_rows(self) -> int:
        """How many points a task may hold."""
        return max(LEAF, HELD_BYTES // self.data.row_bytes // TILE_ROWS * TILE_ROWS)

    def take(self, indices: Indices) -> DensePoints | StoredPoints:
        """Return some of the points: few in memory, many where they are."""
        if isinstance(indices, slice) and indices == slice(None):
            return self
        chosen = self.data.take(indices)
        norms, leaf = np.ascontiguousarray(self.norms[indices]), np.ascontiguousarray(self.leaf[indices])
        if len(chosen) <= self.most_rows:
            return DensePoints(chosen[:], norms, leaf)
        return StoredPoints(chosen, norms, leaf)

    def kept(self, budget: int) -> DensePoints | StoredPoints:
        """Return the points as a model keeps them: in memory if half the budget holds them, or a file of their own."""
        if len(self) * self.data.row_bytes <= budget // 2:
            return DensePoints(self.data[:], self.norms, self.leaf)
        if self.data.chosen is None:
            return self
        with RowFile(*self.data.shape, self.data.dtype) as file:
            for part, rows in self.data.chunks():
                file.write(part, rows)
        return StoredPoints(file.rows, self.norms, self.leaf)

    def held(self, runs: NDArray[np.intp], starts: NDArray[np.int64], lo: Array, hi: Array) -> Held:
        """Return some runs, read into memory side by side."""
        lengths = starts[runs + 1] - starts[runs]
        ends = np.cumsum(lengths)
        rows = np.repeat(starts[runs] - (ends - lengths), lengths) + np.arange(ends[-1])
        together = bool(rows[-1] - rows[0] == len(rows) - 1)
        local = np.concatenate([[0], ends])
        return Held(
            (self.data[rows], self.norms[rows], np.arange(len(runs), dtype=np.intp), local, lo[runs], hi[runs]),
            slice(int(rows[0]), int(rows[-1]) + 1) if together else rows,
        )

    @cached_property
    def run_starts(self) -> NDArray[np.int64]:
        """Where runs start, and the end of the last."""
        return run_starts(self.leaf)

    @cached_property
    def boxes(self) -> tuple[Array, Array]:
        """Lower and upper corners (n_runs, n_features) of the runs: some hundredths of the points' size, in memory."""
        starts = self.run_starts
        lo = np.empty((len(starts) - 1, self.data.shape[1]), dtype=self.data.dtype)
        hi = np.empty_like(lo)
        runs_a_part = max(1, self.most_rows // LEAF)
        for first in range(0, len(lo), runs_a_part):
            some = starts[first : first + runs_a_part + 1]
            part = slice(first, first + len(some) - 1)
            lo[part], hi[part] = boxes_of(self.data[some[0] : some[-1]], some - some[0])
        return lo, hi

    def __len__(self) -> int:
        return len(self.data)

    def __reduce__(self) -> tuple[Any, ...]:
        # A temporary file is gone with its process, so a copy of the points goes along, in memory.
        return DensePoints, (self.data[:], self.norms, self.leaf)
