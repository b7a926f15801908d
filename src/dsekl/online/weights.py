"""Learned weights of the features: gradient steps on the machine's own loss, through its own points.

The descent of ``dsekl.metric`` predicts rows by all others, and finds the widths of a machine that keeps every point. A
machine on a budget needs wider ones. So here the rows that came first are predicted by the buffer: with
``f(x) = sum_j c_j k(s_j(x))`` and ``s_j(x) = sum_d w_d (x_d - z_jd)^2``, the derivative of a row's loss by ``log w_d``
is ``loss'(f) sum_j c_j k'(s_j) w_d (x_d - z_jd)^2``, which two matrix products give for all features at once.

Weights that are no better on rows that the descent has not seen are not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.losses import Loss

from .buffer import Floats

N_ROWS, N_STEPS = 512, 90
RATE, LAST_RATE = 0.1, 0.02
MEAN_SHARE, SQUARE_SHARE, TINY = 0.1, 0.01, 1e-8
"""Adam's share of a new gradient in the moving average, and of its square; and what keeps the quotient finite."""

N_AVERAGED = 30
HELD_OUT = 4
"""One row in so many judges the weights."""

MOST_CHANGE = np.log(1e4)
"""The largest factor between the new weight of a feature and its old one."""

NUDGE = 1e-5
"""For derivatives of the kernel's profile."""


@dataclass(frozen=True)
class Expansion:
    """f as it stands: points (n, n_features) with coefficients (n, n_outputs), and the kernel of squared distances."""

    points: Floats
    coef: Floats
    profile: Callable[[Floats], Floats]

    def kernel_and_slope(self, rows: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Return k and its derivative, for columns multiplied by ``scale``."""
        x, z = rows * scale, self.points * scale
        s = np.maximum(0.0, (x * x).sum(axis=1)[:, None] + (z * z).sum(axis=1) - 2.0 * x @ z.T)
        nudge = NUDGE * (1.0 + s)
        k = self.profile(s.copy())
        return k, (self.profile(s + nudge) - k) / nudge


@dataclass(frozen=True)
class Examples:
    """Rows as points, with targets, weights and what is wrong with a prediction."""

    rows: Floats
    targets: Floats
    weights: Floats
    loss: Loss

    def at(self, places: NDArray[np.int64]) -> Examples:
        """Return some of the rows."""
        return Examples(self.rows[places], self.targets[places], self.weights[places], self.loss)

    def mean_loss(self, f: Floats) -> float:
        """Return the weighted mean of the losses."""
        return float(np.average(self.loss.value(self.targets, f).mean(axis=1), weights=self.weights))


@one_blas_thread()
def descend(expansion: Expansion, examples: Examples, rng: np.random.Generator) -> Floats | None:
    """Return what to multiply the scale of each column by, or None where nothing is better than what there is."""
    order = rng.permutation(len(examples.rows))
    cut = len(order) // HELD_OUT
    held_out, seen = examples.at(order[:cut]), examples.at(order[cut:])
    if not (held_out.weights.any() and seen.weights.any()):
        return None
    logs = _steps(expansion, seen, rng)
    changed = np.exp(0.5 * logs)
    before, after = (
        held_out.mean_loss(expansion.kernel_and_slope(held_out.rows, scale)[0] @ expansion.coef)
        for scale in (np.ones_like(changed), changed)
    )
    return changed if after < before else None


def _steps(expansion: Expansion, examples: Examples, rng: np.random.Generator) -> Floats:
    """Return the logarithms of the features' weights after some steps of Adam, averaged over the last of them."""
    logs = mean = square = average = np.zeros(examples.rows.shape[1])
    for step in range(1, N_STEPS + 1):
        batch = examples.at(rng.choice(len(examples.rows), min(N_ROWS, len(examples.rows)), replace=False))
        gradient = _gradient(expansion, batch, logs)
        mean = mean + MEAN_SHARE * (gradient - mean)
        square = square + SQUARE_SHARE * (gradient**2 - square)
        direction = mean / (1 - (1 - MEAN_SHARE) ** step)
        spread = np.sqrt(square / (1 - (1 - SQUARE_SHARE) ** step)) + TINY
        logs = logs - (RATE + (LAST_RATE - RATE) * step / N_STEPS) * direction / spread
        logs = np.clip(logs, -MOST_CHANGE, MOST_CHANGE)
        if step > N_STEPS - N_AVERAGED:
            average = average + logs / N_AVERAGED
    return average


def _gradient(expansion: Expansion, batch: Examples, logs: Floats) -> Floats:
    k, slope = expansion.kernel_and_slope(batch.rows, np.exp(0.5 * logs))
    share = batch.weights / max(batch.weights.sum(), TINY)
    pull = batch.loss.gradient(batch.targets, k @ expansion.coef) * share[:, None]
    pairs = (pull @ expansion.coef.T) * slope
    x, z = batch.rows, expansion.points
    squares = pairs.sum(axis=1) @ (x * x) + pairs.sum(axis=0) @ (z * z) - 2.0 * ((pairs @ z) * x).sum(axis=0)
    return np.asarray(np.exp(logs) * squares)
