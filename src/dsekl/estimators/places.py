"""Where in X a number is that cannot be used, in the words of an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from dsekl.data.field_values import is_missing, is_number
from dsekl.data.frames import ArrayFrame, FrameTable, is_frame

OF_X = "give numbers of 64 bits, or texts in a frame, or in an array that categorical_features names the columns of"

NO_NUMBERS = ("could not convert", "setting an array element with a sequence", "at least one array or dtype")
"""Words of NumPy and scikit-learn for what is no number, a list of lists of different lengths, and no column."""

MOST_CELLS = 2**24
"""Entries in which a number is looked for."""


@contextmanager
def explained(estimator: BaseEstimator, X: Any) -> Iterator[None]:
    """Add to scikit-learn's words on an X that it refuses where the first such number is, and what may be done."""
    refuse_times(X, "X")
    try:
        with named("X", OF_X):
            yield
    except (TypeError, ValueError) as error:
        words = str(error)
        if "cannot be read as numbers" in words and (place := _first_text(X)):
            if isinstance(error, TypeError):
                raise TypeError(f"{place}: {words}") from error
            raise ValueError(f"{place}, which is no number; {OF_X}") from error
        if isinstance(error, TypeError):
            raise
        if words.startswith("Input X contains infinity"):
            raise ValueError(f"Input X contains infinity{_first(X, np.isinf)}; put a number in its place") from error
        if words.startswith("Input X contains NaN"):
            why = "strict=True takes numbers only" if estimator.strict else "sparse matrices take no missing values"
            raise ValueError(f"Input X contains NaN{_first(X, np.isnan)}, and {why}; put a number there") from error
        raise


def _first(X: Any, wanted: Any) -> str:
    """Return the row and the column of the first number that is wanted, counted from 0; nothing for a sparse matrix."""
    if sparse.issparse(X):
        return ""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.size > MOST_CELLS:
        return ""
    found = np.argwhere(wanted(values))
    if not len(found):
        return ""
    row, column = (int(place) for place in found[0])
    names = getattr(X, "columns", None)
    name = column if names is None else list(names)[column]
    return f": {values[row, column]} in row {row}, column {name!r}"


def _first_text(X: Any) -> str:
    """Return the row and the column of the first text that is no number; nothing where there is none to be found."""
    if not is_frame(X) and not (isinstance(X, np.ndarray) and X.ndim == 2):
        return ""
    table = FrameTable(X) if is_frame(X) else ArrayFrame(X.astype(object))
    for name in table.names:
        column = table.chunk().column(name)
        for row, field in enumerate(() if isinstance(column, np.ndarray) else column):
            if not is_missing(field) and not is_number(field):
                return f"X holds {field!r} in row {row}, column {name!r}"
    return ""


def refuse_times(values: Any, name: str) -> None:
    """Raise ValueError for times that would be read as numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        raise ValueError(
            f"{name} holds times ({values.dtype}), which have no unit as numbers; give numbers, such as days since "
            "some date"
        )


@contextmanager
def named(name: str, advice: str = "give numbers of 64 bits") -> Iterator[None]:
    """Say which argument it was where Python's own words on what is no number do not."""
    try:
        yield
    except (TypeError, OverflowError, ValueError) as error:
        if type(error) is ValueError and not any(words in str(error) for words in NO_NUMBERS):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} cannot be read as numbers ({error}); {advice}") from error
