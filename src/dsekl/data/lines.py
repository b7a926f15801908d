"""Lines of a text file, and chunks of them, whose size is bounded whatever the file holds.

A compressed file of a megabyte may hold a line of a gigabyte, and a quote that is not closed turns all that follows
into one row.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, AnyStr, cast

from .compression import opened
from .errors import DataFileError

LONGEST_LINE = 2**24
"""Bytes of a line, or characters of a row with quotes that goes over several lines."""

BLOCK_BYTES = 2**16

MOST_CHARACTERS = 2**25
"""Characters of the lines that are held at a time."""


def text_lines(path: Path, errors: str = "strict") -> Iterator[str]:
    """Read lines of UTF-8, with their ends; UnicodeDecodeError where they are not, unless ``errors`` says otherwise."""
    with opened(path) as stream:
        checked = cast("IO[bytes]", _Checked(path, stream))
        yield from io.TextIOWrapper(checked, "utf-8-sig", errors, newline="")


def byte_lines(path: Path) -> Iterator[bytes]:
    """Read lines as they are."""
    with opened(path) as stream:
        for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), 1):
            if len(line) >= LONGEST_LINE:
                raise _too_long(path, number)
            yield line


def some_lines(lines: Iterator[AnyStr], most: int, characters: int = MOST_CHARACTERS) -> list[AnyStr]:
    """Take the next ``most`` lines, fewer of long ones."""
    taken = []
    for line in islice(lines, most):
        taken.append(line)
        characters -= len(line)
        if characters <= 0:
            break
    return taken


class RowLines:
    """Lines for the csv module, which takes as many as a row goes over; call ``end_row`` after each row."""

    def __init__(self, path: Path, lines: Iterable[str]) -> None:
        self._path, self._lines, self._length = path, iter(lines), 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._length += len(line)
        if self._length > LONGEST_LINE:
            raise DataFileError(
                self._path, f"has a row of more than {LONGEST_LINE:,} characters; is a quoted field not closed?"
            )
        return line

    def end_row(self) -> None:
        self._length = 0


class _Checked(io.BufferedIOBase):
    """The bytes of a text file, looked at block by block: lines are too many to look at each."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream
        self._line, self._length = 1, 0

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        block = self._stream.read(BLOCK_BYTES if size < 0 else size)
        if b"\0" in block:
            line = self._line + block[: block.index(b"\0")].count(b"\n")
            raise DataFileError(f"{self._path}:{line}", "holds a NUL character; give a text file in UTF-8")
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self._length = self._length + len(block) if end < 0 else len(block) - 1 - end
        if self._length >= LONGEST_LINE:
            raise _too_long(self._path, self._line)
        self._line += block.count(b"\n")
        return block

    def read(self, size: int | None = -1, /) -> bytes:
        return self.read1(-1 if size is None else size)


def _too_long(path: Path, line: int) -> DataFileError:
    return DataFileError(
        f"{path}:{line}", f"the line is longer than {LONGEST_LINE:,} characters; give a row on each line"
    )
