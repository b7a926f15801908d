"""Target encoding: the mean of the training targets in each category, shrunk towards the overall mean.

A training row must not see its own target in it. So the rows are cut into parts, and each gets the means of the others;
new rows get the means of all, and so do rows without weight. Where some rows judge a model, the others must not see
their targets either: to them the means are made as if these rows had no weight.

Two columns together have means as well, where their pairs of categories are no rarities: from one place to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
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


BETWEEN = "\x1f"
"""Stands between two categories in the name of their pair: the character that separates units."""

MOST_PAIRS = 3
"""Pairs of columns that have means together."""

MOST_LEVELS = 100_000
"""Pairs of categories that can be told apart in bounded memory; all further ones count as missing."""

MOST_NUMBERS = 2**19
"""Levels and means of all columns, which a model's file must have room for; levels beyond count as missing, the rarest
first."""


@dataclass(frozen=True)
class Statistic:
    """The means of each category, and those of all rows, which stand in for missing and unknown ones."""

    levels: Sequence[str]
    means: Sequence[Sequence[float]]
    of_all: Sequence[float]

    @property
    def n_means(self) -> int:
        return len(self.of_all)

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


@dataclass
class LevelBook:
    """Stands in for a statistic until the targets are known: the number of each level, as rows stream by, for its mean.

    Missing values have the number -1.
    """

    n_means: int
    numbers: dict[str | None, int] = field(default_factory=lambda: {None: -1})

    def of(self, texts: Sequence[str | None]) -> Numbers:
        """Return the number of the level of each row, and room for further means, (n_rows, n_means)."""
        numbers = self.numbers
        found = np.zeros((len(texts), self.n_means))
        found[:, 0] = [
            numbers.setdefault(text, len(numbers) - 1) if len(numbers) <= MOST_LEVELS else numbers.get(text, -1)
            for text in texts
        ]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Raise an error: there is nothing to save yet."""
        raise TypeError("a statistic is saved when the targets are known")


@dataclass(frozen=True)
class LevelColumn:
    """The levels of a column, which of them each training row has (as many as there are: none), and its features."""

    levels: Sequence[str]
    of_row: NDArray[np.intp]
    features: slice

    @staticmethod
    def read(book: LevelBook, encoded: Numbers, features: slice) -> LevelColumn:
        """Return what a book has written into encoded rows; levels in their order, whatever that of the rows is."""
        levels = [level for level in book.numbers if level is not None]
        order = sorted(range(len(levels)), key=levels.__getitem__)
        place = np.empty(len(levels) + 1, dtype=np.intp)
        place[order], place[-1] = np.arange(len(levels)), len(levels)
        return LevelColumn([levels[k] for k in order], place[encoded[:, features.start].astype(np.intp)], features)

    def with_most(self, most: int) -> LevelColumn:
        """Return the column with its most frequent levels."""
        n = len(self.levels)
        if n <= most:
            return self
        counts = np.bincount(self.of_row, minlength=n + 1)[:n]
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        place = np.full(n + 1, most)
        place[kept] = np.arange(most)
        return LevelColumn([self.levels[k] for k in kept], place[self.of_row], self.features)


