"""How numbers are written: decimal points and commas, and what separates their thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable

POINT, COMMA = ".", ","

_GAPS = "'\u2019 \u00a0\u202f"
"""Apostrophes and spaces, which separate thousands whatever the decimal mark is."""

_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"


def _grouped(mark: str, others: str) -> re.Pattern[str]:
    """Return the pattern of numbers with a decimal mark, thousands separated by one of the ``others`` or not at all."""
    whole = rf"(?:[0-9]{{1,3}}(?P<gap>[{re.escape(others)}])[0-9]{{3}}(?:(?P=gap)[0-9]{{3}})*|[0-9]*)"
    return re.compile(rf"[+-]?{whole}(?:{re.escape(mark)}[0-9]*)?{_EXPONENT}")


_PATTERNS = {POINT: _grouped(POINT, COMMA + _GAPS), COMMA: _grouped(COMMA, POINT + _GAPS)}

_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
"""One thousand and some, or one and some thousandths."""


def in_points(field: str, decimal: str) -> str:
    """Return a number as Python writes it: a decimal point, and nothing between thousands; other fields as they are."""
    field = field.strip()
    found = _PATTERNS[decimal].fullmatch(field)
    if found is None:
        return field
    digits = field if found["gap"] is None else field.replace(found["gap"], "")
    return digits.replace(decimal, POINT)


def is_written_number(field: str) -> bool:
    """Tell whether a field is a number with either decimal mark."""
    field = field.strip()
    return any(map(str.isdigit, field)) and any(pattern.fullmatch(field) for pattern in _PATTERNS.values())


def mark_of(field: str) -> str | None:
    """Return the decimal mark that a number with a comma gives away: a comma, a point, or "" for either."""
    field = field.strip()
    if COMMA not in field or not any(map(str.isdigit, field)):
        return None
    if _EITHER.fullmatch(field):
        return ""
    return next((mark for mark in (COMMA, POINT) if _PATTERNS[mark].fullmatch(field)), None)


def find_decimal(columns: Iterable[Iterable[str]]) -> str | None:
    """Return the decimal mark of a table by some of its columns, "" for commas that may be either; None for no comma.

    A column counts where more than half of its fields are numbers.
    """
    marks: list[str] = []
    for column in columns:
        fields = [field for field in column if field.strip()]
        found = [mark for field in fields if (mark := mark_of(field)) is not None]
        plain = sum(COMMA not in field and is_written_number(field) for field in fields)
        if 2 * (len(found) + plain) > len(fields):
            marks += found
    sure = [mark for mark in marks if mark]
    if not sure:
        return "" if marks else None
    return COMMA if 2 * sure.count(COMMA) >= len(sure) else POINT
