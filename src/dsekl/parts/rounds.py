"""The tasks of a round. Each is a pure function of a part and its state, so that a lost result can be made again.

A round is a local epoch of dual ascent in each part, with the coefficients of all other parts held (``ascended``); the
new coefficients of rows that others hold copies of go to them (``Outbox``); with these, each part knows K d for its own
rows (``coupled``), from which the step length is found (``line_of``); and the state moves on by it (``moved_on``). Few
of these tasks need the part itself, which may be on disk: what else is asked of a result, it carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.solvers import DualAscent
from dsekl.solvers.dual.active_rows import ActiveRows
from dsekl.solvers.dual.dual_state import MEMORY
from dsekl.solvers.dual.shrinking import Conditions, confirmed_slack

from .line_search import LineSums, SubspaceSums, between
from .memory_use import CountsMemory
from .part import Part
from .part_state import Own, Pace, PartState, Past, dual_state

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Outbox(CountsMemory):
    """The new coefficients of a part's rows that others hold copies of, where they are new."""

    number: int
    rows: Places
    coef: Floats


@dataclass(frozen=True)
class LocalChange(CountsMemory):
    """Where a part's own epoch would move its coefficients, and what that changes of its own predictions.

    Others are told of it by the ``outbox``, and by ``sums``, what it adds to the part of f beside the kernel.
    """

    coef: Floats
    G: Floats
    evaluations: int
    outbox: Outbox
    sums: Floats


@dataclass(frozen=True)
class Coupled(CountsMemory):
    """The change of all parts, as one part sees it: G = K d at its active rows, and the new coefficients of its halo.

    ``line`` are the part's sums, from which the step length is found.
    """

    coef: Floats
    G: Floats
    copies: Floats
    evaluations: int
    received: int
    line: LineSums | SubspaceSums


@one_blas_thread()
def ascended(part: Part, state: PartState, solver: DualAscent, pace: Pace) -> LocalChange:
    """Run an epoch on the part's own rows, with those of all other parts held."""
    own = state.own
    rng = np.random.default_rng([pace.seed, 19, part.number, pace.round])
    moving = dual_state(own, part.objective.C, part.own_diagonal, pace, rng)
    if own.active.any():
        rows = ActiveRows(part.own_problem, moving)
        for _ in rows.run(solver, rows.plan(solver)):
            pass
    told = part.shared[(moving.coef[part.shared] != own.coef[part.shared]).any(axis=1)]
    outbox, sums = Outbox(part.number, told, moving.coef[told]), part.sums_beside(moving.coef - own.coef)
    return LocalChange(moving.coef, moving.F - own.F, moving.evaluations, outbox, sums)


def coupled(part: Part, state: PartState, local: LocalChange, outboxes: Sequence[Outbox], sums: Floats) -> Coupled:
    """Add what the changes of all other parts are to this part's predictions; ``sums`` are beside the kernel."""
    copies, active = state.copies.copy(), np.flatnonzero(state.own.active)
    for box in outboxes:
        mine = np.flatnonzero(part.halo.owner == box.number)
        rows = part.halo.row[mine]
        at = np.searchsorted(box.rows, rows).clip(max=max(0, len(box.rows) - 1))
        here = box.rows[at] == rows if len(box.rows) else np.zeros(len(rows), dtype=np.bool_)
        copies[mine[here]] = box.coef[at[here]]
    change = copies - state.copies
    cols = np.flatnonzero(change.any(axis=1))
    f = local.G[active]
    evaluations = part.outside.with_rows(active).add_product(cols, change[cols], f) if len(active) else 0
    f += part.beside(active, sums - local.sums)
    G = np.zeros_like(local.G)
    G[active] = f
    received = sum(box.rows.nbytes + box.coef.nbytes for box in outboxes)
    line = line_of(part, state, local.coef, G)
    return Coupled(local.coef, G, copies, local.evaluations + evaluations, received, line)


def line_of(part: Part, state: PartState, coef: Floats, G: Floats) -> LineSums | SubspaceSums:
    """Return the sums from which the step length towards new coefficients is found."""
    own, y = state.own, part.region.rows.targets
    if part.objective.loss.quadratic:
        directions = np.stack([coef - own.coef, *(own.coef - past.coef for past in state.past)])
        products = np.stack([G, *(own.F - past.F for past in state.past)])
        return SubspaceSums.of(directions, products, y, part.C, own.coef, own.F)
    return LineSums.of(part.objective.loss, y, part.C, (own.coef, coef), own.F, G)


def moved_on(part: Part, state: PartState, found: Coupled, steps: Floats, pace: Pace, shrink: bool) -> PartState:
    """Return the state after a round whose step lengths are known; rows that are settled leave the active set."""
    own = state.own
    if part.objective.loss.quadratic:
        return _along_plane(state, found, steps)
    coef = between(own.coef, found.coef, steps)
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

    coef = least(then.coef, found.coef, [past.coef for past in state.past])
    F = least(then.F, then.F + found.G, [past.F for past in state.past])
    copies = least(then.copies, found.copies, [past.copies for past in state.past])
    past = (*state.past[-MEMORY + 1 :], then)
    return PartState(replace(state.own, coef=coef, F=F), copies, past, *_counted(state, found))


def _counted(state: PartState, found: Coupled) -> tuple[int, int]:
    """Return kernel values and bytes received, up to now."""
    return state.evaluations + found.evaluations, state.received + found.received
