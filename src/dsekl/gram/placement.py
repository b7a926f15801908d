"""From raw rows to points: reshape the columns, scale them by gamma, centre them where only differences matter.

Squared distances come from dot products, ``|x|^2 + |z|^2 - 2 <x, z>``, and in float32 that loses digits when
the points lie far from the origin. Distances do not change when all points move together, so the columns are
centred on the training data first; only rounding is at stake.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.kernels import VectorKernel
from dsekl.rows import ArrayRows, CsrRows, DenseRows, NumberRows, ReshapedRows, Reshaping, RowFile, StoredRows
from dsekl.rows.array import chunks_of
from dsekl.rows.reshaping import RANKED, SQUASHED

from .gram import Values, require, require_array

MOST_FEATURES = 2**62
"""Features that a file may speak of."""


def refuse_overflow(norms: NDArray[Any]) -> None:
    """Raise an error for points so far out that their squared distances have no number."""
    if not np.isfinite(norms).all():
        raise ValueError(
            f"squared distances overflow {norms.dtype}: the largest entries of X times gamma are too large. Scale the "
            "columns of X, lower gamma, or set dtype='float64'."
        )


@dataclass(frozen=True)
class Placement:
    """How a raw row becomes a point: ``(row - center) * scale`` in ``dtype``, the row reshaped first if it is to be.

    ``scale`` has one number for each feature, or one number for all of them.
    """

    center: NDArray[np.float64] | None
    scale: NDArray[np.float64]
    dtype: str
    n_features: int
    reshaping: Reshaping | None = None

    @staticmethod
    def of(
        kernel: VectorKernel,
        gamma: float | NDArray[np.float64],
        rows: NumberRows,
        dtype: str,
        reshaping: Reshaping | None = None,
    ) -> Placement:
        """Return the placement that ``kernel`` needs for dense points, centred on the rows."""
        center = None
        if kernel.pairwise.is_distance and isinstance(rows, DenseRows):
            center = rows.means() if reshaping is None else ReshapedRows(rows, reshaping).means()
        return replace(Placement.of_sparse(kernel, gamma, rows, dtype), center=center, reshaping=reshaping)

    @staticmethod
    def of_sparse(kernel: VectorKernel, gamma: float | NDArray[np.float64], rows: NumberRows, dtype: str) -> Placement:
        """Return the placement that ``kernel`` needs for sparse points, which a centre would fill."""
        # Sparse rows may have many more features than entries, so that one number stays one.
        scale = np.array(np.asarray(gamma, dtype=np.float64) ** kernel.gamma_power, ndmin=1)
        return Placement(None, scale, dtype, rows.n_features)

    def dense(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the points of some rows in memory."""
        points = np.empty(rows.shape, dtype=self.dtype)
        self._place(rows, points)
        return points

    def in_memory(self, rows: ArrayRows | CsrRows) -> NDArray[Any]:
        """Return the points of all rows, dense and contiguous, made a chunk at a time."""
        points = np.empty((len(rows), rows.n_features), dtype=self.dtype)
        for part in chunks_of(points.shape):
            self._place(rows.dense(part), points[part])
        return points

    def stored(self, X: StoredRows) -> StoredRows:
        """Return the points of rows in a file, in a file of their own."""
        with RowFile(*X.shape, self.dtype) as file:
            for part, rows in X.chunks():
                file.write(part, self.dense(rows))
        return file.rows

    def entries(self, X: StoredRows, columns: NDArray[np.intp]) -> NDArray[Any]:
        """Return one entry of each point, in the column that is given for it, from one pass over the rows."""
        center = np.broadcast_to(0.0 if self.center is None else self.center, self.n_features)
        scale = np.broadcast_to(self.scale, self.n_features)
        values = np.empty(len(X), dtype=self.dtype)
        for part, rows in X.chunks():
            chosen = columns[part]
            entries = rows[np.arange(len(rows)), chosen]
            if self.reshaping is not None:
                entries = self.reshaping.entries(entries, chosen)
            values[part] = (entries - center[chosen]) * scale[chosen]
        return values

    def sparse(self, rows: ArrayRows | CsrRows) -> sparse.csr_array:
        """Return the points of all rows as sorted CSR."""
        points = sparse.csr_array(rows.values, dtype=self.dtype, copy=True)
        points.sum_duplicates()
        scale = self.scale.astype(self.dtype)
        points.data *= scale if len(scale) == 1 else scale[points.indices]
        return points

    def _place(self, rows: NDArray[Any], points: NDArray[Any]) -> None:
        if self.reshaping is not None:
            rows = self.reshaping(rows)
        points[:] = (rows if self.center is None else rows - self.center) * self.scale

    def to_values(self) -> Values:
        """Return the placement for a file."""
        values: Values = {"center": self.center, "scale": self.scale, "dtype": self.dtype}
        values["n_features"] = self.n_features
        if self.reshaping is not None:
            values["reshaping"] = asdict(self.reshaping)
        return values

    @staticmethod
    def from_values(values: Values) -> Placement:
        """Return the placement that ``to_values`` described."""
        center, scale, dtype = values["center"], values["scale"], values["dtype"]
        require(type(dtype) is str and dtype in ("float32", "float64"), "a type of numbers")
        require_array(scale, "a scale per feature", "float64")
        require(len(scale) > 0 and scale.min() >= 0 and scale.max() > 0, "a scale that is positive")
        n_features = values.get("n_features", len(scale))  # files of format 1 have a scale for each feature
        require(type(n_features) is int and 0 < n_features <= MOST_FEATURES, "a number of features")
        require(len(scale) in (1, n_features), "one scale, or a scale per feature")
        if center is not None:
            require_array(center, "a centre per feature", "float64")
            require(len(center) == n_features, "a centre per feature")
        reshaping = None
        if "reshaping" in values:  # files of columns as they are do not have it
            given = values["reshaping"]
            require(type(given) is dict and set(given) == {"name", "knots", "values"}, "a reshaping")
            require(given["name"] in (SQUASHED, RANKED), "a reshaping that has a name")
            require_array(given["knots"], "knots", "float64", 2)
            require_array(given["values"], "values of the knots", "float64", 2)
            reshaping = Reshaping(given["name"], given["knots"], given["values"])
            reshaping.check(n_features)
        return Placement(center, scale, dtype, n_features, reshaping)
