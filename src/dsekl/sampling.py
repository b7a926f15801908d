"""Where rows and cols come from.

Algorithm 1 draws both afresh each step; Algorithm 2 cuts permutations into batches, so that an epoch meets each
point once and two workers never hold the same coefficient.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_with_replacement(rng: np.random.Generator, n: int, size: int) -> NDArray[np.intp]:
    """Return ``size`` independent uniform indices below ``n``."""
    return rng.integers(0, n, size, dtype=np.intp)


def draw_distinct(rng: np.random.Generator, n: int, size: int) -> NDArray[np.intp]:
    """Return ``size`` different uniform indices below ``n``; all of them, in order, if ``size`` reaches ``n``."""
    if size >= n:
        return np.arange(n, dtype=np.intp)
    return rng.choice(n, size, replace=False, shuffle=False).astype(np.intp)


def epoch_batches(rng: np.random.Generator, n: int, size: int) -> list[NDArray[np.intp]]:
    """Return a random permutation of ``range(n)`` cut into batches of ``size`` (the last may be smaller).

    Each batch is ascending: where neighbours in number are neighbours in space, products can prune.
    """
    order = rng.permutation(n).astype(np.intp)
    return [np.sort(order[start : start + size]) for start in range(0, n, size)]


def neighbour_batches(n: int, size: int) -> list[NDArray[np.intp]]:
    """Return ``range(n)`` cut into batches of ``size``: neighbours in number, and in space where points are ordered."""
    return [np.arange(start, min(n, start + size), dtype=np.intp) for start in range(0, n, size)]
