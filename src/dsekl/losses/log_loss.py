"""The log loss of rows whose f stands for odds up to a factor: by it, machines of different losses can be compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SLOPES = 2.0 ** np.arange(-4.0, 7.0)
"""By which f may be multiplied to stand for odds, in units of its own size."""


def log_losses(y: Floats, f: Floats, weights: Floats | None = None) -> Floats:
    """Return the log loss of each row, with the slope at which f, as odds, has the least of it.

    Losses differ in the size of f, and calibration will take care of that: so candidates are compared at their best.
    """
    size = float(np.sqrt(np.mean(f**2)))
    slopes = SLOPES / size if size > 0 else np.ones(1)

    def at(slope: float) -> Floats:
        if y.shape[1] == 1:
            return np.asarray(np.logaddexp(0.0, -slope * y[:, 0] * f[:, 0]))
        odds = slope * f
        return np.asarray(np.logaddexp.reduce(odds, axis=1) - odds[np.arange(len(y)), y.argmax(axis=1)])

    return min((at(slope) for slope in slopes), key=lambda losses: float(np.average(losses, weights=weights)))
