"""Losses of the residual ``y - f``: squared, epsilon-insensitive, Huber, quantile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from . import steps
from .loss import Array, Box, BoxedLoss, HomogeneousLoss, over

ROUNDING = 1e-12
"""Share of all weight that two sums of weights may differ by and be the same."""

HALVINGS = 100
"""Of the range of the targets, in the search for the best constant of the Huber loss."""


def _weighted_quantile(y: Array, weights: Array, quantile: float) -> float:
    """Return where the weight below is the given share: the middle of the interval where several values serve."""
    order = np.argsort(y, kind="stable")
    y, share = y[order], np.cumsum(weights[order])
    goal, last = quantile * share[-1], len(y) - 1
    # A sum of weights that reaches the goal but for rounding has reached it; the next value then serves as well.
    first = min(last, int(np.searchsorted(share, goal * (1.0 - ROUNDING))))
    after = min(last, int(np.searchsorted(share, goal * (1.0 + ROUNDING), side="right")))
    return float(0.5 * y[first] + 0.5 * y[after])


@dataclass
class Squared(HomogeneousLoss, BaseEstimator):
    """``1/2 (y - f)^2``: kernel ridge regression, with scikit-learn's ridge ``alpha = 1 / C``.

    See Also
    --------
    Huber : Robust to outliers in y.
    Quantile : A conditional quantile in place of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl.losses import Squared
    >>> y, f = np.zeros(3), np.array([0.1, 0.5, 2.0])
    >>> print(Squared().value(y, f).round(3))
    [0.005 0.125 2.   ]
    """

    tasks: ClassVar = ("regression", "classification")
    degree: ClassVar = 2
    curvature: ClassVar = 1.0
    quadratic: ClassVar = True
    settled_gap: ClassVar = 0.002

    def in_unit(self, unit: float) -> Self:
        return self

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * (y - f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        return f - y

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return -y * coef + np.where(coef == 0, 0.0, coef**2 / (2.0 * C))

    def dual_step(self) -> Any:
        return steps.squared

    def best_constant(self, y: Array, weights: Array) -> float:
        return float(np.average(y, weights=weights))


@dataclass
class EpsilonInsensitive(HomogeneousLoss, BoxedLoss, BaseEstimator):
    """``max(0, |y - f| - epsilon)``: support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to it cost nothing; in units of y.

    See Also
    --------
    Squared : Kernel ridge regression.
    Huber : Squared near 0, linear beyond.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl.losses import EpsilonInsensitive
    >>> y, f = np.zeros(3), np.array([0.1, 0.5, 2.0])
    >>> print(EpsilonInsensitive(epsilon=0.1).value(y, f).round(3))
    [0.  0.4 1.9]
    """

    epsilon: float = 0.1

    tasks: ClassVar = ("regression",)
    degree: ClassVar = 1
    curvature: ClassVar = 0.0
    has_hard_form: ClassVar = True
    settled_gap: ClassVar = 0.03

    @property
    def shape(self) -> float:
        return self.epsilon

    def in_unit(self, unit: float) -> Self:
        return type(self)(self.epsilon / unit)

    def value(self, y: Array, f: Array) -> Array:
        return np.asarray(np.maximum(0.0, np.abs(y - f) - self.epsilon))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(np.abs(y - f) > self.epsilon, np.sign(f - y), 0.0)

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        return np.where(np.abs(coef) <= C, -y * coef + self.epsilon * np.abs(coef), np.inf)

    def box(self, y: Array, C: Array) -> Box:
        return Box(self.epsilon, np.zeros_like(C), -C, C)

    def dual_step(self) -> Any:
        return steps.epsilon_insensitive

    def best_constant(self, y: Array, weights: Array) -> float:
        # The slope rises by each row's weight at both ends of its tube, so the least is at the median of all ends.
        ends = np.concatenate([y - self.epsilon, y + self.epsilon])
        return _weighted_quantile(ends, np.concatenate([weights, weights]), 0.5)


@dataclass
class Huber(HomogeneousLoss, BoxedLoss, BaseEstimator):
    """``1/2 r^2`` for ``|r| <= delta`` and ``delta |r| - delta^2 / 2`` beyond, ``r = y - f``.

    Parameters
    ----------
    delta : float, default=1.0
        Errors beyond it count as outliers; in units of y.

    See Also
    --------
    Squared : Kernel ridge regression.
    EpsilonInsensitive : Support vector regression.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl.losses import Huber
    >>> y, f = np.zeros(3), np.array([0.1, 0.5, 2.0])
    >>> print(Huber(delta=1.0).value(y, f).round(3))
    [0.005 0.125 1.5  ]
    """

    delta: float = 1.0

    tasks: ClassVar = ("regression",)
    degree: ClassVar = 2
    curvature: ClassVar = 1.0
    has_hard_form: ClassVar = True
    settled_gap: ClassVar = 0.03

    @property
    def shape(self) -> float:
        return self.delta

    def in_unit(self, unit: float) -> Self:
        return type(self)(self.delta / unit)

    def value(self, y: Array, f: Array) -> Array:
        size = np.abs(y - f)
        beyond = self.delta * size - 0.5 * self.delta**2
        return np.asarray(np.where(size <= self.delta, 0.5 * size**2, beyond))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(np.clip(f - y, -self.delta, self.delta))

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            ridge = np.where(coef == 0, 0.0, coef**2 / (2.0 * C))
        return np.where(np.abs(coef) <= C * self.delta, -y * coef + ridge, np.inf)

    def box(self, y: Array, C: Array) -> Box:
        return Box(0.0, over(C), -self.delta * C, self.delta * C)

    def dual_step(self) -> Any:
        return steps.huber

    def best_constant(self, y: Array, weights: Array) -> float:
        """Return the middle of the interval where the sum is least, found by halving: its slope rises."""
        ends, rounding = [], ROUNDING * self.delta * float(weights.sum())
        for level in (-rounding, rounding):
            lo, hi = float(y.min()), float(y.max())
            for _ in range(HALVINGS):
                middle = 0.5 * lo + 0.5 * hi
                below = float((weights * self.gradient(y, np.full_like(y, middle))).sum()) < level
                lo, hi = (middle, hi) if below else (lo, middle)
            ends.append(0.5 * lo + 0.5 * hi)
        return 0.5 * ends[0] + 0.5 * ends[1]


@dataclass
class Quantile(HomogeneousLoss, BoxedLoss, BaseEstimator):
    """``quantile r`` for ``r > 0`` and ``(quantile - 1) r`` otherwise, ``r = y - f``: quantile regression.

    Parameters
    ----------
    quantile : float, default=0.5
        The share of the targets that should lie below f; between 0 and 1.

    See Also
    --------
    Squared : The mean in place of a quantile.
    DSEKLRegressor.predict_interval : Calibrated intervals from one fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl.losses import Quantile
    >>> y, f = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> print(Quantile(quantile=0.9).value(y, f).round(3))
    [0.9 0.1]
    """

    quantile: float = 0.5

    tasks: ClassVar = ("regression",)
    degree: ClassVar = 1
    curvature: ClassVar = 0.0
    has_hard_form: ClassVar = True
    settled_gap: ClassVar = 0.03

    @property
    def shape(self) -> float:
        return self.quantile

    def in_unit(self, unit: float) -> Self:
        return self

    def value(self, y: Array, f: Array) -> Array:
        residual = y - f
        return np.where(residual > 0, self.quantile * residual, (self.quantile - 1.0) * residual)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(y > f, -self.quantile, np.where(y < f, 1.0 - self.quantile, 0.0))

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        inside = (coef >= C * (np.float64(self.quantile) - 1.0)) & (coef <= C * np.float64(self.quantile))
        return np.where(inside, -y * coef, np.inf)

    def box(self, y: Array, C: Array) -> Box:
        return Box(0.0, np.zeros_like(C), (self.quantile - 1.0) * C, self.quantile * C)

    def dual_step(self) -> Any:
        return steps.quantile

    def best_constant(self, y: Array, weights: Array) -> float:
        return _weighted_quantile(y, weights, self.quantile)
