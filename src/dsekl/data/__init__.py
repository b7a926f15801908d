"""Data files: one format a file, all read in chunks of rows; the encoding of a table as numbers; a catalogue."""

from __future__ import annotations

import codecs
from functools import partial
from pathlib import Path

from .arrays import ArrayTable
from .compression import opened
from .delimited import DelimitedTable
from .errors import DataFileError
from .many_files import ManyFiles, Opener, matching
from .parquet import ParquetTable
from .svmlight import SparseTable, looks_sparse
from .table import Chunk, SparseChunk, Table

__all__ = ["Chunk", "DataFileError", "SparseChunk", "SparseTable", "Table", "open_table", "opener"]


def open_table(
    path: Path, header: bool | None = None, delimiter: str | None = None, decimal: str | None = None
) -> Table | SparseTable:
    """Open a data file, or the files that a pattern such as ``rows/*.csv`` stands for.

    The format is inferred from the content, not from the name. ``header``, ``delimiter`` and ``decimal`` are for csv,
    and inferred where they are None. What is wrong with a file, whatever its bytes, ends in a ``DataFileError``.
    """
    files = matching(path)
    if files is not None:
        return ManyFiles(path, files, opener(header, delimiter, decimal))
    with opened(path) as stream:
        start = stream.read(2**16)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataFileError(path, "is in UTF-16; save the file in UTF-8")
    if start.startswith(b"PAR1"):
        return ParquetTable(path)
    if start.startswith((b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")):
        return ArrayTable(path, is_archive=start.startswith(b"PK"))
    # The last line of the sample may be cut, so it does not count unless it is the only one.
    lines = [line for line in start.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    if looks_sparse(lines[:-1] or lines):
        return SparseTable(path)
    return DelimitedTable(path, header, delimiter, decimal)


def opener(header: bool | None, delimiter: str | None, decimal: str | None) -> Opener:
    """Return what opens a file of a table, here or elsewhere."""
    return partial(open_table, header=header, delimiter=delimiter, decimal=decimal)
