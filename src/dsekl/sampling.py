"""How rows and centres are drawn.

Algorithm 1 draws both afresh each step; Algorithm 2 cuts permutations into batches, so that an epoch meets each
point once and two workers never hold the same coefficient. Dual ascent cuts the rows that are wrong into blocks.
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


def cut(order: NDArray[np.intp], size: int) -> list[NDArray[np.intp]]:
    """Cut an order into batches of ``size`` (the last may be smaller).

    Each batch is ascending: where neighbours in number are neighbours in space, products can prune.
    """
    return [np.sort(order[start : start + size]) for start in range(0, len(order), size)]


def draw_blocks(rng: np.random.Generator, rows: NDArray[np.intp], size: int, in_order: bool) -> list[NDArray[np.intp]]:
    """Cut rows into blocks in random order: of neighbours where the rows are ``in_order``, at random elsewhere.

    The first block is shorter by a random part, so that each epoch draws other borders.
    """
    if not in_order:
        rows = rng.permutation(rows)
    cuts = np.arange(int(rng.integers(1, size + 1)), len(rows), size)
    blocks = np.split(rows, cuts)
    return [np.sort(blocks[k]) for k in rng.permutation(len(blocks)) if len(blocks[k])]


def is_permutation(order: NDArray[np.intp], n: int) -> bool:
    """Tell whether numbers from 0 to ``n`` - 1 hold each of them once."""
    return len(order) == n and bool((np.bincount(order, minlength=n) == 1).all())
