"""Several files of one table, as ``rows/*.parquet``; and pieces of tables, which others read.

Only the first file is opened before its rows are read. A piece is a file, or some row groups of a Parquet file, so that
many can read one table at once.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .delimited import DelimitedTable
from .errors import DataFileError
from .parquet import ParquetTable
from .svmlight import SparseTable
from .table import MOST_ROWS, Chunk, Table

Opener = Callable[[Path], Table | SparseTable]
"""Opens one file."""


def matching(pattern: Path) -> list[Path] | None:
    """Return the files that a pattern with ``*``, ``?`` or ``[`` stands for, sorted; None for the path of a file."""
    if pattern.exists() or not glob.has_magic(str(pattern)):
        return None
    found = [Path(path) for path in sorted(glob.glob(str(pattern), recursive=True))]
    files = [path for path in found if path.is_file()]
    if not files:
        raise DataFileError(pattern, "matches no file")
    return files


class ManyFiles:
    """Files with the same columns, one after the other."""

    def __init__(self, path: Path, files: Sequence[Path], opener: Opener) -> None:
        self.path, self.files, self._opener = path, files, opener
        self.first = self._opened(files[0])
        self.names, self.has_header = self.first.names, self.first.has_header

    def chunks(self, as_text: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read the rows of all files; the columns ``as_text`` as they are in them."""
        for table in self.tables():
            yield from table.chunks(as_text)

    def tables(self) -> Iterator[Table]:
        """Open one file after the other; each must have the columns of the first."""
        for path in self.files:
            table = self._opened(path)
            _require_names(table, self.names)
            yield table

    def _opened(self, path: Path) -> Table:
        table = self._opener(path)
        if isinstance(table, SparseTable):
            raise DataFileError(path, "is an SVMlight file, of which a table is one only; give it by its own name")
        return table


def csv_of(table: Table | SparseTable) -> DelimitedTable | None:
    """Return the csv file that a table is, or the first of those that it consists of."""
    first = table.first if isinstance(table, ManyFiles) else table
    return first if isinstance(first, DelimitedTable) else None


@dataclass(frozen=True)
class Piece:
    """A file of a table with these columns, or some row groups of it; ``first_row`` is its place in its file."""

    path: Path
    names: Sequence[str]
    opener: Opener
    groups: range | None = None
    first_row: int = 0

    def table(self) -> Table:
        """Open the file."""
        table = self.opener(self.path)
        assert not isinstance(table, SparseTable)
        _require_names(table, self.names)
        if isinstance(table, ParquetTable) and self.groups is not None:
            return table.with_groups(self.groups, self.first_row)
        return table


def pieces_of(table: Table, opener: Opener) -> list[Piece]:
    """Return the pieces of a table, in the order of its rows."""
    pieces = []
    for path in table.files if isinstance(table, ManyFiles) else [table.path]:
        opened = opener(path)
        groups = opened.group_rows if isinstance(opened, ParquetTable) else []
        if len(groups) < 2:
            pieces.append(Piece(path, table.names, opener))
            continue
        start = first_row = n = 0
        for number, length in enumerate(groups, start=1):
            n += length
            if n >= MOST_ROWS or number == len(groups):
                pieces.append(Piece(path, table.names, opener, range(start, number), first_row))
                start, first_row, n = number, first_row + n, 0
    return pieces


def _require_names(table: Table, names: Sequence[str]) -> None:
    if list(table.names) != list(names):
        absent = [name for name in names if name not in table.names]
        words = f"lacks the column {absent[0]!r}" if absent else f"has the columns {list(table.names)!r:.200}"
        raise DataFileError(table.path, f"{words}; all files of a table must have the columns of the first, in order")
