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

    Objects other than strings are told by their number alone.
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
        if isinstance(thing, str):
            text = thing.encode("utf-8", "surrogatepass")
            yield len(text).to_bytes(8, "little")
            yield text
