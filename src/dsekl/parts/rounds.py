"""The tasks of a round. Each is a pure function of a part and its state, so that a lost result can be made again.

A round is a local epoch of dual ascent in each part, with the coefficients of all other parts held (``ascended``); the
new coefficients of rows that others hold copies of go to them (``outbox``); with these, each part knows K d for its own
rows (``coupled``), from which the step length is found (``line_of``); and the state moves on by it (``moved_on``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.solvers import DualAscent
from dsekl.solvers.dual.ascent import ActiveRows
from dsekl.solvers.dual.block import violations
from dsekl.solvers.dual.certificate import Certificate, parts_of
from dsekl.solvers.dual.dual_state import MEMORY, DualState
from dsekl.solvers.dual.shrinking import Conditions, confirmed_slack

from .line import Line, Plane, between
from .part import Part

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Own:
    """Where the rows of a part stand: coefficients, predictions, and whether these are kept up."""

    coef: Floats
    F: Floats
    active: NDArray[np.bool_]
    rank: Places
    """In which order the part's rows join the sample."""


@dataclass(frozen=True)
class Past:
    """Where a part stood after an earlier round."""

    coef: Floats
    F: Floats
    copies: Floats


@dataclass(frozen=True)
class PartState:
    """Where a part stands; ``copies`` are the coefficients of its halo. The squared loss looks back at past rounds."""

    own: Own
    copies: Floats
    past: tuple[Past, ...] = ()
    evaluations: int = 0
    received: int = 0
    """Bytes from other parts, since the last cut."""


@dataclass(frozen=True)
class Pace:
    """The few numbers that all parts share in a round."""

    round: int
    seed: int
    scale: float
    threshold: float
    tolerated_share: float
    slow: int = 0


@dataclass(frozen=True)
class Move:
    """Where a part's own epoch would move its coefficients, and what that changes of its own predictions."""

    coef: Floats
    G: Floats
    evaluations: int


@dataclass(frozen=True)
class Outbox:
    """The new coefficients of a part's rows that others hold copies of, where they are new."""

    number: int
    rows: Places
    coef: Floats


@dataclass(frozen=True)
class Coupled:
    """A move with that of all others: K d for the part's active rows, and the new coefficients of its halo."""

    move: Move
    G: Floats
    copies: Floats
    evaluations: int
    received: int


def first_steps(part: Part) -> Floats:
    """Return the sum of the sizes of all rows' first steps, and how many rows there are."""
    rows = part.region.rows
    nothing = np.zeros_like(rows.targets)
    steps = violations(rows.targets, part.C, nothing, nothing, part.own_diagonal, part.task.loss)
    return np.array([steps.sum(), len(steps)])


def begun(part: Part, size: int, seed: int) -> Own:
    """Return where a part stands before the first round, with a sample of its rows."""
    shape = part.region.rows.targets.shape
    rank = np.random.default_rng([seed, 17, part.number]).permutation(shape[0])
    return Own(np.zeros(shape), np.zeros(shape), rank < size, rank)


def taken_up(part: Part, own: Own, others: Sequence[tuple[int, Own]]) -> PartState:
    """Return the state of a part, with the coefficients of its copies as their owners have them."""
    copies = np.zeros((len(part.halo), own.coef.shape[1]))
    for number, other in others:
        mine = part.halo.owner == number
        copies[mine] = other.coef[part.halo.row[mine]]
    return PartState(own, copies)


def dual_state(own: Own, C: float, diagonal: Floats, pace: Pace, rng: np.random.Generator) -> DualState:
    """Return the state of dual ascent on some rows alone, free to be moved."""
    return DualState(
        own.coef.copy(), rng, pace.round, F=own.F.copy(), C=C, rank=own.rank, size=len(own.rank), active=own.active,
        diagonal=diagonal, scale=pace.scale, threshold=pace.threshold, tolerated_share=pace.tolerated_share,
        slow=pace.slow,
    )  # fmt: skip


