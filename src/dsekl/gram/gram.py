"""The one contract for what f is expanded in: ``f(rows) = G coef``, with G made block by block and never held whole.

A ``Gram`` stands for the matrix with a line for each of its rows and a column for each term of f. For the empirical
kernel map the terms are the training points and G is the kernel matrix; for random Fourier features they are cosines.
``gram.columns(cols)`` prepares some columns once; their block or product with any rows then costs only the
evaluations. Memory is bounded by the gram's budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Kernel
from dsekl.rows import Indices, Rows
from dsekl.workers import Workers

Array = NDArray[Any]
Floats = NDArray[np.float64]
Values = dict[str, Any]
"""Arrays and plain values, as a file can hold them."""

LARGEST = 1e150
"""Kernel values up to this have squares, and sums of them."""

__all__ = [
    "LARGEST",
    "Array",
    "Columns",
    "Floats",
    "Gram",
    "Indices",
    "Unpruned",
    "Values",
    "count",
    "require",
    "require_array",
    "require_squares",
    "row_blocks",
    "without_square",
]


class Columns(Protocol):
    """Some columns of the matrix, ready to meet any rows."""

    def block(self, rows: Indices) -> Array:
        """Return ``G[rows, cols]`` of shape (n_rows, n_cols)."""

    def product(self, rows: Indices, V: Array) -> Floats:
        """Return ``G[rows, cols] @ V`` for V of shape (n_cols, n_outputs)."""

    def __len__(self) -> int: ...


class Gram(Protocol):
    """The matrix between rows and terms, made a block at a time."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_terms(self) -> int: ...

    @property
    def symmetric(self) -> bool:
        """True where term j is the kernel function on row j: what solvers of the dual need."""

    @property
    def order(self) -> NDArray[np.intp] | None:
        """Which raw row each row is, where the rows were put into a spatial order; None where they were not."""

    @property
    def reach(self) -> float:
        """Pairwise value from which on kernel values are left out; infinite where none are."""

    def columns(self, cols: Indices) -> Columns:
        """Prepare the columns ``cols``."""

    def product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        """Return ``G[rows, cols] @ V``."""

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        """Return ``G[rows, cols].T @ V``."""

    def add_product(self, cols: Indices, V: Array, out: Floats) -> int:
        """Add ``G[:, cols] @ V`` to ``out`` (n_rows, n_outputs); return the number of evaluations."""

    def block(self, rows: Indices, cols: Indices) -> Array:
        """Return ``G[rows, cols]``."""

    def diagonal(self) -> Floats:
        """Return ``k(x, x)`` of all rows of a symmetric gram."""

    def chunk_rows(self, n_cols: int) -> int:
        """Return how many rows of a block with ``n_cols`` columns fit the memory budget."""

    def at(self, rows: Rows) -> Gram:
        """Return the gram of new raw rows with the same terms."""

    def with_rows(self, rows: Indices) -> Gram:
        """Return the gram with some of its rows alone."""

    def restricted(self, cols: Indices) -> Gram:
        """Return the gram with some of its terms alone."""

    def square(self) -> Gram | None:
        """Return the gram of the terms' own points; None where the terms have none, or nobody knows their values."""

    def detached(self) -> Gram:
        """Return the gram without rows: what a fitted model keeps."""

    def with_workers(self, workers: Workers) -> Gram:
        """Return the gram whose products are shared by ``workers``."""

    def to_values(self) -> Values:
        """Return what a detached gram is made of, without its kernel, for a file."""


class Unpruned:
    """What grams that compute whole blocks, and leave out no pair, have in common."""

    @property
    def order(self) -> None:
        return None

    @property
    def reach(self) -> float:
        return np.inf

    def transposed_product(self: Gram, rows: Indices, cols: Indices, V: Array) -> Floats:
        wanted, columns = np.arange(self.n_rows)[rows], self.columns(cols)
        out = np.zeros((len(columns), V.shape[1]))
        for part, block in row_blocks(columns, wanted, self.chunk_rows(max(1, len(columns)))):
            out += block.T @ V[part]
        return out

    def add_product(self: Gram, cols: Indices, V: Array, out: Floats) -> int:
        out += self.product(slice(None), cols, V)
        return len(out) * len(V)

    def block(self: Gram, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)


def count(indices: Indices, n: int) -> int:
    """Return how many of ``range(n)`` the indices select."""
    return len(range(*indices.indices(n))) if isinstance(indices, slice) else len(indices)


def row_blocks(columns: Columns, rows: NDArray[np.intp], size: int) -> Iterator[tuple[slice, Array]]:
    """Yield ``(part, G[rows[part], cols])`` over consecutive parts of ``rows`` of at most ``size`` rows."""
    for start in range(0, len(rows), size):
        part = slice(start, min(len(rows), start + size))
        yield part, columns.block(rows[part])


def require_squares(values: Array) -> float:
    """Return the largest of some kernel values; ValueError for those that have no squares in float64."""
    largest = float(np.abs(values).max(initial=0.0))
    if not largest <= LARGEST:
        raise without_square(largest)
    return largest


def without_square(value: float) -> ValueError:
    """Return the error for a kernel value that has no square."""
    return ValueError(
        f"kernel values are not finite, or too large for squares, with {value:.3g} as the largest; scale the columns "
        "of X, or lower gamma"
    )


def require_array(value: Any, what: str, dtype: str, ndim: int = 1) -> None:
    """Raise ValueError for a value, read from a file, that is no array of finite numbers of this type."""
    require(isinstance(value, np.ndarray) and value.dtype == np.dtype(dtype) and value.ndim == ndim, what)
    require(value.dtype.kind != "f" or bool(np.isfinite(value).all()), what)


def require(condition: bool | np.bool_, what: str) -> None:
    """Raise ValueError for values, read from a file, that the compiled products could not trust."""
    if not condition:
        raise ValueError(f"the file's points lack {what}")
