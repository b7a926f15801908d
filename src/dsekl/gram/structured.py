"""Products for kernels that do not look at columns: Python functions of objects, and precomputed matrices.

Both have their blocks from elsewhere, so they share everything but where a block comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .contract import Array, Indices
from .threads import chunks

MOST_PAIRS_A_CALL = 1_000_000
"""Pairs that one call of a user's function is asked for; each may cost milliseconds."""

DIAGONAL_ROWS = 32
"""Objects that one call is asked for to find k(x, x): few beside those of an epoch, and no call for each object."""


class BlockSource(Protocol):
    """Where kernel blocks come from."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_terms(self) -> int: ...

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array: ...

    def at(self, X: Any) -> BlockSource: ...

    def with_rows(self, rows: NDArray[np.intp]) -> BlockSource: ...

    def restricted(self, cols: NDArray[np.intp]) -> BlockSource: ...

    def detached(self) -> BlockSource: ...


@dataclass(frozen=True)
class ObjectBlocks:
    """Blocks from a user's function of two sequences of objects."""

    function: Callable[[Sequence[Any], Sequence[Any]], ArrayLike]
    row_objects: Any
    col_objects: Any

    @property
    def n_rows(self) -> int:
        return len(self.row_objects)

    @property
    def n_terms(self) -> int:
        return len(self.col_objects)

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        left, right = select(self.row_objects, rows), select(self.col_objects, cols)
        block = np.asarray(self.function(left, right), dtype=np.float64)
        if block.shape != (len(rows), len(cols)):
            raise ValueError(
                f"kernel={self.function!r} returned shape {block.shape} for sequences of length {len(rows)} and "
                f"{len(cols)}; it must return shape {(len(rows), len(cols))}, one row per object of the first"
            )
        if not np.isfinite(block).all():
            raise ValueError(f"kernel={self.function!r} returned NaN or infinite values; it must return finite numbers")
        return block

    def at(self, X: Any) -> ObjectBlocks:
        return replace(self, row_objects=X)

    def with_rows(self, rows: NDArray[np.intp]) -> ObjectBlocks:
        return replace(self, row_objects=select(self.row_objects, rows))

    def restricted(self, cols: NDArray[np.intp]) -> ObjectBlocks:
        return replace(self, col_objects=select(self.col_objects, cols))

    def detached(self) -> ObjectBlocks:
        return replace(self, row_objects=[])


@dataclass(frozen=True)
class PrecomputedBlocks:
    """Blocks cut from a matrix that the user made; its columns are the training points."""

    matrix: Array
    chosen: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        return len(self.matrix)

    @property
    def n_terms(self) -> int:
        return len(self.chosen)

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        return np.asarray(self.matrix[np.ix_(rows, self.chosen[cols])], dtype=np.float64)

    def at(self, X: Array) -> PrecomputedBlocks:
        return replace(self, matrix=X)

    def with_rows(self, rows: NDArray[np.intp]) -> PrecomputedBlocks:
        return replace(self, matrix=self.matrix[rows])

    def restricted(self, cols: NDArray[np.intp]) -> PrecomputedBlocks:
        return replace(self, chosen=self.chosen[cols])

    def detached(self) -> PrecomputedBlocks:
        return replace(self, matrix=self.matrix[:0].copy())


def select(objects: Any, indices: NDArray[np.intp]) -> Any:
    """Return the chosen objects: an array from an array, a list from any other sequence."""
    if isinstance(objects, np.ndarray):
        return objects[indices]
    return [objects[i] for i in indices]


@dataclass(frozen=True)
class StructuredGram:
    """The kernel matrix whose blocks come from a ``BlockSource``."""

    source: BlockSource
    budget: int

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def n_terms(self) -> int:
        return self.source.n_terms

    def columns(self, cols: Indices) -> StructuredColumns:
        return StructuredColumns(self, np.arange(self.n_terms)[cols])

    def product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        return self.columns(cols).product(rows, V)

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        wanted, columns = np.arange(self.n_rows)[rows], self.columns(cols)
        out = np.zeros((len(columns), V.shape[1]))
        for part in chunks(len(wanted), self.chunk_rows(len(columns))):
            out += columns.block(wanted[part]).T @ V[part]
        return out

    def add_product(self, cols: Indices, V: Array, out: NDArray[np.float64]) -> int:
        out += self.product(slice(None), cols, V)
        return len(out) * len(V)

    def block(self, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)

    def diagonal(self, rows: Indices) -> NDArray[np.float64]:
        # Rows and columns are the same objects in training, the only place where a diagonal has a meaning.
        wanted = np.arange(self.n_rows)[rows]
        parts = [wanted[part] for part in chunks(len(wanted), DIAGONAL_ROWS)]
        return np.concatenate([np.zeros(0), *(np.diagonal(self.source.block(part, part)) for part in parts)])

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, min(self.budget // 8, MOST_PAIRS_A_CALL) // max(1, n_cols))

    def at(self, X: Any) -> StructuredGram:
        return replace(self, source=self.source.at(X))

    def with_rows(self, rows: Indices) -> StructuredGram:
        return replace(self, source=self.source.with_rows(np.arange(self.n_rows)[rows]))

    def restricted(self, cols: Indices) -> StructuredGram:
        return replace(self, source=self.source.restricted(np.arange(self.n_terms)[cols]))

    def detached(self) -> StructuredGram:
        return replace(self, source=self.source.detached())

    def threaded(self, n_threads: int) -> StructuredGram:
        # A user's function holds the GIL, so threads would only wait for each other.
        return self


@dataclass(frozen=True)
class StructuredColumns:
    """Some columns of a structured gram."""

    gram: StructuredGram
    cols: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.cols)

    def block(self, rows: Indices) -> Array:
        wanted = np.arange(self.gram.n_rows)[rows]
        if not len(wanted) or not len(self):
            return np.zeros((len(wanted), len(self)))
        return self.gram.source.block(wanted, self.cols)

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        wanted = np.arange(self.gram.n_rows)[rows]
        out = np.zeros((len(wanted), V.shape[1]))
        for part in chunks(len(wanted), self.gram.chunk_rows(len(self))):
            out[part] = self.block(wanted[part]) @ V
        return out
