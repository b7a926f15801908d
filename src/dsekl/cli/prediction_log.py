"""The predictions of a stream as csv: a file beside the one that is wanted, until the stream has come to its end.

A stream that is stopped leaves it there, and goes on with it: what was written after the last checkpoint is cut off.
"""

from __future__ import annotations

import csv
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from dsekl.atomic import PERMISSIONS, replacing

from .console import UsageError
from .streams import NO_ROOM, naming

HEADER = ("place", "prediction", "target")

BLOCK = 2**16
"""Bytes that are written at once."""

MOST_WAITING = 2**24
"""Bytes of lines that wait for room on a full disk; with more of them the stream ends."""


class PredictionLog:
    """Writes a line for each row; ``written`` is how many bytes a checkpoint knows of, None for a new stream."""

    def __init__(self, output: Path, written: int | None) -> None:
        self.output = output
        self.unfinished = output.with_name(f"{output.name}.unfinished")
        if written is None:
            self.unfinished.unlink(missing_ok=True)
        elif not self.unfinished.exists() and output.exists():  # a stream that had ended, and has more rows now
            self._begin_with_finished()
        self._file = self._opened(written)
        self._waiting = bytearray()
        # No buffers of Python's: they drop what a full disk does not take.
        self._csv = csv.writer(self, lineterminator="\n")
        if written is None:
            self._csv.writerow(HEADER)

    def add(self, *fields: Any) -> None:
        """Add a line."""
        self._csv.writerow(["" if field is None else field for field in fields])
        if len(self._waiting) >= BLOCK:
            try:
                self._write_waiting()
            except OSError as error:
                if error.errno not in NO_ROOM or len(self._waiting) > MOST_WAITING:
                    raise

    def write(self, line: str) -> None:
        """Take a line from the csv module."""
        self._waiting += line.encode()

    def flushed(self) -> int:
        """Write all lines to the disk; return how many bytes there are."""
        with naming(str(self.unfinished)):
            self._write_waiting()
            os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def _write_waiting(self) -> None:
        """Write the lines that wait; on a full disk, those that it does not take go on waiting."""
        while self._waiting:
            del self._waiting[: self._file.write(self._waiting)]

    def finish(self) -> None:
        """Put the file in the place of the one that is wanted."""
        self.flushed()
        self._file.close()
        with naming(str(self.output)), open(self.unfinished, "rb") as found, replacing(self.output) as file:
            shutil.copyfileobj(found, file)
        self.unfinished.unlink()

    def close(self, keep: bool) -> None:
        """Leave the file to be gone on with, or remove it."""
        with suppress(OSError):  # a full disk, where another error is under way
            self._write_waiting()
        self._file.close()
        if not keep:
            self.unfinished.unlink(missing_ok=True)

    def _begin_with_finished(self) -> None:
        self.unfinished.unlink(missing_ok=True)  # a link to nothing
        with open(self.output, "rb") as found, replacing(self.unfinished) as file:
            shutil.copyfileobj(found, file)

    def _open(self, mode: str) -> Any:
        """Open the file, never through a link, and without a buffer."""
        opener = lambda name, flags: os.open(name, flags | _NOT_LINKS, PERMISSIONS)  # noqa: E731
        return open(self.unfinished, mode, buffering=0, opener=opener)

    def _opened(self, written: int | None) -> Any:
        """Return the file, open behind what a checkpoint knows of."""
        if written is None:
            return self._open("xb")
        try:
            file = self._open("r+b")
        except FileNotFoundError:
            raise UsageError(
                f"--resume --output {self.output}: {self.unfinished}, with the predictions so far, is gone; begin the "
                "stream anew, or leave out --output"
            ) from None
        if os.fstat(file.fileno()).st_size < written:
            file.close()
            raise UsageError(f"--resume --output {self.output}: {self.unfinished} is not whole; begin the stream anew")
        file.truncate(written)
        file.seek(0, os.SEEK_END)
        return file


_NOT_LINKS = getattr(os, "O_NOFOLLOW", 0)
