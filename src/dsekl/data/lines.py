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
from typing import AnyStr

from .compression import opened
from .errors import DataFileError

LONGEST_LINE = 2**24
"""Characters of a line, or of a row with quotes that goes over several lines."""

MOST_CHARACTERS = 2**25
"""Characters of the lines that are held at a time."""


def text_lines(path: Path, errors: str = "strict") -> Iterator[str]:
    """Read lines of UTF-8, with their ends; UnicodeDecodeError where they are not, unless ``errors`` says otherwise."""
    with opened(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", errors, newline="") as text:
        for number, line in enumerate(iter(partial(text.readline, LONGEST_LINE), ""), 1):
            _check(path, number, line)
            if "\0" in line:
                raise DataFileError(f"{path}:{number}", "holds a NUL character; give a text file in UTF-8")
            yield line


def byte_lines(path: Path) -> Iterator[bytes]:
    """Read lines as they are."""
    with opened(path) as stream:
        for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), 1):
            _check(path, number, line)
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


def _check(path: Path, number: int, line: str | bytes) -> None:
    if len(line) >= LONGEST_LINE:
        raise DataFileError(
            f"{path}:{number}", f"the line is longer than {LONGEST_LINE:,} characters; give a row on each line"
        )
