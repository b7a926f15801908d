"""How a delimited file is written: its delimiter, and whether its first row is a header."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence

from .date_spelling import as_time
from .field_values import is_missing, is_number
from .number_spelling import is_written_number

DELIMITERS = ",;\t|"
SAMPLE_ROWS, SAMPLE_CHARACTERS = 100, 2**20
"""Lines from which the delimiter is found, fewer of long ones."""


def sample_rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the rows of some lines, none where the csv module cannot read them."""
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def find_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that cuts most of the lines into the same number of fields, more than one.

    Between equals it is the one that gives a greater share of numbers and dates, then the one that gives more fields,
    and then the first of comma, semicolon, tab and bar.
    """
    scores = {}
    for delimiter in DELIMITERS:
        rows = sample_rows(lines, delimiter)
        counts = Counter(map(len, rows))
        fields, agreeing = max(counts.items(), key=lambda item: item[1], default=(1, 0))
        if fields > 1:
            values = sum(is_value(field) for row in rows for field in row) / sum(map(len, rows))
            scores[delimiter] = (agreeing / counts.total(), values, fields)
    return max(scores, key=lambda delimiter: scores[delimiter], default=",")


def looks_like_header(row: Sequence[str]) -> bool:
    """Tell whether a first row names columns: no number or date in it, no name twice, and some name at all."""
    names = [field.strip() for field in row]
    given = [name for name in names if not is_missing(name)]
    return bool(given) and not any(map(_is_number_or_date, names)) and len(set(given)) == len(given)


def is_value(field: str) -> bool:
    """Tell whether a field can only be data: a number, a date, or a missing value."""
    return is_missing(field) or _is_number_or_date(field)


def counts_columns(row: Sequence[str]) -> bool:
    """Tell whether a first row counts the columns from 0 or 1, as headers do that nobody chose."""
    return len(row) > 1 and any([field.strip() for field in row] == [*map(str, range(k, k + len(row)))] for k in (0, 1))


def _is_number_or_date(field: str) -> bool:
    return is_number(field) or is_written_number(field) or as_time(field) is not None


def column_names(row: Sequence[str], is_header: bool) -> tuple[str, ...]:
    """Return the names in a header; where there is none, "column1", "column2" and so on."""
    numbered = [f"column{number}" for number in range(1, len(row) + 1)]
    if not is_header:
        return tuple(numbered)
    return tuple(field.strip() or number for field, number in zip(row, numbered, strict=True))
