"""Sparse rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .digest import digest
from .rows import Indices


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
        mean = self.values.mean()
        return float(self.values.multiply(self.values).mean() - mean * mean)

    def ranges(self, most_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
        some = self.values[:: -(-len(self) // most_rows)]
        return some.min(axis=0).toarray().reshape(-1), some.max(axis=0).toarray().reshape(-1)

    def lowest(self) -> float:
        return float(self.values.min())

    def largest(self) -> NDArray[np.float64]:
        return np.asarray(abs(self.values).max(axis=0).toarray().reshape(-1), dtype=np.float64)

    def digest(self) -> str:
        return digest(self.values)
