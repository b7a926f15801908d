"""The products that solvers are built on, whatever the points are.

A ``Gram`` stands for the kernel matrix between its row points and its column points, without ever holding
it. ``gram.columns(cols)`` prepares some columns once; their block or product with any rows then costs only
the kernel evaluations. Memory is bounded by the gram's budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Indices = NDArray[np.intp] | slice


class Columns(Protocol):
    """Some columns of the kernel matrix, ready to meet any rows."""

    def block(self, rows: Indices) -> Array:
        """Return ``K[rows, cols]`` of shape (n_rows, n_cols)."""

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        """Return ``K[rows, cols] @ V`` for V of shape (n_cols, n_outputs)."""

    def __len__(self) -> int: ...


class Gram(Protocol):
    """The kernel matrix between row points and column points, made a block at a time."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_terms(self) -> int: ...

    def columns(self, cols: Indices) -> Columns:
        """Prepare the columns ``cols``."""

    def product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        """Return ``K[rows, cols] @ V``."""

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        """Return ``K[rows, cols].T @ V``."""

    def add_product(self, cols: Indices, V: Array, out: NDArray[np.float64]) -> int:
        """Add ``K[:, cols] @ V`` to ``out`` (n_rows, n_outputs); return the number of kernel evaluations."""

    def block(self, rows: Indices, cols: Indices) -> Array:
        """Return ``K[rows, cols]``."""

    def diagonal(self, rows: Indices) -> NDArray[np.float64]:
        """Return ``k(x, x)`` of the rows."""

    def chunk_rows(self, n_cols: int) -> int:
        """Return how many rows of a block with ``n_cols`` columns fit the memory budget."""

    def at(self, X: Any) -> Gram:
        """Return the gram of new raw rows ``X`` with the same column points."""

    def with_rows(self, rows: Indices) -> Gram:
        """Return the gram with the row points ``rows`` alone."""

    def restricted(self, cols: Indices) -> Gram:
        """Return the gram with the column points ``cols`` alone."""

    def detached(self) -> Gram:
        """Return the gram without row points: what a fitted model keeps."""

    def threaded(self, n_threads: int) -> Gram:
        """Return the gram whose products are shared by ``n_threads`` threads."""


def count(indices: Indices, n: int) -> int:
    """Return how many of ``range(n)`` the indices select."""
    return len(range(*indices.indices(n))) if isinstance(indices, slice) else len(indices)


def row_blocks(columns: Columns, rows: NDArray[np.intp], size: int) -> Iterator[tuple[slice, Array]]:
    """Yield ``(part, K[rows[part], cols])`` over consecutive parts of ``rows`` of at most ``size`` rows."""
    for start in range(0, len(rows), size):
        part = slice(start, min(len(rows), start + size))
        yield part, columns.block(rows[part])
