"""NumPy files: one array (npy), or the arrays X and y in an archive (npz). Read in chunks."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .compression import opened
from .dialect import column_names
from .errors import DataFileError
from .field_values import Column
from .table import Chunk, row_place, rows_within_bounds

ROWS, TARGETS = "X", "y"
"""The names of the arrays in an archive."""


class ArrayTable:
    """The rows of an array, as columns "column1", "column2", ...; in an archive with an array y, also as column "y"."""

    has_header = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive = zipfile.is_zipfile(path)
        with self._member(ROWS) as stream:
            self._shape, dtype = self._header(stream, ROWS)
        if len(self._shape) != 2 or dtype.kind not in "fiub":
            raise self._unusable(
                ROWS, f"has shape {self._shape} and type {dtype}; give a table of numbers, with 2 axes"
            )
        if 0 in self._shape:
            raise DataFileError(path, f"is empty: its array has shape {self._shape}")
        self._has_targets = self._archive and f"{TARGETS}.npy" in self._members()
        if self._has_targets:
            with self._member(TARGETS) as stream:
                shape, dtype = self._header(stream, TARGETS)
            if shape != self._shape[:1] or dtype.kind not in "fiubU":
                raise self._unusable(
                    TARGETS, f"has shape {shape} and type {dtype}; give numbers or strings of shape {self._shape[:1]}"
                )
        self.names = column_names([""] * self._shape[1], False) + ((TARGETS,) if self._has_targets else ())

    def chunks(self, as_text: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read all rows; the arrays' types decide, not ``as_text``."""
        size = rows_within_bounds(self._shape[1])
        targets = self._blocks(TARGETS, size) if self._has_targets else None
        first_row = 0
        for block in self._blocks(ROWS, size):
            columns: dict[str, Column] = dict(zip(self.names, block.astype(np.float64).T, strict=False))
            if targets is not None:
                y = next(targets)
                columns[TARGETS] = y.tolist() if y.dtype.kind == "U" else y.astype(np.float64)
            yield Chunk(len(block), columns.__getitem__, partial(row_place, self.path, first_row))
            first_row += len(block)

    def _blocks(self, name: str, size: int) -> Iterator[NDArray[Any]]:
        """Read an array in chunks of rows."""
        with self._member(name) as stream:
            shape, dtype = self._header(stream, name)
            for start in range(0, shape[0], size):
                rows = min(size, shape[0] - start)
                wanted = rows * int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
                content = stream.read(wanted)
                if len(content) < wanted:
                    raise self._unusable(name, f"ends too early: its header promises {shape[0]} rows")
                yield np.frombuffer(content, dtype).reshape(rows, *shape[1:])

    def _header(self, stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        try:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran_order, dtype = read(stream)
        except ValueError as error:
            raise self._unusable(name, f"is not an array of numbers ({error})") from error
        if fortran_order and len(shape) > 1:
            raise self._unusable(name, "is in Fortran order; save numpy.ascontiguousarray of it")
        return shape, dtype

    def _members(self) -> list[str]:
        with zipfile.ZipFile(self.path) as archive:
            return archive.namelist()

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        if not self._archive:
            with opened(self.path) as stream:
                yield stream
            return
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as member:
                yield member
        except KeyError as error:
            raise DataFileError(self.path, f"holds {', '.join(self._members())}, and no array {name!r}") from error
        except zipfile.BadZipFile as error:
            raise DataFileError(self.path, f"is corrupted ({error})") from error

    def _unusable(self, name: str, reason: str) -> DataFileError:
        return DataFileError(self.path, f"array {name!r} {reason}" if self._archive else reason)
