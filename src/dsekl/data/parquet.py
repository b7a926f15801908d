"""Parquet files, through pyarrow (``pip install 'dsekl[parquet]'``)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .compression import reading
from .errors import DataFileError, quoted
from .field_values import Column
from .python_values import as_texts
from .table import Chunk, check_columns, check_names, row_place, rows_within_bounds

if TYPE_CHECKING:
    import pyarrow

BATCH_BYTES = 2**26
"""Bytes that a batch of rows may take, by what the file says of its row groups before they were compressed."""

LARGEST_EXACT = 2**53
"""Up to here float64 holds every integer."""


class ParquetTable:
    """A Parquet file: numbers and booleans are numeric, strings and their dictionaries categories, times are times."""

    has_header = True

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise DataFileError(path, "Parquet needs pyarrow; run: pip install 'dsekl[parquet]'") from error
        with _words(path), reading(path):
            self._file = parquet.ParquetFile(path)
            # A text that is repeated then takes its length once, as in the file.
            self._file = parquet.ParquetFile(path, read_dictionary=_text_columns(self._file.schema_arrow))
            self.names = tuple(self._file.schema_arrow.names)
            n_rows = self._file.metadata.num_rows
            n_groups = self._file.metadata.num_row_groups
            groups = [self._file.metadata.row_group(group) for group in range(n_groups)]
            self.group_rows = [group.num_rows for group in groups]
            widest = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
        if not n_rows or not self.names:
            raise DataFileError(path, "is empty; give a file with a row for each example")
        self._groups, self._first_row = range(n_groups), 0
        self._batch_rows = max(1, min(rows_within_bounds(len(self.names)), BATCH_BYTES // max(1, widest)))
        check_columns(path, len(self.names))
        check_names(path, self.names, "occurs more than once")

    def with_groups(self, groups: range, first_row: int) -> ParquetTable:
        """Return the table of some row groups alone, the first of whose rows has a place in the file."""
        some = copy.copy(self)
        some._groups, some._first_row = groups, first_row
        return some

    def chunks(self, as_text: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read all rows; the file's types decide, not ``as_text``."""
        # Without threads of pyarrow's own: it ends the process where there are none to be had.
        batches = self._file.iter_batches(batch_size=self._batch_rows, row_groups=list(self._groups), use_threads=False)
        first_row = self._first_row
        while True:
            with _words(self.path), reading(self.path):
                batch = next(batches, None)
            if batch is None:
                return
            if batch.num_rows:
                columns = dict(zip(self.names, batch.columns, strict=True))
                where = partial(row_place, self.path, first_row)
                yield Chunk(batch.num_rows, partial(_column, self.path, columns), where)
                first_row += batch.num_rows


@contextmanager
def _words(path: Path) -> Iterator[None]:
    """Turn what pyarrow has to say of a file into a DataFileError."""
    import pyarrow

    try:
        yield
    except DataFileError:
        raise
    except (pyarrow.ArrowException, ValueError, LookupError, TypeError, OverflowError) as error:
        words = " ".join(str(error).split())
        raise DataFileError(path, f"is not a readable Parquet file ({quoted(words)})") from error


def _text_columns(schema: pyarrow.Schema) -> list[str]:
    return [field.name for field in schema if _is_text(field.type)]


def _column(path: Path, columns: dict[str, pyarrow.Array], name: str) -> Column:
    """Return a column when it is used: an unsupported type is no error where the column is ignored."""
    with _words(path):
        found = _values(columns[name])
    if found is None:
        raise DataFileError(
            path,
            f"has the unsupported type {columns[name].type}",
            name,
            "; convert it to numbers or strings, or leave it out with {ignore}",
        )
    return found


def _values(column: pyarrow.Array) -> Column | None:
    """Return the values of a column, None for a type that is neither numbers, strings nor times."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_dictionary(kind):
        column.validate(full=True)  # a place beyond the dictionary would be read from foreign memory
        if _is_text(kind.value_type):
            texts = column.dictionary.to_pylist()
            return [
                "" if place is None or texts[place] is None else texts[place] for place in column.indices.to_pylist()
            ]
        column = column.dictionary_decode()
        kind = column.type
    if _is_text(kind):
        column.validate(full=True)
        return ["" if value is None else value for value in column.to_pylist()]
    if types.is_null(kind):  # pandas writes a column so in which nothing is known
        return [""] * len(column)
    if types.is_decimal(kind):
        return ["" if value is None else format(value, "f") for value in column.to_pylist()]
    if types.is_int64(kind) or types.is_uint64(kind):
        return _integers(column)
    if types.is_boolean(kind):
        return as_texts(column.to_pylist())  # as labels they are the same as in a csv file
    if types.is_integer(kind) or types.is_floating(kind):
        numbers = compute.fill_null(compute.cast(column, "float64", safe=False), float("nan"))
        return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    return _times(column)


def _is_text(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _times(column: pyarrow.Array) -> Column | None:
    """Return dates, times and durations, in UTC where they have a zone; None for any other type."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_time(kind):
        day = compute.cast(compute.cast(column, "time64[us]"), "int64")
        return np.asarray(compute.cast(day, "timestamp[us]").to_numpy(zero_copy_only=False))
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return None


def _integers(column: pyarrow.Array) -> Column:
    """Return integers, of which float64 would round the larger; beside missing values these are text."""
    if not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = column.to_pylist()
    if any(value is not None and abs(value) > LARGEST_EXACT for value in values):
        return ["" if value is None else str(value) for value in values]
    return np.array([np.nan if value is None else float(value) for value in values])
