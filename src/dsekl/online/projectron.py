"""The Projectron: a mistake whose row is nearly in the span of the points changes their coefficients, and adds none.

Orabona, Keshet, Caputo: Bounded kernel-based online learning. Journal of Machine Learning Research 10 (2009). With
``d = K^-1 k`` the projection of a row onto the points leaves ``delta^2 = k(x, x) - k' d``. Up to ``eta`` the row is
projected, ``coef += y d``; beyond, it is a new point, and the inverse grows by one line. With a full buffer every
mistake is projected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dsekl.compiled import njit

from .buffer import Floats
from .buffer_points import dot, kernel_row, own_value
from .published import Published, append

LEAST = 1e-10
"""Of delta squared, below which a row is a point already."""


@njit(cache=True, nogil=True, error_model="numpy")
def steps(k: Any, points: Any, y: Any, compared: Any, numbers: Any, out: Any) -> None:
    eta, budget = numbers[0], k.coef.size - 1
    row, d = np.empty(k.coef.size), np.empty(k.coef.size)
    for r in range(y.size):
        n = k.counts[0]
        kernel_row(k.points, n, points[r], compared.pairwise, compared.profile, compared.params, row)
        out[r] = dot(k.coef, row, n)
        k.counts[1] += 1
        if y[r] * out[r] > 0.0:
            continue
        k.counts[2] += 1
        for j in range(n):
            d[j] = dot(k.kernel[j], row, n)  # the inverse
        left = own_value(points[r], compared.pairwise, compared.profile, compared.params) - dot(d, row, n)
        if n == budget or left <= max(eta * eta, LEAST):
            for j in range(n):
                k.coef[j] += y[r] * d[j]
            continue
        d[n] = -1.0
        for i in range(n + 1):
            for j in range(n + 1):
                if i == n or j == n:
                    k.kernel[i, j] = 0.0
                k.kernel[i, j] += d[i] * d[j] / left
        append(k, points[r], y[r])


@dataclass
class Projectron(Published):
    """The Projectron on a budget, with the sparseness ``eta``."""

    eta: float = 0.1

    _step: ClassVar[Any] = steps

    def numbers(self) -> Floats:
        return np.array([self.eta])
