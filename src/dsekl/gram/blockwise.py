"""Products for kernels that do not look at columns: Python functions of objects, and precomputed matrices.

Both have their blocks from elsewhere, so they share everything but where a block comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dsekl.kernels import ObjectKernel, Precomputed
from dsekl.rows import CrossRows, ObjectRows, Rows
from dsekl.workers import Workers, chunks

from .gram import Array, Floats, Indices, Unpruned, Values, require, require_array

MOST_PAIRS_A_CALL = 1_000_000
"""Pairs that one call of a user's function is asked for; each may cost milliseconds."""

DIAGONAL_ROWS = 32
"""Objects that one call is asked for to find k(x, x): few beside those of an epoch, and no call for each object."""


MOST_PADDED = 2**24
"""Bytes up to which texts from a file become an array of one width."""

MOST_PADDING = 64
"""Times its own bytes that a larger array of texts may take; beyond, it is an array of objects."""


class BlockSource(Protocol):
    """Where kernel blocks come from."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_terms(self) -> int: ...

    @property
    def symmetric(self) -> bool: ...

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array: ...

    def at(self, rows: Rows) -> BlockSource: ...

    def with_rows(self, rows: NDArray[np.intp]) -> BlockSource: ...

    def restricted(self, cols: NDArray[np.intp]) -> BlockSource: ...

    def square(self) -> BlockSource | None: ...

    def detached(self) -> BlockSource: ...

    def to_values(self) -> Values: ...


@dataclass(frozen=True)
class ObjectBlocks:
    """Blocks from a user's function of two sequences of objects."""

    function: Callable[[Any, Any], ArrayLike]
    row_objects: ObjectRows
    col_objects: ObjectRows

    @property
    def n_rows(self) -> int:
        return len(self.row_objects)

    @property
    def n_terms(self) -> int:
        return len(self.col_objects)

    @property
    def symmetric(self) -> bool:
        return self.row_objects is self.col_objects

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        left, right = self.row_objects.take(rows).values, self.col_objects.take(cols).values
        found = self.function(left, right)
        block = np.asarray(sparse.csr_array(found).toarray() if sparse.issparse(found) else found, dtype=np.float64)
        if block.shape != (len(rows), len(cols)):
            raise ValueError(
                f"kernel={self.function!r} returned shape {block.shape} for sequences of length {len(rows)} and "
                f"{len(cols)}; it must return shape {(len(rows), len(cols))}, one row per object of the first"
            )
        if not np.isfinite(block).all():
            raise ValueError(f"kernel={self.function!r} returned NaN or infinite values; it must return finite numbers")
        return block

    def at(self, rows: Rows) -> ObjectBlocks:
        if not isinstance(rows, ObjectRows):
            raise TypeError(f"kernel={self.function!r} takes objects, not {type(rows).__name__}")
        return replace(self, row_objects=rows)

    def with_rows(self, rows: NDArray[np.intp]) -> ObjectBlocks:
        return replace(self, row_objects=self.row_objects.take(rows))

    def restricted(self, cols: NDArray[np.intp]) -> ObjectBlocks:
        return replace(self, col_objects=self.col_objects.take(cols))

    def square(self) -> ObjectBlocks:
        return replace(self, row_objects=self.col_objects)

    def detached(self) -> ObjectBlocks:
        return replace(self, row_objects=ObjectRows([]))

    def to_values(self) -> Values:
        """Return numbers as they are, and texts as their bytes end to end."""
        objects = self.col_objects.values
        if isinstance(objects, np.ndarray) and objects.dtype.kind in "biuf":
            return {"kind": "objects", "numbers": objects}
        if not all(isinstance(text, str) for text in objects):
            kinds = sorted({type(thing).__name__ for thing in objects})
            raise ValueError(
                f"the kernel's points are objects of type {', '.join(kinds)}, and a model file holds numbers and texts "
                "alone; use joblib.dump and load only files that you trust"
            )
        texts = [text.encode("utf-8", "surrogatepass") for text in objects]
        container = "list" if not isinstance(objects, np.ndarray) else "O"
        if isinstance(objects, np.ndarray) and objects.dtype.kind == "U":
            container = objects.dtype.str
        return {
            "kind": "objects",
            "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "lengths": np.array([len(text) for text in texts], dtype=np.int64),
            "of": container,
        }

    @classmethod
    def from_values(cls, kernel: ObjectKernel, values: Values) -> ObjectBlocks:
        """Return what ``to_values`` described."""
        return cls(kernel.function, ObjectRows([]), ObjectRows(_objects(values)))


