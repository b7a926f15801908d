"""Columns of Python objects: which are missing, and how texts, numbers and times become a column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .field_values import Column, Times, is_missing, is_number
from .large_integers import EXACT

Sort = Literal["text", "number", "date", "time", "duration"]
"""What a value may be; those of one column are of one sort."""

EPOCH = datetime(1970, 1, 1)


def is_absent(value: object) -> bool:
    """Tell whether a value is None, NaN, NaT or pandas' NA, which does not say whether it is itself."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array of several numbers
        return False


def sort_of(value: object) -> Sort | None:
    """Return what a value is; None for what is nothing that a column may hold."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | int | float | np.number | np.bool_ | Decimal) and not isinstance(value, np.timedelta64):
        return None if isinstance(value, np.complexfloating) else "number"
    if isinstance(value, date | np.datetime64):
        return "date"
    if isinstance(value, time):
        return "time"
    return "duration" if isinstance(value, timedelta | np.timedelta64) else None


def are_values(objects: NDArray[Any]) -> bool:
    """Tell whether all objects are what a column may hold, or missing."""
    return all(is_absent(value) or sort_of(value) is not None for value in objects.ravel().tolist())


def are_numbers(values: Sequence[Any]) -> bool:
    """Tell whether all values are numbers, or texts of such, or missing."""
    return all(
        is_absent(value) or sort_of(value) == "number" or (isinstance(value, str) and _is_known_number(value))
        for value in values
    )


def _is_known_number(text: str) -> bool:
    return is_missing(text) or is_number(text)


def are_durations(values: Sequence[Any]) -> bool:
    """Tell whether all values are durations, or missing."""
    known = [value for value in values if not is_absent(value)]
    return bool(known) and all(sort_of(value) == "duration" for value in known)


def as_exact(values: Sequence[Any]) -> Column:
    """Return numbers, of which some are missing; booleans, and integers that floats would not tell apart, as texts."""
    known = [None if is_absent(value) else value for value in values]
    if all(value is None or isinstance(value, bool | np.bool_) for value in known):
        return as_texts(known)
    if any(isinstance(value, int | np.integer) and abs(int(value)) >= EXACT for value in known):
        return ["" if value is None else as_written(value) for value in known]
    return np.array([np.nan if value is None else float(value) for value in known], dtype=np.float64)


def as_texts(values: Sequence[Any]) -> list[str]:
    """Return values as texts, "" for missing ones."""
    try:
        texts = {value: _as_text(value) for value in dict.fromkeys(values)}
    except TypeError:  # lists and dictionaries have no hash
        return [_as_text(value) for value in values]
    return [texts[value] for value in values]


def _as_text(value: object) -> str:
    return "" if is_absent(value) else as_written(value)


def as_written(value: object) -> str:
    """Return a value as a text: integers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_times(values: Sequence[Any]) -> Times:
    """Return dates and times in microseconds since 1970, in UTC where they have a zone; of durations in microseconds.

    A time without a date is one of the first day.
    """
    known = [None if is_absent(value) else value for value in values]
    if are_durations(known):
        return np.array(["NaT" if value is None else np.timedelta64(value) for value in known], dtype="timedelta64[us]")
    return np.array(["NaT" if value is None else _time(value) for value in known], dtype="datetime64[us]")


def _time(value: Any) -> np.datetime64:
    if isinstance(value, time):
        value = datetime.combine(EPOCH, value.replace(tzinfo=None))
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        return np.datetime64((moment - EPOCH) // timedelta(microseconds=1), "us")
    return np.datetime64(value, "us")
