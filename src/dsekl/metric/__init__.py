"""A learned metric: one gamma per feature, and the kernel, scale of columns, loss, plane, width and C that go with it.

``descent`` learns the weights of the features by doubly stochastic gradient steps, ``candidates`` sets equal ones
beside them, and ``choice`` lets held-out rows decide between the candidates, and on all the rest. ``learn`` is the
three in a row. Each stage draws its randomness from the seed and its own name, so that a run which was stopped goes on
from the last stage that it kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsekl.losses import Loss
from dsekl.rows import Reshaping
from dsekl.search import draw_splits, region_rows
from dsekl.search.regions import Places

from .candidates import EQUAL, Candidates, n_repeated
from .choice import NOT_ALL, Chooser
from .comparison import n_splits
from .data import Data, Options, Stages
from .descent import pairs_of_descent
from .kind import Kind
from .planes import NOTHING, Beside, with_plane
from .scales import deviations
from .search import STARTS

__all__ = [
    "FEWEST_ROWS", "NOTHING", "Beside", "Choice", "Data", "Fold", "Options", "Stages", "learn", "pairs", "with_plane",
]  # fmt: skip

Floats = NDArray[np.float64]

FEWEST_ROWS = 30
"""Rows below which nothing can be learned that held-out rows could confirm."""

LEARNED_BY = 0.5
"""Share of a search's time after which weights are learned no further, so that there is time to choose."""

UNSEARCHED = STARTS[1]
"""The width and C where there was no time to try any."""


@dataclass(frozen=True)
class Fold:
    """Rows that were held out, the gamma that was learned without them, and f of a machine without them, if known."""

    held_out: Places
    gamma: float | Floats | None
    f: Floats | None = None


@dataclass(frozen=True)
class Choice:
    """Gamma of each feature and C; the names of the weights, the kernel and the loss; the error on held-out rows."""

    gamma: Floats
    C: float
    weights: str
    kernel: str
    loss: str
    reshaping: Reshaping | None
    beside: Beside
    error: float
    folds: list[Fold]
    cut_short: bool = False
    """Whether the search ended because its time was over."""


def learn(data: Data, options: Options, seed: int, stages: Stages, advance: Callable[[float], None]) -> Choice:
    """Return gamma, one per feature, and what goes with it; ``advance`` is told the share that is done."""
    with np.errstate(over="ignore"):
        deviation = deviations(data.rows)
        overflows = ~np.isfinite(deviation**2)
    if overflows.any():
        raise ValueError(
            f"column {int(np.argmax(overflows))} of X has values so far apart that their squares are not "
            "finite; divide it by a constant, or use a StandardScaler"
        )
    if not deviation.any():
        C = 1.0 if options.C is None else options.C
        gamma = np.ones(data.rows.n_features)
        return Choice(gamma, C, EQUAL, options.kernel, options.loss, None, options.beside[0], np.nan, [])
    size = region_rows(options.losses[options.loss], data.n_outputs)
    rng, count = np.random.default_rng([seed, 3]), n_splits(len(data), size)
    splits = draw_splits(len(data), size, rng, data.strata, count)
    learning = replace(data, deadline=data.deadline.after(LEARNED_BY))
    candidates = Candidates(learning, splits, deviation, seed, stages)
    equal = candidates.simple[EQUAL]
    if data.deadline.passed:
        kind = Kind(
            options.kernel, options.kernels[options.kernel], options.loss, options.losses[options.loss], None, []
        )
        gamma, C = kind.gamma_and_C(equal[-1], UNSEARCHED, options.C)
        return Choice(gamma, C, EQUAL, options.kernel, options.loss, None, options.beside[0], np.nan, [], True)
    chooser = Chooser(data, options, splits, candidates, seed, stages)
    champion = chooser.run(advance)
    kind, found = champion.kind, champion.found
    gamma, C = kind.gamma_and_C(kind.gammas[-1], found.setting, options.C)
    folds = [
        Fold(part, kind.gamma_and_C(squared, found.setting, options.C)[0], f)
        for part, squared, f in zip(splits, kind.gammas[:-1], chooser.predictions(champion), strict=True)
    ]
    cut_short = chooser.cut_short or data.deadline.passed
    names = champion.weights.removesuffix(NOT_ALL), kind.kernel_name, kind.loss_name
    return Choice(gamma, C, *names, kind.reshaping, kind.beside, found.error, folds, cut_short)


def pairs(n: int, n_features: int, n_outputs: int, loss: Loss) -> float:
    """Return how many pairs of rows a search compares, and as many as would take as long as all else that it does."""
    count = n_splits(n, region_rows(loss, n_outputs))
    n_descents = 2 * count + n_repeated(count, n) - 1
    return pairs_of_descent(n, n_features) * (n_descents + 2 * count * _choice_cost(loss))


def _choice_cost(loss: Loss) -> float:
    """Return how long the choice takes beside the descents: ridge is fitted by a Cholesky factor for each C."""
    return 3.0 if loss.quadratic else 1.5