@dataclass(frozen=True)
class PrecomputedBlocks:
    """Blocks cut from a matrix that the user made; its columns are the training points.

    ``symmetric`` says that its rows are the training points, too.
    """

    matrix: Array
    chosen: NDArray[np.intp]
    symmetric: bool = False

    @property
    def n_rows(self) -> int:
        return len(self.matrix)

    @property
    def n_terms(self) -> int:
        return len(self.chosen)

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        return np.asarray(self.matrix[np.ix_(rows, self.chosen[cols])], dtype=np.float64)

    def at(self, rows: Rows) -> PrecomputedBlocks:
        if not isinstance(rows, CrossRows):
            raise TypeError(f"kernel='precomputed' takes kernel values, not {type(rows).__name__}")
        return PrecomputedBlocks(rows.values, self.chosen)

    def with_rows(self, rows: NDArray[np.intp]) -> PrecomputedBlocks:
        return PrecomputedBlocks(self.matrix[rows], self.chosen)

    def restricted(self, cols: NDArray[np.intp]) -> PrecomputedBlocks:
        return PrecomputedBlocks(self.matrix, self.chosen[cols])

    def square(self) -> None:
        """Return nothing: a fitted model has no kernel values of its own points."""

    def detached(self) -> PrecomputedBlocks:
        return PrecomputedBlocks(self.matrix[:0].copy(), self.chosen)

    def to_values(self) -> Values:
        return {"kind": "precomputed", "chosen": self.chosen, "n_points": self.matrix.shape[1]}

    @classmethod
    def from_values(cls, values: Values) -> PrecomputedBlocks:
        """Return what ``to_values`` described."""
        chosen, n_points = values["chosen"], values["n_points"]
        require_array(chosen, "numbers of points", "intp")
        require(type(n_points) is int and 0 < n_points < 2**62, "a number of points")
        require(not len(chosen) or 0 <= chosen.min() <= chosen.max() < n_points, "points of the kernel matrix")
        return cls(np.empty((0, n_points)), chosen)


@dataclass(frozen=True)
class BlockwiseGram(Unpruned):
    """The kernel matrix whose blocks come from a ``BlockSource``."""

    kernel: ObjectKernel | Precomputed
    source: BlockSource
    budget: int

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def n_terms(self) -> int:
        return self.source.n_terms

    @property
    def symmetric(self) -> bool:
        return self.source.symmetric

    def columns(self, cols: Indices) -> BlockwiseColumns:
        return BlockwiseColumns(self, np.arange(self.n_terms)[cols])

    def product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        return self.columns(cols).product(rows, V)

    def diagonal(self) -> Floats:
        rows = np.arange(self.n_rows)
        parts = [rows[part] for part in chunks(len(rows), DIAGONAL_ROWS)]
        return np.concatenate([np.zeros(0), *(np.diagonal(self.source.block(part, part)) for part in parts)])

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, min(self.budget // 8, MOST_PAIRS_A_CALL) // max(1, n_cols))

    def at(self, rows: Rows) -> BlockwiseGram:
        return replace(self, source=self.source.at(rows))

    def with_rows(self, rows: Indices) -> BlockwiseGram:
        return replace(self, source=self.source.with_rows(np.arange(self.n_rows)[rows]))

    def restricted(self, cols: Indices) -> BlockwiseGram:
        return replace(self, source=self.source.restricted(np.arange(self.n_terms)[cols]))

    def square(self) -> BlockwiseGram | None:
        source = self.source.square()
        return None if source is None else replace(self, source=source)

    def detached(self) -> BlockwiseGram:
        return replace(self, source=self.source.detached())

    def with_workers(self, workers: Workers) -> BlockwiseGram:
        # A user's function holds the GIL, so threads would only wait for each other.
        return self

    def to_values(self) -> Values:
        return {**self.source.to_values(), "budget": self.budget}


@dataclass(frozen=True)
class BlockwiseColumns:
    """Some columns of a blockwise gram."""

    gram: BlockwiseGram
    cols: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.cols)

    def block(self, rows: Indices) -> Array:
        wanted = np.arange(self.gram.n_rows)[rows]
        if not len(wanted) or not len(self):
            return np.zeros((len(wanted), len(self)))
        return self.gram.source.block(wanted, self.cols)

    def product(self, rows: Indices, V: Array) -> Floats:
        wanted = np.arange(self.gram.n_rows)[rows]
        out = np.zeros((len(wanted), V.shape[1]))
        for part in chunks(len(wanted), self.gram.chunk_rows(len(self))):
            out[part] = self.block(wanted[part]) @ V
        return out


def _objects(values: Values) -> Sequence[Any] | NDArray[Any]:
    if "numbers" in values:
        numbers: NDArray[Any] = values["numbers"]
        require(isinstance(numbers, np.ndarray) and numbers.ndim > 0, "an array of numbers")
        require(numbers.dtype.kind != "f" or bool(np.isfinite(numbers).all()), "numbers that are finite")
        return numbers
    lengths, of = values["lengths"], values["of"]
    require_array(lengths, "texts of their lengths", "int64")
    require_array(values["text"], "texts", "uint8")
    content = values["text"].tobytes()
    require(not len(lengths) or 0 <= lengths.min() <= lengths.max() <= len(content), "texts of their lengths")
    require(sum(lengths.tolist()) == len(content), "texts of their lengths")
    ends = np.cumsum(lengths)
    parts = zip(ends - lengths, ends, strict=True)
    texts = [content[start:end].decode("utf-8", "surrogatepass") for start, end in parts]
    if of == "list":
        return texts
    require(type(of) is str and (of == "O" or of.startswith("<U")), "a list or an array of texts")
    # An array of texts is as wide as the longest: one text could ask for far more memory than the file has bytes.
    widest = max((len(text) for text in texts), default=0)
    padded = of != "O" and 4 * widest * len(texts) <= max(MOST_PADDED, MOST_PADDING * len(content))
    return np.array(texts, dtype=str if padded else object)
