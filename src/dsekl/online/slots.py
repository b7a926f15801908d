"""Rows as dicts: which column of an array each feature has, as features come up.

A number is a column, which rows may lack. A text is a category: a column for each that has come up, 1 in the rows that
have it and 0 in all others. New features of one row get their columns in the order of their names, so that the order
within a dict does not matter.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from .buffer import Floats

MOST_SLOTS = 4096
"""Columns that there may be; features that come up beyond are left out, so that memory stays bounded."""

MOST_CHARACTERS = 2**20
"""Of all names and categories: a file has room for them, as escapes of JSON too."""

LARGEST = 1e150
"""Numbers up to this have squares."""

PLAIN = frozenset((float, int))
"""Types of values that need no look."""

Slot = tuple[Hashable, str | None]
"""A feature, and the category of a text."""


@dataclass
class Slots:
    """The columns so far."""

    places: dict[Slot, int] = field(default_factory=dict)
    absent: list[float] = field(default_factory=list)
    """What a row has in a column that it says nothing of: NaN for numbers, 0 for categories."""

    _usual: tuple[tuple[Hashable, ...], list[int] | None, int] | None = field(default=None, repr=False, compare=False)
    """The names of the last row of numbers, in their order, their columns unless these are all in order, and how many
    columns there were: rows mostly have the same."""

    _characters: int = field(default=0, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, dicts: Sequence[Mapping[Any, Any]], grow: bool) -> Floats:
        """Return dicts as rows of an array; features that are not known are left out, or get columns."""
        row = self._as_before(dicts[0]) if len(dicts) == 1 else None
        if row is not None:
            return row
        found = [self._entries(x) for x in dicts]
        if grow:
            for entries in found:
                self._add(entries)
        rows = np.empty((len(found), len(self.places)))
        rows[:] = self.absent
        for row, entries in zip(rows, found, strict=True):
            for slot, value in entries.items():
                place = self.places.get(slot)
                if place is not None:
                    row[place] = value
        return rows

    def _as_before(self, x: Mapping[Any, Any]) -> Floats | None:
        """Return a row of numbers under the names of the last one; None for any other."""
        names = tuple(x)
        if self._usual is None or self._usual[0] != names or self._usual[2] != len(self.places):
            places = [self.places.get((name, None), -1) for name in names]
            if not places or min(places) < 0:
                return None
            self._usual = names, None if places == list(range(len(self.places))) else places, len(self.places)
        values = list(x.values())
        if not PLAIN.issuperset(map(type, values)):
            return None
        total = sum(values)
        if total - total != 0.0 or max(values) > LARGEST or min(values) < -LARGEST:  # NaN among them, or infinity
            return None
        if self._usual[1] is None:
            return np.array([values], dtype=np.float64)
        row = np.array([self.absent])
        row[0, self._usual[1]] = values
        return row

    def _add(self, entries: Mapping[Slot, float]) -> None:
        new = [slot for slot in entries if slot not in self.places]
        if not new:
            return
        left_out: list[Slot] = []
        for slot in sorted(new, key=lambda slot: (str(slot[0]), slot[1] or "", type(slot[0]).__name__)):
            if len(self.places) >= MOST_SLOTS or self._characters + _length(slot) > MOST_CHARACTERS:
                left_out.append(slot)
            else:
                self.append(slot)
        if left_out:
            warnings.warn(
                f"feature {left_out[0][0]!r:.200} and others are left out: there are {MOST_SLOTS:,} columns already, "
                f"one for each number and each category, or {MOST_CHARACTERS:,} characters of their names. Drop texts "
                "that hardly repeat, such as identifiers.",
                UserWarning,
                stacklevel=4,
            )

    def append(self, slot: Slot) -> None:
        """Give a feature a column."""
        self.places[slot] = len(self.places)
        self.absent.append(math.nan if slot[1] is None else 0.0)
        self._characters += _length(slot)

    def _entries(self, x: Mapping[Any, Any]) -> dict[Slot, float]:
        entries: dict[Slot, float] = {}
        for name, value in x.items():
            if isinstance(value, str):
                entries[name, value] = 1.0
            elif isinstance(value, Real | Decimal | np.bool_):
                number = float(value)
                if abs(number) <= LARGEST:
                    entries[name, None] = number
                elif not math.isnan(number):
                    raise ValueError(f"feature {name!r} is {value!r}, too large for squares; give a number up to 1e150")
            elif value is not None:
                raise ValueError(
                    f"feature {name!r} is {value!r:.60}; give a number, a text, or None where it is missing"
                )
        return entries


def _length(slot: Slot) -> int:
    return len(str(slot[0])) + len(slot[1] or "")
