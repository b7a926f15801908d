"""What every kind of rows can do."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Indices = NDArray[np.intp] | slice


class Rows(Protocol):
    """One row for each example."""

    def __len__(self) -> int: ...

    @property
    def n_features(self) -> int:
        """Entries of a row; 1 for objects."""

    @property
    def values(self) -> object:
        """The rows as scikit-learn knows them."""

    def take(self, places: Indices) -> Rows:
        """Return some of the rows."""

    def digest(self) -> str:
        """Return the SHA-256 of their content."""


class NumberRows(Rows, Protocol):
    """Rows of numbers: dense, in a file, or CSR."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def dense(self, places: Indices) -> Array:
        """Return some rows as a dense array in memory."""

    def variance(self) -> float:
        """Return the variance of all entries."""

    def ranges(self, most_rows: int) -> tuple[Array, NDArray[np.float64]]:
        """Return columns, ascending, and their greatest less their least entry, in at most so many evenly spaced rows.

        Columns that are left out are 0 in these rows.
        """

    def largest(self) -> tuple[int, float]:
        """Return the largest absolute value, and the column that it is in before it."""

    def lowest(self) -> float:
        """Return the least entry of all."""
