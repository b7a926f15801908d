"""What is learned of one column of a table, and how its values become numbers.

A column of numbers is one feature; missing values become the median of the training rows and, where training rows had
any, a second feature marks them. A column of texts is one feature per level, 1 for the row's own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .fields import Numbers
from .table import Chunk

FEWEST_ROWS_OF_LEVEL = 2
"""A text seen less often in the training rows has no feature of its own."""

MOST_DIFFERENT_TEXTS = 100_000
"""A column of more texts than these cannot be counted in bounded memory, and is left out."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: ``(value - centre) / scale``, and 1 for a missing value where training rows had such."""

    name: str
    fill: float
    missing: bool
    centre: float
    scale: float

    @property
    def features(self) -> list[str]:
        return [self.name, f"{self.name} missing"] if self.missing else [self.name]

    def encode(self, chunk: Chunk, out: Numbers, unseen: Counter[str]) -> None:
        """Write the features of the rows into ``out``, which holds zeros."""
        values = finite(chunk, self.name)
        absent = np.isnan(values)
        out[:, 0] = (np.where(absent, self.fill, values) - self.centre) / self.scale
        if self.missing:
            out[:, 1] = absent


@dataclass(frozen=True)
class TextColumn:
    """A column of texts: a feature per level, one for missing values and one for all other texts where there were such.

    A text or a missing value that has no feature is 0 in all of them.
    """

    name: str
    levels: list[str]
    missing: bool
    other: bool

    @property
    def features(self) -> list[str]:
        names = [f"{self.name} = {level}" for level in self.levels]
        return names + [f"{self.name} missing"] * self.missing + [f"{self.name} other"] * self.other

    def encode(self, chunk: Chunk, out: Numbers, unseen: Counter[str]) -> None:
        """Write the features of the rows into ``out``, which holds zeros; count texts that training did not have."""
        nowhere = -1
        places: dict[str | None, int] = {level: place for place, level in enumerate(self.levels)}
        places[None] = len(self.levels) if self.missing else nowhere
        other = len(self.features) - 1 if self.other else nowhere
        found = np.array([places.get(text, other) for text in chunk.texts(self.name)], dtype=np.intp)
        known = np.flatnonzero(found != nowhere)
        out[known, found[known]] = 1.0
        unseen[self.name] += len(found) - len(known)


@dataclass
class NumberLearner:
    """Counts, range and moments of a column of numbers, from all rows."""

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

    def learned(self, sample: Numbers, scale: bool) -> NumberColumn | str:
        """Return the column, or why it is left out. ``sample`` holds its values in some of the rows."""
        if not self.count:
            return "has no values"
        if self.least == self.most and not self.missing:
            return f"has the value {self.least:g} in every row"
        values = sample[~np.isnan(sample)]
        fill = float(np.median(values)) if len(values) else self.mean
        deviation = float(np.sqrt(self.squares / self.count))
        scaled = scale and deviation > 0
        return NumberColumn(
            self.name, fill, self.missing > 0, self.mean if scaled else 0.0, deviation if scaled else 1.0
        )


@dataclass
class TextLearner:
    """How often each text of a column occurs, in all rows."""

    name: str
    counts: Counter[str | None] = field(default_factory=Counter)
    too_many: bool = False

    def observe(self, texts: list[str | None]) -> None:
        """Take in the texts of more rows."""
        if not self.too_many:
            self.counts.update(texts)
            self.too_many = len(self.counts) > MOST_DIFFERENT_TEXTS

    def learned(self, most_levels: int) -> tuple[TextColumn | str, str | None]:
        """Return the column, or why it is left out; and a note where not every level has a feature for want of room."""
        if self.too_many:
            return f"has more than {MOST_DIFFERENT_TEXTS} different texts", None
        missing = self.counts.pop(None, 0)
        counts = {str(text): count for text, count in self.counts.items()}
        frequent = [text for text, count in counts.items() if count >= FEWEST_ROWS_OF_LEVEL]
        frequent.sort(key=lambda text: (-counts[text], text))
        levels = sorted(frequent[:most_levels])
        column = TextColumn(self.name, levels, missing > 0, other=len(levels) < len(counts))
        if len(column.features) < 2:
            return ("no text occurs twice" if column.other else "has the same text in every row"), None
        if len(frequent) <= most_levels:
            return column, None
        rest = sum(counts.values()) - sum(counts[level] for level in levels)
        return column, (
            f"column {self.name!r} has {len(counts)} different texts; the {most_levels} most frequent have features of "
            f"their own, the others ({rest} rows) share one. --max-levels changes that, --ignore leaves the column out."
        )


def finite(chunk: Chunk, name: str, advice: str = "") -> Numbers:
    """Return a column of numbers, missing values among them, or the error of its first infinite one."""
    values = chunk.numbers(name, advice)
    if np.isinf(values).any():
        raise chunk.error(int(np.isinf(values).argmax()), name, "the number is infinite")
    return values
