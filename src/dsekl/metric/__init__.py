"""A learned metric: one gamma per feature, and the width and C that go with it.

``descent`` learns the weights of the features by doubly stochastic gradient steps, ``regions`` draws parts of the data
at full density, and ``choice`` lets held-out rows in them decide between the learned weights and equal ones, and on
the width and C. ``learn`` is the three in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Pairwise

from .choice import Data, choose, region_rows
from .descent import WIDTHS, Learner
from .regions import draw_splits
from .scales import common_unit, own_units, spreads

__all__ = ["FEWEST_ROWS", "Choice", "can_learn", "importances", "learn"]

Floats = NDArray[np.float64]

EQUAL, ONE_UNIT, PARTLY, LEARNED = "equal", "equal in one unit", "partly learned", "learned"

FEWEST_ROWS = 100
"""Rows below which nothing can be learned that held-out rows could confirm."""


@dataclass(frozen=True)
class Choice:
    """Gamma of each feature and C, the name of the weights that won, and the error on held-out rows."""

    gamma: Floats
    C: float
    weights: str
    error: float


def can_learn(kernel: Any) -> bool:
    """Tell whether the kernel depends on weighted distances alone."""
    distances = (Pairwise.SQUARED_DISTANCE, Pairwise.MANHATTAN)
    return getattr(kernel, "pairwise", None) in distances and getattr(kernel, "gamma_power", 0.0) > 0


def learn(
    kernel: Any, X: Any, targets: Floats, weights: Floats, loss: Any, errors: Any, C: float | None,
    rng: np.random.Generator, n_threads: int, advance: Callable[[float], None],
) -> Choice:  # fmt: skip
    """Return gamma, one per feature, and C: the given one, or for None one that goes with gamma.

    ``advance`` is told the share that is done; ``errors(targets, predictions)`` says how wrong each held-out row is.
    """
    data = Data(kernel, X, targets, weights, loss, errors, n_threads)
    spread = spreads(X, kernel.pairwise is Pairwise.MANHATTAN)
    if not spread.any():
        return Choice(np.ones(X.shape[1]), 1.0 if C is None else C, EQUAL, np.nan)
    n = len(targets)
    splits = draw_splits(n, region_rows(data), rng)
    n_descents = len(splits) + (len(splits) > 1)

    def learner(held_out: NDArray[np.intp]) -> Learner:
        rows = np.setdiff1d(np.arange(n), held_out)
        return Learner(kernel, X, targets, weights, rows, spread, n_threads)

    def descend(number: int, held_out: NDArray[np.intp], equal: Floats) -> dict[str, Floats]:
        learned = learner(held_out).descend(equal, rng, lambda done: advance(0.5 * (number + done) / n_descents))
        return {PARTLY: np.sqrt(learned * equal), LEARNED: learned}

    equal, losses = {}, {}
    for name, unit in {EQUAL: own_units(spread), ONE_UNIT: common_unit(spread)}.items():
        # One width for all splits, or the factor that suits one would not suit another.
        of_widths = sum(learner(held_out).losses_of_widths(unit, rng) for held_out in splits)
        equal[name], losses[name] = WIDTHS[np.argmin(of_widths)] * unit, np.min(of_widths)
    start = min(losses, key=losses.__getitem__)
    candidates = {name: [equal[name]] * len(splits) for name in dict.fromkeys((EQUAL, start))}
    learned = [descend(number, held_out, equal[start]) for number, held_out in enumerate(splits)]
    candidates |= {name: [gammas[name] for gammas in learned] for name in (PARTLY, LEARNED)}
    winner, factor, best_C, error = choose(
        data, splits, candidates, PARTLY, C, rng, lambda done: advance(0.5 + 0.4 * done)
    )
    final = candidates[winner][0]
    if len(splits) > 1 and winner not in equal:
        # Few rows: the splits have shown that learning is right, and now it may use all of them.
        final = descend(len(splits), splits[0][:0], equal[start])[winner]
    return Choice(factor * final, best_C, winner, error)


def importances(gamma: Floats, X: Any, pairwise: Pairwise) -> Floats:
    """Return each feature's share of the typical distance between two rows."""
    share = np.broadcast_to(gamma, X.shape[1]) * spreads(X, pairwise is Pairwise.MANHATTAN)
    return np.asarray(share / max(share.sum(), np.finfo(np.float64).tiny))
