"""What columns of texts are, by the first rows: dates, categories, and else numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import numpy as np

from .date_spelling import as_time, day_comes_first
from .errors import quoted
from .field_values import is_missing, is_number, is_truth
from .look_alikes import MOST_LOOKED_AT
from .messages import Message
from .table import Chunk


def date_columns(
    chunk: Chunk, names: Iterable[str], day_first: bool | None = None
) -> tuple[dict[str, bool], list[Message]]:
    """Return the columns of dates and whether the day comes first in them, with notes where that is anybody's guess.

    They are those of times by their type, and of texts of which more than half, in the first rows, are dates.
    """
    dates: dict[str, bool] = {}
    notes = []
    for name in names:
        column = chunk.column(name)
        if isinstance(column, np.ndarray):
            if column.dtype.kind in "mM":
                dates[name] = False
            continue
        present = [text for text in islice(dict.fromkeys(column), MOST_LOOKED_AT) if not is_missing(text)]
        found = [text for text in present if as_time(text) is not None or as_time(text, day_first=True) is not None]
        if not present or 2 * len(found) <= len(present):
            continue
        order = day_comes_first(found) if day_first is None else day_first
        dates[name] = bool(order)
        if order is None:
            notes.append(
                Message(
                    f"column {quoted(name)}: {quoted(found[0].strip())} is read with the month first, as no row tells",
                    "; if the day is, say so with {day_first}",
                )
            )
    return dates, notes


def categorical_columns(chunk: Chunk, names: Iterable[str]) -> frozenset[str]:
    """Return the categorical columns: those where at most half of the values in the first rows are numbers.

    A column of true and false is one of numbers, as it is in a frame.
    """
    categorical = set()
    for name in names:
        column = chunk.column(name)
        if isinstance(column, np.ndarray):
            continue
        present = {field: count for field, count in Counter(column).items() if not is_missing(field)}
        numeric = sum(count for field, count in present.items() if is_number(field, chunk.decimal))
        if present and 2 * numeric <= sum(present.values()) and not all(map(is_truth, present)):
            categorical.add(name)
    return frozenset(categorical)
