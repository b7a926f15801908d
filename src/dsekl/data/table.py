"""What every reader gives: a table with named columns, read some rows at a time, that knows where each row stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .errors import DataFileError
from .fields import Column, Numbers, as_numbers, as_texts

CELLS = 2**20
"""Entries that a chunk may have: what bounds the memory of everything that streams."""

MOST_ROWS = 2**16


def rows_within_bounds(n_columns: int) -> int:
    """Return how many rows a chunk may have."""
    return max(1, min(MOST_ROWS, CELLS // max(1, n_columns)))


def row_place(path: Path, first_row: int, i: int) -> str:
    """Return the place of a row in a file that has no lines."""
    return f"{path}: row {first_row + i + 1}"


@dataclass(frozen=True)
class Chunk:
    """Some rows, one after the other in the file. ``where(i)`` names the place of the i-th."""

    n_rows: int
    column: Callable[[str], Column]
    where: Callable[[int], str]

    def numbers(self, name: str, advice: str = "") -> Numbers:
        """Return a column as numbers, NaN where a value is missing; ``advice`` ends the error for what is neither."""

        def reject(i: int, field: str) -> DataFileError:
            return self.error(i, name, f"{field.strip()!r} is not a number{advice}")

        return as_numbers(self.column(name), reject)

    def texts(self, name: str) -> list[str | None]:
        """Return a column as texts, None where a value is missing."""
        return as_texts(self.column(name))

    def error(self, i: int, name: str, reason: str) -> DataFileError:
        """Return the error that the i-th row has in a column."""
        return DataFileError(self.where(i), reason, name)


class Table(Protocol):
    """A file with named columns."""

    path: Path

    @property
    def names(self) -> Sequence[str]:
        """The columns, in the file's order."""

    @property
    def has_header(self) -> bool:
        """Tell whether the names come from the file."""

    def chunks(self, texts: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read the rows from the first on, the columns ``texts`` as they stand in the file."""


class Watch(Protocol):
    """Passes chunks on, and may tell somebody how many of ``total`` rows have come by (None: nobody knows)."""

    def __call__(self, chunks: Iterator[Any], total: int | None) -> Iterator[Any]: ...


def unwatched(chunks: Iterator[Any], total: int | None) -> Iterator[Any]:
    """Pass chunks on, and tell nobody."""
    return chunks


@dataclass(frozen=True)
class SparseChunk:
    """Some rows of a sparse file: their labels, and a CSR matrix whose columns are the file's indices."""

    labels: Numbers
    matrix: Any
    where: Callable[[int], str]

    @property
    def n_rows(self) -> int:
        return len(self.labels)
