"""Parquet files, through pyarrow (``pip install 'dsekl[parquet]'``)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .errors import DataFileError
from .field_values import Column
from .table import Chunk, row_place, rows_within_bounds

if TYPE_CHECKING:
    import pyarrow


class ParquetTable:
    """A Parquet file: numbers and booleans are numeric, strings and dictionaries of strings are categories."""

    has_header = True

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise DataFileError(path, "Parquet needs pyarrow; run: pip install 'dsekl[parquet]'") from error
        try:
            self._file = parquet.ParquetFile(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataFileError(path, f"is not a readable Parquet file ({error})") from error
        self.names = tuple(self._file.schema_arrow.names)
        if not self._file.metadata.num_rows or not self.names:
            raise DataFileError(path, "is empty; give a file with a row for each example")
        for place, name in enumerate(self.names):
            if name in self.names[:place]:
                raise DataFileError(path, "occurs more than once; rename one of them", name)

    def chunks(self, as_text: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read all rows; the file's types decide, not ``as_text``."""
        import pyarrow

        first_row = 0
        try:
            for batch in self._file.iter_batches(batch_size=rows_within_bounds(len(self.names))):
                columns = dict(zip(self.names, batch.columns, strict=True))
                yield Chunk(
                    batch.num_rows, partial(_column, self.path, columns), partial(row_place, self.path, first_row)
                )
                first_row += batch.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            raise DataFileError(self.path, f"is corrupted ({error})") from error


def _column(path: Path, columns: dict[str, pyarrow.Array], name: str) -> Column:
    """Return a column when it is used: an unsupported type is no error where the column is ignored."""
    from pyarrow import compute, types

    column = columns[name]
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = compute.fill_null(compute.cast(column, "float64", safe=False), float("nan"))
        return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    if types.is_string(kind) or types.is_large_string(kind):
        return ["" if value is None else value for value in column.to_pylist()]
    raise DataFileError(
        path,
        f"has the unsupported type {kind}",
        name,
        "; convert it to numbers or strings, or leave it out with {ignore}",
    )
