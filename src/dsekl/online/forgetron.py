"""The Forgetron: a perceptron that shrinks its coefficients, so that the oldest can go.

Dekel, Shalev-Shwartz, Singer: The Forgetron: a kernel-based perceptron on a budget. SIAM Journal on Computing 37
(2008), self-tuned. On a mistake the row enters with its label as coefficient. Over the budget all coefficients are
multiplied by the largest ``phi <= 1`` that keeps the damage of removing the oldest point r,

    ``Psi = (sigma phi)^2 + 2 sigma phi (1 - phi mu)``  with ``sigma = |coef_r|`` and ``mu = y_r f(x_r)``,

added up over the run, within ``15/32`` of the number of mistakes; then that point goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dsekl.compiled import njit

from .buffer_points import dot, kernel_row
from .published import Published, append, drop

SHARE = 15.0 / 32.0


@njit(cache=True, nogil=True, error_model="numpy")
def shrinking_factor(sigma: float, mu: float, allowed: float) -> Any:
    """Return the largest phi in (0, 1] with ``(sigma^2 - 2 sigma mu) phi^2 + 2 sigma phi <= allowed``."""
    a, b = sigma * sigma - 2.0 * sigma * mu, 2.0 * sigma
    if a + b <= allowed:
        return 1.0
    if a == 0.0:
        return min(1.0, max(0.0, allowed / b))
    root = np.sqrt(max(0.0, b * b + 4.0 * a * allowed))
    # The parabola rises from 0; where it first meets what is allowed is the smaller of its positive ends.
    return min(1.0, max(0.0, (root - b) / (2.0 * a)))


@njit(cache=True, nogil=True, error_model="numpy")
def steps(k: Any, points: Any, y: Any, compared: Any, numbers: Any, out: Any) -> None:
    budget = k.coef.size - 1
    row, oldest = np.empty(k.coef.size), np.empty(points.shape[1])
    for r in range(y.size):
        n = k.counts[0]
        kernel_row(k.points, n, points[r], compared.pairwise, compared.profile, compared.params, row)
        out[r] = dot(k.coef, row, n)
        k.counts[1] += 1
        if y[r] * out[r] > 0.0:
            continue
        k.counts[2] += 1
        append(k, points[r], y[r])
        if n + 1 <= budget:
            continue
        for d in range(oldest.size):
            oldest[d] = k.points[d, 0]
        kernel_row(k.points, n + 1, oldest, compared.pairwise, compared.profile, compared.params, row)
        sigma = abs(k.coef[0])
        mu = np.sign(k.coef[0]) * dot(k.coef, row, n + 1)
        phi = shrinking_factor(sigma, mu, SHARE * k.counts[2] - k.sums[0])
        k.sums[0] += (sigma * phi) ** 2 + 2.0 * sigma * phi * (1.0 - phi * mu)
        for j in range(n + 1):
            k.coef[j] *= phi
        drop(k, n + 1, 0)


@dataclass
class Forgetron(Published):
    """The self-tuned Forgetron."""

    _step: ClassVar[Any] = steps
