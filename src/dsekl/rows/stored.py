"""Rows that stay in a file: read a bounded number at a time, never held whole.

A page of a mapped file counts as the process's memory from the moment it is touched until it is released, and one
row may bring two megabytes with it. So rows are copied out in pieces that touch few pages, which are released
after each. The system keeps them in its cache, where the next read finds them.
"""

from __future__ import annotations

import errno
import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .array import InChunks, chunks_of
from .rows import Indices

PIECE_BYTES = 2**24
"""Span of the file that is touched before its pages are released."""

LARGEST_PAGE = 2**21
"""Bytes that touching one may bring into memory."""


@dataclass(frozen=True, eq=False)
class StoredRows(InChunks):
    """Rows of a mapped array (n, n_features), all of them or those ``chosen``; indexing copies rows into memory."""

    source: NDArray[Any]
    chosen: NDArray[np.intp] | None = None

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return len(self), self.source.shape[1]

    @property
    def values(self) -> StoredRows:
        return self

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype.newbyteorder("=")

    @property
    def row_bytes(self) -> int:
        return int(self.source.shape[1]) * self.source.itemsize

    def __len__(self) -> int:
        return len(self.source) if self.chosen is None else len(self.chosen)

    def __getitem__(self, rows: Any, /) -> NDArray[Any]:
        """Return some rows, one row, or with ``[rows, column]`` the entries of one column."""
        if isinstance(rows, tuple):
            return self._read(self.source[:, rows[1]], rows[0])
        if isinstance(rows, Integral):
            return np.asarray(self._read(self.source, np.array([rows]))[0])
        return self._read(self.source, rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)

    def take(self, places: Indices) -> StoredRows:
        """Return some of the rows, still in the file."""
        return StoredRows(self.source, self._places(places))

    def without(self, hidden: Indices) -> StoredRows:
        """Return the rows as they are when nothing is known of some of their targets: as they are."""
        return self

    def _places(self, rows: Indices) -> NDArray[np.intp]:
        if self.chosen is not None:
            return self.chosen[rows]
        return np.arange(*rows.indices(len(self)), dtype=np.intp) if isinstance(rows, slice) else np.asarray(rows)

    def _read(self, source: NDArray[Any], rows: Indices) -> NDArray[Any]:
        places = self._places(rows)
        # Ascending, so that rows which share a page are read together.
        order = None if (np.diff(places) >= 0).all() else np.argsort(places, kind="stable")
        ascending = places if order is None else places[order]
        out = np.empty((len(places), *source.shape[1:]), dtype=self.dtype)
        mapping = mapping_of(source)
        for part in self._pieces(ascending):
            piece = ascending[part]
            # A stretch is copied at once; single rows would be gathered first.
            stretch = bool((np.diff(piece) == 1).all())
            rows_there = source[piece[0] : piece[-1] + 1] if stretch else source[piece]
            out[part if order is None else order[part]] = rows_there
            if mapping is not None and hasattr(mapping, "madvise"):
                mapping.madvise(mmap.MADV_DONTNEED)
        return out

    def _pieces(self, ascending: NDArray[np.intp]) -> Iterator[slice]:
        """Cut ascending places where their span is large enough; far apart, a few rows make a piece."""
        span = max(1, PIECE_BYTES // abs(self.source.strides[0] or 1))
        few = max(1, PIECE_BYTES // (LARGEST_PAGE + self.row_bytes))
        start = 0
        while start < len(ascending):
            near = int(np.searchsorted(ascending, ascending[start] + span))
            stop = min(len(ascending), max(start + few, near))
            yield slice(start, stop)
            start = stop


class RowFile:
    """A temporary file, open to write rows to; it has no name, and is gone with the last ``rows`` that look into it."""

    def __init__(self, n_rows: int, n_features: int, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._bytes = n_rows * n_features * self._dtype.itemsize
        self._lock = Lock()
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (the object is the context)
        with self._words_for_a_full_disk():
            self._file.truncate(self._bytes)
        source = np.memmap(self._file, self._dtype, "r", shape=(n_rows, n_features))
        self.rows = StoredRows(np.asarray(source))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, places: Indices, rows: NDArray[Any]) -> None:
        """Write ``rows`` to their places: a slice without a step, or one place for each."""
        if isinstance(places, slice):
            self._put(places.start or 0, rows)
            return
        order = np.argsort(places, kind="stable")
        stretches = np.split(order, np.flatnonzero(np.diff(places[order]) != 1) + 1)
        for stretch in stretches:
            self._put(int(places[stretch[0]]), rows[stretch])

    def _put(self, first: int, rows: NDArray[Any]) -> None:
        with self._lock, self._words_for_a_full_disk():
            self._file.seek(first * self.rows.row_bytes)
            rest = np.ascontiguousarray(rows, dtype=self._dtype).reshape(-1).view(np.uint8).data
            while rest:
                rest = rest[self._file.write(rest) :]

    @contextmanager
    def _words_for_a_full_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._file.close()
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise OSError(
                error.errno,
                f"the folder for temporary files, {tempfile.gettempdir()}, cannot hold {self._bytes:,} bytes, which "
                "the points of a mapped X need; free some, or set TMPDIR to a folder that can",
            ) from error


def mapping_of(array: Any) -> mmap.mmap | None:
    """Return the mapping of a file that an array looks into, if it does and its pages may be released.

    A mapping that is not of a file, or copies on write, holds what it has in memory alone, so its pages may not.
    """
    of_a_file = False
    while isinstance(array, np.ndarray):
        of_a_file = isinstance(array, np.memmap) and array.mode != "c"
        array = array.base
    return array if of_a_file and isinstance(array, mmap.mmap) else None


def store(X: NDArray[Any]) -> StoredRows:
    """Return the rows of a mapped array; one whose rows are scattered (Fortran order) is first written row by row."""
    if abs(X.strides[0]) >= abs(X.strides[1]):
        return StoredRows(X)
    with RowFile(X.shape[0], X.shape[1], X.dtype.newbyteorder("=")) as file:
        for part in chunks_of(X.shape):
            file.write(part, StoredRows(X[part].T)[:].T)
    return file.rows
