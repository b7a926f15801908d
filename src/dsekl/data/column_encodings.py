"""The encoding of one column; ``column_learners`` learns it.

A numeric column is one feature: missing values are imputed by the median of the training rows and, where training rows
had any, a second feature is their missing-value indicator; heavy tails may have ranks beside the numbers. A categorical
column is one-hot encoded; an ordered category is one feature. Dates and times are in ``date_columns``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import saved_values as saved_value
from .calendar_names import places_in_cycle
from .date_columns import DateColumn
from .field_values import LARGEST, Numbers
from .ranks import Ranks
from .table import Chunk
from .target_statistics import FEW_LEVELS, LevelBook, Statistic, together

WAVES = ("sine", "cosine")


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
    """A numeric column: ``(value - centre) / scale``, a missing-value indicator if ``missing``, and maybe its ranks."""

    name: str
    fill: float
    missing: bool
    centre: float
    scale: float
    ranks: Ranks | None = None

    surprise = "a missing value, where training rows had none: imputed by the median"

    @property
    def features(self) -> list[str]:
        return [*super().features, *([f"{self.name} rank"] if self.ranks is not None else [])]

    @property
    def groups(self) -> list[int]:
        """Which features share a weight: none."""
        return list(range(len(self.features)))

    def encode(self, chunk: Chunk, out: Numbers) -> int:
        """Write the features of the rows into ``out``, which holds zeros; return how many gaps are new."""
        values = finite(chunk, self.name)
        absent = np.isnan(values)
        values = np.where(absent, self.fill, values) if absent.any() else values
        with np.errstate(over="ignore"):
            np.divide(values - self.centre if self.centre else values, self.scale, out=out[:, 0])
        near = np.abs(out[:, 0]) <= LARGEST
        if not near.all():
            i = int(near.argmin())
            raise chunk.error(i, self.name, f"{values[i]:g} is too far from the training rows to be scaled")
        if self.missing:
            out[:, 1] = absent
        if self.ranks is not None:
            out[:, -1] = self.ranks.of(values)
        return 0 if self.missing else int(absent.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "kind": "number", "name": self.name, "fill": self.fill, "missing": self.missing, "centre": self.centre,
            "scale": self.scale, **({} if self.ranks is None else {"ranks": self.ranks.to_dict()}),
        }  # fmt: skip


@dataclass(frozen=True)
class CategoricalColumn:
    """A one-hot encoded column: a feature per category, one for missing values if ``missing``, one for all infrequent
    categories if ``other``.

    A category or a missing value without a feature is unknown and encoded as zeros. Where the categories are months or
    weekdays, their place in the ``cycle`` comes next, as sine and cosine. Behind them may stand a
    ``statistic`` of the targets, and those of ``pairs`` with other columns; None for one that is yet to be made.
    """

    name: str
    categories: list[str]
    missing: bool
    other: bool
    statistic: Statistic | LevelBook | None = None
    pairs: Mapping[str, Statistic | LevelBook | None] = field(default_factory=dict)
    cycle: bool = False

    surprise = "an unknown category, encoded as zeros"

    @property
    def features(self) -> list[str]:
        names = [f"{self.name} = {category}" for category in self.categories]
        means = [
            f"mean of target {place} by {self.name}{'' if other is None else f' and {other}'}"
            for other, statistic in self.statistics
            for place in range(statistic.n_means)
        ]
        names += [f"{self.name} missing"] * self.missing + [f"{self.name} other"] * self.other
        return names + [f"{self.name} {wave}" for wave in WAVES if self.cycle] + means

    @property
    def statistics(self) -> list[tuple[str | None, Statistic | LevelBook]]:
        """What is known of the targets: by the column alone (None), and together with others."""
        each = [(None, self.statistic), *self.pairs.items()]
        return [(other, statistic) for other, statistic in each if statistic is not None]

    @property
    def n_means(self) -> int:
        return sum(statistic.n_means for _, statistic in self.statistics)

    @property
    def n_codes(self) -> int:
        """How many features are a one-hot code."""
        return len(self.categories) + self.missing + self.other

    @property
    def has_many(self) -> bool:
        """Whether there are so many categories that a statistic of the targets may help beside the code."""
        return self.n_codes > FEW_LEVELS

    @property
    def groups(self) -> list[int]:
        """Which features share a weight: all of the code, so that a rare category has none of its own; waves; means."""
        means = [[2 + place] * statistic.n_means for place, (_, statistic) in enumerate(self.statistics)]
        return [0] * self.n_codes + [1] * len(WAVES) * self.cycle + [group for of_kind in means for group in of_kind]

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
        start = self.n_codes
        if self.cycle:
            out[known, start : start + len(WAVES)] = self._waves()[found[known]]
            start += len(WAVES)
        for other_column, statistic in self.statistics:
            levels = texts if other_column is None else together(texts, chunk.text(other_column))
            out[:, start : start + statistic.n_means] = statistic.of(levels)
            start += statistic.n_means
        return len(found) - len(known)

    def _waves(self) -> Numbers:
        """Return the waves of each code; those of missing and rare categories are in the middle."""
        places = places_in_cycle(self.categories) or {}
        angles = 2.0 * np.pi * np.array([places[category] for category in self.categories])
        waves = np.zeros((self.n_codes, len(WAVES)))
        waves[: len(angles)] = np.column_stack([np.sin(angles), np.cos(angles)])
        return waves

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        known = {other: statistic.to_dict() for other, statistic in self.statistics if other is not None}
        return {
            "kind": "text", "name": self.name, "levels": self.categories, "missing": self.missing, "other": self.other,
            **({} if self.statistic is None else {"statistic": self.statistic.to_dict()}),
            **({} if not known else {"pairs": known}), **({"cycle": True} if self.cycle else {}),
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
        texts = level_texts(chunk, self.name, self.levels)
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


def level_texts(chunk: Chunk, name: str, levels: Sequence[str]) -> list[str | None]:
    """Return a column as text, None for missing values; what is a level is one, also where it is "none" or " a"."""
    column, texts, known = chunk.column(name), chunk.text(name), set(levels)
    if isinstance(column, np.ndarray):
        return texts
    return [field if field in known else text for field, text in zip(column, texts, strict=True)]


AnyColumn = NumericColumn | CategoricalColumn | OrderedColumn | DateColumn


def column_from_dict(saved: object, place: str) -> AnyColumn:
    """Return the column that ``to_dict`` described at a place of a file; ValueError if it never did."""
    if isinstance(saved, dict) and saved.get("kind") == "date":
        return DateColumn.from_dict(saved, place)
    if isinstance(saved, dict) and saved.get("kind") == "ordered":
        entries = saved_value.entries(saved, place, {"kind", "name", "levels", "missing"})
        return OrderedColumn(
            saved_value.text(entries["name"], f"{place}.name"),
            saved_value.texts(entries["levels"], f"{place}.levels", fewest=1),
            saved_value.flag(entries["missing"], f"{place}.missing"),
        )
    if isinstance(saved, dict) and saved.get("kind") == "text":
        known = {"kind", "name", "levels", "missing", "other"}
        entries = saved_value.entries(saved, place, known, {"statistic", "pairs", "cycle"})
        means, pairs = entries.get("statistic"), entries.get("pairs", {})
        pairs = saved_value.entries(pairs, f"{place}.pairs", set(dict(pairs)))
        column = CategoricalColumn(
            saved_value.text(entries["name"], f"{place}.name"),
            saved_value.texts(entries["levels"], f"{place}.levels"),
            saved_value.flag(entries["missing"], f"{place}.missing"),
            saved_value.flag(entries["other"], f"{place}.other"),
            None if means is None else Statistic.from_dict(means, f"{place}.statistic"),
            {other: Statistic.from_dict(means, f"{place}.pairs") for other, means in sorted(pairs.items())},
            saved_value.flag(entries.get("cycle", False), f"{place}.cycle"),
        )
        if column.cycle and places_in_cycle(column.categories) is None:
            raise ValueError(f"{place}.levels are in no cycle")
        if not column.features:
            raise ValueError(f"{place} has no feature")
        return column
    entries = saved_value.entries(saved, place, {"kind", "name", "fill", "missing", "centre", "scale"}, {"ranks"})
    ranks = entries.get("ranks")
    if entries["kind"] != "number":
        raise ValueError(f"{place}.kind is neither number, text, ordered nor date")
    number = NumericColumn(
        saved_value.text(entries["name"], f"{place}.name"),
        saved_value.number(entries["fill"], f"{place}.fill"),
        saved_value.flag(entries["missing"], f"{place}.missing"),
        saved_value.number(entries["centre"], f"{place}.centre"),
        saved_value.number(entries["scale"], f"{place}.scale", positive=True, most=2.0 * LARGEST),
        None if ranks is None else Ranks.from_dict(ranks, f"{place}.ranks"),
    )
    if not (abs(number.fill - number.centre) <= LARGEST * number.scale and number.scale**2 > 0):
        raise ValueError(f"{place}.scale is that of no column with this fill")
    return number


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
