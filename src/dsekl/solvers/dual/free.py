"""The rows that a slow run waits for: those between their bounds, all at once.

On a wide kernel, blocks of random rows undo each other's work, and the gap falls by little in an epoch. The number of
rows strictly between their bounds is then about the rank of the kernel matrix, so that most or all fit one block. Where
they are many times more, the kernel is narrow, and one block of them would cost a run more than it moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsekl.losses import BoxedLoss

from .shrinking import Conditions


def free_rows(now: Conditions, small: float, most: int | None = None) -> NDArray[np.intp]:
    """Return the free rows, then the others that violate their condition by more than ``small``; the worst first.

    None where more than ``most`` are free.
    """
    loss, free = now.problem.loss, np.zeros(len(now.coef), dtype=np.bool_)
    if not isinstance(loss, BoxedLoss):
        return np.flatnonzero(free)
    for o, coef in enumerate(now.coef.T):
        box = loss.box(now.y[:, o], now.C)
        free |= (coef > box.lo) & (coef < box.hi) & ((coef != 0) | (box.margin == 0))
    if most is not None and np.count_nonzero(free) > most:
        return np.flatnonzero(np.zeros_like(free))
    violations = now.violations()
    worst_first = np.lexsort((-violations, ~free))
    return worst_first[(free | (violations > small))[worst_first]]
