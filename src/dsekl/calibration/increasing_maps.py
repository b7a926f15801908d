"""From f to probabilities: maps that keep the decision, so that the likeliest class is the one that f decides for.

Two classes have one f, and a map is increasing with probability 1/2 at f = 0. Several classes have one f each, and one
increasing map for all of them, after which the classes are made to add up to 1. So each map is a curve::

    sigmoid(slope f + offset)      one slope, or one for each side of 0, and an offset for several classes alone
    a broken line                  isotonic regression, its steps drawn towards the sigmoid by one row each

and for several classes also the softmax of slope f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, softmax
from sklearn.isotonic import IsotonicRegression

from dsekl.solvers.state import Finite, Floats, Form, Positive

Method = Literal["sigmoid", "two-sided", "softmax", "isotonic"]
Knots = Annotated[Floats, Form(("any",))]

SHARE_OF_SIGMOID = 1e-3
"""Share of the sigmoid in a broken line: where that is flat, the larger f still has the larger probability."""

LOWEST, HIGHEST = -5.0, 9.0
"""Bounds of a slope's logarithm."""

STARTS = [np.array([log_slope, 0.0]) for log_slope in (0.0, 1.0, 2.0)]

MOST_ENTRIES = 2**14
"""Values of f that one or two numbers are fitted on."""

LEAST = 1e-15
"""No probability is smaller: every class is possible."""


@dataclass(frozen=True)
class Map:
    """One map: its method, the sigmoid's slopes below and above 0, its offset, and the broken line's knots."""

    method: Method
    below: Positive
    above: Positive
    offset: Finite = 0.0
    knots: Knots = field(default_factory=lambda: np.empty(0))
    heights: Knots = field(default_factory=lambda: np.empty(0))

    def check(self, n_outputs: int) -> None:
        """Raise ValueError where this is no map that keeps the decisions of so many outputs."""
        several = n_outputs > 1
        if self.method == ("two-sided" if several else "softmax") or (self.offset != 0.0 and not several):
            raise ValueError(f"the method {self.method!r} with offset {self.offset!r} is none for {n_outputs} outputs")
        if self.below != self.above and self.method != "two-sided":
            raise ValueError(f"two slopes are none of {self.method!r}")
        knots, heights = self.knots, self.heights
        if (self.method == "isotonic") != (len(knots) > 0) or len(knots) != len(heights):
            raise ValueError(f"{len(knots)} knots and {len(heights)} heights are not those of {self.method!r}")
        if len(knots) == 0:
            return
        if (np.diff(knots) <= 0).any() or (np.diff(heights) < 0).any() or heights[0] < 0 or heights[-1] > 1:
            raise ValueError("the knots and heights are no increasing line of probabilities")
        if not several and np.interp(0.0, knots, heights) != 0.5:
            raise ValueError("the line does not go through 1/2 at 0")

    def probabilities(self, f: Floats) -> Floats:
        """Return the probability of each class, (n_rows, n_classes), for f (n_rows, n_outputs)."""
        if f.shape[1] == 1:
            found = self._both_classes(f[:, 0])
        elif self.method == "softmax":
            with np.errstate(over="ignore"):  # the difference of two finite numbers may be infinite, not their softmax
                found = softmax(self.below * (f - f.max(axis=1, keepdims=True)), axis=1)
        else:
            each = self._curve(f) + np.finfo(np.float64).tiny
            found = each / each.sum(axis=1, keepdims=True)
        found = np.clip(found, LEAST, 1.0)
        return with_decisions(found / found.sum(axis=1, keepdims=True), f)

    def _both_classes(self, f: Floats) -> Floats:
        if self.method == "isotonic":
            second = self._curve(f)
            return np.column_stack([1.0 - second, second])
        z = self._z(f)  # 1 - sigmoid would round small probabilities off
        return np.column_stack([expit(-z), expit(z)])

    def _curve(self, f: Floats) -> Floats:
        sigmoid = expit(self._z(f))
        if self.method != "isotonic":
            return np.asarray(sigmoid)
        line = np.interp(f, self.knots, self.heights)
        return np.asarray((1.0 - SHARE_OF_SIGMOID) * line + SHARE_OF_SIGMOID * sigmoid)

    def _z(self, f: Floats) -> Floats:
        return np.asarray(np.where(f > 0, self.above, self.below) * f + self.offset)


def with_decisions(p: Floats, f: Floats) -> Floats:
    """Return probabilities of which the largest is that of f's decision, also where rounding has made two the same."""
    decided = (f[:, 0] > 0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)
    rows = np.flatnonzero(p.argmax(axis=1) != decided)
    p[rows, decided[rows]] = np.nextafter(p[rows].max(axis=1), 2.0)
    return p


