"""A round of all parts: all at once, with the others held; or block after block where kernels are wide."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from dsekl.solvers import DualAscent
from dsekl.solvers.dual.active_rows import SLOW_EPOCHS

from . import rounds, wide_kernels
from .part_state import Pace
from .part_tasks import PartTasks


def run_round(tasks: PartTasks, states: list[Any], solver: DualAscent, pace: Pace) -> list[Any]:
    """Return the change of each part in a round, of its coefficients and predictions."""
    return (_in_blocks if tasks.parts.wide else _at_once)(tasks, states, solver, pace)


def _at_once(tasks: PartTasks, states: list[Any], solver: DualAscent, pace: Pace) -> list[Any]:
    """Return the changes of all parts, each with the others held, and what each changes of the others."""
    parts = tasks.parts.parts
    changes = tasks.submit("ascend", rounds.ascended, parts, states, solver, pace)
    boxes = tasks.submit("outbox", attrgetter("outbox"), changes)
    sums = tasks.summed(tasks.submit("sums", attrgetter("sums"), changes))
    near = [[boxes[q] for q in others] for others in tasks.parts.neighbours]
    return tasks.submit("couple", rounds.coupled, parts, states, changes, near, [sums] * len(parts))


def _in_blocks(tasks: PartTasks, before: list[Any], solver: DualAscent, pace: Pace) -> list[Any]:
    """Return the changes of all parts after blocks of rows from all of them were solved one after the other."""
    parts, states = tasks.parts.parts, before
    found = tasks.submit("violators", wide_kernels.in_random_order, parts, states, pace)
    n_wrong, n_active = sum(tasks.gather("count", wide_kernels.n_violators, found))
    alone = bool(n_active <= solver.block_size)
    orders = tasks.submit("order", wide_kernels.order_of, states, found, alone)
    n_blocks = min(1, int(n_wrong)) if alone else -(-int(n_wrong) // solver.block_size)
    for k in range(n_blocks):
        states = _block(tasks, states, orders, (k, n_blocks), solver, pace, alone, alone)
    if n_blocks > 1 and pace.slow >= SLOW_EPOCHS:
        # Blocks of random rows undo each other's work; the rows that are free now, all at once, do not.
        free = tasks.submit("free", wide_kernels.free_in_order, parts, states, pace)
        counts = tasks.gather("count", len, free)
        share = min(1.0, solver.block_size / max(1, sum(counts)))
        worst = tasks.submit("worst", wide_kernels.first_of, free, [int(share * count) for count in counts])
        states = _block(tasks, states, worst, (0, 1), solver, pace, whole=True) if any(counts) else states
    return tasks.submit("met", wide_kernels.met, parts, before, states)


def _block(
    tasks: PartTasks, states: list[Any], orders: list[Any], place: tuple[int, int], solver: DualAscent, pace: Pace,
    whole: bool, alone: bool = False,
) -> list[Any]:  # fmt: skip
    """Return the states after one block, of a share of each part's rows in some order."""
    parts, objective = tasks.parts.parts, tasks.parts.objective
    name = "closing" if whole else str(place[0])
    pieces = tasks.submit(f"piece-{name}", wide_kernels.piece_of, parts, states, orders, *place)
    found = tasks.executor.submit(f"block-{name}", wide_kernels.solved, objective, pieces, solver, pace, whole, alone)
    return tasks.submit(f"carry-{name}", wide_kernels.carried, parts, states, [found] * len(parts))
