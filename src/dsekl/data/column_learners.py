"""How the encoding of one column is learned, from rows that stream by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .calendar_names import places_in_cycle
from .column_encodings import CategoricalColumn, NumericColumn, OrderedColumn
from .errors import quoted
from .field_values import Numbers
from .messages import Message
from .ranks import ranks_of
from .target_statistics import Spread

MIN_FREQUENCY = 2
"""Training rows that a category needs to have a feature of its own."""

MOST_COUNTED_CATEGORIES = 100_000
MOST_COUNTED_CHARACTERS = 2**24
"""A column with more categories, or longer ones, cannot be counted in bounded memory, and is left out."""

MOST_LEVELS_OF_TEXT = 50
FREE_TEXT = (
    "it holds free texts, which are no categories; make numbers of them, e.g. with skrub.TextEncoder, or "
    "sklearn.decomposition.TruncatedSVD(30).fit_transform(sklearn.feature_extraction.text.TfidfVectorizer()"
    ".fit_transform(X[{name!r}]))"
)
"""Columns with more different values than this, mostly with spaces and mostly once, are left to the user."""


@dataclass(slots=True)
class NumericLearner:
    """Counts, range and moments of a numeric column, from all rows."""

    name: str
    count: int = 0
    missing: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = np.inf
    most: float = -np.inf

    def observe(self, values: Numbers) -> None:
        """Take in the values of more rows."""
        present = values[~np.isnan(values)]
        self.missing += len(values) - len(present)
        if not len(present):
            return
        before, self.count = self.count, self.count + len(present)
        step = float(present.mean()) - self.mean
        self.squares += float(((present - present.mean()) ** 2).sum()) + step**2 * before * len(present) / self.count
        self.mean += step * len(present) / self.count
        self.least, self.most = min(self.least, float(present.min())), max(self.most, float(present.max()))

    def join(self, other: NumericLearner) -> None:
        """Take in what another learner has seen of further rows."""
        if other.count:
            count, step = self.count + other.count, other.mean - self.mean
            self.squares += other.squares + step**2 * self.count * other.count / count
            self.mean += step * other.count / count
            self.count = count
        self.missing += other.missing
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)

    def learned(self, sample: Numbers, scale: bool, ranks: bool = False) -> NumericColumn | str:
        """Return the column, or why it is left out. ``sample`` holds its values in some of the rows.

        With ``ranks``, a column with heavy tails has them beside its numbers.
        """
        if not self.count:
            return "all values are missing"
        if self.least == self.most and not self.missing:
            return f"it is constant ({self.least:g})"
        values = sample[~np.isnan(sample)]
        fill = float(np.median(values)) if len(values) else self.mean
        deviation = float(np.sqrt(self.squares / self.count))
        scaled = scale and deviation > 0
        return NumericColumn(
            self.name, fill, self.missing > 0, self.mean if scaled else 0.0, deviation if scaled else 1.0,
            ranks_of(values, self.least, self.most) if ranks else None,
        )  # fmt: skip


@dataclass(slots=True)
class OrderedLearner:
    """Which levels of an ordered category occur, in all rows."""

    name: str
    levels: list[str]
    found: set[str | None] = field(default_factory=set)

    def observe(self, values: list[str | None]) -> None:
        """Take in the values of more rows."""
        self.found.update(values)

    def join(self, other: OrderedLearner) -> None:
        """Take in what another learner has seen of further rows."""
        self.found |= other.found

    def learned(self) -> OrderedColumn | str:
        """Return the column, or why it is left out."""
        if len(self.found) < 2:
            return "all values are missing" if self.found == {None} else "it is constant"
        return OrderedColumn(self.name, self.levels, None in self.found)


@dataclass(slots=True)
class CategoricalLearner:
    """How often each category of a column occurs, in all rows."""

    name: str
    counts: Counter[str | None] = field(default_factory=Counter)
    characters: int = 0
    too_many: bool = False

    def observe(self, values: list[str | None]) -> None:
        """Take in the values of more rows."""
        if not self.too_many:
            known = len(self.counts)
            self.counts.update(values)
            if len(self.counts) > known:
                self.characters = sum(len(category or "") for category in self.counts)
            self.too_many = len(self.counts) > MOST_COUNTED_CATEGORIES or self.characters > MOST_COUNTED_CHARACTERS
        if self.too_many:
            self.counts.clear()

    def join(self, other: CategoricalLearner) -> None:
        """Take in what another learner has seen of further rows."""
        self.too_many |= other.too_many
        self.counts.update(other.counts)
        self.observe([])

    def spread(self) -> Spread:
        """Return how rows are spread over the categories."""
        counts = [count for category, count in self.counts.items() if category is not None]
        return Spread(len(counts), sum(count**2 for count in counts) / max(1, sum(counts)) ** 2)

    def _is_free_text(self) -> bool:
        """Tell whether values are sentences: mostly with spaces, and mostly different from row to row."""
        spaced = sum(" " in str(category).strip() for category in self.counts)
        many = len(self.counts) > MOST_LEVELS_OF_TEXT and 2 * len(self.counts) > sum(self.counts.values())
        return many and 2 * spaced > len(self.counts)

    def learned(self, max_categories: int) -> tuple[CategoricalColumn | str, Message | None]:
        """Return the column, or why it is left out; and a note where ``max_categories`` left categories out."""
        if self.too_many:
            return f"it has more than {MOST_COUNTED_CATEGORIES:,} categories, or very long ones", None
        missing = self.counts.pop(None, 0)
        if not self.counts:
            return "all values are missing", None
        if self._is_free_text():
            return FREE_TEXT.format(name=self.name), None
        counts = {str(category): count for category, count in self.counts.items()}
        frequent = [category for category, count in counts.items() if count >= MIN_FREQUENCY]
        frequent.sort(key=lambda category: (-counts[category], category))
        categories = sorted(frequent[:max_categories])
        cycle = places_in_cycle(categories) is not None
        column = CategoricalColumn(self.name, categories, missing > 0, other=len(categories) < len(counts), cycle=cycle)
        if len(column.features) < 2:
            return ("no category occurs twice" if column.other else "it is constant"), None
        if len(frequent) <= max_categories:
            return column, None
        rest = sum(counts.values()) - sum(counts[category] for category in categories)
        return column, Message(
            f"column {quoted(self.name)} has {len(counts)} categories: the {max_categories} most frequent have a "
            f"feature each, the others ({rest} rows) share one",
            "; change that with {max_categories}, or leave the column out with {ignore}",
        )
