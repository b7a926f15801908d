"""A basis: functions to expand f in, evaluated at the training rows a block at a time.

It has the shape of a gram, so the empirical kernel map is the gram itself.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Indices = NDArray[np.intp] | slice


class Terms(Protocol):
    """Some of the basis functions, ready to be evaluated."""

    def block(self, rows: Indices) -> Array:
        """Return their values (n_rows, n_chosen) at the rows."""

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        """Return their values times V (n_chosen, n_outputs)."""


class Basis(Protocol):
    """All basis functions."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_terms(self) -> int: ...

    def columns(self, cols: Indices) -> Terms:
        """Prepare the basis functions ``cols``."""

    def product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        """Return the values of the functions ``cols`` at ``rows``, times V."""

    def chunk_rows(self, n_cols: int) -> int:
        """Return how many rows of a block with ``n_cols`` columns fit the memory budget."""

    def at(self, X: Any) -> Basis:
        """Return the same functions at new raw rows."""

    def restricted(self, cols: Indices) -> Basis:
        """Return the basis with the functions ``cols`` alone."""

    def detached(self) -> Basis:
        """Return the basis without rows: what a fitted model keeps."""

    def threaded(self, n_threads: int) -> Basis:
        """Return the basis whose products are shared by ``n_threads`` threads."""


class PlacedBasis(Basis, Protocol):
    """A basis that knows its kernel and its placed row points, as Fourier features need."""

    kernel: Any
    placement: Any
    row_points: Any
    budget: int
