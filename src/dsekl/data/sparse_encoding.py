"""Rows of a sparse file as the model takes them: which indices are columns, whether rows become dense, the scale."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .errors import DataFileError
from .svmlight import CHUNK_LINES, LARGEST_INDEX
from .table import MOST_COLUMNS, Features, SparseChunk, rows_within_bounds

MOST_DENSE_COLUMNS = 256
LEAST_DENSE_SHARE = 1 / 3
"""Rows become dense where they have at most so many columns, or at least this share of entries that are not 0."""


@dataclass(frozen=True)
class SparseEncoder:
    """Indices ``first`` to ``last`` are the columns; each is divided by its entry of ``scale``, if there is one."""

    first: int
    last: int
    dense: bool
    scale: list[float] | None

    @property
    def n_features(self) -> int:
        return self.last + 1 - self.first

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk whose encoding is within bounds."""
        return rows_within_bounds(self.n_features) if self.dense else CHUNK_LINES

    def feature(self, place: int) -> str:
        """Return the name of a column of the encoded rows."""
        return str(self.first + place)

    def column(self, place: int) -> str:
        """Return the name of a column in use: each is a feature."""
        return self.feature(place)

    def encode(self, chunk: SparseChunk) -> Features:
        """Return the rows as CSR, or dense; unknown indices are ignored."""
        matrix = chunk.matrix.astype(np.float64)
        matrix.resize((chunk.n_rows, self.last + 1))
        matrix = matrix[:, self.first :]
        if self.scale is not None:
            with np.errstate(over="ignore"):
                matrix.data /= np.asarray(self.scale)[matrix.indices]
            if not np.isfinite(matrix.data).all():
                entry = int(np.isfinite(matrix.data).argmin())
                row = int(np.searchsorted(matrix.indptr, entry, "right")) - 1
                index = self.feature(matrix.indices[entry])
                raise DataFileError(
                    chunk.where(row), f"the value of index {index} is too far from the training rows to be scaled"
                )
        rows: Features = matrix.toarray() if self.dense else matrix
        return rows

    def unknown(self, chunk: SparseChunk) -> int:
        """Return how many entries of the rows have an index that the training rows did not have."""
        indices = chunk.matrix.indices
        return int(((indices > self.last) | (indices < self.first)).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: object) -> SparseEncoder:
        """Return the encoder that ``to_dict`` described; ValueError if it never did."""
        entries = saved_value.entries(saved, "encoder", {"first", "last", "dense", "scale"})
        first = saved_value.integer(entries["first"], "encoder.first", 0, 1)
        last = saved_value.integer(entries["last"], "encoder.last", first, LARGEST_INDEX)
        dense, scale = saved_value.flag(entries["dense"], "encoder.dense"), entries["scale"]
        n_features = last + 1 - first
        if dense and n_features > MOST_COLUMNS:
            raise ValueError(f"encoder.dense with {n_features:,} columns")
        if scale is not None:
            scale = [
                saved_value.number(item, "encoder.scale", True) for item in saved_value.items(scale, "encoder.scale")
            ]
            if len(scale) != n_features:
                raise ValueError(f"encoder.scale has {len(scale)} numbers for {n_features:,} columns")
        return cls(first, last, dense, scale)


class SparseLearner:
    """Learns an encoder from chunks; with ``scale`` each column is divided by its largest absolute value."""

    def __init__(self, path: Path, scale: bool) -> None:
        self._path, self._scale = path, scale
        self._first, self._last, self._entries, self._rows = 1, -1, 0, 0
        self._largest: NDArray[np.float64] = np.zeros(0)

    def observe(self, chunk: SparseChunk) -> None:
        """Take in more rows."""
        matrix = chunk.matrix
        self._entries += matrix.nnz
        self._rows += chunk.n_rows
        if not matrix.nnz:
            return
        if matrix.indices.min() == 0:
            self._first = 0
        self._last = max(self._last, int(matrix.indices.max()))
        if self._scale:
            self._observe_scale(matrix.indices, matrix.data)

    def learned(self) -> SparseEncoder:
        """Return the encoder."""
        n_columns = self._last + 1 - self._first
        if n_columns < 1:
            raise DataFileError(self._path, "has no entries 'index:value' with an index of 1 or more")
        filled = self._entries / max(1, self._rows * n_columns)
        dense = n_columns <= MOST_DENSE_COLUMNS or filled >= LEAST_DENSE_SHARE
        largest = self._largest[self._first :]
        scales = np.where(largest > 0, largest, 1.0).tolist() if self._scale else None
        return SparseEncoder(self._first, self._last, dense and n_columns <= MOST_COLUMNS, scales)

    def _observe_scale(self, indices: NDArray[np.integer[Any]], values: NDArray[np.float64]) -> None:
        if self._last >= MOST_COLUMNS:
            raise DataFileError(
                self._path, f"has the index {self._last:,}; columns beyond {MOST_COLUMNS:,} cannot be scaled, leave "
                "scaling out",
            )  # fmt: skip
        largest = np.zeros(max(len(self._largest), self._last + 1))
        largest[: len(self._largest)] = self._largest
        np.maximum.at(largest, indices, np.abs(values))
        self._largest = largest
