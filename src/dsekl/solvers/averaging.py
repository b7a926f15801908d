"""Means of the coefficients over steps: what the last random rows happened to say cancels out.

The coefficients of step s count s to a power, so that the mean forgets where the run began without knowing where it
ends; with power 0 all steps count the same. A step changes some coefficients only, and no more than these are touched:
a change at step s is there in all steps from s on, so the mean is the sum of all changes, less the sum of the changes
times the share of the weight before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from . import preconditioner
from .state import Count, Floats, PerTerm, State, can_be_squared


def averages(average: bool | str, steps: str) -> bool:
    """Tell whether a solver with these settings returns a mean: "auto" does for preconditioned steps."""
    return steps == "preconditioned" if average == "auto" else bool(average)


def power_of(steps: str) -> int:
    """Return the power of a step's number that its coefficients count."""
    return preconditioner.AVERAGE if steps == "preconditioned" else 0


def schedule_of(average: bool | str, steps: str) -> str:
    """Return the schedule that suits: the paper's for its steps, for others that of a mean or of the last step."""
    if steps == "paper":
        return "inverse"
    return preconditioner.SCHEDULE if averages(average, steps) else preconditioner.SCHEDULE_OF_THE_LAST


def weight(n_steps: int, power: int) -> float:
    """Return the weight of the first so many steps, a binomial that grows as the sum of powers does."""
    return float(comb(n_steps + power, power + 1))


@dataclass(kw_only=True)
class AveragedState(State):
    """The state of a run whose model may be a mean over its steps."""

    late: PerTerm | None = None
    """For the mean: each change times the weight of the steps before it."""
    averaged: Count = 0
    """Steps in the mean."""

    def check_mean(self, average: bool | str, steps: str) -> None:
        """Raise ValueError where the mean does not suit the solver's settings."""
        if (self.late is not None) != averages(average, steps):
            raise ValueError(f"the state's late does not suit average={average!r} with steps={steps!r}")
        if self.averaged > (0 if self.late is None else self.step):
            raise ValueError(f"the state's averaged is {self.averaged}, of {self.step} steps")
        if not can_be_squared(self.mean(power_of(steps))):
            raise ValueError("the state's late is too large for the squares of the mean to be added up")

    def start_mean(self, average: bool | str, steps: str) -> None:
        """Forget the mean, if there is to be one: it starts anew with the next step."""
        self.late = np.zeros_like(self.coef) if averages(average, steps) else None
        self.averaged = 0

    def move(self, cols: NDArray[np.intp], change: Floats, power: int) -> None:
        """Add the change of a step to the coefficients of some centres."""
        self.coef[cols] += change
        if self.late is not None:
            self.late[cols] += weight(self.averaged, power) * change

    def count_step(self) -> None:
        """Count a step whose changes are all made toward the mean."""
        if self.late is not None:
            self.averaged += 1

    def mean(self, power: int) -> Floats:
        """Return a copy of the mean; of the last coefficients, if there is none."""
        if self.late is None or not self.averaged:
            return self.coef.copy()
        return self.coef - self.late / weight(self.averaged, power)
