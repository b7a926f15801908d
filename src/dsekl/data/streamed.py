"""Rows of a stream, one at a time: csv with a header, or JSON lines, from a file or from standard input.

Unlike the readers of tables, nothing here is read twice. A broken line is an error that names it; what comes after it
can still be read.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .compression import opened
from .errors import DataFileError, quoted
from .field_values import is_missing, is_number
from .lines import LONGEST_LINE
from .table import check_names

STANDARD_INPUT = "-"
BRACE = "{"

Value = float | str | None


@dataclass(frozen=True)
class StreamedRow:
    """A row with its place; ``error`` instead of values where its line is broken."""

    where: str
    values: Mapping[str, Value]
    error: DataFileError | None = None


@contextmanager
def opened_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or standard input for "-"."""
    if str(path) == STANDARD_INPUT:
        yield sys.stdin.buffer
    else:
        with opened(path) as stream:
            yield stream


def streamed_rows(path: Path, stream: IO[bytes], delimiter: str = ",") -> Iterator[StreamedRow]:
    """Yield the rows of a stream; the first line tells whether they are JSON."""
    lines = _lines(path, stream)
    first = next(((number, line) for number, line in lines if not isinstance(line, str) or line.strip()), None)
    if first is None:
        raise DataFileError(path, "is empty; give a header and rows, or JSON lines")
    if isinstance(first[1], DataFileError):
        raise first[1]
    if first[1].lstrip().startswith(BRACE):
        yield _json_row(path, first[0], first[1])
        for number, line in lines:
            if isinstance(line, DataFileError):
                yield StreamedRow(f"{path}:{number}", {}, line)
            elif line.strip():
                yield _json_row(path, number, line)
        return
    names = [name.strip() for name in next(csv.reader([first[1]], delimiter=delimiter))]
    check_names(f"{path}:{first[0]}", names, "occurs in the header more than once")
    for number, line in lines:
        if isinstance(line, DataFileError):
            yield StreamedRow(f"{path}:{number}", {}, line)
        elif line.strip():
            yield _csv_row(path, number, line, names, delimiter)


def _lines(path: Path, stream: IO[bytes]) -> Iterator[tuple[int, str | DataFileError]]:
    """Yield lines with their numbers; what is no line of text is the error of its line."""
    number = 0
    while raw := stream.readline(LONGEST_LINE):
        number += 1
        if len(raw) >= LONGEST_LINE:
            raise DataFileError(f"{path}:{number}", f"the line is longer than {LONGEST_LINE:,} bytes")
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            yield number, DataFileError(f"{path}:{number}", f"byte 0x{raw[error.start]:02x} is not UTF-8")
            continue
        if "\0" in text:
            yield number, DataFileError(f"{path}:{number}", "holds a NUL character")
        else:
            yield number, text


def _csv_row(path: Path, number: int, line: str, names: list[str], delimiter: str) -> StreamedRow:
    where = f"{path}:{number}"
    try:
        fields = next(csv.reader(io.StringIO(line), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return StreamedRow(where, {}, DataFileError(where, f"is not well-formed csv ({error})"))
    if len(fields) != len(names):
        count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
        return StreamedRow(where, {}, DataFileError(where, f"has {count}, not {len(names)}"))
    return StreamedRow(where, {name: _value(field) for name, field in zip(names, fields, strict=True)})


def _value(field: str) -> Value:
    text = field.strip()
    if is_missing(text):
        return None
    return float(text) if is_number(text) else text


def _json_row(path: Path, number: int, line: str) -> StreamedRow:
    where = f"{path}:{number}"
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return StreamedRow(where, {}, DataFileError(where, f"is no JSON ({error})"))
    if not isinstance(found, dict):
        return StreamedRow(where, {}, DataFileError(where, f"is {quoted(line.strip())}, no object with named values"))
    for name, value in found.items():
        if not (value is None or isinstance(value, bool | int | float | str)):
            return StreamedRow(where, {}, DataFileError(where, "is a list or an object; give a number or a text", name))
    values = {name: value if isinstance(value, str) else _number(value) for name, value in found.items()}
    return StreamedRow(where, values)


def _number(value: float | None) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf")
