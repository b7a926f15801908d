"""Has the stream changed, for a machine with a large budget? Then one that begins anew may be better.

Gama et al. (2004) tell a change by errors that are clearly above the lowest there were. That alone may be chance, or a
stretch of hard rows. So two machines then learn from the first half of the mini-batch, one with all points and one
without any, and the second half decides between them.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from .batch import Batch
from .buffer import Floats
from .large_steps import take

if TYPE_CHECKING:
    from .large import LargeLearner

ERRORS = 3.0
"""Standard errors by which the mean loss of a mini-batch must be above the lowest."""


def rises(lowest: float | None, lost: Floats) -> bool:
    """Tell whether the losses of a mini-batch are clearly above the lowest mean of those before."""
    return lowest is not None and float(lost.mean()) > lowest + ERRORS * float(lost.std()) / len(lost) ** 0.5


def better_anew(machine: LargeLearner, batch: Batch) -> bool:
    """Tell whether a machine without points, after half of the mini-batch, errs less on the other half."""
    cut = len(batch) // 2
    first, second = batch.at(slice(cut)), batch.at(slice(cut, None))
    losses = []
    for anew in (False, True):
        rival = copy.copy(machine)
        if anew:
            rival.drop_points()
        take(rival, first, rival.predicted(first.rows))
        lost = rival.losses_of(second, rival.predicted(second.rows))
        losses.append(float(np.average(lost, weights=second.weights)))
    return losses[1] < losses[0]
