"""Folders that appear whole, and are replaced whole.

A folder is written under another name beside its place. Then the old one is renamed aside, the new one takes its place,
and the old one is removed. A process that is killed between the two renames leaves the old folder aside, and whoever
looks for it next puts it back.

Renames happen under a lock of the folder that holds them. A draft is locked while it is written. Locks end with their
process, so a draft that nobody holds is one that a killed process left, and the next writer removes it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dsekl.atomic import flush_folder

if os.name == "posix":
    from fcntl import LOCK_EX, LOCK_NB, flock

SHOWN_NAME = 48
"""Characters of a folder's name that the names beside it begin with: a name may have 255 bytes."""

DRAFT, ASIDE = ".new", ".old"


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Make a folder to write into; it takes its place when the block ends well, and is removed when it does not."""
    target = Path(os.path.realpath(path))
    restore_folder(target)
    with _locked(target.parent):
        draft = _beside(target, DRAFT)
        draft.mkdir()
        holding = _open_locked(draft)
    try:
        yield draft
        flush_folder(draft)
        aside = _take_place(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    finally:
        _close(holding)
    flush_folder(target.parent)
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)


def restore_folder(path: Path) -> None:
    """Put a folder back that a killed process left aside, and remove what else it left."""
    target = Path(os.path.realpath(path))
    prefix = _prefix(target)
    with suppress(OSError), _locked(target.parent):
        for name in sorted(os.listdir(target.parent)):
            left = target.parent / name
            if not name.startswith(prefix):
                continue
            if name.endswith(ASIDE) and not target.exists():
                os.rename(left, target)
            elif name.endswith(ASIDE) or (name.endswith(DRAFT) and _is_abandoned(left)):
                shutil.rmtree(left, ignore_errors=True)


def _take_place(draft: Path, target: Path) -> Path | None:
    """Rename a folder to its place; return where the old one is, if there was one."""
    with _locked(target.parent):
        if not target.exists():
            os.rename(draft, target)
            return None
        os.chmod(draft, target.stat().st_mode & 0o777)
        aside = _beside(target, ASIDE)
        try:
            os.rename(target, aside)
            os.rename(draft, target)
        except BaseException:
            if aside.exists() and not target.exists():
                os.rename(aside, target)
            raise
        return aside


def _prefix(target: Path) -> str:
    """Return how all names beside a folder begin: short whatever its own name, and not shared with others."""
    return f".{target.name[:SHOWN_NAME]}.{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-"


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}{ending}")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; where there are no locks, there is one writer."""
    handle = _open_locked(folder)
    try:
        yield
    finally:
        _close(handle)


def _open_locked(folder: Path) -> int | None:
    if os.name != "posix":
        return None
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with suppress(OSError):
        flock(handle, LOCK_EX)
    return handle


def _is_abandoned(draft: Path) -> bool:
    """Tell whether nobody writes into a draft any more; where that cannot be told, somebody does."""
    if os.name != "posix":
        return False
    with suppress(OSError):
        handle = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            flock(handle, LOCK_EX | LOCK_NB)
            return True
        finally:
            os.close(handle)
    return False


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)
