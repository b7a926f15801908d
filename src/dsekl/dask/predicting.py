"""Lazy predictions: a dask array with a block for each block of the queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray

from dsekl.models import Model
from dsekl.rows import ArrayRows

from .blocks import blocks_of_X, is_frame
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


def sum_of_terms(X: Any, model: Model, n_features: int, budget: int) -> Floats:
    """Return what the terms of a group add to f at a block of queries."""
    values = checked(X, n_features)
    if not len(values):
        return np.zeros((0, model.coef.shape[1]))
    return model.evaluate_terms(ArrayRows(values), budget=budget)


def ended(X: Any, sums: Sequence[Floats], n_features: int, ending: Ending) -> NDArray[Any]:
    """Return the predictions of a block from the sums of all groups."""
    f = sums[0].copy()
    for more in sums[1:]:
        f += more
    f *= ending.unit
    return ending.finish(f + ending.beside.beside(ArrayRows(checked(X, n_features))))


def checked(X: Any, n_features: int) -> NDArray[Any]:
    """Return a block of queries as numbers."""
    values = numbers(X, n_features)
    if not np.isfinite(values).all():
        raise ValueError("X holds NaN or infinity; leave such rows out, or put a number in their place")
    return values


def blocks_of_queries(X: Any, n_features: int, names: Sequence[str] | None) -> tuple[list[Any], tuple[float, ...]]:
    """Return the blocks of queries, and their lengths as far as they are known; checked against the training set."""
    if not isinstance(X, da.Array) and not is_frame(X):
        raise TypeError(f"X is a {type(X).__name__}; give a dask array or dataframe, or call to_local() first")
    blocks, columns, found = blocks_of_X(X)
    if found != n_features:
        raise ValueError(f"X has {found} features, but the model was fitted on {n_features} features")
    if columns is not None and names is not None and list(columns) != list(names):
        raise ValueError(
            f"X has the columns {columns}, and the model was fitted on {list(names)}; give the same, in their order"
        )
    return blocks, X.chunks[0] if isinstance(X, da.Array) else (float("nan"),) * len(blocks)


def delayed_predictions(
    blocks: Sequence[Any], models: Sequence[Any], n_features: int, budget: int, ending: Ending
) -> list[Any]:
    """Return the predictions of blocks as delayed values."""
    terms = dask.delayed(sum_of_terms, name="dsekl-terms", pure=False)
    end = dask.delayed(ended, name="dsekl-predict", pure=False)
    return [
        end(block, [terms(block, model, n_features, budget) for model in models], n_features, ending)
        for block in blocks
    ]


def as_array(pieces: Sequence[Any], lengths: Sequence[float], shape: tuple[int, ...], dtype: Any) -> da.Array:
    """Return delayed blocks as one dask array; ``shape`` is that of one row's prediction."""
    arrays = [da.from_delayed(piece, (n, *shape), dtype) for piece, n in zip(pieces, lengths, strict=True)]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
