"""What a candidate made of the held-out rows, and whether another is better on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dsekl.search import Setting
from dsekl.solvers.state import Form

Floats = NDArray[np.float64]
PerHeldOut = Annotated[Floats, Form(("held out",))]

DOUBT, CLEAR, DECIDED = 0.5, 1.5, 3.0
"""Standard errors of the difference by which weights must beat simpler ones, by which what adds to a machine must beat
the machine without it, and from which on regions decide without whole fits."""

BEHIND = 2.0
"""Standard errors by which a setting must be worse on a part of the rows to be given up."""

EASY = 1.0
"""Standard errors by which half as many errors must be better, or weights are not worth learning."""

HOPELESS = 1.0
"""Standard errors behind the champion, on the rows that a search walks by, from which on a candidate seldom wins."""

LOSS_WEIGHT = 2.0
"""Weight of the mean loss beside the error, which alone often ties, and jumps where few rows are wrong."""

ENOUGH_ROWS = 1_000
"""Held-out rows from which on their errors alone tell whether anything is left to gain."""

FAR_GAINS = 0.005
"""Share of the differences on either side that count as much as the next one, where targets are real."""


@dataclass(frozen=True)
class Gain:
    """The mean difference between two candidates on the same rows, and its standard error."""

    mean: float
    standard_error: float

    @property
    def decided(self) -> bool:
        """Tell whether more rows would say nothing else."""
        return abs(self.mean) > DECIDED * self.standard_error

    def exceeds(self, doubt: float, least: float = -np.inf) -> bool:
        """Tell whether the gain is larger than so many standard errors, and at least what is worth it."""
        return self.mean > doubt * self.standard_error and self.mean >= least


@dataclass(frozen=True)
class Found:
    """The best setting (steps of the width and of C), and row by row its error, its loss and the row's weight."""

    width: int
    C_step: int
    errors: PerHeldOut
    losses: PerHeldOut
    weights: PerHeldOut

    def check(self) -> None:
        """Raise ValueError where no rows can have been judged so."""
        if (self.weights < 0).any() or not self.weights.any():
            raise ValueError("held-out rows have no weight")

    @property
    def setting(self) -> Setting:
        return self.width, self.C_step

    @property
    def error(self) -> float:
        return float(np.average(self.errors, weights=self.weights))

    @property
    def loss(self) -> float:
        return float(np.average(self.losses, weights=self.weights))

    @property
    def ranks(self) -> Floats:
        """Row by row, what candidates and their settings are ranked by."""
        return self.errors + LOSS_WEIGHT * self.losses

    @property
    def rank(self) -> float:
        return float(np.average(self.ranks, weights=self.weights))

    def of_first(self, n_rows: int) -> Found:
        """Return what the first of the rows say."""
        return Found(*self.setting, self.errors[:n_rows], self.losses[:n_rows], self.weights[:n_rows])

    def is_behind(self, best: Found) -> bool:
        """Tell whether a setting of the same candidate has clearly the worse rank on the same rows."""
        gain = self._gain(best.ranks - self.ranks, robust=False)
        return gain.mean < -BEHIND * gain.standard_error

    def gain_over(self, other: Found, robust: bool) -> Gain:
        """Return by how much the same rows rank better here; ``robust`` lets no row's difference dominate."""
        return self._gain(other.ranks - self.ranks, robust)

    def saved_errors(self, other: Found) -> Gain:
        """Return by how much the same rows are less wrong here, whatever their losses."""
        return self._gain(other.errors - self.errors, robust=False)

    def leaves(self, doubt: float) -> bool:
        """Tell whether a candidate with half of the errors would be better by so many standard errors; yes of few rows.

        The gain in k rows that are no longer wrong is the root of k standard errors.
        """
        if len(self.errors) < ENOUGH_ROWS:
            return True
        wrong = self.weights * self.errors
        return bool(wrong.sum() ** 2 > 2.0 * doubt**2 * (wrong**2).sum())

    def _gain(self, gain: Floats, robust: bool) -> Gain:
        if robust:
            gain = np.clip(gain, *np.quantile(gain, [FAR_GAINS, 1 - FAR_GAINS]))
        share = self.weights / self.weights.sum()
        mean = float(share @ gain)
        return Gain(mean, float(np.sqrt(share**2 @ (gain - mean) ** 2)))
