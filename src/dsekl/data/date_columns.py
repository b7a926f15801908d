"""Dates and times as features: a trend, and the cycles of the day, the week and the year, as far as they vary.

Durations have a length and no place in a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import saved_values as saved_value
from .date_spelling import as_time
from .errors import quoted
from .field_values import Numbers, is_missing
from .table import Chunk

DAY = 86_400.0

CYCLES = {"hour": DAY, "weekday": 7 * DAY, "season": 365.2425 * DAY}
"""Seconds of each cycle."""

VARIES = 0.05
"""Share of a cycle that must lie between two values for it to be a feature."""

SEEN = 0.5
"""Share of a cycle that must lie between the first and the last time: of less, the trend says the same."""

LONGEST = 3.2e11
"""Seconds, ten thousand years, up to which a time is one."""


@dataclass(frozen=True)
class DateColumn:
    """A column of times in seconds: days since ``origin``, and sine and cosine of each of its ``cycles``.

    There is an indicator of missing values if ``missing``; a missing time is the ``fill``. In texts such as 3/4/2024
    the day is the first number if ``day_first``.
    """

    name: str
    fill: float
    missing: bool
    origin: float
    cycles: Sequence[str]
    day_first: bool = False

    surprise = "a missing value, where training rows had none: imputed by the median date"

    @property
    def features(self) -> list[str]:
        cycles = [f"{self.name} {wave} of {cycle}" for cycle in self.cycles for wave in ("sine", "cosine")]
        return [f"{self.name} in days", *cycles, *([f"{self.name} missing"] if self.missing else [])]

    @property
    def groups(self) -> list[int]:
        """Which features share a weight: the two waves of a cycle."""
        pairs = [1 + k // 2 for k in range(2 * len(self.cycles))]
        return [0, *pairs, *([1 + len(self.cycles)] if self.missing else [])]

    def encode(self, chunk: Chunk, out: Numbers) -> int:
        """Write the features of the rows into ``out``; return how many gaps are new."""
        values = times(chunk, self.name, self.day_first)
        absent = np.isnan(values)
        values = np.where(absent, self.fill, values)
        out[:, 0] = (values - self.origin) / DAY
        for place, cycle in enumerate(self.cycles):
            angle = 2.0 * np.pi * np.mod(values, CYCLES[cycle]) / CYCLES[cycle]
            out[:, 1 + 2 * place], out[:, 2 + 2 * place] = np.sin(angle), np.cos(angle)
        if self.missing:
            out[:, -1] = absent
        return 0 if self.missing else int(absent.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "kind": "date", "name": self.name, "fill": self.fill, "missing": self.missing, "origin": self.origin,
            "cycles": list(self.cycles), **({"day_first": True} if self.day_first else {}),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, saved: object, place: str) -> DateColumn:
        """Return the column that ``to_dict`` described at a place of a file; ValueError if it never did."""
        entries = saved_value.entries(
            saved, place, {"kind", "name", "fill", "missing", "origin", "cycles"}, {"day_first"}
        )
        cycles = saved_value.texts(entries["cycles"], f"{place}.cycles")
        if not set(cycles) <= CYCLES.keys():
            raise ValueError(f"{place}.cycles has one that is none of {', '.join(CYCLES)}")
        return cls(
            saved_value.text(entries["name"], f"{place}.name"),
            saved_value.number(entries["fill"], f"{place}.fill", most=LONGEST),
            saved_value.flag(entries["missing"], f"{place}.missing"),
            saved_value.number(entries["origin"], f"{place}.origin", most=LONGEST),
            cycles,
            saved_value.flag(entries.get("day_first", False), f"{place}.day_first"),
        )


@dataclass(slots=True)
class DateLearner:
    """The first and last time of a column, and how far it goes along each cycle, unless it holds durations."""

    name: str
    day_first: bool = False
    missing: int = 0
    first: float = np.inf
    last: float = -np.inf
    durations: bool = False
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)

    def observe(self, chunk: Chunk) -> None:
        """Take in the times of more rows."""
        values = times(chunk, self.name, self.day_first)
        present = values[~np.isnan(values)]
        self.missing += len(values) - len(present)
        if not len(present):
            return
        self.first, self.last = min(self.first, float(present.min())), max(self.last, float(present.max()))
        column = chunk.column(self.name)
        self.durations |= isinstance(column, np.ndarray) and column.dtype.kind == "m"
        for cycle, length in CYCLES.items():
            place = np.mod(present, length) / length
            low, high = self.bounds.get(cycle, (np.inf, -np.inf))
            self.bounds[cycle] = min(low, float(place.min())), max(high, float(place.max()))

    def join(self, other: DateLearner) -> None:
        """Take in what another learner has seen of further rows."""
        self.missing += other.missing
        self.durations |= other.durations
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        for cycle, (least, most) in other.bounds.items():
            low, high = self.bounds.get(cycle, (np.inf, -np.inf))
            self.bounds[cycle] = min(low, least), max(high, most)

    def learned(self) -> DateColumn | str:
        """Return the column, or why it is left out."""
        if not self.bounds:
            return "all values are missing"
        if self.first == self.last and not self.missing:
            return "it is constant"
        span = self.last - self.first
        cycles = [
            cycle
            for cycle, (low, high) in self.bounds.items()
            if high - low >= VARIES and span >= SEEN * CYCLES[cycle] and not self.durations
        ]
        middle = 0.5 * (self.first + self.last)
        return DateColumn(self.name, middle, self.missing > 0, middle, cycles, self.day_first)


def times(chunk: Chunk, name: str, day_first: bool = False) -> Numbers:
    """Return a column as seconds, NaN for missing ones; an error names a value that is no time."""
    column = chunk.column(name)
    if not isinstance(column, np.ndarray):
        return _from_texts(chunk, name, column, day_first)
    if column.dtype.kind not in "mM":
        numbers = np.asarray(column, dtype=np.float64)
        present = ~np.isnan(numbers)
        if present.any():
            i = int(present.argmax())
            words = f"{numbers[i]:g} is a number, and training rows had dates or times"
            raise chunk.error(i, name, f"{words}; make dates of it, e.g. with pandas.to_datetime(..., unit='s')")
        return numbers
    microseconds = column.astype(f"{column.dtype.kind}8[us]").astype(np.float64)
    values = np.where(np.isnat(column), np.nan, microseconds / 1e6)
    far = np.abs(values) > LONGEST
    if far.any():
        i = int(far.argmax())
        raise chunk.error(i, name, f"{values[i]:g} seconds are no time; times are in seconds since 1970")
    return values


def _from_texts(chunk: Chunk, name: str, column: Sequence[str], day_first: bool) -> Numbers:
    found: dict[str, float] = {}
    for i, field_ in enumerate(column):
        if field_ in found:
            continue
        seconds = np.nan if is_missing(field_) else as_time(field_, day_first)
        if seconds is None:
            order = "the day" if day_first else "the month"
            if as_time(field_, not day_first) is not None:
                raise chunk.error(
                    i, name, f"{quoted(field_.strip())} is no date with {order} first, as in the first rows",
                    "; say which it is with {day_first}, or spell dates like 2024-12-31",
                )  # fmt: skip
            raise chunk.error(
                i, name, f"{quoted(field_.strip())} is not a date; spell it like 2024-12-31 or 31.12.2024"
            )
        found[field_] = seconds
    return np.array([found[field_] for field_ in column])
