"""A part of the data: the rows of a region of space, copies of the rows around it, and the matrices between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.gram import Gram
from dsekl.gram.affine import AffineGram, Plane
from dsekl.gram.dense import DenseGram
from dsekl.gram.placement import Placement
from dsekl.gram.points import DensePoints
from dsekl.gram.tree import spatial_order
from dsekl.kernels import VectorKernel
from dsekl.losses import Loss
from dsekl.solvers import Problem
from dsekl.workers import ALONE

from .halo import Boxes, Halo, Reach
from .memory_use import CountsMemory

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Objective:
    """What is fitted, the same for all parts: kernel, placement of raw rows, loss, C, and what is beside the kernel."""

    kernel: VectorKernel
    placement: Placement
    loss: Loss
    C: float
    kernel_tol: float
    budget: int
    plane: Plane | None = None

    @property
    def reach(self) -> Reach:
        return Reach.of(self.kernel, self.kernel_tol)

    def gram(self, rows: DensePoints, cols: DensePoints) -> DenseGram:
        """Return the matrix between points."""
        return DenseGram(self.kernel, self.placement, rows, cols, self.budget, ALONE, self.reach.value)


@dataclass(frozen=True)
class Rows(CountsMemory):
    """Raw rows with their targets and weights, and the places that they have in the user's X."""

    X: NDArray[Any]
    targets: Floats
    weights: Floats
    places: Places

    def take(self, wanted: Places | slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[wanted], self.targets[wanted], self.weights[wanted], self.places[wanted])

    @staticmethod
    def joined(pieces: Sequence[Rows]) -> Rows:
        """Return the rows of all pieces, in the order of their places in X."""
        whole = Rows(*(np.concatenate([vars(piece)[name] for piece in pieces]) for name in vars(pieces[0])))
        if (whole.places[1:] > whole.places[:-1]).all():
            return whole  # as pieces come, in most cases; a copy of all rows may be more than memory has left
        return whole.take(np.argsort(whole.places, kind="stable"))

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Region(CountsMemory):
    """The rows of a part, in a spatial order, and their points."""

    number: int
    rows: Rows
    points: DensePoints

    @staticmethod
    def of(number: int, objective: Objective, pieces: Sequence[Rows]) -> Region:
        """Return the region of all rows in some pieces."""
        rows = Rows.joined(pieces)
        data = objective.placement.dense(rows.X)
        order, leaf = spatial_order(data)
        return Region(number, rows.take(order), DensePoints.of(data[order], leaf))

    @cached_property
    def boxes(self) -> Boxes:
        return Boxes.of(self.points)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Copies(CountsMemory):
    """Rows of a part that another part holds copies of, and their points."""

    owner: int
    rows: Places
    points: NDArray[Any]


def places_of(part: Part) -> Places:
    """Return the places in X of a part's rows."""
    return part.region.rows.places


@dataclass(frozen=True)
class Part(CountsMemory):
    """A region with its halo; ``shared`` are its rows that other parts hold copies of."""

    objective: Objective
    region: Region
    halo: Halo
    shared: Places

    @staticmethod
    def of(objective: Objective, region: Region, copies: Sequence[Copies], wanted: Sequence[Places]) -> Part:
        """Return a part of its region, the copies that others give, and the rows that others want of it."""
        owners, rows = [one.owner for one in copies], [one.rows for one in copies]
        halo = Halo.of(owners, rows, [one.points for one in copies], region.points.data[:0])
        return Part(objective, region, halo, np.unique(np.concatenate([np.arange(0), *wanted])))

    @property
    def number(self) -> int:
        return self.region.number

    @cached_property
    def gram(self) -> Gram:
        """The matrix of the part's own rows with each other, with what is beside the kernel."""
        own = self.objective.gram(self.region.points, self.region.points)
        return own if self.objective.plane is None else AffineGram(own, self.objective.plane)

    @cached_property
    def outside(self) -> DenseGram:
        """The kernel values between the part's rows and its halo, with nothing beside them."""
        return self.objective.gram(self.region.points, self.halo.points)

    @cached_property
    def own_problem(self) -> Problem:
        """The problem of the part's own rows."""
        rows = self.region.rows
        return Problem(self.gram, rows.targets, rows.weights, self.objective.loss, self.objective.C)

    @cached_property
    def own_diagonal(self) -> Floats:
        return self.gram.diagonal()

    @property
    def C(self) -> Floats:
        return self.objective.C * self.region.rows.weights

    def sums_beside(self, V: Floats) -> Floats:
        """Return what rows with coefficients V add to the part of f beside the kernel: numbers (any, n_outputs)."""
        return self.gram.sums(V) if isinstance(self.gram, AffineGram) else np.zeros((0, V.shape[1]))

    def beside(self, rows: Places, sums: Floats) -> Floats | float:
        """Return what such sums add to the predictions of some rows."""
        return self.gram.of_sums(rows, sums) if isinstance(self.gram, AffineGram) else 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        # What was made of these can be made again.
        return Part, (self.objective, self.region, self.halo, self.shared)
