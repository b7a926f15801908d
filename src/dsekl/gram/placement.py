"""From raw rows to points: scale the columns by gamma, centre them where only differences matter.

Squared distances come from dot products, ``|x|^2 + |z|^2 - 2 <x, z>``, and in float32 that loses digits when
the points lie far from the origin. Distances do not change when all points move together, so the columns are
centred on the training data first; only rounding is at stake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.kernels import Pairwise, VectorKernel
from dsekl.stored import RowFile, StoredRows, parts, row_parts


def refuse_overflow(norms: NDArray[Any]) -> None:
    """Raise an error for points so far out that their squared distances have no number."""
    if not np.isfinite(norms).all():
        raise ValueError(
            f"squared distances overflow {norms.dtype}: the largest entries of X times gamma are too large. Scale the "
            "columns of X, lower gamma, or set dtype='float64'."
        )


@dataclass(frozen=True)
class Placement:
    """How a raw row becomes a point: ``(row - center) * scale`` in ``dtype``."""

    center: NDArray[np.float64] | None
    scale: NDArray[np.float64]
    dtype: str

    @staticmethod
    def of(kernel: VectorKernel, gamma: float | NDArray[np.float64], X: Any, dtype: str) -> Placement:
        """Return the placement that ``kernel`` needs, centred on ``X``."""
        scale = np.broadcast_to(np.asarray(gamma, dtype=np.float64) ** kernel.gamma_power, (X.shape[1],)).copy()
        shift = kernel.pairwise in (Pairwise.SQUARED_DISTANCE, Pairwise.MANHATTAN) and not sparse.issparse(X)
        center = column_means(X) if shift else None
        return Placement(center, scale, dtype)

    def dense(self, X: Any) -> NDArray[Any]:
        """Return the points of rows, dense and contiguous, made a part at a time."""
        points = np.empty(X.shape, dtype=self.dtype)
        for part in parts(X):
            raw = X[part].toarray() if sparse.issparse(X) else X[part]
            points[part] = (raw if self.center is None else raw - self.center) * self.scale
        return points

    def stored(self, X: StoredRows) -> StoredRows:
        """Return the points of rows in a file, in a file of their own."""
        with RowFile(*X.shape, self.dtype) as file:
            for part, rows in row_parts(X):
                file.write(part, self.dense(rows))
        return file.rows

    def entries(self, X: StoredRows, columns: NDArray[np.intp]) -> NDArray[Any]:
        """Return one entry of each point, in the column that is given for it, from one pass over the rows."""
        center = np.zeros_like(self.scale) if self.center is None else self.center
        values = np.empty(len(X), dtype=self.dtype)
        for part, rows in row_parts(X):
            chosen = columns[part]
            values[part] = (rows[np.arange(len(rows)), chosen] - center[chosen]) * self.scale[chosen]
        return values

    def sparse(self, X: Any) -> sparse.csr_array:
        """Return the points of rows as sorted CSR."""
        points = sparse.csr_array(X, dtype=self.dtype, copy=True)
        points.sum_duplicates()
        points.data *= self.scale.astype(self.dtype)[points.indices]
        return points


def column_means(X: Any) -> NDArray[np.float64]:
    """Return the mean of each column, summed in parts that are the same for rows in memory and in a file."""
    total = np.zeros(X.shape[1])
    for _, rows in row_parts(X):
        total += rows.sum(axis=0, dtype=np.float64)
    return np.asarray(total / X.shape[0])
