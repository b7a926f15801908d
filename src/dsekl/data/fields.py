"""Fields as numbers and as texts: what counts as missing, and what is no number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Column = Numbers | Sequence[str]
"""A column of some rows: numbers with NaN where a value is missing, or the fields as they stand in the file."""

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
"""What stands for a missing value, in small or capital letters."""


def is_missing(field: str) -> bool:
    """Tell whether a field stands for a missing value."""
    return field.strip().casefold() in MISSING


def is_number(field: str) -> bool:
    """Tell whether a field is a number, missing values aside."""
    try:
        return not math.isnan(float(field))
    except ValueError:
        return False


def as_numbers(column: Column, reject: Callable[[int, str], Exception]) -> Numbers:
    """Return the numbers of a column, NaN where a value is missing.

    ``reject(i, field)`` makes the error for a field that is no number.
    """
    if isinstance(column, np.ndarray):
        return column
    try:
        return np.fromiter(map(float, column), np.float64, len(column))
    except ValueError:
        pass
    found = np.empty(len(column))
    for i, field in enumerate(column):
        try:
            found[i] = float(field)
        except ValueError:
            if not is_missing(field):
                raise reject(i, field) from None
            found[i] = np.nan
    return found


def as_texts(column: Column) -> list[str | None]:
    """Return the texts of a column without blanks around them, None where a value is missing."""
    if isinstance(column, np.ndarray):
        return [None if math.isnan(value) else as_text(value) for value in column.tolist()]
    return [None if is_missing(field) else field.strip() for field in column]


def as_text(value: float) -> str:
    """Return a number as it would stand in a file: whole numbers without a point."""
    return str(int(value)) if value.is_integer() else repr(value)
