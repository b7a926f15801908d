"""Rows of a sparse file as the model takes them: which indices are columns, whether rows become dense, the scale."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import Features, SparseChunk

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
    def features(self) -> list[str]:
        """A name for each column of the encoded rows."""
        return [str(index) for index in range(self.first, self.last + 1)]

    def encode(self, chunk: SparseChunk) -> Features:
        """Return the rows as CSR, or dense; unknown indices are ignored."""
        matrix = chunk.matrix.astype(np.float64)
        matrix.resize((chunk.n_rows, self.last + 1))
        matrix = matrix[:, self.first :]
        if self.scale is not None:
            matrix = matrix.multiply(1.0 / np.asarray(self.scale)).tocsr()
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
    def from_dict(cls, saved: dict[str, Any]) -> SparseEncoder:
        """Return the encoder that ``to_dict`` described."""
        return cls(**saved)


class SparseLearner:
    """Learns an encoder from chunks."""

    def __init__(self) -> None:
        self._first, self._entries, self._rows = 1, 0, 0
        self._largest: NDArray[np.float64] = np.zeros(0)

    def observe(self, chunk: SparseChunk) -> None:
        """Take in more rows."""
        matrix = chunk.matrix
        self._entries += matrix.nnz
        self._rows += chunk.n_rows
        if matrix.nnz and matrix.indices.min() == 0:
            self._first = 0
        largest = np.zeros(max(len(self._largest), matrix.shape[1]))
        largest[: len(self._largest)] = self._largest
        np.maximum.at(largest, matrix.indices, np.abs(matrix.data))
        self._largest = largest

    def learned(self, scale: bool) -> SparseEncoder:
        """Return the encoder; with ``scale`` each column is divided by its largest absolute value."""
        largest = self._largest[self._first :]
        filled = self._entries / max(1, self._rows * len(largest))
        dense = len(largest) <= MOST_DENSE_COLUMNS or filled >= LEAST_DENSE_SHARE
        scales = np.where(largest > 0, largest, 1.0).tolist() if scale else None
        return SparseEncoder(self._first, len(self._largest) - 1, dense, scales)
