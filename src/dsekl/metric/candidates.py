"""The candidates for the weights: equal, each feature in its own unit or all in one; learned; and half-way.

Weights are learned from both kinds of equal ones, since from one of them a descent may never find what matters: a
column of large numbers has all of the distance in one unit, and a rim of dark pixels has too much of it in units of
its own. Held-out rows say which of the two ends predicts better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dsekl.search.regions import Places
from dsekl.solvers.state import Form

from .data import Data, Stages
from .descent import WIDTHS, Descent, Learner, learner
from .scales import common_unit, own_units

Floats = NDArray[np.float64]

EQUAL, ONE_UNIT, PARTLY, LEARNED = "equal", "isotropic", "partly learned", "learned"

SAME_UNITS = 1.5
"""Ratio of the columns' deviations up to which one unit is each column's own."""


@dataclass(frozen=True)
class Losses:
    """The neighbours' loss at each of ``WIDTHS``, summed over the splits."""

    of_widths: Annotated[Floats, Form(("widths",))]

    def check(self) -> None:
        """Nothing but its form can be wrong."""


@dataclass(frozen=True)
class Candidates:
    """Makes gammas, one per feature, without each split's held-out rows."""

    data: Data
    splits: list[Places]
    deviation: Floats
    seed: int
    stages: Stages

    def made(self, advance: Callable[[float], None]) -> dict[str, list[Floats]]:
        """Return all candidates, the simplest first."""
        units = {EQUAL: self.data.tied(own_units(self.deviation)), ONE_UNIT: common_unit(self.deviation)}
        varying = self.deviation[self.deviation > 0]
        if varying.max() <= SAME_UNITS * varying.min():
            del units[ONE_UNIT]
        starts: dict[str, Floats] = {}
        ends: dict[str, list[Floats]] = {}
        losses: dict[str, float] = {}
        end_losses: dict[str, float] = {}
        for place, (name, unit) in enumerate(units.items()):
            # One width for all splits, so that a factor of it means the same in each.
            of_widths = self._losses_of_widths(name, unit)
            starts[name], losses[name] = WIDTHS[np.argmin(of_widths)] * unit, float(np.min(of_widths))
            ends[name], end_losses[name] = [], 0.0
            for number in range(len(self.splits)):
                advance((place + number / len(self.splits)) / len(units))
                ends[name].append(self._descended(name, number, starts[name]))
                end_losses[name] += self._learner(number).held_out_loss(ends[name][-1])
        start = min(end_losses, key=end_losses.__getitem__)
        simple = dict.fromkeys((EQUAL, min(losses, key=losses.__getitem__)))
        found = {name: [starts[name]] * len(self.splits) for name in simple}
        found[PARTLY] = [np.sqrt(end * starts[start]) for end in ends[start]]
        found[LEARNED] = ends[start]
        return found

    def _learner(self, number: int) -> Learner:
        return learner(self.data, self.splits[number], (self.seed, number))

    def _losses_of_widths(self, name: str, unit: Floats) -> Floats:
        found = self.stages.take(f"widths, {name}", Losses, {"widths": len(WIDTHS)})
        if found is None:
            each = [self._learner(number).losses_of_widths(unit) for number in range(len(self.splits))]
            found = Losses(np.sum(each, axis=0))
            self.stages.put(f"widths, {name}", found)
        return found.of_widths

    def _descended(self, name: str, number: int, start: Floats) -> Floats:
        stage = f"descent {number}, {name}"
        descent = self.stages.take(stage, Descent, {"features": len(start)}) or Descent.of(start)
        of_start = learner(self.data, self.splits[number], (self.seed, number, crc32(name.encode())))
        return of_start.descend(start, descent, lambda now: self.stages.put(stage, now))
