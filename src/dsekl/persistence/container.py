"""The file: a JSON header and named arrays in one safetensors file.

The header is one text in the file's metadata. It lists every array with its type, shape and SHA-256, and has a
SHA-256 of its own, so a change of any byte that matters is found before the file is believed. safetensors compares
all sizes with the size of the file before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from dsekl.atomic import replacing
from dsekl.workers import Threads, chunks

PART_BYTES = 2**22
"""Of a large array that are read while the part before is hashed."""

FORMAT = 2
"""Version of the format that is written; all versions up to it can be read."""

MOST_HEADER = 2**25
"""Characters of a header: far more than any model has, and too few to be a burden."""

MOST_VALUES = 2**21
"""Numbers, texts, lists and objects in a header: read, each takes a hundred bytes, however few it has in the file."""

TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
}  # fmt: skip
"""Types of arrays that a file may hold: safetensors' names and NumPy's."""

Array = NDArray[Any]
Location = str | os.PathLike[str]


class Part(Protocol):
    """An array of a file, of which nothing is read until it is asked for."""

    def get_shape(self) -> list[int]: ...

    def get_dtype(self) -> str: ...

    def __getitem__(self, rows: slice) -> Array: ...


class Tensors(Protocol):
    """An open file, as the safetensors library gives it."""

    def metadata(self) -> dict[str, str] | None: ...

    def keys(self) -> list[str]: ...

    def get_slice(self, name: str) -> Part: ...

    def get_tensor(self, name: str) -> Array: ...


class ModelFileError(ValueError):
    """A file that is not a model or checkpoint of dsekl, or is corrupted."""

    def __init__(self, path: Location, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"{os.fspath(self.path)}: {self.reason}"


def write(path: Location, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a file, or leave what was there; the failure of a full disk is an ``OSError``."""
    arrays = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    entries = {name: {**_form(array), "sha256": _digest(array)} for name, array in arrays.items()}
    text = json.dumps({**header, "format": FORMAT, "arrays": entries}, allow_nan=False, separators=(",", ":"))
    if len(text) > MOST_HEADER or _most_values(text) > MOST_VALUES:
        raise ValueError(
            f"the header would have {len(text):,} characters and up to {_most_values(text):,} values, more than "
            f"{MOST_HEADER:,} and {MOST_VALUES:,}: shorten `table`"
        )
    metadata = {"dsekl": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    try:
        with replacing(path) as file:
            file.writelines(_safetensors(metadata, arrays))
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def read(path: Location) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file, every byte of which has been checked."""
    with _opened(path) as (file, header):
        entries = header.pop("arrays")
        arrays = {}
        for name in entries:
            array, digest = _array(file, name)
            arrays[name] = array
            if digest != entries[name]["sha256"]:
                raise ModelFileError(path, f"the array {name!r} is corrupted: its checksum differs")
            if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
                # NumPy counts such bytes as more than one, and writes past the end of what it finds.
                raise ModelFileError(path, f"the array {name!r} holds truth values other than 0 and 1")
        return header, arrays


def read_header(path: Location) -> dict[str, Any]:
    """Return the header of a file, checked, without its arrays; ``arrays`` tells their types and shapes."""
    with _opened(path) as (_, header):
        return header


@contextmanager
def _opened(path: Location) -> Iterator[tuple[Tensors, dict[str, Any]]]:
    """Open a file whose header and sizes are right; what is wrong with it ends in ``ModelFileError``."""
    with open(path, "rb") as file:  # a file that cannot be opened at all is the system's error
        if len(file.read(9)) < 9:
            raise ModelFileError(path, "not a dsekl file: too short")
    with checking(path), safe_open(path, "np") as file:
        yield file, _header(path, file)


@contextmanager
def checking(path: Location, fix: str = "") -> Iterator[None]:
    """Turn what goes wrong with a file that is corrupted, or says what no file of ours says, into ``ModelFileError``.

    ``fix`` ends the message: what the user can do.
    """
    try:
        yield
    except ModelFileError as error:
        if not fix:
            raise
        raise ModelFileError(error.path, _with_fix(error.reason, fix)) from error
    except SafetensorError as error:
        raise ModelFileError(path, _with_fix(f"not a dsekl file, or corrupted ({error})", fix)) from error
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        words = f"its content is not valid ({type(error).__name__}: {error})"
        raise ModelFileError(path, _with_fix(words, fix)) from error


@contextmanager
def building(path: Location) -> Iterator[None]:
    """As ``checking``, where all that is made is what the file describes: too much of it is its error as well."""
    try:
        with checking(path):
            yield
    except MemoryError as error:
        raise ModelFileError(path, f"what it describes needs more memory than there is ({error})") from error


def _with_fix(reason: str, fix: str) -> str:
    return f"{reason}; {fix}" if fix else reason


def _header(path: Location, file: Tensors) -> dict[str, Any]:
    metadata = file.metadata() or {}
    if "dsekl" not in metadata:
        raise ModelFileError(path, "a safetensors file, but not of dsekl")
    text = metadata["dsekl"]
    if len(text) > MOST_HEADER:
        raise ModelFileError(path, f"its header of {len(text):,} characters is longer than {MOST_HEADER:,}")
    if hashlib.sha256(text.encode()).hexdigest() != metadata.get("sha256"):
        raise ModelFileError(path, "its header is corrupted: the checksum differs")
    if _most_values(text) > MOST_VALUES:
        raise ModelFileError(path, f"its header has more than {MOST_VALUES:,} values")
    header: dict[str, Any] = json.loads(text, parse_constant=_refuse, object_pairs_hook=_without_repeats)
    if not isinstance(header, dict) or not isinstance(header["arrays"], dict):
        raise ModelFileError(path, "its header is no object with a list of arrays")
    if type(header["format"]) is not int or header["format"] < 1:
        raise ModelFileError(path, f"format={header['format']!r} is no version of the format")
    if header["format"] > FORMAT:
        raise ModelFileError(
            path, f"it has format {header['format']}, and this dsekl reads up to {FORMAT}: install a newer dsekl"
        )
    entries = header["arrays"]
    if set(entries) != set(file.keys()):
        raise ModelFileError(path, "its header lists other arrays than it holds")
    for name, entry in entries.items():
        held = file.get_slice(name)
        if held.get_dtype() not in TYPES:
            raise ModelFileError(path, f"the array {name!r} is of type {held.get_dtype()}, which no file of ours has")
        if TYPES[held.get_dtype()] != entry["dtype"] or list(held.get_shape()) != entry["shape"]:
            raise ModelFileError(path, f"the array {name!r} has another type or shape than its header says")
    return header


def _safetensors(metadata: dict[str, str], arrays: dict[str, Array]) -> Iterator[Any]:
    """Yield the bytes of a safetensors file: the length of its own header, that header, and the arrays end to end.

    Written here, because the library's writer leaves a file of a random name behind when its process is killed. The
    widest numbers come first, so that all are aligned.
    """
    names = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    ends = np.cumsum([arrays[name].nbytes for name in names], dtype=np.int64).tolist()
    safe = {ours: theirs for theirs, ours in TYPES.items()}
    entries = {
        name: {"dtype": safe[array.dtype.name], "shape": array.shape, "data_offsets": [end - array.nbytes, end]}
        for name, array, end in zip(names, (arrays[name] for name in names), ends, strict=True)
    }
    header = json.dumps({"__metadata__": metadata, **entries}).encode()
    header += b" " * (-len(header) % 8)
    yield len(header).to_bytes(8, "little")
    yield header
    for name in names:
        yield arrays[name].reshape(-1).view(np.uint8).data


def _form(array: Array) -> dict[str, Any]:
    if array.dtype.name not in TYPES.values():
        raise ValueError(f"an array of {array.dtype} has no place in a file")
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


def _digest(array: Array) -> str:
    return hashlib.sha256(_bytes(array)).hexdigest()


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _array(file: Tensors, name: str) -> tuple[Array, str]:
    """Return an array of the file and its digest; of a large one, a part is hashed while the next one is read."""
    held = file.get_slice(name)
    shape, dtype = held.get_shape(), np.dtype(TYPES[held.get_dtype()])
    size = prod(shape) * dtype.itemsize
    if size <= PART_BYTES:
        array = file.get_tensor(name)
        return array, _digest(array)
    array, digest = np.empty(shape, dtype), hashlib.sha256()
    parts = [array[rows] for rows in chunks(shape[0], max(1, shape[0] * PART_BYTES // size))]

    def read(place: int) -> None:
        first = len(parts[0]) * place
        parts[place][:] = held[first : first + len(parts[place])]

    read(0)
    for place, part in enumerate(parts):
        tasks = [partial(digest.update, _bytes(part))]
        if place + 1 < len(parts):
            tasks.append(partial(read, place + 1))
        Threads(2).map(lambda task: task(), tasks)
    return array, digest.hexdigest()


def _most_values(text: str) -> int:
    """Return how many values a JSON text has at most; brackets and commas within its texts count as well."""
    return 1 + text.count(",") + text.count("[") + text.count("{")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