def within_bounds(columns: Sequence[LevelColumn]) -> list[LevelColumn]:
    """Return columns whose levels and means a file has room for; those of few levels keep all of them."""
    left = MOST_NUMBERS
    for rest, column in zip(
        range(len(columns), 0, -1), sorted(columns, key=lambda column: len(column.levels)), strict=True
    ):
        each = 2 + column.features.stop - column.features.start
        if each * len(column.levels) > left // rest:
            return [column.with_most(left // rest // each) for column in columns]
        left -= each * len(column.levels)
    return list(columns)


@dataclass(frozen=True)
class TargetMeans:
    """The means of the targets in each level of some columns; each row has those of the other parts' rows.

    ``sums`` has for each column, part and level the weight, and the weighted sum of each target.
    """

    columns: Sequence[LevelColumn]
    targets: Numbers
    weights: Numbers
    part: NDArray[np.intp]
    sums: Sequence[Numbers]

    @staticmethod
    def of(columns: Sequence[LevelColumn], targets: Numbers, weights: Numbers, rng: np.random.Generator) -> TargetMeans:
        """Return the means of training rows; ``targets`` is (n_rows, n_means)."""
        part = np.empty(len(targets), dtype=np.intp)
        part[rng.permutation(len(targets))] = np.arange(len(targets)) % PARTS
        made = TargetMeans(columns, targets, weights, part, [])
        return replace(made, sums=made._sums(np.arange(len(targets))))

    def without(self, hidden: NDArray[np.intp]) -> TargetMeans:
        """Return the means as if some rows had no weight."""
        weights = self.weights.copy()
        weights[hidden] = 0.0
        theirs = self._sums(hidden)
        return replace(self, weights=weights, sums=[all_ - own for all_, own in zip(self.sums, theirs, strict=True)])

    def write(self, encoded: Numbers, rows: NDArray[np.intp]) -> None:
        """Write the means of training rows into their features; ``encoded`` has these rows alone."""
        part = np.where(self.weights[rows] > 0, self.part[rows], PARTS)
        for column, sums in zip(self.columns, self.sums, strict=True):
            total = sums.sum(axis=0)
            each = np.stack([*(_means(total - own) for own in sums), _means(total)])
            encoded[:, column.features] = each[part, column.of_row[rows]]

    def statistics(self) -> list[Statistic]:
        """Return what new rows get, for each column."""
        found = []
        for column, sums in zip(self.columns, self.sums, strict=True):
            means = _means(sums.sum(axis=0))
            found.append(Statistic(column.levels, means[:-1].tolist(), means[-1].tolist()))
        return found

    def _sums(self, rows: NDArray[np.intp]) -> list[Numbers]:
        weighted = np.column_stack([self.weights[rows], self.weights[rows, None] * self.targets[rows]])
        found = []
        for column in self.columns:
            n = len(column.levels) + 1
            cell = self.part[rows] * n + column.of_row[rows]
            summed = [np.bincount(cell, values, PARTS * n) for values in weighted.T]
            found.append(np.asarray(np.stack(summed, axis=-1).reshape(PARTS, n, -1), dtype=np.float64))
        return found


def together(texts: Sequence[str | None], others: Sequence[str | None]) -> list[str | None]:
    """Return the pairs of two columns' categories, None where both are missing."""
    return [
        None if text is None and other is None else f"{text or ''}{BETWEEN}{other or ''}"
        for text, other in zip(texts, others, strict=True)
    ]


@dataclass(frozen=True)
class Spread:
    """How many categories a column has, and how likely two rows are of the same one."""

    n_levels: int
    shared: float


def crowded_pairs(spreads: Mapping[str, Spread], n_rows: int) -> list[tuple[str, str]]:
    """Return the columns that have means together: those of which most pairs are rare, and most rows have others alike.

    Were the columns independent of each other, a row would share its pair with as many rows as the mean of all counts
    for, and the pairs that there may be would have fewer. Of pairs that all have many rows, the code says enough.
    """
    pairs = sorted(combinations(spreads, 2), key=lambda pair: -spreads[pair[0]].shared * spreads[pair[1]].shared)
    found = []
    for a, b in pairs:
        first, second = spreads[a], spreads[b]
        rare = first.n_levels * second.n_levels * PRIOR_ROWS > n_rows
        if rare and n_rows * first.shared * second.shared >= PRIOR_ROWS:
            found.append((a, b))
    return found[:MOST_PAIRS]


def n_means_of(classes: int) -> int:
    """Return how many means there are for so many classes, or for one column of numbers (0 classes)."""
    means = 1 if classes in (0, 2) else classes
    return means if means <= MOST_MEANS else 0


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


def _means(sums: Numbers) -> Numbers:
    """Return the mean of each level, drawn towards that of all, which is the last: rows without a level have it."""
    counts, of_targets = sums[:, 0], sums[:, 1:]
    of_all = of_targets.sum(axis=0) / max(counts.sum(), np.finfo(np.float64).tiny)
    means = (of_targets + PRIOR_ROWS * of_all) / (counts + PRIOR_ROWS)[:, None]
    means[-1] = of_all
    return np.asarray(means)
