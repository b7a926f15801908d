"""Files opened for reading, decompressed where their first bytes say that they are compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from .errors import DataFileError, quoted

XZ_MEMORY = 2**27
"""Bytes that decompressing xz may take. A file says how large its dictionary is; that of xz -9 takes half of this."""

BLOCK = 2**16
"""Compressed bytes that are read at a time, and decompressed bytes that are made at a time."""


class _Streams(io.RawIOBase):
    """The content of a compressed file: of one or more streams and nothing else, each with a new decompressor."""

    def __init__(self, path: Path, new: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor]) -> None:
        self._raw, self._new = path.open("rb"), new
        self._decompressor: lzma.LZMADecompressor | bz2.BZ2Decompressor | None = None
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def readinto(self, buffer: Any, /) -> int:
        while True:
            if (self._decompressor is None or self._decompressor.eof) and not self._next_stream():
                return 0
            assert self._decompressor is not None
            fed = self._waiting
            if not fed and self._decompressor.needs_input:
                fed = self._raw.read(BLOCK)
                if not fed:
                    raise EOFError
            self._waiting = b""
            found = self._decompressor.decompress(fed, max_length=len(buffer))
            self._waiting = self._decompressor.unused_data
            if found:
                buffer[: len(found)] = found
                return len(found)

    def _next_stream(self) -> bool:
        """Begin the next stream, behind the zeros that may fill up the one before it; False at the end of the file."""
        start = self._waiting
        while not start.lstrip(b"\0"):
            start = self._raw.read(BLOCK)
            if not start:
                return False
        self._waiting = start.lstrip(b"\0")
        self._decompressor = self._new()
        return True


def _open_xz(path: Path, mode: str) -> IO[bytes]:
    """Open an xz file, whose dictionary is bounded."""
    new = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
    return io.BufferedReader(_Streams(path, new), BLOCK)


def _open_bz2(path: Path, mode: str) -> IO[bytes]:
    """Open a bz2 file; Python's own reader takes a damaged stream for the end of the file."""
    return io.BufferedReader(_Streams(path, bz2.BZ2Decompressor), BLOCK)


_OPENERS: dict[bytes, Callable[[Path, str], object]] = {
    b"\x1f\x8b": gzip.open, b"BZh": _open_bz2, b"\xfd7zXZ\x00": _open_xz,
}  # fmt: skip
ZIP = b"PK\x03\x04"
"""The first bytes of a zip archive."""

COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Those of members that are read."""

MOST_MEMBERS = 2**16
"""Files in an archive."""

_OTHERS = {b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z", b"\x04\x22\x4d\x18": "lz4", b"LZIP": "lzip"}
"""Compressions that are not read, by the first bytes of a file."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; what is wrong with the file itself becomes a DataFileError.

    A zip archive of one file that is no array stands for that file.
    """
    with reading(path):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _no_file(path)
        with path.open("rb") as raw:
            start = raw.read(6)
        for magic, name in _OTHERS.items():
            if start.startswith(magic):
                raise DataFileError(path, f"is compressed with {name}; decompress it, or compress it with gzip")
        if start.startswith(ZIP) and (packed := _only_file(path)) is not None:
            with archive(path) as members, members.open(readable(path, packed)) as member:
                yield member
            return
        opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), open)
        with cast("IO[bytes]", opener(path, "rb")) as stream:
            yield stream


@contextmanager
def archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; what the zip format has to say of it ends in a DataFileError."""
    try:
        with reading(path), zipfile.ZipFile(path) as found:
            if len(found.filelist) > MOST_MEMBERS:
                raise DataFileError(path, f"holds more than {MOST_MEMBERS:,} files")
            repeated = [name for name, times in Counter(found.namelist()).items() if times > 1]
            if repeated:
                raise DataFileError(path, f"holds {quoted(repeated[0])} more than once")
            yield found
    except DataFileError:
        raise
    except (zipfile.BadZipFile, struct.error, RuntimeError, ValueError, LookupError, OverflowError) as error:
        raise DataFileError(path, f"is corrupted ({error})") from error


def readable(path: Path, member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return a file in an archive, or raise the error of one that is encrypted, or compressed in a rare way."""
    if member.flag_bits & 1:
        raise DataFileError(path, f"{member.filename!r} is encrypted; save it without a password")
    if member.compress_type not in COMPRESSIONS:
        raise DataFileError(path, f"{member.filename!r} is compressed in a rare way; compress it with deflate")
    return member


def _only_file(path: Path) -> zipfile.ZipInfo | None:
    """Return the one file of an archive, unless it is an array; None of several."""
    with archive(path) as found:
        files = [member for member in found.filelist if not member.is_dir()]
    return files[0] if len(files) == 1 and not files[0].filename.endswith(".npy") else None


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
        if "Memory usage limit" in str(error):
            words = f"decompressing it would take more than {XZ_MEMORY // 2**20} MB"
            raise DataFileError(path, f"{words}; compress it with xz -9 or less, or with gzip") from error
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
