"""Rules that choose gamma from the data.

``"scale"``   scikit-learn's rule, ``1 / (n_features * variance of all entries)``.
``"median"``  1 over the median distance between random pairs of rows, in the distance that the kernel uses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dsekl.rows import CsrRows, NumberRows, as_rows

from .kernel import Pairwise

N_PAIRS = 5_000
MOST_ENTRIES = 5_000_000


def scale_gamma(X: ArrayLike | NumberRows) -> float:
    """Return ``1 / (n_features * X.var())``, or 1 where the data do not vary."""
    rows = as_rows(X)
    variance = rows.variance()
    return 1.0 / (rows.n_features * variance) if variance > 0 else 1.0


def median_gamma(X: ArrayLike | NumberRows, pairwise: Pairwise, rng: np.random.Generator) -> float:
    """Return 1 over the median pairwise distance of random pairs, or 1 where most pairs coincide."""
    rows = as_rows(X)
    n_pairs = max(100, min(N_PAIRS, MOST_ENTRIES // rows.n_features))
    left, right = rng.integers(0, len(rows), (2, n_pairs))
    if isinstance(rows, CsrRows) and n_pairs * rows.n_features > MOST_ENTRIES:
        distances = _sparse_distances(rows.values[left], rows.values[right], pairwise)
    else:
        a, b = rows.dense(left).astype(np.float64), rows.dense(right).astype(np.float64)
        distances = _distances(a, b, pairwise)
    median = float(np.median(distances[left != right])) if len(rows) > 1 else 0.0
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


def _sparse_distances(a: sparse.csr_array, b: sparse.csr_array, pairwise: Pairwise) -> NDArray[np.float64]:
    """Return the same as ``_distances``, for rows that are too wide to be dense."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    for rows in (a, b):
        rows.sum_duplicates()  # on others, SciPy's sums take as much memory as rows are wide
    parts = difference = abs(a - b)
    if pairwise is not Pairwise.MANHATTAN:
        parts = difference.multiply(difference)
    if pairwise is Pairwise.CHI_SQUARED:
        total = a + b
        total.data = 1.0 / total.data  # sums of 0 are no entries
        parts = parts.multiply(total)
    return np.asarray(parts.sum(axis=1), dtype=np.float64).reshape(-1)
