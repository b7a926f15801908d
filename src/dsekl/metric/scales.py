"""The units of the features: each its own, so that columns in any units start alike, or one for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsekl.rows import DenseRows, ReshapedRows

SAMPLE = 20_000
"""Rows that are looked at."""

COLUMNS = 64
"""Columns that are sorted at a time."""

TAILS = 0.01
"""Share of the values on either side that may not stretch the unit."""

Floats = NDArray[np.float64]


def deviations(rows: DenseRows | ReshapedRows) -> Floats:
    """Return each column's typical difference between rows.

    It is the standard deviation, without the tails. A column of two values, such as a one-hot code, counts as if they
    were equally frequent: a rare code is a difference like any other. Constant columns have 0.
    """
    some = rows.sample(SAMPLE)
    parts = [slice(start, start + COLUMNS) for start in range(0, rows.n_features, COLUMNS)]
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is for the caller to refuse
        return np.concatenate([_deviations(np.asarray(some[:, part], dtype=np.float64)) for part in parts])


def _deviations(some: Floats) -> Floats:
    """Return the typical difference in each column of some rows."""
    low, high = some.min(axis=0), some.max(axis=0)
    deviation = np.clip(some, *np.quantile(some, [TAILS, 1 - TAILS], axis=0)).std(axis=0)
    two_valued = ((some == low) | (some == high)).all(axis=0)
    deviation = np.where(two_valued, 0.5 * (high - low), deviation)
    # A column that varies in the tails alone has nothing else to be measured by.
    return np.asarray(np.where((deviation == 0) & (high > low), some.std(axis=0), deviation))


def own_units(deviation: Floats) -> Floats:
    """Return gammas under which all features that vary count alike, and two rows are typically 1 apart."""
    varying = deviation > 0
    return np.asarray(np.where(varying, 1.0 / np.where(varying, deviation, 1.0) ** 2, 0.0) / varying.sum())


def common_unit(deviation: Floats) -> Floats:
    """Return one gamma for all features that vary, as for pixels: what varies more counts for more."""
    return np.asarray(np.where(deviation > 0, 1.0 / (deviation**2).sum(), 0.0))


def regauged(gammas: list[Floats], before: Floats, after: Floats) -> list[Floats]:
    """Return gammas under which each column counts as much as before, whose deviation a reshaping changes."""
    ratio = np.where(after > 0, before / np.where(after > 0, after, 1.0), 0.0)
    return [gamma * ratio**2 for gamma in gammas]
