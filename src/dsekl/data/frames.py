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
from .python_values import Sort, are_durations, are_numbers, as_exact, as_texts, as_times, is_absent, sort_of
from .table import Chunk, check_names


class Kind(Enum):
    """What a column is."""

    NUMBER = "number"
    CATEGORY = "category"
    ORDERED = "ordered category"
    DATE = "date"


OF_SORT: dict[Sort, Kind] = {"text": Kind.CATEGORY, "number": Kind.NUMBER}
"""What Python objects of a sort are; those of all others are dates."""


class FrameTable:
    """A frame as a table with named columns and typed values; ``names`` are other names for its columns, in order."""

    path = "X"

    def __init__(self, X: Any, names: Sequence[str] | None = None) -> None:
        import narwhals

        self.has_header = names is None

        own = column_names(X)
        if names is None:
            _check_names(own)
        self._frame = narwhals.from_native(X, eager_only=True)
        if names is not None:
            self._frame = self._frame.rename(dict(zip(own, names, strict=True)))
        self.names: Sequence[str] = own if names is None else names
        self.n_rows = len(self._frame)
        self._kinds: dict[str, Kind] = {}

    def kind(self, name: str) -> Kind:
        """Return what a column is, by its type, or by its values where it holds Python objects."""
        if name not in self._kinds:
            self._kinds[name] = self._kind(name)
        return self._kinds[name]

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

    def _kind(self, name: str) -> Kind:
        import narwhals

        series = self._frame[name]
        kind = series.dtype
        if kind.is_numeric() or kind == narwhals.Boolean or self._native_kind(name) in "biuf":
            return Kind.NUMBER
        if self._is_period(name) or isinstance(
            kind, narwhals.Datetime | narwhals.Date | narwhals.Duration | narwhals.Time
        ):
            return Kind.DATE
        if kind == narwhals.Enum or self._is_ordered(name):
            return Kind.ORDERED
        if kind in (narwhals.String, narwhals.Categorical) or series.null_count() == self.n_rows:
            return Kind.CATEGORY
        if kind == narwhals.Object:
            return _kind_of_objects(self.chunk(), name, self._frame[name].to_list())
        raise DataFileError("X", f"has the type {self._type(name)}, {_advice(name)}", name)

    def _type(self, name: str) -> Any:
        return getattr(self._frame[name].to_native(), "dtype", self._frame.schema[name])

    def _native_kind(self, name: str) -> str:
        """Return NumPy's letter for the numbers of a type that narwhals does not know: long, or sparse ones."""
        import narwhals

        kind = getattr(self._type(name), "kind", "") if self._frame.schema[name] == narwhals.Unknown else ""
        return kind or "-"

    def _is_period(self, name: str) -> bool:
        return str(self._type(name)).startswith("period[")

    def _is_ordered(self, name: str) -> bool:
        return bool(getattr(self._type(name), "ordered", False))

    def _column(self, name: str) -> Column:
        import narwhals

        series = self._frame[name]
        kind = self.kind(name)
        if kind is Kind.DATE:
            if series.dtype == narwhals.Object:
                return as_times(series.to_list())
            return _times(self._starts(name) if self._is_period(name) else series)
        if kind is Kind.NUMBER:
            if series.dtype == narwhals.Object:
                return as_exact(series.to_list())
            if series.dtype == narwhals.Unknown:
                return np.asarray(series.to_native(), dtype=np.float64)
            if series.dtype == narwhals.Boolean:  # which are numbers, and the texts True and False
                return as_texts(series.to_list()) if series.null_count() else np.asarray(series.to_numpy(), dtype=bool)
            if series.dtype.is_integer():
                gaps = series.null_count() or series.dtype in (narwhals.Int128, narwhals.UInt128)
                return as_exact(series.to_list()) if gaps else np.asarray(series.to_numpy())
            if series.null_count():
                series = series.cast(narwhals.Float64).fill_null(float("nan"))
            return np.asarray(series.to_numpy(), dtype=np.float64)
        return as_texts(series.to_list())

    def _starts(self, name: str) -> Any:
        """Return the starts of periods."""
        import narwhals

        return narwhals.from_native(self._frame[name].to_native().dt.to_timestamp(), series_only=True)


