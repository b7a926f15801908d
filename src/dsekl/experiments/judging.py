"""How claims are judged: two-sided, within a slack that comes from standard errors.

Two figures are level if they differ by no more than the 95 % interval of their difference plus a margin that is stated
with the claim: half a unit of the last digit that the paper prints, or what the paper itself calls comparable. Lower
than the paper is a difference, as higher is. A claim of several parts agrees if all of them do, and in part if some do.
Validation errors are compared with validation errors, evaluation errors with evaluation errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from .sections import AGREES, DIFFERS, PARTLY

COVERAGE = 0.95
LOWER, LEVEL, HIGHER = -1, 0, 1
SIDES = {LOWER: "lower", LEVEL: "level", HIGHER: "higher"}


@dataclass(frozen=True)
class Estimate:
    """A figure, its standard error, and the repetitions behind that (infinite for a share of many rows)."""

    value: float
    error: float
    repetitions: float = math.inf

    @staticmethod
    def of(values: Sequence[float]) -> Estimate:
        """Return the mean of repetitions; of one alone nobody knows how far off it is."""
        numbers = np.asarray(values, dtype=np.float64)
        error = numbers.std(ddof=1) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.inf
        return Estimate(float(numbers.mean()), float(error), len(numbers))

    @staticmethod
    def from_deviation(mean: float, deviation: float, repetitions: int) -> Estimate:
        """Return the mean of repetitions whose standard deviation is known."""
        return Estimate(mean, deviation / math.sqrt(repetitions), repetitions)

    @staticmethod
    def share(value: float, n_rows: int) -> Estimate:
        """Return a share of rows: its standard error is that of the draw of rows alone, not of seeds or splits."""
        return Estimate(value, math.sqrt(value * (1.0 - value) / n_rows))

    @property
    def reach(self) -> float:
        """Half of the 95 % interval: Student's t for few repetitions, the normal distribution for many rows."""
        if math.isinf(self.repetitions):
            return float(norm.ppf(0.5 + COVERAGE / 2)) * self.error
        if self.repetitions < 2:
            return math.inf
        return float(t.ppf(0.5 + COVERAGE / 2, self.repetitions - 1)) * self.error


EXACT = Estimate(0.0, 0.0)
"""What a paired difference is compared with."""


def slack(ours: Estimate, theirs: Estimate, margin: float = 0.0) -> float:
    """Return how far apart two independent figures may be and still be level."""
    return math.hypot(ours.reach, theirs.reach) + margin


def side(ours: Estimate, theirs: Estimate, margin: float = 0.0) -> int:
    """Return whether our figure is LOWER than the other, LEVEL with it, or HIGHER."""
    apart = ours.value - theirs.value
    return LEVEL if abs(apart) <= slack(ours, theirs, margin) else (HIGHER if apart > 0 else LOWER)


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate:
    """Return the mean difference over the seeds that both have."""
    return Estimate.of([ours[seed] - theirs[seed] for seed in ours if seed in theirs])


def verdict(parts: Iterable[bool]) -> str:
    """Return the verdict on a claim of several parts."""
    held = list(parts)
    return AGREES if all(held) else (PARTLY if any(held) else DIFFERS)
