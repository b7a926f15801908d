"""Files opened for reading, decompressed where their first bytes say that they are compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import DataFileError

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; what is wrong with the file itself becomes a DataFileError."""
    try:
        with path.open("rb") as raw:
            start = raw.read(6)
        opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), open)
        with opener(path, "rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataFileError(path, "there is no such file") from error
    except IsADirectoryError as error:
        raise DataFileError(path, "is a folder; give a file") from error
    except PermissionError as error:
        raise DataFileError(path, "permission denied; change its permissions") from error
    except EOFError as error:
        raise DataFileError(path, "ends too early: the compressed file is cut off") from error
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataFileError(path, f"the compressed file is corrupted ({error})") from error
    except OSError as error:
        # bz2 reports corrupted files in this way, too.
        raise DataFileError(path, f"cannot be read ({error.strerror or error})") from error