def column_names(X: Any) -> list[Any]:
    """Return what the columns of a frame are called; of an Arrow table, ``columns`` are the columns themselves."""
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _check_names(names: Sequence[Any]) -> None:
    """Raise the error of the first name that is no text, or occurs twice."""
    for name in names:
        if not isinstance(name, str):
            raise DataFileError(
                "X", f"has the column name {name!r} of type {type(name).__name__}; make all names texts, e.g. with "
                "X.columns = X.columns.map(str)",
            )  # fmt: skip
    check_names("X", names, "occurs more than once")


def _advice(name: str) -> str:
    return (
        "which is neither numbers, texts nor dates; make one of these of each, e.g. texts with "
        f"[str(value) for value in X[{name!r}]], or leave the column out"
    )


def _kind_of_objects(chunk: Chunk, name: str, values: Sequence[Any]) -> Kind:
    """Return what Python objects are: all of one sort, or an error that names the first that is other."""
    found: dict[Sort, int] = {}
    for i, value in enumerate(values):
        if is_absent(value):
            continue
        sort = sort_of(value)
        if sort is None:
            words = f"holds {quoted(str(value))} of type {type(value).__name__}, {_advice(name)}"
            raise chunk.error(i, name, words)
        found.setdefault(sort, i)
        if len(found) > 1:
            first = next(iter(found))
            words = f"holds {quoted(value) if isinstance(value, str) else value!s}, and row {found[first]} a {first}"
            raise chunk.error(i, name, f"{words}; make all values numbers, all texts or all dates")
    return OF_SORT.get(next(iter(found)), Kind.DATE) if found else Kind.CATEGORY


class ArrayFrame:
    """An array as a table of numbers; columns of objects may be texts or dates."""

    path = "X"
    has_header = False

    def __init__(self, X: NDArray[Any], names: Sequence[str] | None = None) -> None:
        self._X = X
        self.names = [f"x{place}" for place in range(X.shape[1])] if names is None else names
        self.n_rows = len(X)

    def kind(self, name: str) -> Kind:
        """Return what a column is: numbers, unless it holds objects of which some are none."""
        column = self._X[:, self.names.index(name)]
        if column.dtype != object or are_numbers(column.tolist()):
            return Kind.NUMBER
        return _kind_of_objects(self.chunk(), name, column.tolist())

    def is_text(self, name: str) -> bool:
        """Tell whether a column may hold texts."""
        return self._X.dtype == object

    def levels(self, name: str) -> list[str]:
        """Return nothing: no column of an array is ordered."""
        return []

    def chunk(self) -> Chunk:
        """Return all rows."""
        places = {name: place for place, name in enumerate(self.names)}
        return Chunk(self.n_rows, partial(_of_array, self._X, places), "row {} of X".format)


def _of_array(X: NDArray[Any], places: dict[str, int], name: str) -> Column:
    column = X[:, places[name]]
    if column.dtype == object:
        values = column.tolist()
        return as_times(values) if are_durations(values) else as_texts(values)
    return column if column.dtype.kind in "iu" else np.asarray(column, dtype=np.float64)


def is_frame(X: object) -> bool:
    """Tell whether X is a data frame, without importing anything for an array."""
    if isinstance(X, np.ndarray | list | tuple) or not hasattr(X, "columns"):
        return False
    import narwhals.dependencies

    return bool(narwhals.dependencies.is_into_dataframe(X))


def kinds(table: FrameTable | ArrayFrame, categorical: Collection[str] | None) -> dict[str, Kind]:
    """Return what each column is; those named ``categorical`` are categories, None leaves it to the types.

    Where none is named, categories and texts are to be read as numbers.
    """
    found = {name: table.kind(name) for name in table.names}
    if categorical is not None and not categorical:
        return {name: kind if kind is Kind.DATE else Kind.NUMBER for name, kind in found.items()}
    return found | dict.fromkeys(categorical or (), Kind.CATEGORY)


def _times(series: Any) -> NDArray[Any]:
    """Return dates and times, or durations, in microseconds; in UTC where they have a zone."""
    import narwhals

    kind = "datetime64[us]"

    if isinstance(series.dtype, narwhals.Time):
        return as_times(series.to_list())
    absent = series.is_null().to_numpy()
    if isinstance(series.dtype, narwhals.Duration):
        found, kind = series.dt.total_microseconds(), "timedelta64[us]"
    else:
        zone = getattr(series.dtype, "time_zone", None)
        found = series.cast(narwhals.Datetime("us", zone)).dt.timestamp("us")
    numbers = np.asarray(found.fill_null(0).to_numpy(), dtype=np.float64)
    times = np.rint(numbers).astype(np.int64).view(kind)
    times[absent] = "NaT"
    return times
