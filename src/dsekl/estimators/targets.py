"""Targets as a user gives them, checked once: one label for each row, or finite numbers."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_array, column_or_1d

from dsekl.data.frames import column_names, is_frame
from dsekl.data.python_values import is_absent

from .places import named, refuse_times


def given_labels(y: ArrayLike) -> NDArray[Any]:
    """Return y as one label per row."""
    y = whole_numbers(y)
    if isinstance(y, list | tuple):
        _refuse_mixed(y)
    elif np.asarray(y).dtype == object:
        _refuse_mixed(np.asarray(y).ravel())
    found: NDArray[Any] = column_or_1d(y, warn=True)
    _refuse_missing(found)
    assert_all_finite(found, input_name="y")
    check_classification_targets(found)
    return np.asarray(found)


def whole_numbers(y: ArrayLike) -> ArrayLike:
    """Return integers and truth values of a nullable type as NumPy's; scikit-learn would make floats of them.

    Other targets come back as they are, and the one column of a frame as a column.
    """
    if isinstance(y, np.ndarray | list | tuple):
        return y
    given: Any = y
    if is_frame(given) and len(columns := column_names(given)) == 1:
        return np.asarray(whole_numbers(given[columns[0]])).reshape(-1, 1)
    if getattr(getattr(given, "dtype", None), "kind", "") not in ("i", "u", "b"):
        return y
    values = np.asarray(y)
    if values.dtype != object or any(map(is_absent, values)):
        return values
    return np.array(values.tolist())


def _refuse_missing(y: NDArray[Any]) -> None:
    """Refuse missing targets, and name the first."""
    if y.dtype.kind == "f":
        absent = np.isnan(y)
    elif y.dtype.kind in "mM":
        absent = np.isnat(y)
    elif y.dtype.kind == "O":
        absent = np.fromiter(map(is_absent, y.ravel()), dtype=bool, count=y.size).reshape(y.shape)
    else:
        return
    if absent.any():
        place = tuple(np.argwhere(absent)[0])
        raise ValueError(_missing_target(y[place], int(place[0])))


def _missing_target(value: Any, row: int) -> str:
    return (
        f"y holds {value} in row {row}, a missing value (Input y contains NaN); leave such rows out of X and y, e.g. "
        "with rows = pandas.notna(y), or give them a value"
    )


def _refuse_mixed(y: Any) -> None:
    """Refuse labels that are not all texts or all numbers, and integers that an array would round."""
    first: dict[str, object] = {}
    for row, label in enumerate(y):
        if is_absent(label):
            raise ValueError(_missing_target(label, row))
        kind = "text" if isinstance(label, str) else "number" if isinstance(label, Number | np.bool_) else "other"
        if kind != "other":
            first.setdefault(kind, label)
        if isinstance(label, str) and label.endswith("\0"):
            raise ValueError(f"y holds the label {label!r}, whose NUL at the end an array would drop; rename it")
    if len(first) > 1:
        raise ValueError(
            f"y holds labels of different types, such as {first['number']!r} and {first['text']!r}; make all of them "
            "texts, or all of them numbers"
        )
    whole = [label for label in y if isinstance(label, int)]
    if whole and np.asarray(whole).dtype.kind not in "biu":
        raise ValueError(
            f"y holds integers from {min(whole)} to {max(whole)}, which no type of 64 bits holds; give them as texts"
        )
    if len(whole) < len(y) and any(abs(label) > 2**53 for label in whole):
        raise ValueError(
            f"y holds {max(whole, key=abs)} beside labels that are no integers, and an array of both would round it; "
            "give all of them as texts"
        )
    if first.keys() == {"number"} and not isinstance(y, list | tuple):
        raise ValueError(
            f"Unknown label type: y is an array of objects such as {first['number']!r}; make it one of numbers with "
            "y.astype(int), or of texts with y.astype(str)"
        )


def real_targets(y: ArrayLike) -> NDArray[np.float64]:
    """Return y as finite numbers, one or more per row."""
    values = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    refuse_times(values, "y")
    _refuse_missing(values)
    with named("y"):
        found: NDArray[np.float64] = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if found.ndim > 2:
        raise ValueError(f"y has shape {found.shape}; give (n_samples,) or (n_samples, n_targets)")
    return np.asarray(found)
