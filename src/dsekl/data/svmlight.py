"""The sparse format of SVMlight and LIBSVM: ``label index:value index:value ...``, read in chunks of lines."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .errors import DataFileError, quoted
from .field_values import LARGEST
from .lines import byte_lines, some_lines
from .table import SparseChunk

if TYPE_CHECKING:
    from scipy import sparse

_LINE = re.compile(rb" *[-+.\d]\S*( +qid:\d+)?(?P<entries>( +\d+:\S+)*) *(#.*)?$")

CHUNK_LINES, CHUNK_BYTES = 2**14, 2**23
"""Lines that are held at a time, fewer of long ones: what bounds the number of entries."""

LARGEST_INDEX = 2**31 - 2
"""Indices are integers of 32 bits to all that comes after."""


def looks_sparse(lines: list[bytes]) -> bool:
    """Tell whether the first lines of a file are in this format, with an entry in one of them at least."""
    found = [_LINE.match(line) for line in lines]
    return all(found) and any(match["entries"] for match in found if match)


class SparseTable:
    """A file in SVMlight's format. Columns are the file's own indices, from 0 on whether or not 0 occurs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def chunks(self, most_rows: int = CHUNK_LINES) -> Iterator[SparseChunk]:
        """Read the rows, at most so many at a time."""
        first_line = 1
        stream = byte_lines(self.path)
        while lines := some_lines(stream, min(CHUNK_LINES, most_rows), CHUNK_BYTES):
            try:
                matrix = _parsed(b"".join(lines))
            except _UNREADABLE as error:
                raise self._malformed(lines, first_line) from error
            at = [(first_line + i, line) for i, line in enumerate(lines) if line.partition(b"#")[0].strip()]
            numbers = [number for number, _ in at]
            self._check(matrix, numbers)
            if at:
                labels = [line.split(None, 1)[0].partition(b"#")[0].decode("ascii", "replace") for _, line in at]
                yield SparseChunk(labels, matrix, partial(self._where, numbers))
            first_line += len(lines)

    def _check(self, matrix: sparse.csr_matrix, numbers: list[int]) -> None:
        """Raise the error of the first value or index that is too large."""
        wrong = np.flatnonzero(~(np.abs(matrix.data) <= LARGEST) | (matrix.indices > LARGEST_INDEX))
        if len(wrong):
            index, value = int(matrix.indices[wrong[0]]), float(matrix.data[wrong[0]])
            place = self._where(numbers, int(np.searchsorted(matrix.indptr, wrong[0], "right")) - 1)
            if index > LARGEST_INDEX:
                raise DataFileError(place, f"the index {index} is larger than {LARGEST_INDEX:,}")
            if np.isfinite(value):
                raise DataFileError(place, f"the value {value:g} of index {index} is larger than {LARGEST:g}")
            raise DataFileError(place, f"holds a value that is not finite, of index {index}")

    def _where(self, lines: list[int], i: int) -> str:
        return f"{self.path}:{lines[i]}"

    def _malformed(self, lines: list[bytes], first_line: int) -> DataFileError:
        """Return the error of the first line that cannot be read by itself."""
        for number, line in enumerate(lines, first_line):
            try:
                _parsed(line)
            except _UNREADABLE as error:
                reason = quoted(str(error))
                return DataFileError(f"{self.path}:{number}", f"is not 'label index:value ...' ({reason})")
        return DataFileError(self.path, "cannot be read as SVMlight")


_UNREADABLE = (ValueError, OverflowError, IndexError)


def _parsed(content: bytes) -> sparse.csr_matrix:
    from sklearn.datasets import load_svmlight_file

    if b"_" in content and any(b"_" in line.partition(b"#")[0] for line in content.splitlines()):
        raise ValueError("an underscore is no part of a number")
    return load_svmlight_file(io.BytesIO(content), zero_based=True)[0]
