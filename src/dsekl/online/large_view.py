"""What a machine with a large budget predicts while rows wait for their mini-batch.

The mini-batch is learned from as far as it has come, in parts, on a copy. The last few rows, which fill no part, are
learned from one at a time by a small machine, beside which that copy stands. So a single row costs a product with the
points, and what is predicted depends on the rows alone, and not on the batches in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .batch import Batch
from .beside import Beside
from .buffer import FACTOR, Floats
from .learner import Learner

if TYPE_CHECKING:
    from .large import LargeLearner

PART = 256
"""Rows in a part."""


def whole_parts(n: int) -> int:
    """Return how many of ``n`` rows are learned from at once: whole parts, and before the first a power of two."""
    if n >= PART:
        return n - n % PART
    return 1 << (n.bit_length() - 1) if n else 0


class MachineBeside(Beside):
    """A machine with a large budget that stands beside a small one."""

    def __init__(self, machine: LargeLearner) -> None:
        super().__init__(np.zeros(machine.n_outputs), np.zeros((machine.n_features, machine.n_outputs)))
        object.__setattr__(self, "machine", machine)

    machine: LargeLearner

    def at(self, rows: Floats) -> Floats:
        # One at a time: products of many rows leave out other pairs, and have other bits.
        filled = np.where(np.isnan(rows), self.machine.features.mean, rows)
        each = [self.machine.predicted(filled[r : r + 1]) for r in range(len(rows))]
        return np.concatenate([np.empty((0, self.machine.n_outputs)), *each]) * self.machine.unit


@dataclass
class View:
    """The machine that has learned from ``n_whole`` of the rows that wait, and the small one for those behind them."""

    n_whole: int
    machine: LargeLearner
    tail: Learner

    @staticmethod
    def of(n_whole: int, machine: LargeLearner) -> View:
        """Return a view with no rows behind those."""
        settings = replace(machine.settings, budget=PART, half_life=None, gamma=machine.gamma, maintenance="absorb")
        settings = replace(settings, beyond_two=None)  # the loss is that of the large machine
        tail = Learner.start(settings, machine.n_features, machine.n_outputs, machine.seed)
        tail.stand_alone()
        tail.center, tail.gamma = machine.features.mean.copy(), machine.gamma
        tail.intercept, tail.unit, tail.beside = machine.intercept, machine.unit, MachineBeside(machine)
        return View(n_whole, machine, tail)

    def catch_up(self, waiting: Batch) -> None:
        """Learn from the rows behind the whole parts, as far as that is not done."""
        new = waiting.at(slice(self.n_whole + self.tail.n_seen, None))
        if len(new):
            self.tail.learn(new.rows, new.targets, new.weights, new.labels)

    def evaluate(self, rows: Floats) -> Floats:
        """Return the predictions of rows on the scale of the kernel, in the user's units."""
        machine, tail = self.machine, self.tail
        rows = np.where(np.isnan(rows), machine.features.mean, rows)
        return np.asarray(machine.predicted(rows) * machine.unit + machine.intercept + tail.sum_over_points(rows))

    def points(self) -> tuple[Batch, Floats]:
        """Return all points, with their coefficients in units of the spread."""
        machine, b, n = self.machine, self.tail.buffer, self.tail.n_points
        parts = b.parts
        targets = parts.targets[:, :n].T * machine.unit + machine.intercept
        mass = b.machines[FACTOR, 0] * parts.mass[0, :n]
        more = Batch(self.tail.support_vectors(), targets, mass, parts.rest[0, :n].astype(np.int64))
        coef = np.concatenate([machine.coef, self.tail.dual_coef() / machine.unit])
        return machine.points.with_more(more), coef
