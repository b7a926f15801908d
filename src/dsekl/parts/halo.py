"""The halo of a part: copies of the rows of other parts that its kernel values reach.

A row belongs to the halo where it is within the kernel's reach of a box around some of the part's rows. So every kernel
value between a part and a row that it has no copy of is below ``kernel_tol``, as where the products of one machine
leave values out. A kernel that never falls below it reaches everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.gram.gram import Array
from dsekl.gram.loops.strips import runs_near
from dsekl.gram.points import DensePoints
from dsekl.gram.tree import spatial_order
from dsekl.kernels import Pairwise, VectorKernel

RUNS_A_BOX = 8
"""Runs of 96 rows in a box that is told to the other parts."""


@dataclass(frozen=True)
class Reach:
    """How far a kernel reaches, in its own measure of two points."""

    value: float
    manhattan: bool

    @staticmethod
    def of(kernel: VectorKernel, kernel_tol: float) -> Reach:
        """Return the reach within which values are at least ``kernel_tol``."""
        value = kernel.reach(kernel_tol) if kernel_tol > 0 else np.inf
        return Reach(float(value), kernel.pairwise is Pairwise.MANHATTAN)


@dataclass(frozen=True)
class Boxes:
    """Lower and upper corners (n_boxes, n_features) of boxes around the points of a part."""

    lo: Array
    hi: Array

    @staticmethod
    def of(points: DensePoints) -> Boxes:
        """Return boxes around a few runs each."""
        lo, hi = points.boxes
        starts = np.arange(0, len(lo), RUNS_A_BOX)
        if not len(starts):
            return Boxes(lo, hi)
        return Boxes(np.minimum.reduceat(lo, starts, axis=0), np.maximum.reduceat(hi, starts, axis=0))

    def near(self, points: DensePoints, reach: Reach) -> NDArray[np.intp]:
        """Return which points are within reach of one of the boxes."""
        if not len(self.lo) or not len(points):
            return np.arange(0)
        if not np.isfinite(reach.value):
            return np.arange(len(points))
        found, starts = np.zeros(len(points), dtype=np.bool_), points.run_starts
        lo, hi = points.boxes
        limits = points.data.dtype.type(reach.value), reach.manhattan
        runs = runs_near(lo, hi, self.lo.min(axis=0), self.hi.max(axis=0), *limits)
        for box in zip(self.lo, self.hi, strict=True):
            some = runs[runs_near(lo[runs], hi[runs], *box, *limits)]
            rows = np.concatenate([np.arange(0), *(np.arange(starts[run], starts[run + 1]) for run in some)])
            rows = rows[~found[rows]]
            if len(rows):
                data = points.data[rows]
                found[rows[runs_near(data, data, *box, *limits)]] = True
        return np.flatnonzero(found)


@dataclass(frozen=True)
class Halo:
    """Copies of the points of other parts, in a spatial order: whose each is, and its row there."""

    points: DensePoints
    owner: NDArray[np.intp]
    row: NDArray[np.intp]

    @staticmethod
    def of(owners: list[int], rows: list[NDArray[np.intp]], points: list[Array], none: Array) -> Halo:
        """Return the copies that some parts give; ``none`` is an array of no points."""
        data = np.concatenate([none, *points])
        owner = np.concatenate([np.arange(0), *(np.full(len(of), part) for part, of in zip(owners, rows, strict=True))])
        order, leaf = spatial_order(data) if len(data) else (np.arange(0), np.arange(0))
        joined = np.concatenate([np.arange(0), *rows])
        return Halo(DensePoints.of(data[order], leaf), owner[order], joined[order])

    def __len__(self) -> int:
        return len(self.owner)
