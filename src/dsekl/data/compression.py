"""Files opened for reading, decompressed where their first bytes say that they are compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from .errors import DataFileError

_OPENERS: dict[bytes, Callable[[Path, str], object]] = {
    b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open,
}  # fmt: skip
_OTHERS = {b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z", b"\x04\x22\x4d\x18": "lz4", b"LZIP": "lzip"}
"""Compressions that are not read, by the first bytes of a file."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; what is wrong with the file itself becomes a DataFileError."""
    with reading(path):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _no_file(path)
        with path.open("rb") as raw:
            start = raw.read(6)
        for magic, name in _OTHERS.items():
            if start.startswith(magic):
                raise DataFileError(path, f"is compressed with {name}; decompress it, or compress it with gzip")
        opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), open)
        with cast("IO[bytes]", opener(path, "rb")) as stream:
            yield stream


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the system or a decompressor has to say about a file into a DataFileError."""
    try:
        yield
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
    except MemoryError as error:
        raise DataFileError(path, "cannot be read in the memory that is left") from error
    except OSError as error:
        # bz2 and pyarrow report corrupted files in this way, too.
        words = " ".join(str(error.strerror or error).split())
        raise DataFileError(path, f"cannot be read ({words})") from error


def is_compressed(path: Path) -> bool:
    """Tell whether ``opened`` decompresses a file."""
    with reading(path), path.open("rb") as raw:
        return raw.read(6).startswith(tuple(_OPENERS))


def _no_file(path: Path) -> DataFileError:
    if path.is_dir():
        return DataFileError(path, "is a folder; give a file")
    return DataFileError(path, "is a pipe or a device; give a file, which can be read more than once")
