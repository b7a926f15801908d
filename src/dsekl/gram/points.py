"""Dense points, cut into runs of neighbours with a bounding box each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import njit

from .gram import Array, Indices
from .loops.microtile import line_width
from .placement import refuse_overflow
from .tree import LEAF


@njit(cache=True, nogil=True)
def _square_norms(points: Any, norms: Any) -> None:
    for i in range(points.shape[0]):
        square = 0.0
        for k in range(points.shape[1]):
            square += float(points[i, k]) * float(points[i, k])
        norms[i] = square


@njit(cache=True, nogil=True)
def _boxes(points: Any, starts: Any, lo: Any, hi: Any) -> None:
    for r in range(starts.size - 1):
        for k in range(points.shape[1]):
            lo[r, k] = hi[r, k] = points[starts[r], k]
        for i in range(starts[r] + 1, starts[r + 1]):
            for k in range(points.shape[1]):
                lo[r, k] = min(lo[r, k], points[i, k])
                hi[r, k] = max(hi[r, k], points[i, k])


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


@dataclass(frozen=True)
class Held:
    """Runs of points in memory: what the compiled products take of them, and the rows that they are."""

    arrays: tuple[Array, Array, NDArray[np.intp], NDArray[np.int64], Array, Array]
    rows: Indices


@dataclass(frozen=True)
class Packed:
    """Points packed into lines (n_groups, n_features, width), and their squared norms (n_groups, width)."""

    points: Array
    lines: Array
    norms: Array

    @staticmethod
    def of(points: Array) -> Packed:
        """Pack points, the last group filled up with the last one."""
        width = line_width(points.dtype.name)
        n_groups = -(-len(points) // width)
        lines = np.empty((n_groups, points.shape[1], width), dtype=points.dtype)
        norms = np.empty((n_groups, width), dtype=points.dtype)
        _pack(points, lines, norms)
        return Packed(points, lines, norms)

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def boxes(self) -> tuple[Array, Array]:
        """Lower and upper corners of each group's box, and behind them those of the box of all."""
        width = self.norms.shape[1]
        lo, hi = boxes_of(self.points, np.minimum(np.arange(len(self.norms) + 1) * width, len(self)))
        return np.vstack([lo, lo.min(axis=0)]), np.vstack([hi, hi.max(axis=0)])


@dataclass(frozen=True)
class DensePoints:
    """Placed points (n, n_features), their squared norms, and the tree's leaf of each."""

    data: Array
    norms: Array
    leaf: NDArray[np.int64]

    @staticmethod
    def of(data: Array, leaf: NDArray[np.int64] | None = None) -> DensePoints:
        """Return points with the leaves of a spatial order, or one leaf for all where there is no order."""
        return DensePoints(data, square_norms(data), np.zeros(len(data), dtype=np.int64) if leaf is None else leaf)

    def take(self, indices: Indices) -> DensePoints:
        """Return some of the points; ascending indices keep neighbours together."""
        if isinstance(indices, slice) and indices == slice(None):
            return self
        return DensePoints(*(np.ascontiguousarray(part[indices]) for part in (self.data, self.norms, self.leaf)))

    def kept(self, budget: int) -> DensePoints:
        """Return the points as a model keeps them."""
        return self

    def held(self, runs: NDArray[np.intp], starts: NDArray[np.int64], lo: Array, hi: Array) -> Held:
        """Return some runs, where they are."""
        return Held((self.data, self.norms, runs, starts, lo, hi), slice(None))

    in_file: ClassVar = False

    @property
    def most_rows(self) -> int:
        """How many points a task may hold: all, as they are in memory."""
        return max(1, len(self))

    @cached_property
    def run_starts(self) -> NDArray[np.int64]:
        """Where runs start, and the end of the last."""
        return run_starts(self.leaf)

    @cached_property
    def boxes(self) -> tuple[Array, Array]:
        """Lower and upper corners (n_runs, n_features) of the runs."""
        return boxes_of(self.data, self.run_starts)

    @cached_property
    def packed(self) -> Packed:
        """All points packed: a copy of them, for models that meet a few rows at a time."""
        return Packed.of(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __reduce__(self) -> tuple[Any, ...]:
        # What was made of the points can be made again; a pickle need not hold them twice.
        return DensePoints, (self.data, self.norms, self.leaf)


def square_norms(data: Array) -> Array:
    """Return the squared norms of points."""
    norms = np.empty(len(data), dtype=data.dtype)
    _square_norms(data, norms)
    refuse_overflow(norms)
    return norms


def run_starts(leaf: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cut consecutive leaves into runs of at most 96 points, and return where these start, and the end of the last.

    Small leaves share a run; only a larger leaf is parted.
    """
    starts, begin = [0], 0
    for end in np.flatnonzero(np.diff(leaf, append=-1)) + 1 if len(leaf) else ():
        if end - starts[-1] > LEAF and begin > starts[-1]:
            starts.append(begin)
        starts += range(starts[-1] + LEAF, int(end), LEAF)
        begin = int(end)
    return np.array([*starts, begin] if begin else starts, dtype=np.int64)


def boxes_of(data: Array, starts: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the corners of the boxes around consecutive rows."""
    lo = np.empty((len(starts) - 1, data.shape[1]), dtype=data.dtype)
    hi = np.empty_like(lo)
    _boxes(data, starts, lo, hi)
    return lo, hi
