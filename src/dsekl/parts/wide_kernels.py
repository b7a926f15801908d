"""Rounds for wide kernels, which reach everything: blocks of rows from all parts, solved one after the other.

No part holds copies. A block of rows travels: their points, coefficients and predictions go to one task, which solves
the block as dual ascent on one machine does, and from there to every part, which carries the change to the predictions
of its own rows. F stays where its rows are, and nobody holds all points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.gram import Gram
from dsekl.gram.affine import AffineGram
from dsekl.gram.points import DensePoints
from dsekl.losses import BoxedLoss
from dsekl.solvers import DualAscent, Problem
from dsekl.solvers.dual.active_rows import SWEEPS_OF_ONE_BLOCK, ActiveRows
from dsekl.solvers.dual.free import free_rows
from dsekl.solvers.dual.shrinking import Conditions
from dsekl.workers import chunks

from .memory_use import CountsMemory
from .part import Objective, Part, Region
from .part_state import Own, Pace, PartState, dual_state
from .rounds import Coupled, line_of

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Piece(CountsMemory):
    """Some rows of a part on their way into a block."""

    number: int
    rows: Places
    points: NDArray[Any]
    targets: Floats
    weights: Floats
    coef: Floats
    F: Floats


@dataclass(frozen=True)
class Solved(CountsMemory):
    """A block that was solved: whose rows moved, their points, and their coefficients before and after."""

    owner: Places
    rows: Places
    points: NDArray[Any]
    before: Floats
    after: Floats
    evaluations: int


@dataclass(frozen=True)
class Violators:
    """The active rows of a part that violate their condition, in random order, and how many are active."""

    rows: Places
    n_active: int


def n_violators(found: Violators) -> NDArray[np.intp]:
    """Return how many rows violate their condition, and how many are active."""
    return np.array([len(found.rows), found.n_active])


def order_of(state: PartState, found: Violators, alone: bool) -> Places:
    """Return the rows of a part that a round meets, in their order: all that are active where they are one block."""
    return np.flatnonzero(state.own.active) if alone else found.rows


def in_random_order(part: Part, state: PartState, pace: Pace) -> Violators:
    """Return the active rows of a part that violate their condition, in random order."""
    rng = np.random.default_rng([pace.seed, 23, part.number, pace.round])
    if not state.own.active.any():
        return Violators(np.arange(0), 0)
    rows = ActiveRows(part.own_problem, dual_state(state.own, part.objective.C, part.own_diagonal, pace, rng))
    wrong = rows.violators(np.arange(len(rows.rows)))
    return Violators(rng.permutation(rows.rows[wrong]), len(rows.rows))


def free_in_order(part: Part, state: PartState, pace: Pace) -> Places:
    """Return the rows of a part that are free, the worst first, where the loss knows of such."""
    rows = np.flatnonzero(state.own.active)
    if not isinstance(part.objective.loss, BoxedLoss):
        return rows[:0]
    own = state.own
    now = Conditions.of(part.own_problem, rows, own.coef[rows], own.F[rows], part.own_diagonal[rows])
    return rows[free_rows(now, pace.threshold * pace.scale)]


def first_of(order: Places, count: int) -> Places:
    """Return the first few rows of an order."""
    return order[:count]


def piece_of(part: Part, state: PartState, order: Places, k: int, n_blocks: int) -> Piece:
    """Return a part's share of one of so many blocks."""
    rows = np.sort(order[len(order) * k // n_blocks : len(order) * (k + 1) // n_blocks])
    own, of = state.own, part.region.rows
    points = part.region.points.data[rows]
    return Piece(part.number, rows, points, of.targets[rows], of.weights[rows], own.coef[rows], own.F[rows])


@one_blas_thread()
def solved(
    objective: Objective, pieces: Sequence[Piece], solver: DualAscent, pace: Pace, whole: bool, alone: bool
) -> Solved:
    """Solve the block that some pieces make.

    As a ``whole`` where its sweeps do not settle it; they may go on where it is ``alone``, all active rows.
    """
    points, y, weights, before, F = (
        np.concatenate([vars(piece)[name] for piece in pieces])
        for name in ("points", "targets", "weights", "coef", "F")
    )
    owner = np.concatenate([np.full(len(piece.rows), piece.number) for piece in pieces])
    rows = np.concatenate([piece.rows for piece in pieces])
    here = DensePoints.of(points)
    gram = _gram(objective, here, here)
    everyone = np.arange(len(rows))
    own = Own(before, F, np.ones(len(rows), dtype=np.bool_), everyone)
    moving = dual_state(own, objective.C, gram.diagonal(), pace, np.random.default_rng(0))
    active = ActiveRows(Problem(gram, y, weights, objective.loss, objective.C), moving)
    block = everyone if whole else active.violators(everyone)
    if len(block):
        most_sweeps = solver.most_sweeps * (SWEEPS_OF_ONE_BLOCK if alone else 1)
        active.step(solver, block, whole=whole, most_sweeps=most_sweeps)
    moved = np.flatnonzero((moving.coef != before).any(axis=1))
    return Solved(owner[moved], rows[moved], points[moved], before[moved], moving.coef[moved], moving.evaluations)


def carried(part: Part, state: PartState, found: Solved) -> PartState:
    """Carry the change of a block to the predictions of a part, and to its own rows in it."""
    own = state.own
    coef, F, active = own.coef.copy(), own.F.copy(), np.flatnonzero(own.active)
    mine = found.owner == part.number
    coef[found.rows[mine]] = found.after[mine]
    evaluations = found.evaluations if part.number == 0 else 0
    if len(active) and len(found.rows):
        points = DensePoints.of(found.points)
        f = F[active]
        evaluations += (
            _gram(part.objective, part.region.points, points)
            .with_rows(active)
            .add_product(np.arange(len(points)), found.after - found.before, f)
        )
        F[active] = f
    received = state.received + found.points.nbytes + found.before.nbytes + found.after.nbytes
    evaluations += state.evaluations
    return replace(state, own=replace(own, coef=coef, F=F), evaluations=evaluations, received=received)


def met(part: Part, before: PartState, after: PartState) -> Coupled:
    """Return what all blocks of a round have changed, as a change of all parts together."""
    evaluations, received = after.evaluations - before.evaluations, after.received - before.received
    coef, G = after.own.coef, after.own.F - before.own.F
    return Coupled(coef, G, before.copies, evaluations, received, line_of(part, before, coef, G))


def terms_at(part: Part, state: PartState, other: Region) -> Floats:
    """Return what the terms of a part add to the predictions of all rows of a region."""
    support = np.flatnonzero(state.own.coef.any(axis=1))
    f = np.zeros((len(other), state.own.coef.shape[1]))
    points = part.region.points
    size = max(1024, part.objective.budget // (2 * points.data.itemsize * max(1, points.data.shape[1])))
    for some in chunks(len(support), size):
        cols = points.take(support[some])
        _gram(part.objective, other.points, cols).add_product(np.arange(len(cols)), state.own.coef[support[some]], f)
    return f


def predicted_by(part: Part, state: PartState, size: int, terms: Sequence[Floats]) -> PartState:
    """Take the predictions of the rows of a sample that are not active from the terms of all parts."""
    own = state.own
    rows = np.flatnonzero((own.rank < size) & ~own.active)
    if not len(rows):
        return state
    F, active = own.F.copy(), own.active.copy()
    F[rows], active[rows] = 0.0, True
    for of in terms:
        F[rows] += of[rows]
    return replace(state, own=replace(own, F=F, active=active))


def _gram(objective: Objective, rows: DensePoints, cols: DensePoints) -> Gram:
    made = objective.gram(rows, cols)
    return made if objective.plane is None else AffineGram(made, objective.plane)
