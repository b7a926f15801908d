"""NumPy files: one array (npy), or the arrays X and y in an archive (npz). Read in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .compression import archive, is_compressed, opened, readable
from .dialect import column_names
from .errors import DataFileError
from .field_values import Column
from .npy_header import ArrayHeader, read_header
from .table import CELLS, Chunk, check_columns, row_place, rows_within_bounds

ROWS, TARGETS = "X", "y"
"""The names of the arrays in an archive."""


class ArrayTable:
    """The rows of an array, as columns "column1", "column2", ...; in an archive with an array y, also as column "y"."""

    has_header = False

    def __init__(self, path: Path, is_archive: bool) -> None:
        self.path, self._archive = path, is_archive
        if is_archive and is_compressed(path):
            raise DataFileError(path, "is an archive (npz) in a compressed file; decompress it")
        rows = self._header(ROWS)
        shape, dtype = rows.shape, rows.dtype
        if len(shape) != 2 or dtype.kind == "U":
            raise self._unusable(ROWS, f"has shape {shape} and type {dtype}; give a table of numbers, with 2 axes")
        if 0 in shape:
            raise DataFileError(path, f"is empty: its array has shape {shape}")
        check_columns(path, shape[1])
        self._n_rows, widest = shape[0], shape[1]
        self._has_targets = is_archive and f"{TARGETS}.npy" in self._members()
        if self._has_targets:
            targets = self._header(TARGETS)
            if targets.shape != shape[:1]:
                raise self._unusable(
                    TARGETS,
                    f"has shape {targets.shape} and type {targets.dtype}; give numbers or strings of shape {shape[:1]}",
                )
            widest = max(widest, targets.dtype.itemsize // 8)
        if widest > CELLS:
            raise self._unusable(TARGETS, "has strings that are too long")
        self._chunk_rows = rows_within_bounds(widest)
        self.names = column_names([""] * shape[1], False) + ((TARGETS,) if self._has_targets else ())

    def chunks(self, as_text: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read all rows; the arrays' types decide, not ``as_text``."""
        targets = self._blocks(TARGETS) if self._has_targets else None
        first_row = 0
        for block in self._blocks(ROWS):
            columns: dict[str, Column] = dict(zip(self.names, _plain(block).T, strict=False))
            if targets is not None:
                y = next(targets)
                columns[TARGETS] = self._texts(y, first_row) if y.dtype.kind == "U" else _plain(y)
            yield Chunk(len(block), columns.__getitem__, partial(row_place, self.path, first_row))
            first_row += len(block)

    def _blocks(self, name: str) -> Iterator[NDArray[Any]]:
        """Read an array in chunks of rows."""
        with self._member(name) as stream:
            header = self._read_header(stream, name)
            row_bytes = header.n_bytes // header.shape[0]
            for start in range(0, header.shape[0], self._chunk_rows):
                rows = min(self._chunk_rows, header.shape[0] - start)
                content = stream.read(rows * row_bytes)
                if len(content) < rows * row_bytes:
                    raise self._unusable(name, f"ends too early: its header promises {header.shape[0]} rows")
                yield np.frombuffer(content, header.dtype).reshape(rows, *header.shape[1:])
            if stream.read(1):
                raise self._unusable(name, f"goes on after the {header.shape[0]} rows that its header promises")

    def _header(self, name: str) -> ArrayHeader:
        """Return a header whose array has the size of the rest of the file."""
        with self._member(name) as stream:
            header = self._read_header(stream, name)
        size = self._size(name)
        if size is not None and header.offset + header.n_bytes > size:
            rows = f" {header.shape[0]} rows" if header.shape else " an array"
            raise self._unusable(name, f"ends too early: its header promises{rows}")
        return header

    def _read_header(self, stream: IO[bytes], name: str) -> ArrayHeader:
        try:
            header = read_header(stream)
        except ValueError as error:
            raise self._unusable(name, f"is not an array of numbers ({error})") from error
        if header.fortran_order and len(header.shape) > 1:
            raise self._unusable(name, "is in Fortran order; save numpy.ascontiguousarray of it")
        return header

    def _size(self, name: str) -> int | None:
        """Return the size that a file has when it is decompressed, if that is known."""
        if self._archive:
            with archive(self.path) as members:
                return members.getinfo(f"{name}.npy").file_size
        return None if is_compressed(self.path) else self.path.stat().st_size

    def _members(self) -> list[str]:
        with archive(self.path) as members:
            return members.namelist()

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        if not self._archive:
            with opened(self.path) as stream:
                yield stream
            return
        if f"{name}.npy" not in self._members():
            listed = ", ".join(self._members()[:10]) or "nothing"
            words = f"holds {listed}, and no array {name!r}; give an npz file, or a zip archive of one csv file"
            raise DataFileError(self.path, words)
        with archive(self.path) as members, members.open(readable(self.path, members.getinfo(f"{name}.npy"))) as member:
            yield member

    def _texts(self, labels: NDArray[Any], first_row: int) -> list[str]:
        """Return strings of an array; a number that is no character makes the file a corrupted one."""
        codes = labels.view(f"{labels.dtype.str[0]}u4")
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise DataFileError(row_place(self.path, first_row, 0), "or a later row is not Unicode", TARGETS)
        return [str(label) for label in labels.tolist()]

    def _unusable(self, name: str, reason: str) -> DataFileError:
        return DataFileError(self.path, f"array {name!r} {reason}" if self._archive else reason)


def _plain(block: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as float64, integers of 64 bits as they are, which float64 would round."""
    if block.dtype.kind in "iu" and block.dtype.itemsize == 8:
        return block.astype(block.dtype.newbyteorder("="))
    with np.errstate(over="ignore", invalid="ignore"):
        return block.astype(np.float64)
