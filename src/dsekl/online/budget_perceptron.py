"""The randomised budget perceptron: on a mistake at a full buffer, a random point makes room.

Cavallanti, Cesa-Bianchi, Gentile: Tracking the best hyperplane with a simple budget perceptron. Machine Learning 69
(2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dsekl.compiled import njit

from .buffer_points import dot, kernel_row, random_below
from .published import Published, append, drop


@njit(cache=True, nogil=True, error_model="numpy")
def steps(k: Any, points: Any, y: Any, compared: Any, numbers: Any, out: Any) -> None:
    budget = k.coef.size - 1
    row = np.empty(k.coef.size)
    for r in range(y.size):
        n = k.counts[0]
        kernel_row(k.points, n, points[r], compared.pairwise, compared.profile, compared.params, row)
        out[r] = dot(k.coef, row, n)
        k.counts[1] += 1
        if y[r] * out[r] <= 0.0:
            k.counts[2] += 1
            if n == budget:
                drop(k, n, random_below(k.random, n))
            append(k, points[r], y[r])


@dataclass
class BudgetPerceptron(Published):
    """The randomised budget perceptron."""

    _step: ClassVar[Any] = steps
