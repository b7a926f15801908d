"""Columns whose unit has changed within the stream: a sensor that now gives millimetres, say.

At the end of each block the spread of each column in the last rows is compared with that in the rows before them, by
medians, which a few outliers do not move. Where one is many times the other, the column is taken in its new unit:
points, and slopes of simple models, stay where they are in units of the spread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import drift, relearning
from .buffer import Floats

if TYPE_CHECKING:
    from .learner import Learner

LAST, BEFORE = drift.BLOCK, drift.LATE * drift.BLOCK
"""Rows that are compared with those before them, and how many these are: as many as are kept when errors rise."""

MANY_TIMES = 8.0


def spreads(rows: Floats) -> tuple[Floats, Floats]:
    """Return the medians of columns, and those of the distances from them; NaN where rows do not have a column."""
    middle = np.median(rows, axis=0)
    return middle, np.median(np.abs(rows - middle), axis=0)


def take(learner: Learner, rows: Floats) -> bool:
    """Take columns in their new units, if any has one; ``rows`` are the last of the stream."""
    if len(rows) < LAST + BEFORE:
        return False
    old, old_spread = spreads(rows[-LAST - BEFORE : -LAST])
    new, new_spread = spreads(rows[-LAST:])
    known = (old_spread > 0) & (new_spread > 0)  # not for NaN
    ratio = np.divide(new_spread, old_spread, out=np.ones_like(new), where=known)
    changed = known & ((ratio > MANY_TIMES) | (ratio < 1.0 / MANY_TIMES))
    if not changed.any():
        return False
    # What is not known to have changed is multiplied by 1.
    ratio = np.where(changed, ratio, 1.0)
    learner.center = np.where(changed, new + (learner.center - old) * ratio, learner.center)
    learner.gamma = learner.gamma * ratio ** (-1.0 / learner.settings.kernel.gamma_power)
    learner.forget_scale()
    last = rows[-drift.BLOCK :, changed]
    weight, mean, squares = learner.features
    weight[changed], mean[changed] = len(last), last.mean(axis=0)
    squares[changed] = len(last) * last.var(axis=0)
    if learner.mixture is not None:
        learner.mixture.rescale(changed, old, new, ratio)
    relearning.start_anew(learner, drift.BLOCK)
    learner.errors[...] = drift.nothing()
    return True
