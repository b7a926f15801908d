"""The encoding of one column, and how it is learned.

A numeric column is one feature: missing values are imputed by the median of the training rows and, where training rows
had any, a second feature is their missing-value indicator. A categorical column is one-hot encoded; an ordered category
is one feature. Dates and times are in ``date_columns``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import saved_values as saved_value
from .date_columns import DateColumn
from .errors import quoted
from .field_values import Numbers
from .messages import Message
from .table import Chunk
from .target_statistics import Statistic

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

LARGEST = 1e150
"""Squares of larger numbers overflow."""


class OneNumber:
    """A column that becomes one number, and an indicator of gaps where there were ``missing`` values."""

    name: str
    missing: bool

    @property
    def features(self) -> list[str]:
        return [self.name, f"{self.name} missing"] if self.missing else [self.name]

    @property
    def groups(self) -> list[int]:
        """Which features share a weight: none."""
        return [0, 1] if self.missing else [0]


@dataclass(frozen=True)
class NumericColumn(OneNumber):
    """A numeric column: ``(value - centre) / scale``, and a missing-value indicator if ``missing``."""

    name: str
    fill: float
    missing: bool
    centre: float
    scale: float

    surprise = "no number, where training rows always had one: the median stands in"

    def encode(self, chunk: Chunk, out: Numbers) -> int:
        """Write the features of the rows into ``out``, which holds zeros; return how many gaps are new."""
        values = finite(chunk, self.name)
        absent = np.isnan(values)
        with np.errstate(over="ignore"):
            out[:, 0] = (np.where(absent, self.fill, values) - self.centre) / self.scale
        if not np.isfinite(out[:, 0]).all():
            i = int(np.isfinite(out[:, 0]).argmin())
            raise chunk.error(i, self.name, f"{values[i]:g} is too far from the training rows to be scaled")
        if self.missing:
            out[:, 1] = absent
        return 0 if self.missing else int(absent.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "kind": "number", "name": self.name, "fill": self.fill, "missing": self.missing, "centre": self.centre,
            "scale": self.scale,
        }  # fmt: skip


@dataclass(frozen=True)
class CategoricalColumn:
    """A one-hot encoded column: a feature per category, one for missing values if ``missing``, one for all infrequent
    categories if ``other``.

    A category or a missing value without a feature is unknown and encoded as zeros. Behind them may stand a
    ``statistic`` of the targets.
    """

    name: str
    categories: list[str]
    missing: bool
    other: bool
    statistic: Statistic | None = None

    surprise = "an unknown category, encoded as zeros"

    @property
    def features(self) -> list[str]:
        names = [f"{self.name} = {category}" for category in self.categories]
        means = [f"mean of target {place} by {self.name}" for place in range(self.n_means)]
        return names + [f"{self.name} missing"] * self.missing + [f"{self.name} other"] * self.other + means

    @property
    def n_means(self) -> int:
        return 0 if self.statistic is None else len(self.statistic.of_all)

    @property
    def n_codes(self) -> int:
        """How many features are a one-hot code."""
        return len(self.categories) + self.missing + self.other

    @property
    def groups(self) -> list[int]:
        """Which features share a weight: all of the code, so that a rare category has none of its own; all means."""
        return [0] * self.n_codes + [1] * self.n_means

    def encode(self, chunk: Chunk, out: Numbers) -> int:
        """Write the features of the rows into ``out``, which holds zeros; return how many rows are unknown."""
        unknown = -1
        places: dict[str | None, int] = {category: place for place, category in enumerate(self.categories)}
        places[None] = len(self.categories) if self.missing else unknown
        other = self.n_codes - 1 if self.other else unknown
        texts = chunk.text(self.name)
        found = np.array([places.get(value, other) for value in texts], dtype=np.intp)
        known = np.flatnonzero(found != unknown)
        out[known, found[known]] = 1.0
        if self.statistic is not None:
            out[:, self.n_codes :] = self.statistic.of(texts)
        return len(found) - len(known)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "kind": "text", "name": self.name, "levels": self.categories, "missing": self.missing, "other": self.other,
            **({} if self.statistic is None else {"statistic": self.statistic.to_dict()}),
        }  # fmt: skip


@dataclass(frozen=True)
class OrderedColumn(OneNumber):
    """An ordered category: the place of its level from 0 to 1, and an indicator of missing values if ``missing``.

    A missing or unknown level is in the middle.
    """

    name: str
    levels: list[str]
    missing: bool

    surprise = "an unknown level, taken for the middle"

    def encode(self, chunk: Chunk, out: Numbers) -> int:
        """Write the features of the rows into ``out``, which holds zeros; return how many rows are unknown."""
        texts = chunk.text(self.name)
        places: dict[str | None, float] = {level: place for place, level in enumerate(self.levels)}
        found = np.array([places.get(text, np.nan) for text in texts], dtype=np.float64)
        known = ~np.isnan(found)
        out[:, 0] = np.where(known, found / max(1, len(self.levels) - 1), 0.5)
        if self.missing:
            out[:, 1] = ~known
        absent = sum(text is None for text in texts) if self.missing else 0
        return int(len(texts) - known.sum() - absent)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"kind": "ordered", "name": self.name, "levels": self.levels, "missing": self.missing}


AnyColumn = NumericColumn | CategoricalColumn | OrderedColumn | DateColumn


def column_from_dict(saved: object, place: str) -> AnyColumn:
    """Return the column that ``to_dict`` described at a place of a file; ValueError if it never did."""
    if isinstance(saved, dict) and saved.get("kind") == "date":
        return DateColumn.from_dict(saved, place)
    if isinstance(saved, dict) and saved.get("kind") == "ordered":
        entries = saved_value.entries(saved, place, {"kind", "name", "levels", "missing"})
        return OrderedColumn(
            saved_value.text(entries["name"], f"{place}.name"),
            saved_value.texts(entries["levels"], f"{place}.levels"),
            saved_value.flag(entries["missing"], f"{place}.missing"),
        )
    if isinstance(saved, dict) and saved.get("kind") == "text":
        entries = saved_value.entries(saved, place, {"kind", "name", "levels", "missing", "other"}, {"statistic"})
        means = entries.get("statistic")
        column = CategoricalColumn(
            saved_value.text(entries["name"], f"{place}.name"),
            saved_value.texts(entries["levels"], f"{place}.levels"),
            saved_value.flag(entries["missing"], f"{place}.missing"),
            saved_value.flag(entries["other"], f"{place}.other"),
            None if means is None else Statistic.from_dict(means, f"{place}.statistic"),
        )
        if not column.features:
            raise ValueError(f"{place} has no feature")
        return column
    entries = saved_value.entries(saved, place, {"kind", "name", "fill", "missing", "centre", "scale"})
    if entries["kind"] != "number":
        raise ValueError(f"{place}.kind is neither number, text, ordered nor date")
    return NumericColumn(
        saved_value.text(entries["name"], f"{place}.name"),
        saved_value.number(entries["fill"], f"{place}.fill"),
        saved_value.flag(entries["missing"], f"{place}.missing"),
        saved_value.number(entries["centre"], f"{place}.centre"),
        saved_value.number(entries["scale"], f"{place}.scale", positive=True),
    )


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

    def learned(self, sample: Numbers, scale: bool) -> NumericColumn | str:
        """Return the column, or why it is left out. ``sample`` holds its values in some of the rows."""
        if not self.count:
            return "all values are missing"
        if self.least == self.most and not self.missing:
            return f"it is constant ({self.least:g})"
        values = sample[~np.isnan(sample)]
        fill = float(np.median(values)) if len(values) else self.mean
        deviation = float(np.sqrt(self.squares / self.count))
        scaled = scale and deviation > 0
        return NumericColumn(
            self.name, fill, self.missing > 0, self.mean if scaled else 0.0, deviation if scaled else 1.0
        )


@dataclass(slots=True)
class OrderedLearner:
    """Which levels of an ordered category occur, in all rows."""

    name: str
    levels: list[str]
    found: set[str | None] = field(default_factory=set)

    def observe(self, values: list[str | None]) -> None:
        """Take in the values of more rows."""
        self.found.update(values)

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
        if self._is_free_text():
            return FREE_TEXT.format(name=self.name), None
        counts = {str(category): count for category, count in self.counts.items()}
        frequent = [category for category, count in counts.items() if count >= MIN_FREQUENCY]
        frequent.sort(key=lambda category: (-counts[category], category))
        categories = sorted(frequent[:max_categories])
        column = CategoricalColumn(self.name, categories, missing > 0, other=len(categories) < len(counts))
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


def finite(chunk: Chunk, name: str, advice: str = "") -> Numbers:
    """Return a numeric column, missing values included, or raise the error of its first infinite or huge value."""
    values = chunk.numbers(name, advice)
    huge = np.abs(values) > LARGEST
    if huge.any():
        i = int(huge.argmax())
        raise chunk.error(i, name, _too_large(float(values[i])))
    return values


def _too_large(value: float) -> str:
    if np.isinf(value):
        return "the number is infinite"
    return f"{value:g} is too large: squares of numbers beyond {LARGEST:g} overflow; give the column in another unit"
