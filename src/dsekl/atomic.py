"""The one way in which files are written: whole, or not at all.

A file is written under another name in the same folder, flushed to the disk and renamed. Whoever reads the path finds
the old file or the new one, never a part of either, however many write at once. The draft's name holds the number of
its process, so that the drafts of processes that were killed can be told from those under way, and are removed.
"""

from __future__ import annotations

import io
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

PERMISSIONS = 0o666
"""Of a new file, less what the user's umask takes away; a file that is replaced keeps its own."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes; it takes its place when the block ends well, and is removed when it does not."""
    path = Path(path).resolve()  # a link stays a link
    draft = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    _remove_stale_drafts(path)
    try:
        with open(draft, "xb", opener=_opener(path)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


@contextmanager
def replacing_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """As ``replacing``, for text in UTF-8 with line ends as they are written."""
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        yield text
        text.detach()  # which leaves the file open: it has yet to be flushed to the disk


def _opener(path: Path) -> Callable[[str, int], int]:
    """Return what opens the draft: with the permissions of the file that it replaces, and never through a link."""
    permissions = path.stat().st_mode & 0o777 if path.exists() else PERMISSIONS
    return lambda name, flags: os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), permissions)


def _remove_stale_drafts(path: Path) -> None:
    """Remove what processes that no longer run have left behind of this file."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.(\d+)-[0-9a-f]{{8}}\.part")
    with suppress(OSError):
        for draft in path.parent.iterdir():
            found = ours.fullmatch(draft.name)
            if found and not _runs(int(found[1])):
                draft.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _flush_folder(folder: Path) -> None:
    """Make a rename outlast a power cut; where folders cannot be opened, the system does it when it likes."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
