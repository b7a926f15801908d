"""NORMA: stochastic gradient descent in the kernel's space, with decay and truncation.

Kivinen, Smola, Williamson: Online learning with kernels. IEEE Transactions on Signal Processing 52 (2004). With the
hinge of margin 1, the step ``f <- (1 - eta lambda) f - eta loss'(f(x_t), y_t) k(x_t, .)`` lets all coefficients decay
and gives a row inside the margin the coefficient ``eta y_t``. The points are those of the last rows: the oldest goes,
whose coefficient has decayed most. There are bounds for ``eta`` that stays, and for ``eta / sqrt(t)`` at row t, which
is ``falling``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dsekl.compiled import njit

from .buffer import Floats
from .buffer_points import dot, kernel_row
from .published import Published, append, drop


@njit(cache=True, nogil=True, error_model="numpy")
def steps(k: Any, points: Any, y: Any, compared: Any, numbers: Any, out: Any) -> None:
    decay, falling, budget = numbers[1], numbers[2] > 0.0, k.coef.size - 1
    row = np.empty(k.coef.size)
    for r in range(y.size):
        n = k.counts[0]
        kernel_row(k.points, n, points[r], compared.pairwise, compared.profile, compared.params, row)
        out[r] = dot(k.coef, row, n)
        k.counts[1] += 1
        eta = numbers[0] / np.sqrt(k.counts[1]) if falling else numbers[0]
        for j in range(n):
            k.coef[j] *= 1.0 - eta * decay
        if y[r] * out[r] <= 1.0:
            append(k, points[r], eta * y[r])
            if n + 1 > budget:
                drop(k, n + 1, 0)
        k.counts[2] += y[r] * out[r] <= 0.0


@dataclass
class Norma(Published):
    """NORMA with step size ``eta`` and regularisation ``decay``, the paper's lambda."""

    eta: float = 0.5
    decay: float = 0.001
    falling: bool = False

    _step: ClassVar[Any] = steps

    def numbers(self) -> Floats:
        return np.array([self.eta, self.decay, float(self.falling)])
