"""Planes of a kd-tree that cut space into parts, found on a sample of the points.

The largest leaf is cut until there are enough, near its median and across the column in which it varies most, as the
spatial order of a gram cuts. Equal values stay on one side. How many parts there are depends on the number of rows
alone, never on who works.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.gram.tree import where_to_cut

MOST_ROWS = 2**17
"""Rows of a part, on average, at most."""

FEWEST_ROWS = 4_096
"""Rows of a part, on average, at least: of fewer, a part is less work than its bookkeeping."""

USUAL_PARTS = 8
"""Parts that there are at least where rows are enough for them: several for each of a few workers."""


def n_parts_of(n_rows: int) -> int:
    """Return how many parts so many rows are cut into."""
    return max(1, -(-n_rows // MOST_ROWS), min(USUAL_PARTS, n_rows // FEWEST_ROWS))


@dataclass(frozen=True)
class Planes:
    """A tree of planes: a point goes left where its entry in ``columns`` is at most ``values``.

    ``left`` and ``right`` are numbers of planes, or of parts as ``-1 - part``; without planes all is part 0.
    """

    columns: NDArray[np.intp]
    values: NDArray[np.float32]
    left: NDArray[np.intp]
    right: NDArray[np.intp]

    @staticmethod
    def of(sample: NDArray[Any], n_parts: int) -> Planes:
        """Return the planes that cut a sample of the points into parts, fewer where equal points allow no more."""
        planes: list[tuple[int, np.float32]] = []
        children: list[list[int]] = []
        leaves: list[tuple[NDArray[np.intp], int, int]] = [(np.arange(len(sample)), -1, 0)]
        done: list[tuple[NDArray[np.intp], int, int]] = []
        while leaves and len(leaves) + len(done) < n_parts:
            largest = max(range(len(leaves)), key=lambda leaf: len(leaves[leaf][0]))
            rows, parent, side = leaves.pop(largest)
            found = _plane(sample, rows)
            if found is None:
                done.append((rows, parent, side))
                continue
            column, value = found
            low = sample[rows, column].astype(np.float32) <= value
            if parent >= 0:
                children[parent][side] = len(planes)
            leaves += [(rows[low], len(planes), 0), (rows[~low], len(planes), 1)]
            planes.append((column, value))
            children.append([0, 0])
        for part, (_, parent, side) in enumerate(leaves + done):
            if parent >= 0:
                children[parent][side] = -1 - part
        sides = np.array(children, dtype=np.intp).reshape(-1, 2)
        columns = np.array([column for column, _ in planes], dtype=np.intp)
        return Planes(columns, np.array([value for _, value in planes], dtype=np.float32), sides[:, 0], sides[:, 1])

    @property
    def n_parts(self) -> int:
        return len(self.columns) + 1

    def part_of(self, points: NDArray[Any]) -> NDArray[np.intp]:
        """Return the part of each point."""
        found = np.zeros(len(points), dtype=np.intp)
        waiting = [(0, np.arange(len(points)))] if len(self.columns) else []
        while waiting:
            plane, rows = waiting.pop()
            low = points[rows, self.columns[plane]].astype(np.float32) <= self.values[plane]
            for child, side in ((self.left[plane], rows[low]), (self.right[plane], rows[~low])):
                if child < 0:
                    found[side] = -1 - child
                else:
                    waiting.append((int(child), side))
        return found


def _plane(sample: NDArray[Any], rows: NDArray[np.intp]) -> tuple[int, np.float32] | None:
    """Return the column and the greatest value of the low side; None where all points are the same."""
    if len(rows) < 2:
        return None
    column, median = where_to_cut(rows, sample.__getitem__)
    values = sample[rows, column].astype(np.float32)
    middle = np.float32(median)
    ends = (middle, np.nextafter(middle, np.float32(-np.inf)))
    counts = [int(np.count_nonzero(values <= end)) for end in ends]
    best = min((0, 1), key=lambda k: abs(len(rows) - 2 * counts[k]))
    return None if counts[best] in (0, len(rows)) else (column, ends[best])
