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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .compression import opened, reading
from .errors import DataFileError, quoted
from .field_values import is_missing, is_number, is_padded, number_as_text, number_label
from .lines import LONGEST_LINE
from .table import check_names

STANDARD_INPUT = "-"
BRACE = "{"

SURROGATE = "\\u"
"""Alone in JSON may an escape stand for what no text in UTF-8 can hold."""

Value = float | str | None


@dataclass(frozen=True)
class StreamedRow:
    """A row with its place; ``error`` instead of values where its line is broken.

    ``written`` is the target as it stands in the line: a label has digits that a number would lose.
    """

    where: str
    values: Mapping[str, Value]
    written: str | int | float | None = None
    error: DataFileError | None = None


def label_of(written: str | int | float) -> str:
    """Return the class that a target stands for: 3 and 3.0 are one, integers keep their digits, and 007 its zeros."""
    if isinstance(written, str):
        return number_label(written) if is_number(written) and not is_padded(written) else written
    return str(int(written)) if isinstance(written, int) else number_as_text(written)


@contextmanager
def opened_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or standard input for "-". What goes wrong within the block is not blamed on the file."""
    if str(path) == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with ExitStack() as opening:
        stream = opening.enter_context(opened(path))
        held = opening.pop_all()
    try:
        yield stream
    finally:
        held.close()


def streamed_rows(path: Path, stream: IO[bytes], target: str, delimiter: str = ",") -> Iterator[StreamedRow]:
    """Yield the rows of a stream; the first line tells whether they are JSON."""
    lines = _lines(path, stream)
    first = next(((number, line) for number, line in lines if not isinstance(line, str) or line.strip()), None)
    if first is None:
        raise DataFileError(path, "is empty; give a header and rows, or JSON lines")
    if isinstance(first[1], DataFileError):
        raise first[1]
    if first[1].lstrip().startswith(BRACE):
        yield _json_row(path, first[0], first[1], target)
        for number, line in lines:
            if isinstance(line, DataFileError):
                yield StreamedRow(f"{path}:{number}", {}, error=line)
            elif line.strip():
                yield _json_row(path, number, line, target)
        return
    try:
        names = [name.strip() for name in next(csv.reader([first[1]], delimiter=delimiter))]
    except csv.Error as error:
        raise DataFileError(f"{path}:{first[0]}", f"is not well-formed csv ({error})") from error
    check_names(f"{path}:{first[0]}", names, "occurs in the header more than once")
    for number, line in lines:
        if isinstance(line, DataFileError):
            yield StreamedRow(f"{path}:{number}", {}, error=line)
        elif line.strip():
            yield _csv_row(path, number, line, names, target, delimiter)


def _broken(where: str, reason: str, column: str | None = None) -> StreamedRow:
    return StreamedRow(where, {}, error=DataFileError(where, reason, column))


def _lines(path: Path, stream: IO[bytes]) -> Iterator[tuple[int, str | DataFileError]]:
    """Yield lines with their numbers; what is no line of text is the error of its line."""
    number = 0
    while raw := _next_line(path, stream):
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


def _next_line(path: Path, stream: IO[bytes]) -> bytes:
    with reading(path):
        return stream.readline(LONGEST_LINE)


def _csv_row(path: Path, number: int, line: str, names: list[str], target: str, delimiter: str) -> StreamedRow:
    where = f"{path}:{number}"
    try:
        fields = next(csv.reader(io.StringIO(line), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return _broken(where, f"is not well-formed csv ({error})")
    if len(fields) != len(names):
        count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
        return _broken(where, f"has {count}, not {len(names)}")
    values = {name: _value(field) for name, field in zip(names, fields, strict=True)}
    written = None if values.get(target) is None else fields[names.index(target)].strip()
    return StreamedRow(where, values, written)


def _value(field: str) -> Value:
    text = field.strip()
    if is_missing(text):
        return None
    return float(text) if is_number(text) else text


def _json_row(path: Path, number: int, line: str, target: str) -> StreamedRow:
    where = f"{path}:{number}"
    try:
        found: Any = json.loads(line, object_pairs_hook=_without_repeats)
        if SURROGATE in line:
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return _broken(where, "has half of a surrogate pair, which is no character")
    except (ValueError, RecursionError) as error:
        return _broken(where, f"is no JSON ({error})")
    if not isinstance(found, dict):
        return _broken(where, f"is {quoted(line.strip())}, no object with named values")
    for name, value in found.items():
        if not (value is None or isinstance(value, bool | int | float | str)):
            return _broken(where, "is a list or an object; give a number or a text", name)
    values = {name: value if isinstance(value, str) else _number(value) for name, value in found.items()}
    written = found.get(target)
    return StreamedRow(where, values, written if written == written else None)  # NaN is missing


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in it")
    return found


def _number(value: float | None) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf")
