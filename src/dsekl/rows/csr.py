"""Sparse rows. Nothing here is as long as a row is wide, since a file of few entries may have an index of 1e8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .digest import digest
from .rows import Indices


def occupied(X: sparse.csr_array) -> tuple[NDArray[Any], sparse.csr_array]:
    """Return columns of X, ascending and no more than it has entries, and X in these alone; the others are empty."""
    if X.shape[1] <= X.nnz:
        return np.arange(X.shape[1]), X
    columns, places = np.unique(X.indices, return_inverse=True)
    return columns, sparse.csr_array((X.data, places, X.indptr), shape=(X.shape[0], len(columns)))


@dataclass(frozen=True, eq=False)
class CsrRows:
    """The rows of a CSR matrix (n, n_features)."""

    values: sparse.csr_array

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.values.dtype
        return dtype

    @property
    def n_features(self) -> int:
        return int(self.values.shape[1])

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, places: Indices) -> CsrRows:
        return CsrRows(self.values[places])

    def dense(self, places: Indices) -> NDArray[Any]:
        return np.asarray(self.values[places].toarray())

    def variance(self) -> float:
        X = self.values
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        share = 1.0 / (X.shape[0] * X.shape[1])
        mean = (X.data * share).sum()
        return float((X.multiply(X).data * share).sum() - mean * mean)

    def ranges(self, most_rows: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        columns, some = occupied(self.values[:: -(-len(self) // most_rows)])
        if not len(columns):
            return columns, np.empty(0)
        lowest, highest = (extreme(axis=0).toarray().reshape(-1) for extreme in (some.min, some.max))
        return columns, np.asarray(highest, dtype=np.float64) - lowest

    def lowest(self) -> float:
        return float(self.values.min())

    def largest(self) -> tuple[int, float]:
        if not self.values.nnz:
            return 0, 0.0
        entry = int(np.abs(self.values.data).argmax())
        return int(self.values.indices[entry]), float(abs(self.values.data[entry]))

    def digest(self) -> str:
        return digest(self.values)