@one_blas_thread()
def ascended(part: Part, state: PartState, solver: DualAscent, pace: Pace) -> Move:
    """Run an epoch on the part's own rows, with those of all other parts held."""
    own = state.own
    rng = np.random.default_rng([pace.seed, 19, part.number, pace.round])
    moving = dual_state(own, part.task.C, part.own_diagonal, pace, rng)
    if own.active.any():
        rows = ActiveRows(part.own_problem, moving)
        for _ in rows.run(solver, rows.plan(solver)):
            pass
    return Move(moving.coef, moving.F - own.F, moving.evaluations)


def outbox(part: Part, state: PartState, move: Move) -> Outbox:
    """Return what others must hear of a move."""
    rows = part.shared[(move.coef[part.shared] != state.own.coef[part.shared]).any(axis=1)]
    return Outbox(part.number, rows, move.coef[rows])


def sums_of_change(part: Part, state: PartState, move: Move) -> Floats:
    """Return what a move adds to the part of f beside the kernel."""
    return part.sums_beside(move.coef - state.own.coef)


def sums_of_coef(part: Part, state: PartState) -> Floats:
    """Return what the part's coefficients are to the part of f beside the kernel."""
    return part.sums_beside(state.own.coef)


def coupled(part: Part, state: PartState, move: Move, outboxes: Sequence[Outbox], sums: Floats) -> Coupled:
    """Add what the moves of all other parts change of this part's predictions; ``sums`` are beside the kernel."""
    copies, active = state.copies.copy(), np.flatnonzero(state.own.active)
    for box in outboxes:
        mine = np.flatnonzero(part.halo.owner == box.number)
        rows = part.halo.row[mine]
        at = np.searchsorted(box.rows, rows).clip(max=max(0, len(box.rows) - 1))
        here = box.rows[at] == rows if len(box.rows) else np.zeros(len(rows), dtype=np.bool_)
        copies[mine[here]] = box.coef[at[here]]
    change = copies - state.copies
    cols = np.flatnonzero(change.any(axis=1))
    f = move.G[active]
    evaluations = part.outside.with_rows(active).add_product(cols, change[cols], f) if len(active) else 0
    f += part.beside(active, sums - sums_of_change(part, state, move))
    G = np.zeros_like(move.G)
    G[active] = f
    return Coupled(move, G, copies, evaluations, sum(box.rows.nbytes + box.coef.nbytes for box in outboxes))


def line_of(part: Part, state: PartState, found: Coupled) -> Line | Plane:
    """Return the sums from which the step length is found."""
    own, y = state.own, part.region.rows.targets
    if part.task.loss.quadratic:
        directions = np.stack([found.move.coef - own.coef, *(own.coef - past.coef for past in state.past)])
        moves = np.stack([found.G, *(own.F - past.F for past in state.past)])
        return Plane.of(directions, moves, y, part.C, own.coef, own.F)
    return Line.of(part.task.loss, y, part.C, (own.coef, found.move.coef), own.F, found.G)


def moved_on(part: Part, state: PartState, found: Coupled, steps: Floats, pace: Pace, shrink: bool) -> PartState:
    """Return the state after a round whose step lengths are known; rows that are settled leave the active set."""
    own = state.own
    if part.task.loss.quadratic:
        return _along_plane(state, found, steps)
    coef = between(own.coef, found.move.coef, steps)
    F = own.F + steps * found.G
    active = own.active
    if shrink and active.any():
        rows = np.flatnonzero(active)
        before, now = (
            Conditions.of(part.own_problem, rows, coefs[rows], f[rows], part.own_diagonal[rows])
            for coefs, f in ((own.coef, own.F), (coef, F))
        )
        moved = (now.coef != before.coef).any(axis=1) | (now.violations() > pace.threshold * pace.scale)
        slack = confirmed_slack(before, moved, pace.tolerated_share)
        if np.isfinite(slack):
            active = active.copy()
            active[rows[now.settled(slack)]] = False
    copies = between(state.copies, found.copies, steps)
    return PartState(Own(coef, F, active, own.rank), copies, (), *_counted(state, found))


