"""Losses of the margin ``y f`` for labels -1 and 1: hinge, squared hinge, logistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, xlogy
from sklearn.base import BaseEstimator

from . import steps
from .loss import Array, Box, BoxedLoss, Loss


@dataclass
class Hinge(BoxedLoss, BaseEstimator):
    """``max(0, 1 - y f)``: the support vector machine.

    See Also
    --------
    SquaredHinge : The same, squared.
    Logistic : Probabilities without a further map.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl.losses import Hinge
    >>> y, f = np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.5])
    >>> print(Hinge().value(y, f).round(3))
    [0.  0.5 1.5]
    """

    tasks: ClassVar = ("classification",)
    curvature: ClassVar = 0.0
    has_hard_form: ClassVar = True
    settled_gap: ClassVar = 0.05

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(y * f < 1.0, -y, 0.0)

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        size = y * coef
        return np.where((size >= 0) & (size <= C), -size, np.inf)

    def box(self, y: Array, C: Array) -> Box:
        end = y * C
        return Box(0.0, np.zeros_like(C), np.minimum(0.0, end), np.maximum(0.0, end))

    def dual_step(self) -> Any:
        return steps.hinge


@dataclass
class SquaredHinge(Loss, BaseEstimator):
    """``max(0, 1 - y f)^2``.

    See Also
    --------
    Hinge : The same, not squared: fewer support vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl.losses import SquaredHinge
    >>> y, f = np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.5])
    >>> print(SquaredHinge().value(y, f).round(3))
    [0.   0.25 2.25]
    """

    tasks: ClassVar = ("classification",)
    curvature: ClassVar = 2.0
    has_hard_form: ClassVar = True
    settled_gap: ClassVar = 0.05

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        size = y * coef
        with np.errstate(divide="ignore", invalid="ignore"):
            ridge = np.where(size == 0, 0.0, size**2 / (4.0 * C))
        return np.where(size >= 0, -size + ridge, np.inf)

    def dual_step(self) -> Any:
        return steps.squared_hinge


@dataclass
class Logistic(Loss, BaseEstimator):
    """``log(1 + exp(-y f))``: probabilities through the sigmoid of f.

    See Also
    --------
    Hinge : The default, with fewer support vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from dsekl.losses import Logistic
    >>> y, f = np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.5])
    >>> print(Logistic().value(y, f).round(3))
    [0.127 0.474 0.974]
    """

    tasks: ClassVar = ("classification",)
    curvature: ClassVar = 0.25
    settled_gap: ClassVar = 0.05

    def value(self, y: Array, f: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, -y * f))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(-y * expit(-y * f))

    def conjugate(self, y: Array, coef: Array, C: Array | float) -> Array:
        size = y * coef
        inside = (size >= 0) & (size <= C)
        a = np.where(inside, size, 0.0)
        weight = np.asarray(C, dtype=np.float64)
        entropy = xlogy(a, a) + xlogy(weight - a, weight - a) - xlogy(weight, weight)
        return np.where(inside, entropy, np.inf)

    def dual_step(self) -> Any:
        return steps.logistic
