"""Fields of a table as numbers and as text: what counts as missing, and what is not a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Column = Numbers | Sequence[str]
"""A column of some rows: numbers with NaN for missing values, or the fields as they are in the file."""

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
"""Fields that stand for a missing value, in lower or upper case."""


def is_missing(field: str) -> bool:
    """Tell whether a field stands for a missing value."""
    return field.strip().casefold() in MISSING


def is_number(field: str) -> bool:
    """Tell whether a field is a number; a missing value is not."""
    try:
        return not math.isnan(float(field))
    except ValueError:
        return False


def as_numbers(column: Column, error_for: Callable[[int, str], Exception]) -> Numbers:
    """Return a column as numbers, NaN for missing values.

    ``error_for(i, field)`` returns the error for a field that is not a number.
    """
    if isinstance(column, np.ndarray):
        return column
    try:
        return np.fromiter(map(float, column), np.float64, len(column))
    except ValueError:
        pass
    numbers = np.empty(len(column))
    for i, field in enumerate(column):
        try:
            numbers[i] = float(field)
        except ValueError:
            if not is_missing(field):
                raise error_for(i, field) from None
            numbers[i] = np.nan
    return numbers


def as_text(column: Column) -> list[str | None]:
    """Return a column as text without surrounding blanks, None for missing values."""
    if isinstance(column, np.ndarray):
        return [None if math.isnan(value) else number_as_text(value) for value in column.tolist()]
    return [None if is_missing(field) else field.strip() for field in column]


def number_as_text(value: float) -> str:
    """Return a number as it would be written in a file: integers without a decimal point."""
    return str(int(value)) if value.is_integer() else repr(value)
