"""Scores as sums over blocks: labels and predictions stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from .blocks import blocks_of
from .cluster import DaskExecutor
from .lazy import lazily
from .partitions import column

Floats = NDArray[np.float64]
Predict = Callable[[Sequence[Any]], list[Any]]
"""Makes delayed predictions of blocks of rows."""


def accuracy(client: Client, predict: Predict, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the weighted share of right labels."""
    right, weight = _summed(client, _right, predict, X, y, sample_weight)
    return float(right / weight)


def r2(client: Client, predict: Predict, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the coefficient of determination, the mean over targets."""
    weight, total, squares, residuals = _summed(client, _moments, predict, X, y, sample_weight)
    spread = squares - total**2 / weight
    ratio = np.divide(residuals, spread, out=np.ones_like(spread), where=spread > 0)
    return float(np.mean(1.0 - np.where((spread <= 0) & (residuals == 0), 0.0, ratio)))


def _summed(
    client: Client, task: Callable[..., Floats], predict: Predict, X: Any, y: Any, sample_weight: Any
) -> Floats:
    """Return sums over all blocks, by the client that knows the model: another one may be this process's own."""
    blocks = blocks_of(X, y, sample_weight)
    each = lazily("score", task)
    weights = [None] * len(blocks.y) if blocks.weights is None else blocks.weights
    parts = [each(f, of, w) for f, of, w in zip(predict(blocks.X), blocks.y, weights, strict=True)]
    executor = DaskExecutor(client)
    return np.asarray(np.sum(executor.gather(executor.compute(parts)), axis=0))


def _right(f: NDArray[Any], y: Any, weights: Any) -> Floats:
    _require_as_many(f, y, weights)
    w = _weights(weights, len(f))
    return np.array([w[f == column(y)].sum(), w.sum()])


def _moments(f: Floats, y: Any, weights: Any) -> Floats:
    _require_as_many(f, y, weights)
    values, w = column(y).astype(np.float64).reshape(len(f), -1), _weights(weights, len(f))[:, None]
    f = f.reshape(values.shape)
    weight = np.broadcast_to(w.sum(), values.shape[1:])
    return np.stack(
        [weight, (w * values).sum(axis=0), (w * values**2).sum(axis=0), (w * (values - f) ** 2).sum(axis=0)]
    )


def _require_as_many(f: NDArray[Any], y: Any, weights: Any) -> None:
    for name, given in (("y", y), ("sample_weight", weights)):
        if given is not None and len(given) != len(f):
            raise ValueError(f"a partition has {len(f)} rows of X and {len(given)} of {name}; cut both alike")


def _weights(given: Any, n: int) -> Floats:
    return np.ones(n) if given is None else np.asarray(column(given), dtype=np.float64)
