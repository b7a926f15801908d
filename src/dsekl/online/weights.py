"""Learned weights of the features: gradient steps on the machine's own loss, through its own points.

The descent of ``dsekl.metric`` predicts rows by all others, and finds the widths of a machine that keeps every point. A
machine on a budget needs wider ones. So here the last rows are predicted by the buffer: with
``f(x) = sum_j c_j k(s_j(x))`` and ``s_j(x) = sum_d w_d (x_d - z_jd)^2``, the derivative of a row's loss by ``log w_d``
is ``loss'(f) sum_j c_j k'(s_j) w_d (x_d - z_jd)^2``, which ``weights_steps`` sums up for all features at once.

Weights that are no better on rows that the descent has not seen are not taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.losses import Loss

from .buffer import Floats
from .weights_steps import Singles, backward, forward

N_STEPS = 90
FEWEST, MOST, SHARE = 64, 256, 8
"""Rows of a step: one in so many of those that there are, within these bounds. A few rows err like many where there are
few to learn from, and let the descent leave a bad place; with many rows their noise is all that is left to go."""

RATE, LAST_RATE = 0.1, 0.02
MEAN_SHARE, SQUARE_SHARE, TINY = 0.1, 0.01, 1e-8
"""Adam's share of a new gradient in the moving average, and of its square; and what keeps the quotient finite."""

N_AVERAGED = 30
HELD_OUT = 4
"""One row in so many judges the weights."""

MOST_CHANGE = np.log(1e4)
"""The largest factor between the new weight of a feature and its old one."""


@dataclass(frozen=True)
class Expansion:
    """f as it stands: points (n_features, n), coefficients (n_outputs, n), and the kernel of squared distances."""

    points: Singles
    coef: Singles
    profile: int
    """Its address, for single precision."""
    params: Floats

    def predict(self, rows: Singles, weights: Floats, slopes: Singles | None = None) -> Singles:
        """Return f at rows (n, n_outputs), for columns of these weights; ``slopes`` takes the slopes of the profile."""
        f = np.empty((len(rows), len(self.coef)), dtype=np.float32)
        asked = np.empty((0, 0), dtype=np.float32) if slopes is None else slopes
        forward(self.points, self.coef, rows, weights.astype(np.float32), self.profile, self.params, asked, f)
        return f


@dataclass(frozen=True)
class Examples:
    """Rows as points, with targets, weights and what is wrong with a prediction."""

    rows: Singles
    targets: Floats
    weights: Floats
    loss: Loss

    def at(self, places: NDArray[np.int64]) -> Examples:
        """Return some of the rows."""
        return Examples(self.rows[places], self.targets[places], self.weights[places], self.loss)

    def mean_loss(self, f: NDArray[Any]) -> float:
        """Return the weighted mean of the losses."""
        return float(np.average(self.loss.value(self.targets, f).mean(axis=1), weights=self.weights))


def descend(expansion: Expansion, examples: Examples, rng: np.random.Generator) -> Floats | None:
    """Return what to multiply the scale of each column by, or None where nothing is better than what there is."""
    order = rng.permutation(len(examples.rows))
    cut = len(order) // HELD_OUT
    held_out, seen = examples.at(order[:cut]), examples.at(order[cut:])
    if not (held_out.weights.any() and seen.weights.any()):
        return None
    weights = np.exp(_steps(expansion, seen, rng))
    before, after = (
        held_out.mean_loss(expansion.predict(held_out.rows, times)) for times in (np.ones_like(weights), weights)
    )
    return np.asarray(np.sqrt(weights)) if after < before else None


def _steps(expansion: Expansion, examples: Examples, rng: np.random.Generator) -> Floats:
    """Return the logarithms of the features' weights after some steps of Adam, averaged over the last of them."""
    logs = mean = square = average = np.zeros(examples.rows.shape[1])
    batches = _batches(examples, rng)
    for step in range(1, N_STEPS + 1):
        gradient = _gradient(expansion, next(batches), logs)
        mean = mean + MEAN_SHARE * (gradient - mean)
        square = square + SQUARE_SHARE * (gradient**2 - square)
        direction = mean / (1 - (1 - MEAN_SHARE) ** step)
        spread = np.sqrt(square / (1 - (1 - SQUARE_SHARE) ** step)) + TINY
        logs = logs - (RATE + (LAST_RATE - RATE) * step / N_STEPS) * direction / spread
        logs = np.clip(logs, -MOST_CHANGE, MOST_CHANGE)
        if step > N_STEPS - N_AVERAGED:
            average = average + logs / N_AVERAGED
    return average


def _batches(examples: Examples, rng: np.random.Generator) -> Iterator[Examples]:
    """Yield batches for ever: all rows in a random order, then in another one."""
    n = len(examples.rows)
    size = min(n, max(FEWEST, min(MOST, n // SHARE)))
    while True:
        order = rng.permutation(n)
        for first in range(0, n - size + 1, size):
            yield examples.at(order[first : first + size])


def _gradient(expansion: Expansion, batch: Examples, logs: Floats) -> Floats:
    weights = np.exp(logs)
    slopes = np.empty((len(batch.rows), expansion.points.shape[1]), dtype=np.float32)
    f = expansion.predict(batch.rows, weights, slopes)
    share = batch.weights / max(batch.weights.sum(), TINY)
    pull = (batch.loss.gradient(batch.targets, f) * share[:, None]).astype(np.float32)
    found = np.empty(len(weights))
    backward(expansion.points, expansion.coef, batch.rows, slopes, pull, found)
    return np.asarray(weights * found)
