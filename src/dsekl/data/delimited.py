"""Delimited text (csv), with quotes as RFC 4180 has them, in UTF-8.

NumPy reads columns of numbers several times as fast as the csv module. What it cannot read (a quote, a missing number,
a ragged row) goes through the csv module.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from .dialect import (
    SAMPLE_CHARACTERS,
    SAMPLE_ROWS,
    column_names,
    counts_columns,
    find_delimiter,
    is_value,
    looks_like_header,
    sample_rows,
)
from .errors import DataFileError, quoted
from .field_values import Column
from .lines import RowLines, byte_lines, some_lines, text_lines
from .number_spelling import COMMA, POINT, find_decimal
from .table import Chunk, check_columns, check_names, rows_within_bounds

BLANK = ("\n", "\r\n", "\r")
"""Lines that are no rows, unless they stand within quotes."""

NO_DELIMITERS = '"\r\n\0'
"""Characters that have another meaning in a csv file."""


class DelimitedTable:
    """A csv file. A ``header``, ``delimiter`` or ``decimal`` mark of None is inferred from its first rows."""

    def __init__(
        self, path: Path, header: bool | None = None, delimiter: str | None = None, decimal: str | None = None
    ) -> None:
        self.path = path
        if decimal not in (None, POINT, COMMA):
            raise DataFileError(
                path, f"has no decimal mark {quoted(str(decimal))}", advice="; give . or , as {decimal}"
            )
        if delimiter is not None and (len(delimiter) != 1 or delimiter in NO_DELIMITERS):
            raise DataFileError(
                path, f"cannot be cut at {quoted(delimiter)}", advice="; give one character as {delimiter}"
            )
        # Bytes that are not UTF-8 are for the reading of the rows to find, which can name the column by then.
        lines = some_lines(self._lines("replace"), SAMPLE_ROWS, SAMPLE_CHARACTERS)
        self.delimiter = delimiter or find_delimiter(lines)
        line, first = next(self._rows("replace"), (0, []))
        if not first:
            raise DataFileError(path, "is empty; give a file with a row for each example")
        check_columns(path, len(first))
        self.has_header = looks_like_header(first) if header is None else header
        self.doubts_header = (
            header is None and not self.has_header and (not all(map(is_value, first)) or counts_columns(first))
        )
        self.names = column_names(first, self.has_header)
        if any("\ufffd" in name for name in self.names):
            next(self._rows())
        check_names(f"{path}:{line}", self.names, "occurs in the header more than once")
        self._settle_decimal(decimal, lines)
        if self.has_header and next(islice(self._rows("replace"), 1, None), None) is None:
            raise DataFileError(path, "has a header and no rows")

    def chunks(self, as_text: frozenset[str] = frozenset()) -> Iterator[Chunk]:
        """Read all rows; the columns ``as_text`` as they are in the file."""
        size = rows_within_bounds(len(self.names))
        stream = self._lines()
        if self.has_header:
            self._skip_header(stream)
        first_row = 0
        while lines := some_lines(stream, size):
            single = [line for line in lines if line not in BLANK]
            columns = self._clean(single, as_text)
            n_rows = len(single)
            if columns is None:
                rows = self._parsed(lines, stream, first_row)
                n_rows = len(rows)
                columns = dict(zip(self.names, zip(*rows, strict=True), strict=True)) if rows else {}
            if n_rows:
                yield Chunk(n_rows, columns.__getitem__, partial(self._where, first_row), self.decimal)
            first_row += n_rows

    def assume_decimal(self, decimal: str) -> None:
        """Take the decimal mark of the training file, where this file does not say."""
        if not self.knows_decimal:
            self.decimal = decimal

    def _settle_decimal(self, given: str | None, lines: list[str]) -> None:
        """Find the decimal mark. Commas that may be either are decimals between semicolons, and else thousands."""
        found = given
        if given is None:
            rows = [row for row in sample_rows(lines, self.delimiter) if len(row) == len(self.names)]
            found = find_decimal(zip(*rows[self.has_header :], strict=True))
        self.knows_decimal = bool(found)
        self.doubts_decimal = found == ""
        self.decimal = found or (COMMA if self.doubts_decimal and self.delimiter == ";" else POINT)

    def _skip_header(self, stream: Iterator[str]) -> None:
        """Read on to the end of the first row that is not blank."""
        reader = csv.reader(RowLines(self.path, stream), delimiter=self.delimiter, strict=True)
        try:
            next((row for row in reader if row), None)
        except csv.Error as error:
            raise self._malformed() from error

    def _clean(self, lines: list[str], as_text: frozenset[str]) -> dict[str, Column] | None:
        """Return the columns of lines that are one row each, without quotes and with plain numbers; else None."""
        delimiters = {line.count(self.delimiter) for line in lines}
        if not delimiters <= {len(self.names) - 1} or any('"' in line for line in lines):
            return None
        if not lines:
            return {}
        of_text = [place for place, name in enumerate(self.names) if name in as_text]
        of_numbers = [place for place, name in enumerate(self.names) if name not in as_text]
        columns: dict[str, Column] = {}
        try:
            if of_numbers:
                readable = lines
                if self.decimal == COMMA:
                    if any(POINT in line for line in lines):  # which may separate thousands
                        return None
                    readable = [line.replace(COMMA, POINT) for line in lines]
                readable = _with_nan(readable, self.delimiter)
                numbers = np.loadtxt(readable, delimiter=self.delimiter, comments=None, ndmin=2, usecols=of_numbers)
                if len(numbers) != len(lines):  # a line of blanks, which is a row with one missing value
                    return None
                columns |= {self.names[place]: numbers[:, k] for k, place in enumerate(of_numbers)}
        except ValueError:
            return None
        return columns | self._fields(lines, of_text)

    def _fields(self, lines: list[str], places: list[int]) -> dict[str, Column]:
        """Return some columns of lines without quotes, as text; the lines are cut from the nearer side."""
        if not places:
            return {}
        bare = [line.rstrip("\r\n") for line in lines]
        from_left, from_right = places[-1] + 1, len(self.names) - places[0]
        if from_left <= from_right:
            rows = [line.split(self.delimiter, from_left) for line in bare]
            return {self.names[place]: [row[place] for row in rows] for place in places}
        rows = [line.rsplit(self.delimiter, from_right) for line in bare]
        return {self.names[place]: [row[place - len(self.names)] for row in rows] for place in places}

    def _parsed(self, lines: list[str], stream: Iterator[str], first_row: int) -> list[list[str]]:
        """Return the rows that begin in ``lines``; the last may go on in the stream."""
        feed = RowLines(self.path, chain(lines, stream))
        reader = csv.reader(feed, delimiter=self.delimiter, strict=True)
        rows: list[list[str]] = []
        try:
            while reader.line_num < len(lines):
                row = next(reader)
                feed.end_row()
                if row and len(row) != len(self.names):
                    count = f"{len(row)} field{'s' * (len(row) != 1)}"
                    raise DataFileError(self._where(first_row, len(rows)), f"has {count}, not {len(self.names)}")
                if row:
                    rows.append(row)
        except StopIteration:
            pass
        except csv.Error as error:
            raise self._malformed() from error
        return rows

    def _lines(self, errors: str = "strict") -> Iterator[str]:
        try:
            yield from text_lines(self.path, errors)
        except UnicodeDecodeError as error:
            raise self._undecodable() from error

    def _rows(self, errors: str = "strict") -> Iterator[tuple[int, list[str]]]:
        """Read rows with the line on which each begins: exact, and slow."""
        feed = RowLines(self.path, self._lines(errors))
        reader = csv.reader(feed, delimiter=self.delimiter, strict=True)
        line = 1
        try:
            for row in reader:
                feed.end_row()
                if row:
                    yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise DataFileError(f"{self.path}:{line}", _explained(error)) from error

    def _where(self, first_row: int, i: int) -> str:
        """Return the place of a row. Only errors ask for it, so the file is simply read again."""
        line, _ = next(islice(self._rows(), first_row + i + self.has_header, None), (0, []))
        return f"{self.path}:{line}"

    def _malformed(self) -> DataFileError:
        """Return the error of the first row whose quotes are wrong."""
        try:
            for _ in self._rows():
                pass
        except DataFileError as error:
            return error
        return DataFileError(self.path, "changed while it was read")

    def _undecodable(self) -> DataFileError:
        """Return the error of the first line that is not UTF-8."""
        for number, line in enumerate(byte_lines(self.path), 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                reason = f"byte 0x{line[error.start]:02x} is not UTF-8; save the file in UTF-8"
                column = self._column_after(line[: error.start].decode())
                return DataFileError(f"{self.path}:{number}", reason, column)
        return DataFileError(self.path, "changed while it was read")

    def _column_after(self, text: str) -> str | None:
        """Return the name of the column in which a line goes on after ``text``."""
        try:
            place = max(0, len(next(csv.reader([text], delimiter=self.delimiter), [])) - 1)
        except csv.Error:
            return None
        return self.names[place] if place < len(self.names) else None


def _with_nan(lines: list[str], delimiter: str) -> list[str]:
    """Return lines with "nan" in their empty fields: one pass over their text costs less than a look at each field."""
    text = "".join(lines)
    ends = {f"{delimiter}{end}": f"{delimiter}nan{end}" for end in ("\r\n", "\n")}
    gaps = {delimiter * 2: f"{delimiter}nan{delimiter}", **ends, f"\n{delimiter}": f"\nnan{delimiter}"}
    if not any(gap in text for gap in gaps) and not text.startswith(delimiter) and not text.endswith(delimiter):
        return lines
    # Twice, since the gaps of two empty fields in a row share a delimiter.
    for gap, filled in [*gaps.items(), *gaps.items()]:
        text = text.replace(gap, filled)
    text = f"nan{text}" if text.startswith(delimiter) else text
    text = f"{text}nan" if text.endswith(delimiter) else text
    return [f"{line}\n" for line in text.rstrip("\n").split("\n")]


def _explained(error: csv.Error) -> str:
    words = str(error)
    if "unexpected end of data" in words:
        return "a quoted field is not closed"
    if "field larger than field limit" in words:
        return "a field is longer than 131072 characters; is a quoted field not closed?"
    return f"is not well-formed csv ({words})"
