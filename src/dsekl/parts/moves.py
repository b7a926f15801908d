"""How all parts move in a round: all at once, with the others held; or block after block where kernels are wide."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from dsekl.solvers import DualAscent
from dsekl.solvers.dual.active_rows import SLOW_EPOCHS

from . import rounds, turns
from .crew import Crew
from .part_state import Pace


def moves(crew: Crew, states: list[Any], solver: DualAscent, pace: Pace) -> list[Any]:
    """Return where a round would move each part, with what that changes of the predictions of its rows."""
    return (_in_turns if crew.parts.wide else _at_once)(crew, states, solver, pace)


def _at_once(crew: Crew, states: list[Any], solver: DualAscent, pace: Pace) -> list[Any]:
    """Return the moves of all parts, each with the others held, and what each changes of the others."""
    parts = crew.parts.parts
    moved = crew.submit("ascend", rounds.ascended, parts, states, solver, pace)
    boxes = crew.submit("outbox", attrgetter("outbox"), moved)
    sums = crew.summed(crew.submit("sums", attrgetter("sums"), moved))
    near = [[boxes[q] for q in others] for others in crew.parts.neighbours]
    return crew.submit("couple", rounds.coupled, parts, states, moved, near, [sums] * len(parts))


def _in_turns(crew: Crew, before: list[Any], solver: DualAscent, pace: Pace) -> list[Any]:
    """Return the moves of all parts after blocks of rows from all of them were solved in turn."""
    parts, states = crew.parts.parts, before
    found = crew.submit("violators", turns.in_random_order, parts, states, pace)
    n_wrong, n_active = sum(crew.gather("count", turns.n_violators, found))
    alone = bool(n_active <= solver.block_size)
    orders = crew.submit("order", turns.order_of, states, found, alone)
    n_turns = min(1, int(n_wrong)) if alone else -(-int(n_wrong) // solver.block_size)
    for turn in range(n_turns):
        states = _turn(crew, states, orders, (turn, n_turns), solver, pace, alone, alone)
    if n_turns > 1 and pace.slow >= SLOW_EPOCHS:
        # Blocks of random rows undo each other's work; the rows that are free now, all at once, do not.
        free = crew.submit("free", turns.free_in_order, parts, states, pace)
        counts = crew.gather("count", len, free)
        share = min(1.0, solver.block_size / max(1, sum(counts)))
        worst = crew.submit("worst", turns.first_of, free, [int(share * count) for count in counts])
        states = _turn(crew, states, worst, (0, 1), solver, pace, whole=True) if any(counts) else states
    return crew.submit("met", turns.met, parts, before, states)


def _turn(
    crew: Crew, states: list[Any], orders: list[Any], turn: tuple[int, int], solver: DualAscent, pace: Pace,
    whole: bool, alone: bool = False,
) -> list[Any]:  # fmt: skip
    """Return the states after one block, of a share of each part's rows in some order."""
    parts, name = crew.parts.parts, "closing" if whole else str(turn[0])
    pieces = crew.submit(f"piece-{name}", turns.piece_of, parts, states, orders, *turn)
    found = crew.hands.submit(f"block-{name}", turns.solved, crew.parts.task, pieces, solver, pace, whole, alone)
    return crew.submit(f"carry-{name}", turns.carried, parts, states, [found] * len(parts))
