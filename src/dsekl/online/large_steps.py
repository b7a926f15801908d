"""What a machine with a large budget does with a mini-batch: its rows step, a stretch of points does, and some go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dsekl.gram import Gram
from dsekl.solvers.dual.block import descend

from .batch import Batch
from .buffer import Floats
from .large_budget import shrunk

if TYPE_CHECKING:
    from .large import LargeLearner

BATCH = 2048
SWEEPS = 3
SMALL = 0.01


def take(machine: LargeLearner, batch: Batch, f: Floats) -> None:
    """Steps 2 to 4 of ``large``; ``f`` are the predictions of the batch, in units of the spread."""
    forget(machine, len(batch))
    built = machine.gram_of(batch.rows)
    order = np.arange(len(batch)) if built.order is None else built.order
    batch, f = batch.at(order), f[order]
    coef = stepped(machine, built, slice(None), batch, np.zeros_like(f), f)
    kept = np.asarray(coef.any(axis=1))
    machine.points, machine.coef = machine.points.with_more(batch.at(kept)), np.concatenate([machine.coef, coef[kept]])
    step_neighbours(machine)
    shrink(machine)
    machine.forget_model()


def stepped(machine: LargeLearner, built: Gram, places: slice, rows: Batch, coef: Floats, f: Floats) -> Floats:
    """Return the coefficients of some points after dual ascent on their own block."""
    where = np.arange(built.n_rows)[places]
    K = built.block(where, where)
    y, C = (rows.targets - machine.intercept) / machine.unit, machine.settings.first_C * rows.weights
    lines, own = np.array(coef.T, order="C"), np.array(f.T, dtype=K.dtype, order="C")
    descend(K, np.ascontiguousarray(y.T), C, lines, own, machine.settings.loss, SWEEPS, SMALL)
    return np.ascontiguousarray(lines.T)


def step_neighbours(machine: LargeLearner) -> None:
    """Let a random stretch of neighbours take their steps."""
    if not machine.settings.n_cols or not len(machine.coef):
        return
    built = machine.gram_of(machine.points.rows)
    if built.order is not None:
        machine.points, machine.coef = machine.points.at(built.order), machine.coef[built.order]
    # By the weight of the rows that were learned from: how many have come, and wait, is a matter of batches.
    learned = int(np.float64(machine.weight).view(np.uint64))
    rng = np.random.default_rng([machine.seed, learned, len(machine.coef)])
    first = int(rng.integers(0, max(1, len(machine.coef) - BATCH + 1)))
    part = slice(first, first + BATCH)
    f = built.product(part, slice(None), machine.coef) + machine.beside_at(machine.points.rows[part])
    new = machine.coef.copy()
    new[part] = stepped(machine, built, part, machine.points.at(part), machine.coef[part], f)
    kept = np.asarray(new.any(axis=1))
    machine.points, machine.coef = machine.points.at(kept), new[kept]


def shrink(machine: LargeLearner) -> None:
    """Let points go that are over the budget; points are in their spatial order."""
    machine.points, machine.coef = shrunk(machine.points, machine.coef, machine.settings, machine.gamma)


def forget(machine: LargeLearner, n_rows: int) -> None:
    """Let what was learned count less, by so many rows, for a half-life that is a number."""
    half_life = machine.settings.half_life
    if isinstance(half_life, int | float):
        keep = 2.0 ** (-n_rows / half_life)
        machine.coef = machine.coef * keep
        machine.points = replace(machine.points, weights=machine.points.weights * keep)
