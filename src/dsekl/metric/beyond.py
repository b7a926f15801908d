"""Rows beyond the others: what says how a model goes on where there are no training points.

Rows that are held out at random lie among the others, where a wide kernel follows any trend by itself. So some are held
out from the two ends of the direction in which a target rises most, as later rows are in a split by time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from dsekl.rows import Reshaping
from dsekl.search import Region

from .data import Data
from .planes import Beside, plane_of

Floats = NDArray[np.float64]

SHARE = 0.3
"""Share of the rows that is beyond the others, at either end: a wide kernel goes on well for a little."""

DIRECTION_ROWS = 1_000
"""Rows that a direction is found by."""

MOST_DIRECTIONS = 3
"""Outputs whose directions are looked at."""


def beyond_regions(data: Data, reshaping: Reshaping | None, size: int, rng: np.random.Generator) -> list[Region]:
    """Return regions of at most ``size`` rows from everywhere, with those beyond the others held out."""
    plane = plane_of(data.rows, Beside(True, True), reshaping=reshaping)
    regions = []
    for output in range(min(data.n_outputs, MOST_DIRECTIONS)):
        rows = np.sort(rng.choice(len(data), min(size, len(data)), replace=False))
        X = data.rows[rows]
        Z = plane.features(X if reshaping is None else reshaping(X))
        some = np.arange(len(rows))[:: -(-len(rows) // DIRECTION_ROWS)]
        height = Z @ _direction(Z[some], data.calm_targets[rows[some], output])
        order, n_beyond = np.argsort(height, kind="stable"), max(1, int(SHARE * len(rows)))
        for beyond in (order[:n_beyond], order[-n_beyond:]):
            held_out = rows[np.sort(beyond)]
            regions.append(Region(np.setdiff1d(rows, held_out), held_out, 0))
    return regions


def _direction(Z: Floats, y: Floats) -> Floats:
    """Return the slopes of a ridge regression."""
    return np.asarray(Z.T @ solve(Z @ Z.T + np.eye(len(Z)), y - y.mean(), assume_a="pos"))
