"""The sparse format of SVMlight and LIBSVM: ``label index:value index:value ...``, read in chunks of lines."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from .compression import opened
from .errors import DataFileError
from .table import SparseChunk

_LINE = re.compile(rb" *[-+.\d]\S*( +qid:\d+)?(?P<entries>( +\d+:\S+)*) *(#.*)?$")

CHUNK_LINES = 2**14


def looks_sparse(lines: list[bytes]) -> bool:
    """Tell whether the first lines of a file are in this format, with an entry in one of them at least."""
    found = [_LINE.match(line) for line in lines]
    return all(found) and any(match["entries"] for match in found if match)


class SparseTable:
    """A file in SVMlight's format. Columns are the file's own indices, from 0 on whether or not 0 occurs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def chunks(self) -> Iterator[SparseChunk]:
        """Read the rows."""
        from sklearn.datasets import load_svmlight_file

        first_line = 1
        with opened(self.path) as stream:
            while lines := list(islice(stream, CHUNK_LINES)):
                try:
                    matrix, labels = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)
                except (ValueError, OverflowError, UnicodeDecodeError) as error:
                    raise self._malformed(lines, first_line) from error
                at = [first_line + i for i, line in enumerate(lines) if line.partition(b"#")[0].strip()]
                if not np.isfinite(matrix.data).all():
                    row = int(np.searchsorted(matrix.indptr, np.flatnonzero(~np.isfinite(matrix.data))[0], "right")) - 1
                    raise DataFileError(f"{self.path}:{at[row]}", "holds a value that is not finite")
                if len(labels):
                    yield SparseChunk(labels, matrix, partial(self._where, at))
                first_line += len(lines)

    def _where(self, lines: list[int], i: int) -> str:
        return f"{self.path}:{lines[i]}"

    def _malformed(self, lines: list[bytes], first_line: int) -> DataFileError:
        """Return the error of the first line that cannot be read by itself."""
        from sklearn.datasets import load_svmlight_file

        for number, line in enumerate(lines, first_line):
            try:
                load_svmlight_file(io.BytesIO(line), zero_based=True)
            except (ValueError, OverflowError, UnicodeDecodeError) as error:
                return DataFileError(f"{self.path}:{number}", f"is not 'label index:value ...' ({error})")
        return DataFileError(self.path, "cannot be read as SVMlight")