def _along_plane(state: PartState, found: Coupled, steps: Floats) -> PartState:
    """Return the state at the least point of the plane through the coefficients of past rounds."""
    then = Past(state.own.coef, state.own.F, state.copies)

    def least(now: Floats, next: Floats, past: list[Floats]) -> Floats:
        moved = now + steps[0] * (next - now)
        for step, before in zip(steps[1:], past, strict=True):
            moved = moved + step * (now - before)
        return np.asarray(moved)

    coef = least(then.coef, found.move.coef, [past.coef for past in state.past])
    F = least(then.F, then.F + found.G, [past.F for past in state.past])
    copies = least(then.copies, found.copies, [past.copies for past in state.past])
    past = (*state.past[-MEMORY + 1 :], then)
    return PartState(replace(state.own, coef=coef, F=F), copies, past, *_counted(state, found))


def _counted(state: PartState, found: Coupled) -> tuple[int, int]:
    """Return kernel values and bytes received, up to now."""
    return state.evaluations + found.move.evaluations + found.evaluations, state.received + found.received


@dataclass(frozen=True)
class Measured:
    """What a part adds to the figures of a round: some are sums over its sample, or over all of its rows."""

    certificate: Certificate
    evaluations: int
    square_of_change: float
    n_inactive: int
    n_support: int
    received: int

    def __add__(self, other: Measured) -> Measured:
        return Measured(*(vars(self)[name] + vars(other)[name] for name in vars(self)))


def measured(part: Part, before: PartState, state: PartState, size: int) -> Measured:
    """Measure a state of a part: the rows in a sample of a ``size``, with the predictions that it keeps."""
    own = state.own
    rows = np.flatnonzero(own.rank < size)
    return Measured(
        parts_of(part.own_problem, own.coef, part.own_diagonal, rows, own.F[rows]).summed(),
        state.evaluations,
        float(np.square(own.coef - before.own.coef).sum()),
        int(np.count_nonzero(~own.active[rows])),
        int(np.count_nonzero(own.coef.any(axis=1))),
        state.received - before.received,
    )


def predicted(part: Part, state: PartState, size: int, sums: Floats) -> PartState:
    """Predict the rows of a sample anew that are not active, and make them so; ``sums`` are beside the kernel."""
    own = state.own
    rows = np.flatnonzero((own.rank < size) & ~own.active)
    if not len(rows):
        return state
    support, held = np.flatnonzero(own.coef.any(axis=1)), np.flatnonzero(state.copies.any(axis=1))
    f = np.zeros((len(rows), own.coef.shape[1]))
    evaluations = part.gram.with_rows(rows).add_product(support, own.coef[support], f)
    evaluations += part.outside.with_rows(rows).add_product(held, state.copies[held], f)
    f += part.beside(rows, sums - sums_of_coef(part, state))
    F, active = own.F.copy(), own.active.copy()
    F[rows], active[rows] = f, True
    return replace(state, own=replace(own, F=F, active=active), evaluations=state.evaluations + evaluations)


@dataclass(frozen=True)
class Newcomers:
    """Rows that joined a sample, as the model before it predicted them: their sum of losses, and some of them."""

    loss: float
    weight: float
    f: Floats
    targets: Floats
    weights: Floats
    places: Places


def newcomers(part: Part, state: PartState, sizes: tuple[int, int], most: int) -> Newcomers:
    """Return the rows that joined between two sizes of the sample; ``most`` of them are kept."""
    own, rows = state.own, part.region.rows
    joined = np.flatnonzero((own.rank >= sizes[0]) & (own.rank < sizes[1]))
    loss = part.task.loss.value(rows.targets[joined], own.F[joined]).sum(axis=1)
    weights = rows.weights[joined]
    kept = joined[own.rank[joined] < sizes[0] + most]
    return Newcomers(
        float((weights * loss).sum()), float(weights.sum()), own.F[kept], rows.targets[kept], rows.weights[kept],
        rows.places[kept],
    )  # fmt: skip
