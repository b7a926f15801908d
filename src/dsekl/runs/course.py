"""How far a fit is: its search, then its epochs, in one bar with one time left.

How much longer each part takes than the other is foretold, from the rows alone, in some unit of work; the clock tells
how long a unit takes. Within the solver, the gap tells how far it is: of the way from its first value to the goal, on
a logarithmic scale. What was foretold counts less the further the solver is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dsekl.deadline import NEVER, Deadline

from .progress import Progress

AFTER_GROWING = 3.0
"""How much longer a solver takes once all rows have joined than before, where nothing else foretells it."""

REST = 0.03
"""Time after the last epoch, for the importances of the features, beside all before it."""


@dataclass(frozen=True)
class Work:
    """What is foretold: the work of the search and of the solver."""

    search: float = 0.0
    solver: float = 0.0


class Course:
    """Tells a bar how far a fit is."""

    def __init__(self, progress: Progress, work: Work | None = None, deadline: Deadline = NEVER) -> None:
        self._progress, self._work, self._deadline = progress, work or Work(), deadline
        self._searched = 0.0
        self._foretold: float | None = None
        self._began: float | None = None
        self._first = 0.0
        self._reported = False
        self._gaps: tuple[float, float] | None = None
        self._way = 0.0
        self._growing = 0.0

    def search(self, share: float) -> None:
        """Hear which share of the search is done."""
        self._searched = self._progress.seconds
        if share <= 0:
            return self._progress.show(math.inf)
        whole = self._searched / share
        self._foretold = whole * self._work.solver / self._work.search if self._work.search else 0.0
        return self._show(whole - self._searched + self._foretold)

    def step(self, done: float, max_epochs: int) -> None:
        """Hear how many of the epochs are done."""
        if self._began is None:
            self._began = self._progress.seconds
            self._first = done
        seconds = self._progress.seconds - self._began
        epochs = done - self._first
        left_of_all = seconds / epochs * (max_epochs - done) if epochs > 0 else math.inf
        share = self._way
        if self._reported and self._gaps is None:  # no gap is to be reached: all epochs are run
            left = left_of_all
        elif self._foretold is not None:
            left = (1 - share) * ((1 - share) * self._foretold + (seconds if share > 0 else 0.0))
        else:
            left = (1 - share) * seconds / share if share > 0 else math.inf
        self._show(min(left, left_of_all) if math.isfinite(left) else left)

    def report(self, record: dict[str, Any], shortfall: float = math.inf, goal: float = 0.0) -> None:
        """Hear an epoch's figures; the run ends where ``shortfall`` is under ``goal``."""
        self._reported = True
        if goal > 0 and math.isinf(shortfall):
            self._growing = self._progress.seconds
        elif self._growing and self._gaps == (math.inf, math.inf):
            self._all_have_joined(self._growing - (self._began or 0.0))
        if goal > 0 and shortfall > 0:
            first, least = self._gaps or (math.inf, math.inf)
            first = shortfall if math.isinf(first) else first
            least = min(least, shortfall)
            self._gaps = first, least
            if goal < first < math.inf:
                self._way = min(1.0, max(self._way, math.log(first / least) / math.log(first / goal)))
        self._progress.report(record)

    def _all_have_joined(self, grown: float) -> None:
        """Count from here on, where the gap begins to tell how far the solver is."""
        rest = AFTER_GROWING * grown if self._foretold is None else self._foretold - grown
        self._foretold, self._began = max(rest, grown), None

    def _show(self, left: float) -> None:
        rest = REST * self._progress.seconds if self._foretold is not None else 0.0
        self._progress.show(min(left, self._deadline.left) + rest)
