"""The duality gap of rows in parts: measured and audited as on one machine, from sums over the parts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np

from dsekl.solvers import Problem
from dsekl.solvers.dual.certificate import (
    FEWEST_AUDITED,
    FREE_WORK,
    SHARE_OF_WORK,
    Certificate,
    extrapolated,
    overflow,
    parts_of,
)
from dsekl.solvers.dual.dual_state import DualState

from . import audit, measures, wide_kernels
from .measures import Measured
from .part_tasks import PartTasks

MOST_AUDITED = 2**16
"""Rows that are audited where not all are: what is told of them comes here."""


@dataclass
class Standing:
    """Where all parts stand, and what was last measured of them."""

    tasks: PartTasks
    states: list[Any] = field(default_factory=list)
    counted: int = 0
    """Kernel values up to the last snapshot."""
    last: Measured | None = None

    def part_size(self, p: int, size: int) -> int:
        """Return how many rows of a part are in a sample of all."""
        parts = self.tasks.parts
        return parts.sizes[p] if size == parts.n_rows else max(1, parts.sizes[p] * size // parts.n_rows)

    def part_sizes(self, size: int) -> list[int]:
        """Return how many rows of each part are in a sample of all."""
        return [self.part_size(p, size) for p in range(len(self.tasks.parts))]

    def measure(self, former: list[Any], size: int) -> Measured:
        """Measure the rows in a sample, and how far the coefficients have moved."""
        parts = self.tasks.parts.parts
        asked = self.tasks.gather("measure", measures.measured, parts, former, self.states, self.part_sizes(size))
        found: Measured = reduce(add, asked)
        self.last = replace(found, evaluations=self.counted + found.evaluations)
        return self.last

    def predict(self, size: int) -> None:
        """Predict the rows of a sample anew that are not active."""
        tasks, states, sizes = self.tasks, self.states, self.part_sizes(size)
        parts = tasks.parts.parts
        if tasks.parts.wide:
            terms = tasks.terms(wide_kernels.terms_at, states)
            self.states = tasks.submit("predict", wide_kernels.predicted_by, parts, states, sizes, terms)
            return
        sums = tasks.summed(tasks.submit("sums", measures.sums_of_coef, parts, states))
        self.states = tasks.submit("predict", measures.predicted, parts, states, sizes, [sums] * len(parts))


@dataclass(frozen=True)
class GapOfParts:
    """The rows of all parts, as far as the gap is to be measured."""

    standing: Standing
    problem: Problem
    state: DualState
    former: list[Any]
    """Where the parts stood before the round."""

    @property
    def n_inactive(self) -> int:
        assert self.standing.last is not None
        return self.standing.last.n_inactive

    def certify(self) -> Certificate:
        found = self.standing.measure(self.former, self.standing.tasks.parts.n_rows)
        self.state.evaluations = found.evaluations
        if not (np.isfinite(found.certificate.excess) and np.isfinite(found.certificate.primal)):
            raise overflow(self.problem)
        return found.certificate

    def predict_inactive(self) -> None:
        self.standing.predict(self.standing.tasks.parts.n_rows)

    def audit(self, goal: float) -> Certificate:
        """Measure with true predictions of some rows; where these do not meet the goal, of all."""
        standing, n = self.standing, self.standing.tasks.parts.n_rows
        assert standing.last is not None
        affordable = int(max(FREE_WORK, SHARE_OF_WORK * self.state.evaluations)) // max(1, standing.last.n_support)
        if max(FEWEST_AUDITED, affordable) < n:
            found = self._extrapolated(min(max(FEWEST_AUDITED, affordable), MOST_AUDITED), standing.last.certificate)
            if found.gap < goal:
                return found
        terms = standing.tasks.terms(audit.true_terms_at, standing.states)
        standing.states = standing.tasks.submit("true", audit.with_true_predictions, standing.states, terms)
        return self.certify()

    def _extrapolated(self, n_audited: int, whole: Certificate) -> Certificate:
        tasks, states = self.standing.tasks, self.standing.states
        parts, sizes = tasks.parts.parts, tasks.parts.sizes
        n = sum(sizes)
        rows = np.sort(self.state.rng.choice(n, n_audited, replace=False, shuffle=False))
        starts = np.cumsum([0, *sizes])
        own = [rows[(rows >= a) & (rows < b)] - a for a, b in pairwise(starts)]
        found = audit.Drawn.joined(tasks.gather("draw", audit.drawn, parts, states, own))
        X = tasks.executor.submit("drawn-rows", np.concatenate, tasks.submit("raw", audit.raw_rows, parts, own))
        (f,) = tasks.executor.gather([tasks.summed(tasks.submit("true-of-drawn", audit.true_terms, parts, states, X))])
        drawn = replace(self.problem, targets=found.targets, weights=found.weights)
        everyone = np.arange(len(found.F))
        kept, true = (parts_of(drawn, found.coef, found.diagonal, everyone, of) for of in (found.F, f))
        return extrapolated(whole, kept, true, n)
