"""The hash by which data are recognised: SHA-256 over types, shapes and bytes, a few thousand rows at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

HASHED_ROWS = 4096


def digest(rows: Any) -> str:
    """Return the SHA-256 of an array, of rows that can be indexed like one, of CSR, or of a sequence of objects.

    Numbers, texts, bytes, arrays, and lists, tuples, sets and dicts of them are told by their content; other objects,
    which ``is_plain`` tells, by their type alone.
    """
    found = hashlib.sha256()
    for piece in _pieces(rows):
        found.update(piece)
    return found.hexdigest()


def _pieces(rows: Any) -> Iterable[bytes | memoryview]:
    if sparse.issparse(rows):
        yield repr(rows.shape).encode()
        for array in (rows.indptr, rows.indices, rows.data):
            yield from _of_numbers(array)
    elif isinstance(rows, list | tuple) or rows.dtype.kind not in "biuf":
        yield from _of_objects(rows)
    else:
        yield from _of_numbers(rows)


def _of_numbers(rows: NDArray[Any]) -> Iterator[bytes | memoryview]:
    yield f"{rows.dtype} {rows.shape}".encode()
    for start in range(0, len(rows), HASHED_ROWS):
        yield np.ascontiguousarray(rows[start : start + HASHED_ROWS]).reshape(-1).view(np.uint8).data


def _of_objects(objects: Iterable[object]) -> Iterator[bytes]:
    things = list(objects)
    yield f"{len(things)} objects".encode()
    for thing in things:
        yield _content(thing)


def is_plain(thing: object) -> bool:
    """Tell whether the digest of an object is one of its content."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.kind != "O" or all(map(is_plain, thing.flat))
    if type(thing) is dict:
        return all(map(is_plain, thing.keys())) and all(map(is_plain, thing.values()))
    if type(thing) in (list, tuple, set, frozenset):
        return all(map(is_plain, thing))  # type: ignore[call-overload]
    return thing is None or isinstance(thing, np.generic) or type(thing) in (bool, int, float, complex, str, bytes)


def _content(thing: object) -> bytes:
    """Return the SHA-256 of one object, whatever the order in which sets and dicts have their parts."""
    if isinstance(thing, np.ndarray) and thing.dtype.kind != "O":
        parts = [f"{thing.dtype} {thing.shape}".encode(), thing.tobytes()]
    elif isinstance(thing, np.ndarray):
        parts = [str(thing.shape).encode(), *map(_content, thing.flat)]
    elif type(thing) is dict:
        parts = sorted(_content(key) + _content(part) for key, part in thing.items())
    elif type(thing) in (list, tuple):
        parts = [_content(part) for part in thing]  # type: ignore[attr-defined]
    elif type(thing) in (set, frozenset):
        parts = sorted(map(_content, thing))  # type: ignore[call-overload]
    elif type(thing) is str:
        parts = [thing.encode("utf-8", "surrogatepass")]
    else:
        parts = [thing if type(thing) is bytes else repr(thing).encode() if is_plain(thing) else b""]
    found = hashlib.sha256(f"{type(thing).__module__}.{type(thing).__qualname__}".encode())
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
