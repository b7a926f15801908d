"""Fields of a table as numbers and as text: what counts as missing, and what is not a number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .number_spelling import POINT, in_points

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64] | NDArray[np.uint64]
Times = NDArray[np.datetime64] | NDArray[np.timedelta64]
Truths = NDArray[np.bool_]
Column = Numbers | Integers | Truths | Times | Sequence[str]
"""A column of some rows: numbers with NaN for missing values, integers to their last digit, booleans, times, or the
file's fields."""

LARGEST = 1e150
"""Squares of larger numbers overflow."""

MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none"})
"""Fields that stand for a missing value, in lower or upper case."""

TRUTHS = {"true": 1.0, "false": 0.0}
"""Words that are numbers in a column of numbers, as booleans are."""

_WHOLE = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]+)(\.0*)?")
_PADDED = re.compile(r"[+-]?0[0-9]")


def is_missing(field: str) -> bool:
    """Tell whether a field stands for a missing value."""
    return field.strip().casefold() in MISSING


def is_truth(field: str) -> bool:
    """Tell whether a field is true or false."""
    return field.strip().casefold() in TRUTHS


def is_number(field: str, decimal: str = POINT) -> bool:
    """Tell whether a field is a number; a missing value is not."""
    try:
        return not math.isnan(_number(field, decimal))
    except ValueError:
        return False


def as_numbers(column: Column, error_for: Callable[[int, str], Exception], decimal: str = POINT) -> Numbers:
    """Return a column as numbers, NaN for missing values.

    ``error_for(i, field)`` returns the error for a field that is not a number.
    """
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "mM":
            raise error_for(0, as_text(column[:1])[0] or "a date")
        return column.astype(np.float64, copy=False)
    try:
        # Python's own function for all of them, as a call of ours for each would take as long again.
        if decimal == POINT and "_" not in "".join(column):
            present = (math.nan if field in MISSING else field for field in column)
            return np.fromiter(map(float, present), np.float64, len(column))
    except ValueError:
        pass
    numbers = np.empty(len(column))
    for i, field in enumerate(column):
        try:
            numbers[i] = _number(field, decimal)
        except ValueError:
            truth = TRUTHS.get(field.strip().casefold())
            if truth is None and not is_missing(field):
                raise error_for(i, field) from None
            numbers[i] = np.nan if truth is None else truth
    return numbers


def as_text(column: Column) -> list[str | None]:
    """Return a column as text without surrounding blanks, None for missing values."""
    if not isinstance(column, np.ndarray):
        # Categories and labels occur many times, and are looked at once.
        texts = {field: None if is_missing(field) else field.strip() for field in set(column)}
        return [texts[field] for field in column]
    if column.dtype.kind == "f":
        return [None if math.isnan(value) else number_as_text(value) for value in column.tolist()]
    if column.dtype.kind in "mM":
        spelled = zip(column.astype(str).tolist(), np.isnat(column).tolist(), strict=True)
        return [None if absent else text for text, absent in spelled]
    return [str(value) for value in column.tolist()]


def number_as_text(value: float) -> str:
    """Return a number as it would be written in a file: integers without a decimal point."""
    return str(int(value)) if value.is_integer() else repr(value)


def number_label(field: str, decimal: str = POINT) -> str:
    """Return the label that a number stands for: 3, +3 and 3.0 are one; integers keep all of their digits."""
    field = in_points(field, decimal)
    whole = _WHOLE.fullmatch(field)
    if whole is None:
        return number_as_text(_number(field))
    return "-" * (whole["sign"] == "-" and whole["digits"] != "0") + whole["digits"]


def is_padded(field: str) -> bool:
    """Tell whether a number has leading zeros, as codes have that are no quantities: 007."""
    return _PADDED.match(field) is not None


def _number(field: str, decimal: str = POINT) -> float:
    """Return a field as a number; 2020_01 is none, though Python's programs may be written so."""
    if "_" in field:
        raise ValueError(field)
    try:
        return float(field if decimal == POINT else in_points(field, decimal))
    except ValueError:
        return float(in_points(field, decimal))
