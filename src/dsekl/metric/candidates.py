"""The candidates for the weights: equal, each feature in its own unit or all in one; learned; and half-way.

The learned ones start from the equal ones that suit the mean of neighbours better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.search.regions import Places

from .choice import Data
from .descent import WIDTHS, Learner
from .scales import common_unit, own_units

Floats = NDArray[np.float64]

EQUAL, ONE_UNIT, PARTLY, LEARNED = "equal", "isotropic", "partly learned", "learned"


@dataclass(frozen=True)
class Candidates:
    """Equal weights in units, the better of them first, and the data and splits to learn others from."""

    data: Data
    splits: list[Places]
    equal: dict[str, Floats]
    rng: np.random.Generator

    @classmethod
    def of(cls, data: Data, splits: list[Places], spread: Floats, rng: np.random.Generator) -> Candidates:
        """Find the width of equal weights: one for all splits, so that a factor of it means the same in each."""
        equal, losses = {}, {}
        for name, unit in {EQUAL: own_units(spread), ONE_UNIT: common_unit(spread)}.items():
            of_widths = sum(_learner(data, held_out).losses_of_widths(unit, rng) for held_out in splits)
            equal[name], losses[name] = np.asarray(WIDTHS[np.argmin(of_widths)] * unit), float(np.min(of_widths))
        return cls(data, splits, {name: equal[name] for name in sorted(losses, key=losses.__getitem__)}, rng)

    def learned(self, advance: Callable[[float], None]) -> dict[str, list[Floats]]:
        """Return all candidates, the simplest first: the gammas made without each split's held-out rows."""
        found: dict[str, list[Floats]] = {PARTLY: [], LEARNED: []}
        for number, held_out in enumerate(self.splits):

            def report(done: float, number: int = number) -> None:
                advance((number + done) / len(self.splits))

            for name, gamma in self._descend(held_out, report).items():
                found[name].append(gamma)
        units = dict.fromkeys((EQUAL, next(iter(self.equal))))
        return {name: [self.equal[name]] * len(self.splits) for name in units} | found

    def _descend(self, held_out: Places, advance: Callable[[float], None]) -> dict[str, Floats]:
        start = next(iter(self.equal.values()))
        learned = _learner(self.data, held_out).descend(start, self.rng, advance)
        return {PARTLY: np.sqrt(learned * start), LEARNED: learned}


def _learner(data: Data, held_out: Places) -> Learner:
    rows = np.setdiff1d(np.arange(len(data.targets)), held_out)
    return Learner(data.kernel, data.rows, data.targets, data.weights, rows, data.workers)
