"""How much each feature alone says of the targets: the start from which a descent finds weak signals of few columns.

A neighbours' mean over a hundred columns of which five matter predicts hardly better than chance, and its gradient is
mostly noise. What a single column says shows in the means of the targets over intervals of its values, whatever the
others do. (Columns that matter only together say nothing alone; they are found from equal weights, if at all.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

INTERVALS = 8
"""Intervals of a column's values, with about as many rows in each."""

NOISE = 2.0
"""Standard errors from which on a share is taken for more than chance."""

MOST_ROWS, FEWEST_ROWS, MOST_ENTRIES = 20_000, 2_000, 2**22
"""Rows that are looked at: with many columns fewer, as their entries are sorted."""

Floats = NDArray[np.float64]


def rows_for(n: int, n_features: int) -> int:
    """Return how many of ``n`` rows are looked at."""
    return min(n, MOST_ROWS, max(FEWEST_ROWS, MOST_ENTRIES // n_features))


def relevances(X: NDArray[Any], targets: Floats, weights: Floats) -> Floats:
    """Return for each feature the share of the targets' variance that it explains alone; 0 where it may be chance."""
    share = weights / weights.sum()
    centred = targets - share @ targets
    total = float(share @ (centred**2).sum(axis=1))
    if total <= 0.0:
        return np.zeros(X.shape[1])
    sums = np.column_stack([share, share[:, None] * centred])
    return np.array([_explained(X[:, d], sums, total) for d in range(X.shape[1])])


def _explained(x: NDArray[Any], sums: Floats, total: float) -> float:
    """Return the share that one feature explains, less what as many intervals of any column would explain."""
    n, order = len(x), np.argsort(x, kind="stable")
    ordered = x[order]
    # Equal values are in one interval.
    cuts = np.searchsorted(ordered, ordered[(n * np.arange(1, INTERVALS)) // INTERVALS])
    edges = np.unique(np.concatenate([[0], cuts]))
    of_intervals = np.add.reduceat(sums[order], edges, axis=0)
    of_intervals = of_intervals[of_intervals[:, 0] > 0]
    free = len(of_intervals) - 1
    if free == 0 or n <= len(of_intervals):
        return 0.0
    between = float((of_intervals[:, 1:] ** 2 / of_intervals[:, :1]).sum())
    chance = max(total - between, 0.0) / (n - len(of_intervals))
    share = (between - free * chance) / total
    return share if share > NOISE * np.sqrt(2.0 * free) * chance / total else 0.0
