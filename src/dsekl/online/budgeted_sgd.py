"""Budgeted stochastic gradient descent: Pegasos' steps, and a point less whenever there is one too many.

Wang, Crammer, Vucetic: Breaking the curse of kernelization: budgeted stochastic gradient descent for large-scale SVM
training. Journal of Machine Learning Research 13 (2012). At row t, with ``eta = 1 / (lambda t)``, all coefficients are
multiplied by ``1 - eta lambda``, and a row inside the margin enters with ``eta y``. Over the budget, the point of the
smallest coefficient

- is merged with the point of its sign that makes the change of f least, at the best place between the two, found by
  golden section (``maintenance="merge"``, Gaussian kernels);
- is projected onto all others, ``coef += coef_i K^-1 k_i`` (``"project"``);
- or just goes (``"remove"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dsekl.compiled import njit

from .buffer import Floats, part
from .buffer_points import dot, kernel_row, own_value
from .maintenance import solve
from .published import Published, append, drop

WAYS = {"merge": 0.0, "project": 1.0, "remove": 2.0}

GOLDEN = 0.6180339887498949
SECTIONS = 30
ROUNDING = 1e-9


@part()
def kept_share(h: float, share: float, kappa: float) -> Any:
    """Return the coefficient of the merged point, for ``share`` and ``1 - share`` of the coefficients of the two."""
    return share * kappa ** ((1.0 - h) * (1.0 - h)) + (1.0 - share) * kappa ** (h * h)


@part()
def best_place(share: float, kappa: float) -> Any:
    """Return the h in [0, 1] at which the merged point keeps most, by golden section."""
    low, high = 0.0, 1.0
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if kept_share(left, share, kappa) > kept_share(right, share, kappa):
            high = right
        else:
            low = left
    return 0.5 * (low + high)


@part()
def smallest(coef: Any, n: int) -> Any:
    """Return the point of the smallest coefficient, of equal ones the oldest: those never merged differ by rounding."""
    found = 0
    for j in range(n):
        if abs(coef[j]) < (1.0 - ROUNDING) * abs(coef[found]):
            found = j
    return found


@part()
def merge(k: Any, n: int, i: int, x: Any, row: Any, compared: Any) -> None:
    """Merge point i with the one that changes f least; where none has its sign, it just goes."""
    best, best_j, best_h = np.inf, -1, 0.0
    for j in range(n):
        if j == i or k.coef[i] * k.coef[j] <= 0.0:
            continue
        kappa, a, b = k.kernel[i, j], k.coef[i], k.coef[j]
        h = best_place(a / (a + b), kappa)
        new = (a + b) * kept_share(h, a / (a + b), kappa)
        change = a * a + b * b + 2.0 * a * b * kappa - new * new
        if change < best:
            best, best_j, best_h = change, j, h
    if best_j >= 0:
        j, total = best_j, k.coef[i] + k.coef[best_j]
        k.coef[j] = total * kept_share(best_h, k.coef[i] / total, k.kernel[i, j])
        for d in range(x.size):
            x[d] = best_h * k.points[d, i] + (1.0 - best_h) * k.points[d, j]
            k.points[d, j] = x[d]
        kernel_row(k.points, n, x, compared.pairwise, compared.profile, compared.params, row)
        for m in range(n):
            k.kernel[j, m] = row[m]
            k.kernel[m, j] = row[m]
    drop(k, n, i)


@part()
def project(k: Any, n: int, i: int) -> None:
    """Share the coefficient of point i among all others, as near to f as they can come."""
    coef, others, shares = k.coef[i], np.empty((n - 1, n - 1)), np.empty(n - 1)
    for j in range(n - 1):
        shares[j] = k.kernel[i, j + (j >= i)]
        for m in range(n - 1):
            others[j, m] = k.kernel[j + (j >= i), m + (m >= i)]
    solve(others, shares)
    drop(k, n, i)
    for j in range(n - 1):
        k.coef[j] += coef * shares[j]


@njit(cache=True, nogil=True, error_model="numpy")
def steps(k: Any, points: Any, y: Any, compared: Any, numbers: Any, out: Any) -> None:
    decay, way, budget = numbers[0], numbers[1], k.coef.size - 1
    row, x = np.empty(k.coef.size), np.empty(points.shape[1])
    for r in range(y.size):
        n = k.counts[0]
        kernel_row(k.points, n, points[r], compared.pairwise, compared.profile, compared.params, row)
        out[r] = dot(k.coef, row, n)
        k.counts[1] += 1
        eta = 1.0 / (decay * k.counts[1])
        for j in range(n):
            k.coef[j] *= 1.0 - eta * decay
        k.counts[2] += y[r] * out[r] <= 0.0
        if y[r] * out[r] >= 1.0:
            continue
        row[n] = own_value(points[r], compared.pairwise, compared.profile, compared.params)
        for j in range(n + 1):
            k.kernel[n, j] = row[j]
            k.kernel[j, n] = row[j]
        append(k, points[r], eta * y[r])
        if n + 1 > budget:
            i = smallest(k.coef, n + 1)
            if way == 0.0:
                merge(k, n + 1, i, x, row, compared)
            elif way == 1.0:
                project(k, n + 1, i)
            else:
                drop(k, n + 1, i)


@dataclass
class BudgetedSGD(Published):
    """Budgeted SGD with regularisation ``decay``, the paper's lambda."""

    decay: float = 1e-4
    maintenance: str = "merge"

    _step: ClassVar[Any] = steps

    def numbers(self) -> Floats:
        if self.maintenance not in WAYS:
            raise ValueError(f"maintenance={self.maintenance!r} is not known; choose one of {', '.join(WAYS)}")
        return np.array([self.decay, WAYS[self.maintenance]])