def fit_sigmoid(f: Floats, positive: Floats, weights: Floats) -> Map:
    """Return ``sigmoid(slope f)`` for two classes, and the normalised ``sigmoid(slope f + offset)`` for several."""
    f, positive, weights = _some(f, positive, weights)
    if f.shape[1] == 1:
        slope = _best_slope(lambda slope: _two_class_loss(slope * f, positive, weights))
        return Map("sigmoid", slope, slope)

    def loss(theta: Floats) -> float:
        return _several_loss(log_expit(np.exp(min(theta[0], HIGHEST)) * f + theta[1]), positive, weights)

    options = {"xatol": 1e-3, "fatol": 1e-7, "maxiter": 200}
    found = minimize(loss, min(STARTS, key=loss), method="Nelder-Mead", options=options).x
    slope = float(np.exp(np.clip(found[0], LOWEST, HIGHEST)))
    return Map("sigmoid", slope, slope, float(found[1]))


def fit_halfway(f: Floats, positive: Floats, weights: Floats) -> Map:
    """Return half of what the sigmoid corrects, on the scale of its slope's logarithm, for two classes.

    Odds that a machine shrinks or stretches become true with more rows, the error of twice as many being half as large.
    """
    slope = float(np.sqrt(fit_sigmoid(f, positive, weights).below))
    return Map("sigmoid", slope, slope)


def fit_two_sided(f: Floats, positive: Floats, weights: Floats) -> Map:
    """Return the sigmoid with one slope for each side of 0, for two classes."""
    f, positive, weights = _some(f, positive, weights)

    def slope_of(side: NDArray[np.bool_]) -> float:
        return _best_slope(lambda slope: _two_class_loss(slope * f[side], positive[side], weights[side]))

    return Map("two-sided", slope_of(f[:, 0] <= 0), slope_of(f[:, 0] > 0))


def fit_softmax(f: Floats, positive: Floats, weights: Floats) -> Map:
    """Return the softmax of slope f, for several classes."""
    f, positive, weights = _some(f, positive, weights)
    slope = _best_slope(lambda slope: _several_loss(slope * f, positive, weights))
    return Map("softmax", slope, slope)


def fit_isotonic(f: Floats, positive: Floats, weights: Floats) -> Map:
    """Return a broken line: for two classes through 1/2 at 0, for several one line for all."""
    sigmoid = fit_sigmoid(f, positive, weights)
    if f.shape[1] > 1:
        knots, heights = _line(f.ravel(), positive.ravel(), np.repeat(weights, f.shape[1]), sigmoid, 0.0, 1.0)
        return Map("isotonic", sigmoid.below, sigmoid.above, sigmoid.offset, knots, heights)
    parts = []
    for side, low, high in ((f[:, 0] < 0, 0.0, 0.5), (f[:, 0] > 0, 0.5, 1.0)):
        parts.append(_line(f[side, 0], positive[side, 0], weights[side], sigmoid, low, high))
    parts.insert(1, (np.zeros(1), np.full(1, 0.5)))
    knots, heights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Map("isotonic", sigmoid.below, sigmoid.above, 0.0, knots, heights)


def _line(f: Floats, positive: Floats, weights: Floats, sigmoid: Map, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the knots of isotonic regression within bounds: the middle of each step, and its height."""
    if len(f) == 0:
        return np.empty(0), np.empty(0)
    steps = IsotonicRegression(y_min=low, y_max=high).fit_transform(f, positive, sample_weight=weights)
    _, step = np.unique(steps, return_inverse=True)
    total = np.bincount(step, weights)
    middle = np.bincount(step, weights * f) / total
    height = np.bincount(step, weights * steps) / total
    # Weights have no unit: one row is the mean weight.
    one = weights.mean()
    drawn = (total * height + one * np.clip(sigmoid._curve(middle), low, high)) / (total + one)
    apart = np.concatenate([[True], np.diff(middle) > 0])
    return middle[apart], np.maximum.accumulate(drawn)[apart]


def _some(f: Floats, positive: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return as many of the rows, evenly spaced, as one or two numbers need."""
    step = max(1, f.size // MOST_ENTRIES)
    return f[::step], positive[::step], weights[::step]


def _best_slope(loss: Callable[[float], float]) -> float:
    """Return the slope of least loss, found on the scale of its logarithm."""
    found = minimize_scalar(lambda log_slope: loss(np.exp(log_slope)), bounds=(LOWEST, HIGHEST), method="bounded")
    return float(np.exp(found.x))


def _two_class_loss(z: Floats, positive: Floats, weights: Floats) -> float:
    """Return the mean log loss of smoothed labels, as Platt has them: all rows right is no proof of certainty."""
    if len(z) == 0:
        return 0.0
    share = weights / weights.mean()
    ones = float(share @ positive[:, 0])
    target = np.where(positive > 0, (ones + 1) / (ones + 2), 1 / (len(z) - ones + 2))
    losses = -(target * log_expit(z) + (1 - target) * log_expit(-z))
    return float(share @ losses[:, 0]) / len(z)


def _several_loss(scores: Floats, positive: Floats, weights: Floats) -> float:
    """Return the mean log loss of the softmax of scores, with one row's share of doubt."""
    log_p = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    doubt = 1.0 / (len(scores) + 2.0)
    right = (log_p * positive).sum(axis=1)
    return float(-np.average((1 - doubt) * right + doubt * log_p.mean(axis=1), weights=weights))
