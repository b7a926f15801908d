"""When the weights of the features are learned, and from which rows: the last ones since the stream changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dsekl.compiled import pointer, profile_signature

from . import drift, weights
from .buffer import FACTOR, REGRET
from .callbacks import address_of
from .early import EarlyRows
from .rescaling import move_points

if TYPE_CHECKING:
    from .learner import Learner

LEARNED_AT = (*(times << k for k in range(6, 14) for times in (2, 3)), 1 << 15)
"""Rows, since the first or since the stream changed, after which weights are learned: 128, 192, 256, 384 and so on, so
that the cost of a row falls; from then on whenever there are as many more as the last number says."""

MOST_ROWS = 8192
"""Rows that are kept for that: the last ones, half as many at the least."""

MOST_ENTRIES = 2**22
"""Entries of those rows."""


def due(rows: int) -> bool:
    """Tell whether weights are learned after so many rows since the first, or since the stream changed."""
    return rows in LEARNED_AT or (rows > 0 and rows % LEARNED_AT[-1] == 0)


def most_rows(n_features: int) -> int:
    """Return how many rows are kept at most: whole blocks."""
    return max(2, min(MOST_ROWS, MOST_ENTRIES // n_features) // drift.BLOCK) * drift.BLOCK


def no_rows(n_features: int, n_outputs: int) -> EarlyRows:
    """Return room for the rows from which weights are learned."""
    return EarlyRows.none(n_features, n_outputs, most_rows(n_features))


def start_anew(learner: Learner, late: int = drift.LATE * drift.BLOCK) -> None:
    """Have weights learned from the last rows and those to come, since the stream has changed."""
    if learner.early is not None:
        learner.early.keep_last(late)
    learner.since = learner.n_seen - late


def relearn(learner: Learner, early: EarlyRows) -> bool:
    """Learn the weights of the features from rows; tell whether they have changed."""
    kernel, b, n = learner.settings.kernel, learner.buffer, learner.n_points
    learner.settle()
    best = int(b.machines[REGRET].argmin())
    lines = slice(best * learner.n_outputs, (best + 1) * learner.n_outputs)
    coef = b.machines[FACTOR, best] * b.parts.coef[lines, :n]
    profile = pointer(kernel.profile(), profile_signature("float32"))  # kept until the descent is over
    expansion = weights.Expansion(
        b.points[:, :n].astype(np.float32), coef.astype(np.float32), address_of(profile), np.asarray(kernel.params())
    )
    y = (early.targets - learner.intercept) / learner.unit
    rows = learner.points_of(early.rows).astype(np.float32)
    examples = weights.Examples(rows, y, early.weights, learner.settings.loss)
    times = weights.descend(expansion, examples, np.random.default_rng([learner.seed, learner.n_seen]))
    if times is None:
        return False
    learner.learned |= learner.gamma > 0
    move_points(learner, np.asarray(learner.gamma * times ** (1.0 / kernel.gamma_power)))
    return True
