"""The header of a NumPy file (npy): type and shape of the array that follows.

NumPy's own reader evaluates what the header holds. Here it is compared with the one form that it has for a table of
numbers or strings, and its length is checked before it is read.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

MAGIC = b"\x93NUMPY"
LENGTH_BYTES = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}
"""Versions of the format, and the bytes that tell the header's length."""

LONGEST_HEADER = 2**10
"""Bytes: ten times those of any table of numbers."""

LARGEST = 2**62
"""Bytes of an array: what a file's offsets can tell."""

_ENTRY = re.compile(r"\s*'(?P<name>\w+)'\s*:\s*(?P<value>'[^']*'|True|False|\([-0-9,\s]*\)|\[.*\])\s*(,|(?=}))", re.A)
_TYPE = re.compile(r"'([<>|=]?(b1|[iu][1248]|f(2|4|8|16)|U[1-9][0-9]{0,8}))'")


@dataclass(frozen=True)
class ArrayHeader:
    """What a header says of its array; ``offset`` is where in the file the array begins."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool
    offset: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes]) -> ArrayHeader:
    """Read a header from the beginning of a file; ValueError says what is wrong with it."""
    start = stream.read(8)
    if not start.startswith(MAGIC) or start[6:] not in LENGTH_BYTES:
        raise ValueError("its first bytes are not those of a NumPy file of version 1, 2 or 3")
    width = LENGTH_BYTES[start[6:]]
    length = int.from_bytes(stream.read(width), "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"its header of {length:,} bytes is longer than that of an array of numbers")
    text = stream.read(length)
    if len(text) < length:
        raise ValueError("it ends within its header")
    entries = _entries(text.decode("latin1"))
    shape = tuple(map(int, re.findall(r"-?[0-9]+", entries["shape"])))
    if any(axis < 0 for axis in shape):
        raise ValueError(f"its shape {shape} has a negative axis")
    if entries["descr"].strip("'|") == "O":
        raise ValueError("it is of type object, which could run code")
    plain = _TYPE.fullmatch(entries["descr"])
    if plain is None:
        raise ValueError(f"it is of type {entries['descr']}, neither numbers nor strings")
    header = ArrayHeader(shape, np.dtype(plain[1]), entries["fortran_order"] == "True", 8 + width + length)
    if header.n_bytes > LARGEST:
        raise ValueError(f"its shape {shape} has more entries than any file")
    return header


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a dictionary's text, each still as text."""
    inside = text.strip()
    place, entries = 1, {}
    while found := _ENTRY.match(inside, place):
        entries[found["name"]] = found["value"]
        place = found.end()
    whole = inside.startswith("{") and inside[place:].strip() == "}"
    forms = {"descr": "'[", "fortran_order": "TF", "shape": "("}
    if not whole or entries.keys() != forms.keys() or any(entries[name][0] not in forms[name] for name in forms):
        raise ValueError("its header does not tell type, order and shape")
    return entries
