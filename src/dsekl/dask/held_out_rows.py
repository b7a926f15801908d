"""Rows of the sample that are held out of all parts: the model is judged at them after every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.calibration import Unseen
from dsekl.models import Examples
from dsekl.parts import Parts, PartsAscent, Region, Rows, SharedUpdates
from dsekl.parts.part_tasks import PartTasks
from dsekl.parts.wide_kernels import terms_at
from dsekl.rows import ArrayRows
from dsekl.runs.monitor import errors_at

from .cluster import itself

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutRows:
    """Rows that no part has, and the fit that is judged at them."""

    ascent: PartsAscent | SharedUpdates
    examples: Examples
    region: Region
    held: Any
    """Stands for the region where the tasks are."""

    @staticmethod
    def of(ascent: PartsAscent | SharedUpdates, examples: Examples) -> HeldOutRows:
        """Return the rows of some examples, ready to be predicted by all parts."""
        assert isinstance(examples.rows, ArrayRows)
        X = np.asarray(examples.rows.values)
        rows = Rows(X, examples.targets, examples.weights, examples.places)
        parts: Parts = ascent.parts
        region = Region.of(len(parts), parts.objective, [rows])
        return HeldOutRows(ascent, examples, region, ascent.executor.submit("held-out", itself, region))

    def predicted(self, states: list[Any]) -> Floats:
        """Return f at all rows, by states of the parts."""
        tasks = PartTasks(self.ascent.executor, self.ascent.parts)
        terms = tasks.submit("terms-held-out", terms_at, tasks.parts.parts, states, self.held)
        (f,) = tasks.executor.gather([tasks.summed(terms)])
        return np.asarray(f)

    def measure(self, coef: Floats) -> dict[str, float]:
        """Return the error of the model that the parts have now."""
        real = self.examples.classes is None
        return errors_at(self.region.rows.targets, self.predicted(self.ascent.states), self.examples.errors, real)

    def unseen(self, states: list[Any]) -> Unseen:
        """Return predictions of these rows by states of the parts."""
        rows = self.region.rows
        return Unseen(self.predicted(states), rows.targets, rows.weights, rows.places)
