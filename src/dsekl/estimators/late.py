"""What a fitted estimator finds out when it is first asked: how far its predictions can be trusted.

Rows that the model had not seen tell it. Where the fit has such predictions, they are kept, and little is left to do.
Where it has none, a few further fits are made, on the training rows, to which the estimator keeps a reference until
then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dsekl.calibration import Calibration, Intervals, Unseen, calibrated, fit_intervals
from dsekl.models import Model
from dsekl.models.cross_fitting import MANY_ROWS, CrossFit
from dsekl.workers import Threads

FOLDED = 0.75
"""Share of the rows from which on unseen ones are those of folds, each predicted by most of the others."""

Floats = NDArray[np.float64]
Found = TypeVar("Found")


class Late(Generic[Found]):
    """A value that is made once, when it is first wanted."""

    def __init__(self, make: Callable[[], Found]) -> None:
        self._make: Callable[[], Found] | None = make

    @property
    def cheap(self) -> bool:
        """Whether it is there, or takes no fits of many rows."""
        source = getattr(self._make, "source", None)
        return not isinstance(source, CrossFit) or len(source.examples) <= MANY_ROWS

    def with_unseen(self, n_jobs: int | None) -> tuple[Late[Found], Unseen | None]:
        """Return the same value to be made of predictions that are made now, and these; None where there are none."""
        source = getattr(self._make, "source", None)
        if not isinstance(source, CrossFit) or not self.cheap:
            return self, source
        unseen = _unseen(source, n_jobs)
        return Late(replace(cast(Any, self._make), source=unseen)), unseen

    def value(self) -> Found:
        """Return the value."""
        if self._make is not None:
            self._value, self._make = self._make(), None
        return self._value


@dataclass(frozen=True)
class Known(Generic[Found]):
    """Makes a value that is there already."""

    found: Found

    def __call__(self) -> Found:
        return self.found


def _unseen(source: Unseen | CrossFit, n_jobs: int | None) -> Unseen:
    return source if isinstance(source, Unseen) else source.unseen(Threads.of(n_jobs))


@dataclass(frozen=True)
class Calibrating:
    """Makes a calibration. ``has_odds`` says that f stands for odds as it is; ``by_itself`` that the model itself has
    predicted the rows, which were held out of it.
    """

    source: Unseen | CrossFit
    has_odds: bool
    by_itself: bool
    n_jobs: int | None

    def __call__(self) -> Calibration:
        unseen = _unseen(self.source, self.n_jobs)
        # Where one part of the rows is predicted by the other, that has far fewer rows than the model.
        n_rows = int(unseen.places.max()) + 1
        return calibrated(unseen, self.has_odds, by_less=not self.by_itself and len(unseen) < FOLDED * n_rows)


@dataclass(frozen=True)
class MakingIntervals:
    """Makes intervals for a model in units of ``size``, with the rows of X that its terms are."""

    source: Unseen | CrossFit
    model: Model
    support: NDArray[np.intp] | None
    size: Floats
    n_jobs: int | None

    def __call__(self) -> Intervals:
        unseen = _unseen(self.source, self.n_jobs)
        square = None if self.support is None else self.model.gram.square()
        terms = np.full(len(unseen), -1)
        if self.support is not None and len(self.support):  # a constant has no terms
            order = np.argsort(self.support)
            found = np.searchsorted(self.support[order], unseen.places).clip(max=len(order) - 1)
            terms = np.where(self.support[order][found] == unseen.places, order[found], -1)
        # Sizes that only some rows could be given would be those of the rows that were far off.
        gram = square if (terms >= 0).all() else None
        return fit_intervals(unseen, gram, terms).in_unit(self.size)
