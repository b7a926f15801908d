"""Time that a fit may take: a budget of seconds, and deadlines within it.

Whoever does the work asks between two steps whether time is over. The clock is a value, so that tests have their own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]


@dataclass(frozen=True)
class Deadline:
    """A moment of a clock; by default one that never comes."""

    end: float = math.inf
    clock: Clock = time.monotonic

    @property
    def comes(self) -> bool:
        """Whether there is a deadline at all; if not, no clock is read."""
        return self.end < math.inf

    @property
    def passed(self) -> bool:
        return self.comes and self.clock() >= self.end

    @property
    def left(self) -> float:
        """The seconds until then, 0 once it has passed."""
        return max(0.0, self.end - self.clock()) if self.comes else math.inf

    def after(self, share: float) -> Deadline:
        """Return the moment at which a share of the time from now to this one is over."""
        return Deadline(self.end - (1.0 - share) * self.left, self.clock) if self.comes else self


NEVER = Deadline()


@dataclass(frozen=True)
class Budget:
    """Seconds from now on."""

    seconds: float = math.inf
    clock: Clock = time.monotonic
    started: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "started", self.clock() if self.seconds < math.inf else 0.0)

    @staticmethod
    def of(max_seconds: float | None) -> Budget:
        """Return the budget that a user gives; None is no limit."""
        return Budget(math.inf if max_seconds is None else float(max_seconds))

    def deadline(self, share: float = 1.0) -> Deadline:
        """Return the moment at which a share of the budget is spent."""
        return Deadline(self.started + share * self.seconds, self.clock)
