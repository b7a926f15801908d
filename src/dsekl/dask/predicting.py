"""Lazy predictions: a dask array with a block for each block of the queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from dsekl.data.encoding import TableEncoder
from dsekl.estimators import gaps
from dsekl.models import Model
from dsekl.rows import ArrayRows

from .blocks import as_collection, blocks_of_X
from .frame_blocks import encoded_block
from .lazy import lazily
from .partitions import numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ending:
    """What is done with the sum of the terms: the targets' unit, what is beside the terms, and the last step.

    ``beside`` is a model without terms, for its intercept and its trend.
    """

    unit: Floats
    beside: Model
    finish: Callable[[Floats], NDArray[Any]]


@dataclass(frozen=True)
class Reader:
    """Makes numbers of blocks of queries: by the encoder of the training rows, or with their medians for gaps."""

    names: Sequence[str]
    has_names: bool
    encoder: TableEncoder | None
    medians: Floats | None

    def check(self, columns: Sequence[str] | None, n_features: int) -> None:
        """Refuse columns that are not those of the training set."""
        if self.encoder is not None and columns is not None:
            absent = [name for name in self.encoder.names if name not in columns]
            if absent:
                raise ValueError(f"X lacks the column {absent[0]!r}, which the model was trained on; it has {columns}")
            return
        if n_features != len(self.names):
            raise ValueError(f"X has {n_features} features, but the model was fitted on {len(self.names)} features")
        if columns is not None and self.has_names and list(columns) != list(self.names):
            raise ValueError(
                f"X has the columns {columns}, and the model was fitted on {list(self.names)}; give the same, in their "
                "order"
            )

    def numbers(self, X: Any, number: int) -> NDArray[Any]:
        """Return a block of queries as finite numbers."""
        if self.encoder is not None:
            return encoded_block(X, self.encoder, self.names, number)
        values = numbers(X, len(self.names))
        if self.medians is not None:
            values = gaps.filled(values, self.medians, self._names)
        if not np.isfinite(values).all():
            raise ValueError(f"X holds NaN or infinity in partition {number}; put a number in its place")
        return values

    def _names(self) -> NDArray[Any]:
        return np.array(self.names, dtype=object)


def sum_of_terms(values: NDArray[Any], model: Model, budget: int) -> Floats:
    """Return what the terms of a group add to f at a block of queries."""
    if not len(values):
        return np.zeros((0, model.coef.shape[1]))
    return model.evaluate_terms(ArrayRows(values), budget=budget)


def ended(values: NDArray[Any], sums: Sequence[Floats], ending: Ending) -> NDArray[Any]:
    """Return the predictions of a block from the sums of all groups."""
    f = sums[0].copy()
    for more in sums[1:]:
        f += more
    f *= ending.unit
    return ending.finish(f + ending.beside.beside(ArrayRows(values)))


def blocks_of_queries(X: Any, reader: Reader) -> tuple[list[Any], tuple[float, ...]]:
    """Return the blocks of queries, and their lengths as far as they are known; checked against the training set."""
    X = as_collection(X, "X")
    blocks, columns, found = blocks_of_X(X)
    reader.check(columns, found)
    return blocks, X.chunks[0] if isinstance(X, da.Array) else (float("nan"),) * len(blocks)


def delayed_predictions(
    blocks: Sequence[Any], reader: Reader, models: Sequence[Any], budget: int, ending: Ending
) -> list[Any]:
    """Return the predictions of blocks as delayed values."""
    read = lazily("numbers", reader.numbers)
    terms = lazily("sum-of-terms", sum_of_terms)
    end = lazily("predict", ended)
    rows = [read(block, number) for number, block in enumerate(blocks)]
    return [end(values, [terms(values, model, budget) for model in models], ending) for values in rows]


def as_array(pieces: Sequence[Any], lengths: Sequence[float], shape: tuple[int, ...], dtype: Any) -> da.Array:
    """Return delayed blocks as one dask array; ``shape`` is that of one row's prediction."""
    arrays = [da.from_delayed(piece, (n, *shape), dtype) for piece, n in zip(pieces, lengths, strict=True)]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
