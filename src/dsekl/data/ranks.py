"""The ranks of a column of numbers with heavy tails, which stand beside the numbers.

A few far values stretch a column until most of its rows are close together. Ranks tell these apart, and the numbers the
far ones; where gamma is learned, rows say which of the two counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import saved_values as saved_value
from .field_values import LARGEST, Numbers

TAILS = 0.01
"""Share of the values on either side that do not count in the deviation."""

FARTHEST_SCORE = 40.0
"""No normal score is further from 0: smaller probabilities are 0 in float64."""

HEAVY_TAIL = 6.0
"""Deviations from the median from which on a value is far."""


@dataclass(frozen=True)
class Ranks:
    """Normal scores, linear between knots: the rank of a value among the training rows, whatever their unit."""

    knots: Sequence[float]
    scores: Sequence[float]

    def of(self, values: Numbers) -> Numbers:
        """Return the scores of values; beyond the training rows they are those of the ends."""
        return np.asarray(np.interp(values, self.knots, self.scores))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"knots": list(self.knots), "scores": list(self.scores)}

    @classmethod
    def from_dict(cls, saved: object, place: str) -> Ranks:
        """Return the ranks that ``to_dict`` described at a place of a file; ValueError if it never did."""
        from dsekl.rows.reshaping import N_KNOTS  # here, since the command line's help must not wait for SciPy

        entries = saved_value.entries(saved, place, {"knots", "scores"})
        knots, scores = (
            [
                saved_value.number(value, f"{place}.{name}", most=most)
                for value in saved_value.items(entries[name], place)
            ]
            for name, most in (("knots", LARGEST), ("scores", FARTHEST_SCORE))
        )
        if not 1 <= len(knots) == len(scores) <= N_KNOTS:
            raise ValueError(f"{place} has {len(knots)} knots and {len(scores)} scores")
        if (np.diff(knots) < 0).any() or (np.diff(scores) < 0).any():
            raise ValueError(f"{place} has knots or scores that do not ascend")
        return cls(knots, scores)


def ranks_of(values: Numbers, least: float, most: float) -> Ranks | None:
    """Return the ranks of a column of which some values are known, and both ends; None without a heavy tail."""
    from dsekl.rows import ArrayRows
    from dsekl.rows.reshaping import ranked

    if len(values) == 0 or len(np.unique(values)) <= 2:
        return None
    deviation = float(np.clip(values, *np.quantile(values, [TAILS, 1 - TAILS])).std()) or float(values.std())
    median = float(np.median(values))
    if max(most - median, median - least) <= HEAVY_TAIL * deviation:
        return None
    made = ranked(ArrayRows(values[:, None]))
    return Ranks(made.knots[0].tolist(), made.values[0].tolist())
