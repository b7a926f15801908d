"""Output that cannot be written: full disks, readers that have gone, terminals that were closed."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

STANDARD_OUTPUT = "standard output"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def discard(stream: TextIO) -> None:
    """Send all that is still to be written to the null device; Python writes the rest of its buffers at exit."""
    with suppress(OSError):  # a stream of somebody's own, without a number
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Name the file or stream in the error of a disk that is full; the system does not where it is open already."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in NO_ROOM:
            raise OSError(error.errno, error.strerror, place) from error
        raise


def flush_output() -> None:
    """Write what standard output still holds, or what is not written by then would be Python's own error at exit."""
    try:
        with naming(STANDARD_OUTPUT):
            sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
        raise
