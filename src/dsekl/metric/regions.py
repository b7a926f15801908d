"""Parts of the data at full density, with rows held out.

The best width of a kernel shrinks as the rows grow denser, so it must not be chosen on a thinned sample. A subtree of
the spatial tree is a part of the space with all the rows in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.gram.tree import random_subtrees

FOLDS = 5
"""Times that a region is split, where it is all there is."""

HELD_OUT = 0.1
"""Share of a region's rows held out, where there are many regions."""

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Region:
    """Rows to fit, and rows to judge by."""

    fitted: Rows
    held_out: Rows


def draw_regions(
    points: Callable[[], NDArray[np.float32]], n: int, size: int, count: int, rng: np.random.Generator
) -> list[Region]:
    """Return up to ``count`` regions of at most ``size`` of n rows; few rows are one region, split in several ways."""
    if n <= size:
        order = rng.permutation(n)
        parts = np.array_split(order, FOLDS)
        return [Region(np.sort(np.setdiff1d(order, part)), np.sort(part)) for part in parts]
    regions = []
    for rows in random_subtrees(points(), size, count, rng):
        shuffled = rng.permutation(rows)
        n_out = max(1, round(HELD_OUT * len(rows)))
        regions.append(Region(np.sort(shuffled[n_out:]), np.sort(shuffled[:n_out])))
    return regions
