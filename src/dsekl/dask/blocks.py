"""Dask collections as blocks of rows: X, y and weights of the same rows together, so that none can be misaligned.

Nothing is computed here but what collections say of themselves. Lengths that they do not know are checked where the
blocks are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection

from .lazy import apart, lazily

CHUNK_ROWS = 2**16
"""Rows of a block where X is an array in memory."""

BESIDE = "dsekl beside X "
"""What the names of columns begin with that are added to X for a while."""

MOST_READS = 1_000
"""Tasks that read blocks: where blocks are more, each task reads several."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of X, y and weights as delayed values; ``columns`` are the names of a frame's columns."""

    X: list[Any]
    y: list[Any]
    weights: list[Any] | None
    columns: list[str] | None
    n_features: int

    def groups(self) -> list[range]:
        """Return consecutive blocks that are read together: one each, unless they are very many."""
        size = -(-len(self.X) // MOST_READS)
        return [range(start, min(start + size, len(self.X))) for start in range(0, len(self.X), size)]

    def of(self, group: range) -> tuple[list[Any], list[Any], list[Any] | None]:
        """Return the blocks of a group."""
        some = slice(group.start, group.stop)
        return self.X[some], self.y[some], None if self.weights is None else self.weights[some]


def blocks_of(X: Any, y: Any, sample_weight: Any = None) -> Blocks:
    """Return the blocks of a set of examples; errors name what does not fit."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    X = as_collection(X, "X")
    if is_frame(X) and is_frame(y) and (sample_weight is None or is_frame(sample_weight)):
        together = _blocks_of_frames(X, y, sample_weight)
        if together is not None:
            return together
    rows, columns, n_features = blocks_of_X(X)
    chunks = X.chunks[0] if isinstance(X, da.Array) else None
    beside = {"y": y, "sample_weight": sample_weight}
    found = {name: _beside(name, given, chunks, len(rows)) for name, given in beside.items() if given is not None}
    return Blocks(rows, found["y"], found.get("sample_weight"), columns, n_features)


def _joined(X: Any, beside: list[Any]) -> Any | None:
    """Return a frame with the columns of others, None where that is more than to put rows of one source side by side.

    Frames of several sources Dask would align by their indices, which files may count from 0 each. Within a partition
    rows belong together by their places, whatever indices say.
    """
    named = {f"{BESIDE}{k}": column.map_partitions(_by_place, clear_divisions=True) for k, column in enumerate(beside)}
    whole = X.map_partitions(_by_place, clear_divisions=True).assign(**named)
    return whole if type(whole.expr).__name__ == "Assign" else None


def _blocks_of_frames(X: Any, y: Any, sample_weight: Any) -> Blocks | None:
    """Return the blocks of frames by way of one frame, None where they have no source in common.

    Dask reads fewer columns in fewer, larger partitions, so that two frames of one file need not be cut alike.
    """
    frames = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    counts = [_columns(frame)[0].map_partitions(_count, meta=("count", "i8")) for frame in frames.values()]
    whole = _joined(X, [*(column for frame in frames.values() for column in _columns(frame)), *counts])
    if whole is None:
        return None
    n, last = len(X.columns), len(X.columns) + len(_columns(y))
    count = len(whole.columns) - len(counts)
    of, told, blocks = lazily("columns", _columns_from), lazily("beside", _beside_from), blocks_in(whole)
    ends = (n, None if y.ndim == 1 else last)
    rows, targets = [of(block, 0, n) for block in blocks], [told(block, count, *ends) for block in blocks]
    weighed = None if sample_weight is None else [told(block, count + 1, last) for block in blocks]
    return Blocks(rows, targets, weighed, [str(name) for name in X.columns], n)


def _by_place(frame: Any) -> Any:
    """Return a block whose index is the places of its rows."""
    return frame.reset_index(drop=True)


def _count(column: Any) -> Any:
    """Return how many rows there are, for each of them."""
    return column.reset_index(drop=True).isna() * 0 + len(column)


def _columns(frame: Any) -> list[Any]:
    """Return the columns of a frame, or the one that it is."""
    return [frame[name] for name in frame.columns] if frame.ndim == 2 else [frame]


def _columns_from(block: Any, first: int, last: int | None = None) -> Any:
    """Return one column of a block of a frame by its place, or those up to another."""
    return block.iloc[:, first] if last is None else block.iloc[:, first:last]


def _beside_from(block: Any, count: int, first: int, last: int | None = None) -> Any:
    """Return such columns of a frame beside X, as long as they were there: whoever reads them names the difference."""
    counts, found = block.iloc[:, count], _columns_from(block, first, last)
    n = 0 if counts.isna().all() else int(counts.max())
    return found if n == len(found) else found.reindex(range(n))


def columns_of_no_numbers(X: Any) -> list[str]:
    """Return the columns of a frame that hold no numbers, each with its type."""
    if not is_frame(X):
        return []
    return [
        f"{name!r} of type {kind}"
        for name, kind in X.dtypes.items()
        if not (hasattr(kind, "kind") and kind.kind in "biuf")
    ]


def blocks_of_X(X: Any) -> tuple[list[Any], list[str] | None, int]:
    """Return the blocks of X, the names of its columns, and how many there are."""
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; give a dask array of shape (n_samples, n_features)")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X is a dask array of {X.dtype}; give numbers, and encode texts and times")
        if not X.shape[1]:
            raise ValueError("X has 0 columns; give at least one")
        whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        return blocks_in(whole), None, int(X.shape[1])
    if X.ndim != 2:
        raise ValueError(f"X is the column {X.name!r}; give a frame, e.g. frame[[{X.name!r}]]")
    return blocks_in(X), [str(name) for name in X.columns], len(X.columns)


def blocks_in(collection: Any) -> list[Any]:
    """Return the blocks of a collection as delayed values."""
    return apart(np.ravel(collection.to_delayed()).tolist())


def is_frame(X: Any) -> bool:
    """Tell whether a collection is a frame or one of its columns."""
    if isinstance(X, da.Array) or not is_dask_collection(X):
        return False
    return all(hasattr(type(X), name) for name in ("to_delayed", "ndim"))  # a delayed value says that it has them all


def as_collection(X: Any, name: str) -> Any:
    """Return X as a dask collection; arrays and frames in memory are cut."""
    if isinstance(X, da.Array) or is_frame(X):
        return X
    if is_dask_collection(X):
        raise TypeError(f"{name} is a {type(X).__name__} of Dask; give a dask array or dataframe")
    if hasattr(X, "iloc"):
        from dask.dataframe import from_pandas

        return from_pandas(X, chunksize=CHUNK_ROWS, sort=False)
    if hasattr(X, "toarray"):
        raise ValueError(f"{name} is a sparse matrix, and rows on Dask are dense; give {name}.toarray()")
    values = np.asarray(X)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} is of type {values.dtype}; give a dask array or dataframe of numbers")
    return da.from_array(values, chunks=(CHUNK_ROWS, *values.shape[1:]))


def _beside(name: str, given: Any, chunks: tuple[float, ...] | None, n_blocks: int) -> list[Any]:
    """Return the blocks of y or of weights, cut as X is."""
    if is_frame(given):
        blocks = blocks_in(given)
    else:
        known = chunks is not None and not np.isnan(chunks).any()
        if not isinstance(given, da.Array):
            if is_dask_collection(given):
                raise TypeError(f"{name} is a {type(given).__name__} of Dask; give a dask array or a column")
            values = np.asarray(given)
            if not values.ndim:
                raise ValueError(f"{name}={given!r} is no array; give one number a row")
            n = int(sum(chunks)) if known and chunks is not None else len(values)
            if not known and n_blocks > 1:
                raise ValueError(
                    f"{name} is in memory, and the lengths of the blocks of X are not known; give {name} as a dask "
                    "collection cut as X is, e.g. a column of the same frame, or X as an array of known lengths: "
                    "compute_chunk_sizes() of an array, to_dask_array(lengths=True) of a frame"
                )
            _require_length(name, len(values), n)
            given = da.from_array(values, chunks=(chunks if known else len(values), *values.shape[1:]))
        own = given.chunks[0]
        if known and chunks is not None and not np.isnan(own).any():
            _require_length(name, int(sum(own)), int(sum(chunks)))
            given = given if own == chunks else given.rechunk({0: chunks})
        if given.ndim == 2 and given.numblocks[1] > 1:
            given = given.rechunk({1: -1})
        blocks = blocks_in(given)
    if len(blocks) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} blocks and {name} has {len(blocks)}, and their lengths are not known; cut both alike, "
            "e.g. by taking both from one dataframe, or call compute_chunk_sizes() first"
        )
    return blocks


def _require_length(name: str, found: int, n: int) -> None:
    if found != n:
        raise ValueError(f"X has {n} rows and {name} has {found}; give as many of both")
