"""Columns that look like something else than what they are taken for: the user is told, and may say which it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from .date_spelling import MONTHS, as_time
from .errors import quoted
from .field_values import Column, is_missing, is_number, is_padded
from .messages import Message
from .number_spelling import is_written_number
from .table import Chunk

MOST_LOOKED_AT = 1_000
"""Different values of a column that are looked at: more than half of them decide what it is."""

FEWEST_COUNTED = 20
"""Different values from which on a column may be days without separators, or a count of the rows."""

_UNITS = "$€£¥₹%"
_DAY = re.compile(r"(19|20)[0-9]{6}")
_MONTH = re.compile(r"[0-9]{4}[-/][0-9]{1,2}|[0-9]{1,2}[-/][0-9]{4}|(?P<name>[A-Za-z]{3,9})\.?[ -]([0-9]{4}|[0-9]{2})")


def categories_alike(fields: Iterable[str]) -> tuple[str, str, str] | None:
    """Return one of the different texts of a column, what most look like, and what may be done; None for nothing."""
    given = [field.strip() for field in fields if not is_missing(field)]
    for words, fix, alike in (
        ("numbers with a unit", "leave the unit out of them", _has_unit),
        ("months", "spell them as dates, like 2024-12-01", _is_month),
    ):
        found = [field for field in given if alike(field)]
        if 2 * len(found) > len(given):
            return found[0], words, fix
    return None


def notes_on_columns(chunk: Chunk, categorical: Iterable[str], numeric: Iterable[str]) -> list[Message]:
    """Return notes on columns that may not be what they are taken for, by the first rows."""
    notes = []
    for name in categorical:
        if (found := categories_alike(_different(chunk.column(name)))) is not None:
            text, words, fix = found
            notes.append(
                Message(f"column {quoted(name)} is taken for categories, and {quoted(text)} looks like {words}; {fix}")
            )
    for name in numeric:
        notes += [Message(f"column {quoted(name)}: {words}", fix) for words, fix in _of_numbers(chunk, name)]
    return notes


def _of_numbers(chunk: Chunk, name: str) -> list[tuple[str, str]]:
    fields = _different(chunk.column(name))
    padded = next((field.strip() for field in fields if is_padded(field.strip()) and field.strip().isdigit()), None)
    if padded is not None:
        as_number = f"{quoted(padded)} is read as the number {int(padded)}"
        return [(as_number, "; if it is a code, make categories of the column with {categorical}")]
    given = [field for field in fields if not is_missing(field)]
    if len(given) < FEWEST_COUNTED:
        return []
    if all(_is_day(field) for field in given):
        return [(f"{quoted(given[0])} is read as a number; if it is a day, spell it like 2024-12-31", "")]
    if len(fields) >= min(chunk.n_rows, MOST_LOOKED_AT) and _counts(given):
        return [("it counts the rows", "; leave it out with {ignore} if new rows have numbers of their own")]
    return []


def _different(column: Column) -> list[str]:
    """Return the different fields of a column, or whole numbers of a file that has types, as they would be written."""
    if isinstance(column, np.ndarray):
        column = list(map(str, column.tolist())) if column.dtype.kind in "iu" else []
    return list(islice(dict.fromkeys(column), MOST_LOOKED_AT))


def _has_unit(field: str) -> bool:
    bare = field.strip(_UNITS + " ")
    return bare != field and (is_number(bare) or is_written_number(bare))


def _is_month(field: str) -> bool:
    found = _MONTH.fullmatch(field)
    return found is not None and (found["name"] is None or found["name"][:3].casefold() in MONTHS)


def _is_day(field: str) -> bool:
    field = field.strip()
    return _DAY.fullmatch(field) is not None and as_time(f"{field[:4]}-{field[4:6]}-{field[6:]}") is not None


def _counts(fields: Sequence[str]) -> bool:
    """Tell whether integers go up by one from row to row."""
    if not all(field.strip().isdigit() for field in fields):
        return False
    first = int(fields[0])
    return all(int(field) == first + step for step, field in enumerate(fields))
