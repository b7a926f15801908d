"""Integers above 2^53, which floats do not all tell apart: a column of ids would be read as fewer of them."""

from __future__ import annotations

import re

import numpy as np

from .field_values import Column, Numbers
from .table import Chunk

EXACT = 2.0**53
"""Up to here float64 holds every integer."""

FEWEST_DIGITS = 16
"""That an integer above ``EXACT`` has."""

_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,308}\s*")
"""More digits are no finite float, and are refused for that."""


def refuse_merged(chunk: Chunk, name: str, numbers: Numbers | None = None) -> None:
    """Raise DataFileError where different integers of a column are one number as floats, as ids may be.

    ``numbers`` are the column's, where they are known.
    """
    if numbers is not None and not (np.abs(numbers) >= EXACT).any():
        return
    places = _first_places(chunk.column(name))
    different = sorted(places)
    merged = np.flatnonzero(np.diff(np.array([float(value) for value in different])) == 0)
    if len(merged):
        first, second = different[merged[0]], different[merged[0] + 1]
        raise chunk.error(
            places[first], name, f"{first} and {second} are integers above 2^53, and one number as floats; leave ids "
            "out, give them as texts, or subtract a constant",
        )  # fmt: skip


def _first_places(column: Column) -> dict[int, int]:
    """Return the different large integers of a column, and where each is first."""
    places: dict[int, int] = {}
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "iu":
            values, firsts = np.unique(column, return_index=True)
            places = {int(value): int(first) for value, first in zip(values, firsts, strict=True)}
        return places
    for place, field in enumerate(column):
        if len(field) >= FEWEST_DIGITS and _INTEGER.fullmatch(field):
            places.setdefault(int(field), place)
    return places
