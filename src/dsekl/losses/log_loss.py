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
    The mean loss is convex in the slope, so that a walk finds the best one.
    """
    size = float(np.sqrt(np.mean(f**2)))
    if size == 0:
        return np.full(len(y), np.log(max(2, y.shape[1])))
    # By how much the odds of each class fall short of the largest, and those of the row's own.
    short = np.concatenate([-y * f, np.zeros_like(f)], axis=1) if y.shape[1] == 1 else f
    top = short.max(axis=1, keepdims=True)
    own = (np.zeros(len(y)) if y.shape[1] == 1 else f[np.arange(len(y)), y.argmax(axis=1)]) - top[:, 0]
    short = short - top

    def at(number: int) -> tuple[float, Floats]:
        slope = SLOPES[number] / size
        losses = np.log(np.exp(slope * short).sum(axis=1)) - slope * own
        return float(np.average(losses, weights=weights)), losses

    number = len(SLOPES) // 2
    best, above = at(number), at(number + 1)
    step = 1 if above[0] < best[0] else -1
    if step > 0:
        number, best = number + 1, above
    while 0 <= number + step < len(SLOPES) and (new := at(number + step))[0] < best[0]:
        number, best = number + step, new
    return best[1]
