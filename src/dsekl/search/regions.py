"""Parts of the data at full density, with rows held out that no weights were learned from.

The best width of a kernel shrinks as the rows grow denser, so it must not be chosen on a subsample. A subtree of the
spatial tree is a part of the space with all the rows in it. Few rows are one region, split in several ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.gram.tree import Points, random_subtrees
from dsekl.losses import Loss
from dsekl.rows import DenseRows

REGION_ROWS, RIDGE_REGION_ROWS, FEWEST_REGION_ROWS = 3_000, 1_500, 1_000
"""Rows of a region: fewer for many outputs, each of which costs their square, and for ridge, which costs their cube."""

THINNED_ROWS = 700
"""Rows of a region that show the way at least, where more than half of them are left out."""

FOLDS = 5
"""Ways in which few rows are split; each holds out a part of its own."""

HELD_OUT = 0.2
"""Share of many rows that is held out: a machine of the others is hardly worse, and fewer could not tell settings
apart."""

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Region:
    """Rows to fit, rows to judge by, and the split that holds these out."""

    fitted: Places
    held_out: Places
    split: int

    @cached_property
    def thinned(self) -> Region:
        """The same region with every other row to fit, or every third of many.

        It is the same each time, so that what is made of it can be kept.
        """
        step = max(2, len(self.fitted) // THINNED_ROWS)
        return Region(self.fitted[::step], self.held_out, self.split)


@dataclass(frozen=True)
class Scaled:
    """Rows times one number per feature, a few at a time: what the regions are cut from."""

    rows: DenseRows
    scale: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, wanted: Any, /) -> NDArray[np.float32]:
        """Return some rows, or their entries in one column."""
        scale = self.scale[wanted[1]] if isinstance(wanted, tuple) else self.scale
        return np.asarray(np.asarray(self.rows[wanted], dtype=np.float32) * scale)


def region_rows(loss: Loss, n_outputs: int) -> int:
    """Return how many rows a region may have."""
    if loss.quadratic:
        return RIDGE_REGION_ROWS
    return max(FEWEST_REGION_ROWS, int(REGION_ROWS / np.sqrt(n_outputs)))


def others(n: int, part: Places) -> Places:
    """Return the rows of ``range(n)`` that are not in a part, in order, as no sorting set operation finds them."""
    left = np.ones(n, dtype=np.bool_)
    left[part] = False
    return np.flatnonzero(left)


def draw_splits(
    n: int, size: int, rng: np.random.Generator, strata: Places | None = None, count: int | None = None
) -> list[Places]:
    """Return the rows that each of ``count`` splits holds out; by default one of many rows, five of at most ``size``.

    Every one of the ``strata`` is shared out evenly, so that no split lacks a rare class that another has.
    """
    order = rng.permutation(n)
    if strata is not None:
        # By where each is first met, not by its number: classes of other names are shared out alike.
        _, first, number = np.unique(strata, return_index=True, return_inverse=True)
        order = order[np.argsort(first[number][order], kind="stable")]
    if count is None:
        count = FOLDS if n <= size else 1
    if count > 1:
        parts = [order[first::FOLDS] for first in range(count)]
    else:
        # Evenly spaced places, from a random one on.
        counted = np.floor(np.arange(n + 1) * HELD_OUT + rng.uniform())
        parts = [order[np.diff(counted) > 0]]
    return [np.sort(part) for part in parts]


def draw_regions(
    splits: list[Places], n: int, points: Callable[[], Points], size: int, count: int,
    rng: np.random.Generator,
) -> list[Region]:  # fmt: skip
    """Return for each split the whole of few rows, or up to ``count`` regions of at most ``size`` rows of many."""
    if n <= size:
        return [Region(others(n, part), part, k) for k, part in enumerate(splits)]
    regions = []
    for k, part in enumerate(splits):
        held_out = np.zeros(n, dtype=bool)
        held_out[part] = True
        parts = [np.sort(rows) for rows in random_subtrees(points(), size, count, rng)]
        regions += [Region(rows[~held_out[rows]], rows[held_out[rows]], k) for rows in parts]
    return [region for region in regions if len(region.fitted) and len(region.held_out)]


def spread_regions(splits: list[Places], n: int, size: int, count: int, rng: np.random.Generator) -> list[Region]:
    """Return for each split up to ``count`` regions of at most ``size`` rows from everywhere, no row in two of them."""
    regions = []
    for k, part in enumerate(splits):
        held_out = np.zeros(n, dtype=bool)
        held_out[part] = True
        order = rng.permutation(n)
        parts = [np.sort(order[first : first + size]) for first in range(0, min(n, count * size), size)]
        regions += [Region(rows[~held_out[rows]], rows[held_out[rows]], k) for rows in parts]
    return [region for region in regions if len(region.fitted) and len(region.held_out)]
