"""Rules that choose gamma from the data.

``"scale"``   scikit-learn's rule, ``1 / (n_features * variance of all entries)``.
``"median"``  1 over the median distance between random pairs of rows, in the distance that the kernel uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.stored import row_parts

from .contract import Pairwise

N_PAIRS = 5_000
MOST_ENTRIES = 5_000_000


def scale_gamma(X: Any) -> float:
    """Return ``1 / (n_features * X.var())``, or 1 where the data do not vary."""
    if sparse.issparse(X):
        mean = X.mean()
        variance = float(X.multiply(X).mean() - mean * mean)
    else:
        size = X.shape[0] * X.shape[1]
        mean = sum(float(rows.sum(dtype=np.float64)) for _, rows in row_parts(X)) / size
        variance = sum(float(np.square(rows - np.float64(mean)).sum()) for _, rows in row_parts(X)) / size
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def median_gamma(X: Any, pairwise: Pairwise, rng: np.random.Generator) -> float:
    """Return 1 over the median pairwise distance of random pairs, or 1 where most pairs coincide."""
    n_pairs = max(100, min(N_PAIRS, MOST_ENTRIES // X.shape[1]))
    left, right = rng.integers(0, X.shape[0], (2, n_pairs))
    a, b = (X[left], X[right])
    if sparse.issparse(X):
        a, b = a.toarray(), b.toarray()
    a, b = a.astype(np.float64), b.astype(np.float64)
    median = float(np.median(_distances(a, b, pairwise)[left != right])) if X.shape[0] > 1 else 0.0
    return 1.0 / median if median > 0 else 1.0


def _distances(a: NDArray[np.float64], b: NDArray[np.float64], pairwise: Pairwise) -> NDArray[np.float64]:
    match pairwise:
        case Pairwise.MANHATTAN:
            distances = np.abs(a - b).sum(axis=1)
        case Pairwise.CHI_SQUARED:
            total = a + b
            distances = np.divide((a - b) ** 2, total, out=np.zeros_like(total), where=total > 0).sum(axis=1)
        case _:
            distances = ((a - b) ** 2).sum(axis=1)
    return np.asarray(distances, dtype=np.float64)
