"""The kernel machine beside simple models, weighed by what each got right.

Beside the kernel machine stand linear models of the columns, which forget at different rates, and a model that knows
the last target alone: for classes how often each followed the last one, for numbers the last target itself, which a
linear model also has as a column. One more is *stacked*: the combination of all of them that a Newton step on the log
loss (classes) or recursive least squares (numbers, with weights that sum to 1) follows. All are weighed by
``exp(-losses)``, the errors of classes and the distances of numbers, so that f is a sum over the models, and a model
that errs has no say. With each row a little of the weight is shared out evenly (Herbster and Warmuth's fixed share,
1998), so that a model that is best from now on needs few rows to have its say, and one that stays best has nearly all.

Classes: each model has odds of its own, a slope that makes log odds of what it predicts. The sum is one of log odds,
and probabilities stay right when the weight moves from one model to another.

Recursive least squares keep a matrix of the columns' squares. With more than ``MOST_COLUMNS`` columns the linear models
have none, and follow the mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .buffer import Floats
from .mixture_steps import INTERCEPT_PRIOR, PRIOR, last_alone
from .moments import Moments
from .odds import LEAST_CURVATURE, LOG_SLOPE, MOST_LOG_SLOPE, STEEPNESS
from .stacking import FARTHEST, STACK_LEAST, STACK_RIDGE, STACK_VARIANCE

MOST_COLUMNS = 64
"""Columns up to which linear models are learned: each costs a row the square of their number."""

HALF_LIVES = {True: (np.inf, 200.0), False: (np.inf, 200.0, 700.0)}
"""Of the linear models, for classes and for numbers; the last of the latter knows the last target."""

STACK_KEPT = {True: 0.995, False: 0.998}
TABLE_PRIOR = 0.3
"""Of how often a class followed another."""


class Mixture(NamedTuple):
    """All that the simple models know, and how they did; few arrays, since compiled functions pass each of them on."""

    slopes: Floats
    """(n_linear, n_outputs, n_columns): the intercept first, then columns, for numbers the last targets behind them."""
    variance: Floats
    """(n_linear, n_columns, n_columns): of recursive least squares."""
    placement: Floats
    """(2, n_columns - 1): what is taken from a column, and what it is then multiplied by."""
    last: Floats
    """(1 + n_outputs,): the last label, -1 before any row, and the last targets."""
    table: Floats
    """(n_classes, n_classes): how often a class followed each; of no size for numbers."""
    stacked: Floats
    """(n_models,): the weights of the stacked combination."""
    curvature: Floats
    """(n_models, n_models): of those, for classes; their variance for numbers."""
    odds: Floats
    """(2, n_models + 1): of classes, the slopes that make log odds of what models predict, over ``steepness``."""
    regret: Floats
    """(n_models + 1,): minus the logarithms of the weights of all models, the stacked one last."""
    distances: Floats
    """(2, n_outputs): of numbers, the recent mean distance and its weight."""
    keep: Floats
    """(n_linear + 1,): what linear models, and the stacked one, keep with each row."""
    steepness: float
    """The log odds of f = 1."""

    @staticmethod
    def start(n_features: int, n_outputs: int, classes: bool, steepness: float = 1.0) -> Mixture:
        """Return models that have seen nothing."""
        lives, sizes = HALF_LIVES[classes], mixture_sizes(n_features, n_outputs, classes)
        n_linear, n_models, n, n_classes = (sizes[name] for name in ("linear", "models", "columns", "classes"))
        stacked = np.full(n_models, 0.5 if classes else 1.0 / n_models)
        if classes:
            stacked[0] = 2.0
        log_slopes = np.zeros(n_models + 1)
        if classes:
            log_slopes[1:] = np.log(STEEPNESS / steepness)
            log_slopes[-1] = -np.log(steepness)
        return Mixture(
            np.zeros((n_linear, n_outputs, n)), np.stack([_prior(n)] * n_linear), np.zeros((2, n - 1)),
            np.concatenate([[-1.0], np.zeros(n_outputs)]), np.full((n_classes, n_classes), TABLE_PRIOR), stacked,
            np.eye(n_models) * (STACK_RIDGE if classes else STACK_VARIANCE),
            np.stack([log_slopes, np.full(n_models + 1, LEAST_CURVATURE)]), np.full(n_models + 1, np.log(n_models + 1)),
            np.zeros((2, n_outputs)), np.append(np.exp2(-1.0 / np.array(lives)), STACK_KEPT[classes]), steepness,
        )  # fmt: skip

    @property
    def n_outputs(self) -> int:
        return int(self.slopes.shape[1])

    @property
    def n_lags(self) -> int:
        """Columns that are last targets."""
        return 0 if len(self.table) else self.n_outputs

    def shares(self) -> Floats:
        """Return what f has of each model's own prediction, (n_models,); for numbers they sum to 1."""
        weights = np.exp(self.odds[LOG_SLOPE] - self.regret)
        return np.asarray(weights[:-1] + weights[-1] * self.stacked)

    def place(self, features: Moments, targets: Moments) -> None:
        """Take centre and scale of the columns anew; what was learned stays the same function of them."""
        d = self.placement.shape[1] - self.n_lags
        mean = np.concatenate([features.mean[:d], targets.mean[: self.n_lags]])
        spread = np.sqrt(np.concatenate([features.variance[:d], targets.variance[: self.n_lags]]))
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        before, old = self.placement
        known = (old > 0) & (scale > 0)
        ratio = np.divide(old, scale, out=np.ones_like(old), where=known)
        change = np.eye(1 + len(mean))  # the old columns, (1, z), of the new ones
        change[1:, 0] = np.where(known, (mean - before) * old, 0.0)
        change[np.arange(1, len(change)), np.arange(1, len(change))] = ratio
        back = np.eye(len(change))
        back[1:, 0] = -change[1:, 0] / ratio
        back[np.arange(1, len(change)), np.arange(1, len(change))] = 1.0 / ratio
        # A scale that was too large at first had made the prior too narrow.
        wider = np.concatenate([[0.0], PRIOR * np.maximum(0.0, 1.0 - 1.0 / ratio**2)])
        for m in range(len(self.slopes)):
            self.slopes[m] = np.einsum("oi,ij->oj", self.slopes[m], change)
            moved = np.einsum("ij,jk,lk->il", back, self.variance[m], back)
            self.variance[m] = 0.5 * (moved + moved.T) + np.diag(wider)
        self.placement[...] = mean, scale

    def rescale(self, changed: NDArray[np.bool_], old: Floats, new: Floats, ratio: Floats) -> None:
        """Take columns that have changed in their new units; in units of the spread all stays as it was."""
        d = self.placement.shape[1] - self.n_lags
        center, scale = self.placement[:, :d]
        if d:
            center[...] = np.where(changed, new + (center - old) * ratio, center)
            scale[...] = scale / ratio

    def widened(self, n_features: int) -> Mixture:
        """Return the models with further columns; with too many, they have none."""
        lags, d, old = self.n_lags, linear_columns(n_features), self.placement.shape[1] - self.n_lags
        kept = min(d, old)
        n = 1 + d + lags
        mine = np.concatenate([np.arange(1 + kept), np.arange(1 + d, n)])
        theirs = np.concatenate([np.arange(1 + kept), np.arange(1 + old, 1 + old + lags)])
        slopes, variance = np.zeros((*self.slopes.shape[:2], n)), np.stack([_prior(n)] * len(self.slopes))
        slopes[:, :, mine] = self.slopes[:, :, theirs]
        for m in range(len(slopes)):
            variance[m][np.ix_(mine, mine)] = self.variance[m][np.ix_(theirs, theirs)]
        placement = np.zeros((2, n - 1))
        placement[:, mine[1:] - 1] = self.placement[:, theirs[1:] - 1]
        return self._replace(slopes=slopes, variance=variance, placement=placement)

    def with_class(self, places: list[int], signs: list[float]) -> Mixture:
        """Return the models with one output per class, and one more, of a class that no row was of."""
        # Made empty first: concatenated views may lie in another order, and compiled code relies on this one.
        slopes = np.zeros((len(self.slopes), len(signs) + 1, self.slopes.shape[2]))
        slopes[:, :-1] = self.slopes[:, places] * np.array(signs)[:, None]
        slopes[:, -1, 0] = -1.0
        n, old = len(signs) + 1, len(self.table)
        table = np.full((n, n), TABLE_PRIOR)
        table[:old, :old] = self.table
        last = np.concatenate([self.last[:1], np.zeros(n)])
        odds, stacked = self.odds.copy(), self.stacked.copy()
        if len(signs) == 2 and self.n_outputs == 1:  # f and -f are twice as far apart
            odds[LOG_SLOPE, :-1] = np.maximum(odds[LOG_SLOPE, :-1] - np.log(2.0), -MOST_LOG_SLOPE)
            stacked = np.maximum(0.5 * stacked, STACK_LEAST)
        return self._replace(
            slopes=slopes, table=table, last=last, distances=np.zeros((2, n)), odds=odds, stacked=stacked
        )

    def affine(self) -> tuple[Floats, Floats]:
        """Return the slopes by columns (n_columns, n_outputs), and the intercept, of all that is beside the kernel."""
        shares, lags = self.shares(), self.n_lags
        each = np.einsum("m,mon->on", shares[1:-1], self.slopes)
        d, scale, center = self.placement.shape[1] - lags, self.placement[1], self.placement[0]
        slopes = each[:, 1:] * scale
        z = np.clip((self.last[1 : 1 + lags] - center[d:]) * scale[d:], -FARTHEST, FARTHEST)
        intercept = each[:, 0] - slopes[:, :d] @ center[:d] + shares[-1] * last_alone.py_func(self)
        if self.last[0] >= 0 and lags:
            intercept = intercept + shares[-2] * (self.slopes[-1, :, 1 + d :] @ z)
        return np.asarray(slopes[:, :d].T), np.asarray(intercept)


def mixture_sizes(n_features: int, n_outputs: int, classes: bool) -> dict[str, int]:
    """Return the sizes of a mixture's arrays."""
    n_linear = len(HALF_LIVES[classes])
    n_columns = 1 + linear_columns(n_features) + (0 if classes else n_outputs)
    return {
        "linear": n_linear, "columns": n_columns, "placed": n_columns - 1, "last": 1 + n_outputs,
        "classes": max(2, n_outputs) if classes else 0, "models": n_linear + 2, "judged": n_linear + 3,
    }  # fmt: skip


def linear_columns(n_features: int) -> int:
    """Return how many columns linear models have."""
    return n_features if n_features <= MOST_COLUMNS else 0


def _prior(n: int) -> NDArray[np.float64]:
    prior = np.eye(n) * PRIOR
    prior[0, 0] = INTERCEPT_PRIOR
    return prior
