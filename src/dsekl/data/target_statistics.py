"""What the targets of the training rows say of each category: their mean, drawn towards the mean of all.

A training row must not see its own target in it. So the rows are cut into parts, and each gets the means of the others;
new rows get the means of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .field_values import Numbers

FEW_LEVELS = 10
"""Categories up to which a column needs no statistic beside its one-hot code."""

MOST_MEANS = 10
"""Targets or classes up to which there is a mean for each."""

PARTS = 5

PRIOR_ROWS = 10.0
"""Rows for which the mean of all counts in the mean of a category."""


@dataclass(frozen=True)
class Statistic:
    """The means of each category, and those of all rows, which stand in for missing and unknown ones."""

    levels: Sequence[str]
    means: Sequence[Sequence[float]]
    of_all: Sequence[float]

    def of(self, texts: Sequence[str | None]) -> Numbers:
        """Return the means of rows, (n_rows, n_means)."""
        places: dict[str | None, int] = {level: place for place, level in enumerate(self.levels)}
        table = np.array([*self.means, self.of_all], dtype=np.float64)
        return np.asarray(table[[places.get(text, len(self.levels)) for text in texts]])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "levels": list(self.levels), "means": [list(means) for means in self.means], "of_all": list(self.of_all),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, saved: object, place: str) -> Statistic:
        """Return the statistic that ``to_dict`` described at a place of a file; ValueError if it never did."""
        entries = saved_value.entries(saved, place, {"levels", "means", "of_all"})
        levels = saved_value.texts(entries["levels"], f"{place}.levels")
        of_all = [saved_value.number(mean, f"{place}.of_all") for mean in saved_value.items(entries["of_all"], place)]
        means = [
            [saved_value.number(mean, f"{place}.means") for mean in saved_value.items(row, f"{place}.means")]
            for row in saved_value.items(entries["means"], f"{place}.means")
        ]
        if not 1 <= len(of_all) <= MOST_MEANS or {len(row) for row in means} != {len(of_all)}:
            raise ValueError(f"{place} has means of other targets")
        if len(means) != len(levels):
            raise ValueError(f"{place} has means of other categories")
        return cls(levels, means, of_all)


def statistic(
    texts: Sequence[str | None], targets: Numbers, weights: Numbers, rng: np.random.Generator
) -> tuple[Statistic, Numbers] | None:
    """Return the statistic of a column and its values for the training rows; None for a column of few categories.

    ``targets`` is (n_rows, n_means).
    """
    levels = sorted({text for text in texts if text is not None})
    if len(levels) <= FEW_LEVELS:
        return None
    places: dict[str | None, int] = {level: place for place, level in enumerate(levels)}
    of_row = np.array([places.get(text, len(levels)) for text in texts], dtype=np.intp)
    n, part = len(of_row), np.empty(len(of_row), dtype=np.intp)
    part[rng.permutation(n)] = np.arange(n) % PARTS
    counts, sums = _sums(of_row, weights, targets, len(levels) + 1)
    means, of_all = _means(counts, sums)
    values = np.empty_like(targets)
    for number in range(PARTS):
        rows = np.flatnonzero(part == number)
        own_counts, own_sums = _sums(of_row[rows], weights[rows], targets[rows], len(levels) + 1)
        others, of_others = _means(counts - own_counts, sums - own_sums)
        others[-1] = of_others
        values[rows] = others[of_row[rows]]
    return Statistic(levels, means[:-1].tolist(), of_all.tolist()), values


def means_of(targets: NDArray[Any], is_classes: bool) -> Numbers | None:
    """Return what is to be averaged: numbers, or an indicator of each class; None for more than a few of them."""
    if not is_classes:
        found = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)
    else:
        classes, codes = np.unique(targets, return_inverse=True)
        shown = np.arange(len(classes))[1:] if len(classes) == 2 else np.arange(len(classes))
        if len(shown) > MOST_MEANS:
            return None
        found = (codes[:, None] == shown).astype(np.float64)
    return found if found.shape[1] <= MOST_MEANS else None


def _sums(of_row: NDArray[np.intp], weights: Numbers, targets: Numbers, n: int) -> tuple[Numbers, Numbers]:
    counts = np.asarray(np.bincount(of_row, weights, n), dtype=np.float64)
    return counts, np.column_stack([np.bincount(of_row, weights * column, n) for column in targets.T])


def _means(counts: Numbers, sums: Numbers) -> tuple[Numbers, Numbers]:
    """Return the mean of each category and of all."""
    of_all = sums.sum(axis=0) / max(counts.sum(), np.finfo(np.float64).tiny)
    return (sums + PRIOR_ROWS * of_all) / (counts + PRIOR_ROWS)[:, None], of_all
