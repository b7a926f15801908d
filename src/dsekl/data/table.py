"""What every reader gives: a table with named columns, read in chunks of rows, that knows where each row is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from .errors import DataFileError, quoted
from .field_values import Column, Numbers, as_numbers, as_text
from .number_spelling import POINT

if TYPE_CHECKING:
    from scipy import sparse

Features: TypeAlias = "Numbers | sparse.csr_matrix"
"""Encoded rows, as the estimators take them."""

CELLS = 2**20
"""Entries that a chunk may have: what bounds the memory of everything that streams."""

MOST_ROWS = 2**16

MOST_COLUMNS = 2**19
"""Of a table: more would take more memory for their names than for a chunk of rows."""


def rows_within_bounds(n_columns: int) -> int:
    """Return how many rows a chunk may have."""
    return max(1, min(MOST_ROWS, CELLS // max(1, n_columns)))


def check_columns(path: Path, n_columns: int) -> None:
    """Raise the error of a table that is too wide, before anything is made for each of its columns."""
    if n_columns > MOST_COLUMNS:
        raise DataFileError(
            path,
            f"has {n_columns:,} columns, more than {MOST_COLUMNS:,}; rows of mostly zeros fit in SVMlight's format",
        )


def check_names(place: object, names: Sequence[str], reason: str) -> None:
    """Raise the error of the first name that occurs more than once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataFileError(place, f"{reason}; rename one of them", name)
        seen.add(name)


def row_place(path: Path, first_row: int, i: int) -> str:
    """Return the place of a row in a file that has no lines."""
    return f"{path}: row {first_row + i + 1}"


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file. ``where(i)`` names the place of the i-th; ``decimal`` is the mark of its numbers."""

    n_rows: int
    column: Callable[[str], Column]
    where: Callable[[int], str]
    decimal: str = POINT

    def numbers(self, name: str, advice: str = "") -> Numbers:
        """Return a column as numbers, NaN for missing values; ``advice`` ends the error of other fields."""

        def error_for(i: int, field: str) -> DataFileError:
            return self.error(i, name, f"{quoted(field.strip())} is not a number", advice)

        return as_numbers(self.column(name), error_for, self.decimal)

    def text(self, name: str) -> list[str | None]:
        """Return a column as text, None for missing values."""
        return as_text(self.column(name))

    def error(self, i: int, name: str, reason: str, advice: str = "") -> DataFileError:
        """Return an error about a column of the i-th row."""
        return DataFileError(self.where(i), reason, name, advice)


@dataclass(frozen=True)
class SparseChunk:
    """Consecutive rows of a sparse file: their labels, and a CSR matrix whose columns are the file's indices."""

    labels: Sequence[str]
    matrix: sparse.csr_matrix
    where: Callable[[int], str]
    decimal: str = POINT

    @property
    def n_rows(self) -> int:
        return len(self.labels)


class Table(Protocol):
    """A file with named columns."""

    path: Path

    @property
    def names(self) -> Sequence[str]:
        """The columns, in the file's order."""

    @property
    def has_header(self) -> bool:
        """Tell whether the names come from the file."""

    def chunks(self, as_text: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read all rows; the columns ``as_text`` as they are in the file."""


SomeChunk = TypeVar("SomeChunk", Chunk, SparseChunk)


class ProgressHook(Protocol):
    """Passes chunks on and may show how many of ``total`` rows were read (None: unknown)."""

    def __call__(self, chunks: Iterator[SomeChunk], total: int | None) -> Iterator[SomeChunk]: ...


def no_progress(chunks: Iterator[SomeChunk], total: int | None) -> Iterator[SomeChunk]:
    """Pass chunks on and show nothing."""
    return chunks
