"""Data frames of pandas, polars and others as one chunk of a table, through narwhals.

The types of the columns decide what they are: numbers and booleans, categories and texts, ordered categories, dates and
times. An array is a frame of numbers whose columns are called x0, x1, ...
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataFileError, quoted
from .field_values import Column
from .table import Chunk

NANOSECONDS = 1e9


class Kind(Enum):
    """What a column is."""

    NUMBER = "number"
    CATEGORY = "category"
    ORDERED = "ordered category"
    DATE = "date"


class FrameTable:
    """A frame as a table with named columns and typed values."""

    path = "X"
    has_header = True

    def __init__(self, X: Any) -> None:
        import narwhals

        self.names: Sequence[str] = list(X.columns)
        for name in self.names:
            if not isinstance(name, str):
                raise DataFileError(
                    "X", f"has the column name {name!r} of type {type(name).__name__}; make all names texts, e.g. with "
                    "X.columns = X.columns.map(str)",
                )  # fmt: skip
            if self.names.count(name) > 1:
                raise DataFileError("X", "occurs more than once; rename one of them", name)
        self._frame = narwhals.from_native(X, eager_only=True)
        self.n_rows = len(self._frame)

    def kind(self, name: str) -> Kind:
        """Return what a column is, by its type."""
        import narwhals

        kind = self._frame.schema[name]
        if kind.is_numeric() or kind == narwhals.Boolean:
            return Kind.NUMBER
        if isinstance(kind, narwhals.Datetime | narwhals.Date | narwhals.Duration | narwhals.Time):
            return Kind.DATE
        if kind == narwhals.Enum or self._is_ordered(name):
            return Kind.ORDERED
        if kind in (narwhals.String, narwhals.Categorical):
            return Kind.CATEGORY
        if kind == narwhals.Object:
            return self._kind_of_objects(name)
        named = getattr(self._frame[name].to_native(), "dtype", kind)
        raise DataFileError(
            "X", f"has the type {named}, which is neither numbers, texts nor dates; convert it, or leave it out", name
        )

    def is_text(self, name: str) -> bool:
        """Tell whether a column is one of texts by its type, and not of categories."""
        import narwhals

        return self._frame.schema[name] in (narwhals.String, narwhals.Object)

    def levels(self, name: str) -> list[str]:
        """Return the levels of an ordered category, the lowest first."""
        kind = self._frame[name].to_native().dtype
        return [str(level) for level in kind.categories]

    def chunk(self) -> Chunk:
        """Return all rows."""
        return Chunk(self.n_rows, self._column, "row {} of X".format)

    def _is_ordered(self, name: str) -> bool:
        return bool(getattr(getattr(self._frame[name].to_native(), "dtype", None), "ordered", False))

    def _kind_of_objects(self, name: str) -> Kind:
        """Return what Python objects are: all texts, all numbers, or an error that names the first that is other."""
        found: dict[type, int] = {}
        for i, value in enumerate(self._frame[name].to_list()):
            if value is None or (isinstance(value, float) and np.isnan(value)):
                continue
            is_number = isinstance(value, bool | int | float | np.number)
            kind = str if isinstance(value, str) else float
            if not (is_number or kind is str):
                words = f"holds {quoted(str(value))} of type {type(value).__name__}, neither a number nor a text"
                raise self.chunk().error(i, name, f"{words}; convert the column, or leave it out")
            found.setdefault(kind, i)
            if len(found) > 1:
                other = "text" if kind is float else "number"
                words = f"holds {value!r}, and row {min(found.values())} a {other}"
                raise self.chunk().error(i, name, f"{words}; make all values numbers or all texts")
        return Kind.CATEGORY if str in found else Kind.NUMBER

    def _column(self, name: str) -> Column:
        import narwhals

        series = self._frame[name]
        kind = self.kind(name)
        if kind is Kind.DATE:
            return _seconds(series)
        if kind is Kind.NUMBER:
            if series.dtype == narwhals.Object:
                return np.array([np.nan if v is None else float(v) for v in series.to_list()])
            if series.dtype == narwhals.Boolean or series.null_count():
                series = series.cast(narwhals.Float64).fill_null(float("nan"))
            return np.asarray(series.to_numpy(), dtype=np.float64)
        return _texts(series.to_list())


class ArrayFrame:
    """An array as a table of numbers; columns that are given as ``categorical`` are categories."""

    path = "X"
    has_header = False

    def __init__(self, X: NDArray[Any], names: Sequence[str] | None = None) -> None:
        self._X = X
        self.names = [f"x{place}" for place in range(X.shape[1])] if names is None else names
        self.n_rows = len(X)

    def kind(self, name: str) -> Kind:
        """Return what a column is: numbers."""
        return Kind.NUMBER

    def is_text(self, name: str) -> bool:
        """Tell that no column is one of texts."""
        return False

    def levels(self, name: str) -> list[str]:
        """Return nothing: no column of an array is ordered."""
        return []

    def chunk(self) -> Chunk:
        """Return all rows."""
        places = {name: place for place, name in enumerate(self.names)}
        return Chunk(self.n_rows, partial(_of_array, self._X, places), "row {} of X".format)


def _of_array(X: NDArray[Any], places: dict[str, int], name: str) -> Column:
    column = X[:, places[name]]
    return _texts(column.tolist()) if column.dtype == object else np.asarray(column, dtype=np.float64)


def is_frame(X: object) -> bool:
    """Tell whether X is a data frame, without importing anything for an array."""
    if isinstance(X, np.ndarray | list | tuple) or not hasattr(X, "columns"):
        return False
    import narwhals.dependencies

    return bool(narwhals.dependencies.is_into_dataframe(X))


def kinds(table: FrameTable | ArrayFrame, categorical: Collection[str] | None) -> dict[str, Kind]:
    """Return what each column is; those named ``categorical`` are categories, None leaves it to the types."""
    found = {name: table.kind(name) for name in table.names}
    return found if categorical is None else found | dict.fromkeys(categorical, Kind.CATEGORY)


def _texts(values: Sequence[Any]) -> list[str]:
    """Return values as texts, "" for missing ones."""
    texts: dict[Any, str] = {None: ""}
    for value in values:
        if value not in texts:
            texts[value] = "" if _is_absent(value) else _text(value)
    return [texts[value] for value in values]


def _is_absent(value: Any) -> bool:
    """Tell whether a value is NaN, NaT or pandas' NA, which does not say whether it is itself."""
    try:
        return bool(value != value)
    except TypeError:
        return True


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _seconds(series: Any) -> NDArray[np.float64]:
    """Return dates and times as seconds since 1970, in UTC where they have a zone; durations as they are."""
    import narwhals

    absent = series.is_null().to_numpy()
    if isinstance(series.dtype, narwhals.Duration):
        found = series.dt.total_nanoseconds()
    elif isinstance(series.dtype, narwhals.Time):
        values = [None if t is None else t.hour * 3600 + t.minute * 60 + t.second for t in series.to_list()]
        return np.array([np.nan if value is None else float(value) for value in values])
    else:
        zone = getattr(series.dtype, "time_zone", None)
        series = series.cast(narwhals.Datetime("ns", zone))
        found = series.dt.timestamp("ns")
    numbers = np.where(absent, np.nan, np.asarray(found.fill_null(0).to_numpy(), dtype=np.float64) / NANOSECONDS)
    return np.asarray(numbers)
