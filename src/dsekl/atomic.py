"""The one way in which files are written: whole, or not at all.

A file is written under another name in the same folder, flushed to the disk and renamed. Whoever reads the path finds
the old file or the new one, never a part of either, however many write at once. A draft is locked while it is written,
and a lock ends with its process: drafts that nobody holds are what killed processes left, and the next writer of the
same file removes them.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

if os.name == "posix":
    from fcntl import LOCK_EX, LOCK_NB, flock

PERMISSIONS = 0o666
"""Of a new file, less what the user's umask takes away; a file that is replaced keeps its own."""

SHOWN_NAME = 48
"""Characters of a file's name that its draft's name begins with: at most 192 bytes of the 255 that a name may have."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes; it takes its place when the block ends well, and is removed when it does not."""
    target = Path(os.path.realpath(path))  # a link stays a link
    mode = _mode_to_keep(target)
    prefix = _draft_prefix(target)
    _remove_abandoned_drafts(target.parent, prefix)
    draft, file = _new_draft(target, prefix)
    try:
        with file:
            if mode is not None:
                os.chmod(draft, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":
                os.replace(draft, target)  # still locked, so nobody takes it for abandoned
        if os.name != "posix":
            os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    flush_folder(target.parent)


@contextmanager
def replacing_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """As ``replacing``, for text in UTF-8 with line ends as they are written."""
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        yield text
        text.detach()  # which leaves the file open: it has yet to be flushed to the disk


def _mode_to_keep(target: Path) -> int | None:
    """Return the permissions of the file that is replaced, None where there is none yet."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(errno.EINVAL, "is a device or a pipe, which cannot be replaced by a file", os.fspath(target))
    return stat.S_IMODE(found.st_mode)


def _draft_prefix(target: Path) -> str:
    """Return how the names of all drafts of a file begin: short whatever its own name, and not shared with others."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    return f".{target.name[:SHOWN_NAME]}.{digest}-"


def _new_draft(target: Path, prefix: str) -> tuple[Path, BinaryIO]:
    """Create a draft and lock it."""
    while True:
        draft = target.with_name(f"{prefix}{secrets.token_hex(4)}.part")
        file = open(draft, "xb", opener=_opened)  # noqa: SIM115 - whoever asked for it closes it
        try:
            if os.name != "posix":
                return draft, file
            with suppress(OSError):  # a file system without locks: nobody removes drafts there
                flock(file.fileno(), LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return draft, file
            file.close()  # taken for an abandoned one, and removed, before it was locked
        except BaseException:
            file.close()
            draft.unlink(missing_ok=True)
            raise


def _opened(name: str, flags: int) -> int:
    """Create a file, never through a link that somebody has put there."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), PERMISSIONS)


def _remove_abandoned_drafts(folder: Path, prefix: str) -> None:
    """Remove what processes that no longer run have left behind of a file; where that cannot be told, leave it."""
    if os.name != "posix":
        return
    with suppress(OSError), os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".part")]
        for name in names:
            with suppress(OSError):
                _remove_if_abandoned(folder / name)


def _remove_if_abandoned(draft: Path) -> None:
    """Remove a draft that nobody holds; OSError if somebody does."""
    handle = os.open(draft, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        flock(handle, LOCK_EX | LOCK_NB)
        draft.unlink()  # while it is held: a writer that has yet to lock it then finds it gone
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Make names in a folder outlast a power cut; where folders cannot be opened, the system does it when it likes."""
    if os.name == "posix":
        with suppress(PermissionError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
