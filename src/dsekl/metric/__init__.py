"""A learned metric: one gamma per feature, and the width and C that go with it.

``descent`` learns the weights of the features by doubly stochastic gradient steps, ``candidates`` sets equal ones
beside them, and ``choice`` lets held-out rows in regions of the data decide between the candidates, and on the width
and C. ``learn`` is the three in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Kernel
from dsekl.search import draw_splits, region_rows

from .candidates import EQUAL, PARTLY, Candidates
from .choice import FIRST_C, Data, choose
from .scales import own_units, spreads

__all__ = ["FEWEST_ROWS", "Choice", "Data", "can_learn", "learn"]

Floats = NDArray[np.float64]

FEWEST_ROWS = 100
"""Rows below which nothing can be learned that held-out rows could confirm."""


@dataclass(frozen=True)
class Choice:
    """Gamma of each feature and C, the name of the weights that won, and the error on held-out rows."""

    gamma: Floats
    C: float
    weights: str
    error: float
    spread: Floats
    """Each feature's typical difference between two rows, as the distance measures it."""
    whole: bool = True
    """False if Ctrl-C ended the search: then these are the best weights so far."""

    @property
    def importances(self) -> Floats:
        """Each feature's share of the typical distance between two rows."""
        share = self.gamma * self.spread
        return np.asarray(share / max(share.sum(), np.finfo(np.float64).tiny))


def can_learn(kernel: Kernel) -> bool:
    """Tell whether the kernel depends on weighted distances alone."""
    return kernel.pairwise.is_distance and kernel.gamma_power > 0


def learn(data: Data, C: float | None, rng: np.random.Generator, advance: Callable[[float], None]) -> Choice:
    """Return gamma, one per feature, and C: the given one, or for None one that goes with gamma.

    ``advance`` is told the share that is done.
    """
    spread = spreads(data.rows, data.kernel.pairwise)
    if not np.isfinite(spread).all():
        raise ValueError(
            f"column {int(np.argmin(np.isfinite(spread)))} of X has values so far apart that their squares are not "
            "finite; divide it by a constant, or use a StandardScaler"
        )
    if not spread.any():
        return Choice(np.ones(data.rows.n_features), 1.0 if C is None else C, EQUAL, np.nan, spread)
    splits = draw_splits(len(data.targets), region_rows(data.loss, data.targets.shape[1]), rng)
    # Until held-out rows have decided, the simplest weights are the best that can be said.
    so_far = Choice(own_units(spread), FIRST_C if C is None else C, EQUAL, np.nan, spread, whole=False)
    try:
        candidates = Candidates.of(data, splits, spread, rng)
        gammas = candidates.learned(lambda done: advance(0.6 * done))
        verdict = choose(data, splits, gammas, PARTLY, C, rng, lambda done: advance(0.6 + 0.4 * done))
    except KeyboardInterrupt:
        return so_far
    winner, factor, best_C, error = verdict
    return Choice(factor * _middle(gammas[winner]), best_C, winner, error, spread)


def _middle(gammas: list[Floats]) -> Floats:
    """Return the geometric mean of weights.

    With few rows there are several splits, and which of many columns a descent discards varies by split: the mean of
    descents, each without other rows, is better than one on all of them.
    """
    with np.errstate(divide="ignore"):  # a column without weight has none in any of them
        return np.asarray(np.exp(np.mean(np.log(gammas), axis=0)))
