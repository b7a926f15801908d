"""The predictions of a stream as csv: a file beside the one that is wanted, until the stream has come to its end.

A stream that is stopped leaves it there, and goes on with it: what was written after the last checkpoint is cut off.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from dsekl.atomic import PERMISSIONS, replacing

from .console import UsageError
from .streams import naming

HEADER = ("place", "prediction", "target")


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
        self._text = io.TextIOWrapper(self._file, "utf-8", newline="")
        self._csv = csv.writer(self._text, lineterminator="\n")
        if written is None:
            self._csv.writerow(HEADER)

    def write(self, *fields: Any) -> None:
        """Write a line."""
        self._csv.writerow(["" if field is None else field for field in fields])

    def flushed(self) -> int:
        """Write all lines to the disk; return how many bytes there are."""
        with naming(str(self.unfinished)):
            self._text.flush()
            os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def finish(self) -> None:
        """Put the file in the place of the one that is wanted."""
        self.flushed()
        self._text.close()
        with naming(str(self.output)), open(self.unfinished, "rb") as found, replacing(self.output) as file:
            shutil.copyfileobj(found, file)
        self.unfinished.unlink()

    def close(self, keep: bool) -> None:
        """Leave the file to be gone on with, or remove it."""
        with suppress(OSError):  # a full disk, where another error is under way
            self._text.close()
        if not keep:
            self.unfinished.unlink(missing_ok=True)

    def _begin_with_finished(self) -> None:
        self.unfinished.unlink(missing_ok=True)  # a link to nothing
        with open(self.output, "rb") as found, replacing(self.unfinished) as file:
            shutil.copyfileobj(found, file)

    def _created(self) -> Any:
        return open(self.unfinished, "xb", opener=lambda name, flags: os.open(name, flags | _NOT_LINKS, PERMISSIONS))

    def _opened(self, written: int | None) -> Any:
        """Return the file, open behind what a checkpoint knows of."""
        if written is None:
            return self._created()
        try:
            file = open(self.unfinished, "r+b", opener=lambda name, flags: os.open(name, flags | _NOT_LINKS))  # noqa: SIM115
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
