"""Columns of texts in a frame: those that are dates, and those that are numbers, of which the user is told."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice

from dsekl.data.field_values import is_number
from dsekl.data.inferred_kinds import date_columns
from dsekl.data.look_alikes import MOST_LOOKED_AT, categories_alike
from dsekl.data.number_spelling import mark_of
from dsekl.data.target_statistics import FEW_LEVELS

from .encoded_tables import Table


def dates_in_texts(table: Table, names: Sequence[str]) -> dict[str, bool]:
    """Return columns of texts that are dates, and whether their day comes first; warn of those that are numbers."""
    texts, chunk = [name for name in names if table.is_text(name)], table.chunk()
    dates, notes = date_columns(chunk, texts)
    for note in notes:
        warnings.warn(f"{note.text}; give dates as dates, e.g. with pandas.to_datetime", UserWarning, stacklevel=5)
    for name in texts:
        if name not in dates:
            _tell_of_numbers(
                name, [field for field in islice(dict.fromkeys(chunk.column(name)), MOST_LOOKED_AT) if field]
            )
    return dates


def _tell_of_numbers(name: str, fields: Sequence[str]) -> None:
    """Warn of a column of texts of which most are numbers; a few whole ones may well be codes."""
    commas = [field for field in fields if mark_of(field) is not None]
    plain = [field for field in fields if is_number(field)] if len(fields) > FEW_LEVELS else []
    for found, fix in (
        (commas, "with decimal=',' or thousands=',' of pandas.read_csv"),
        (plain, f"with pandas.to_numeric(X[{name!r}], errors='coerce'); for codes, name it in categorical_features"),
    ):
        if 2 * len(found) > len(fields):
            warnings.warn(
                f"column {name!r} has numbers as texts, such as {found[0]!r}, and is taken for categories; make "
                f"numbers of them, e.g. {fix}",
                UserWarning,
                stacklevel=6,
            )
            return
    if (alike := categories_alike(fields)) is not None:
        text, words, fix = alike
        warnings.warn(
            f"column {name!r} is taken for categories, and {text!r} looks like {words}; {fix}",
            UserWarning,
            stacklevel=6,
        )
