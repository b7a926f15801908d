"""Doubly stochastic metric learning: random rows, random centres, a step on the logarithm of each feature's weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dsekl.search import others
from dsekl.solvers.state import PerFeature
from dsekl.workers import Workers

from .data import Data
from .neighbours import neighbour_loss, squared_errors
from .relevance import relevances, rows_for

N_ROWS, N_COLS = 512, 20_000
"""Rows whose targets are predicted in a step, and centres that predict them."""

FEW_ROWS = 256
"""Rows of a step where there are few, if they are no more than a fifth of all; a tenth of more."""

MOST_ENTRIES = 2**22
"""Entries of the centres of a step: with many features, fewer centres."""

FEWEST_COLS = 2_000

HALVED_ROWS, FEW_COLS = 2_400, 1_000
"""Rows to learn from up to which half of the others are centres, but so many if there are: so few rows are split in
several ways, and the mean over these evens out what fewer centres leave to chance."""

N_STEPS = 60
RATE, LAST_RATE = 0.3, 0.06
"""Adam's step on the logarithms, at first and at last."""

MEAN_SHARE, SQUARE_SHARE, TINY = 0.1, 0.001, 1e-12
"""Adam's share of a new gradient in the moving average, and of its square; and what keeps the quotient finite."""

N_AVERAGED = 18
"""Last steps whose logarithms are averaged: what the last batches happened to say cancels out."""

HALFWAY = 25
"""Steps after which a start may be clearly behind another."""

KEPT_STEPS = 10
"""Steps after which a descent is kept, so that it can be gone on from."""

WIDTHS: NDArray[np.float64] = 2.0 ** np.arange(-4.0, 13.0, 2.0)
"""Equal weights to start from, as typical squared distances between rows."""

N_BATCHES = 4
"""Batches that judge a width or the end of a descent: no single one decides."""

Floats = NDArray[np.float64]
Batch = tuple[NDArray[np.intp], NDArray[np.intp]]
Side = tuple[NDArray[np.float32], Floats, Floats]


@dataclass(frozen=True)
class Descent:
    """Where a descent stands: the logarithms of gamma (0 for constant features), Adam's averages, and steps done."""

    step: int
    log_gamma: PerFeature
    mean: PerFeature
    square: PerFeature
    average: PerFeature

    @staticmethod
    def of(gamma: Floats) -> Descent:
        """Return the start of a descent."""
        nothing = np.zeros_like(gamma)
        return Descent(0, np.log(np.where(gamma > 0, gamma, 1.0)), nothing, nothing, nothing)

    def check(self) -> None:
        """Raise ValueError where no descent can stand so."""
        if not 0 <= self.step <= N_STEPS:
            raise ValueError(f"step {self.step} is none of {N_STEPS}")
        if (self.square < 0).any():
            raise ValueError("an average of squares is negative")
        if max(np.abs(self.log_gamma).max(), np.abs(self.average).max()) > np.log(np.finfo(np.float64).max):
            raise ValueError("a gamma is not finite")

    def stepped(self, gradient: Floats) -> Descent:
        """Return the descent after a step of Adam."""
        step = self.step + 1
        mean = self.mean + MEAN_SHARE * (gradient - self.mean)
        square = self.square + SQUARE_SHARE * (gradient**2 - self.square)
        spread = np.sqrt(square / (1 - (1 - SQUARE_SHARE) ** step)) + TINY
        direction = mean / (1 - (1 - MEAN_SHARE) ** step) / spread
        log_gamma = self.log_gamma - (RATE + (LAST_RATE - RATE) * step / N_STEPS) * direction
        average = self.average + (log_gamma / N_AVERAGED if step > N_STEPS - N_AVERAGED else 0.0)
        return Descent(step, log_gamma, mean, square, average)


@dataclass(frozen=True)
class Learner:
    """The rows that weights may be learned from, and those held out; ``seed`` decides on all batches."""

    data: Data
    learned_from: NDArray[np.intp]
    held_out: NDArray[np.intp]
    seed: tuple[int, ...]

    @property
    def _workers(self) -> Workers:
        return self.data.workers

    def relevances(self) -> Floats:
        """Return how much each feature alone says of the targets; those of one group have their mean."""
        data, n = self.data, len(self.learned_from)
        n_rows = rows_for(n, data.rows.n_features)
        rng = self._rng(("alone", 0))
        rows = self.learned_from[np.sort(rng.choice(n, n_rows, replace=False, shuffle=False))]
        X = np.asarray(data.rows[rows])
        found = relevances(X, data.calm_targets[rows], data.weights[rows])
        if data.groups is None:
            return found
        means = np.bincount(data.groups, found) / np.bincount(data.groups).clip(1)
        return np.asarray(means[data.groups])

    def losses_of_widths(self, unit: Floats) -> Floats:
        """Return the loss of the neighbours' mean at each of ``WIDTHS``."""
        losses: list[Floats] = []
        while len(losses) < N_BATCHES and not (losses and self.data.deadline.passed):
            (points, targets, weights), cols = self._sides(unit, self._draw(("width", len(losses))))
            errors = squared_errors(points, targets, *cols, WIDTHS, self._workers)
            losses.append(np.average(errors, axis=1, weights=weights))
        return np.asarray(np.mean(losses, axis=0))

    def descend(
        self, gamma: Floats, descent: Descent, keep: Callable[[Descent], None], n_steps: int = N_STEPS
    ) -> Floats:
        """Return gammas after ``n_steps`` steps of Adam from ``gamma`` or where they stood, fewer in want of time."""
        varying = gamma > 0
        while descent.step < n_steps and not self.data.deadline.passed:
            now = np.where(varying, np.exp(descent.log_gamma), 0.0)
            gradient = self._loss(now, self._draw(("step", descent.step)))[1]
            descent = descent.stepped(self.data.tied(gradient))
            if descent.step % KEPT_STEPS == 0:
                keep(descent)
        end = descent.average if descent.step == N_STEPS else descent.log_gamma
        return np.where(varying, np.exp(end), 0.0)

    def held_out_losses(self, gamma: Floats) -> Floats:
        """Return each held-out row's part of the loss, predicted by the mean of those that were learned from."""
        rows = np.sort(self._rng(("held out", 0)).permutation(self.held_out)[: N_BATCHES * N_ROWS])
        (points, targets, weights), cols = self._sides(gamma, (rows, self._draw(("held out", 1))[1]))
        errors = squared_errors(points, targets, *cols, np.ones(1), self._workers)[0]
        return np.asarray(errors * (weights / weights.sum()))

    def _rng(self, use: tuple[str, int]) -> np.random.Generator:
        return np.random.default_rng([*self.seed, crc32(use[0].encode()), use[1]])

    def _draw(self, use: tuple[str, int]) -> Batch:
        """Return rows and centres, drawn without replacement."""
        rng, n = self._rng(use), len(self.learned_from)
        n_rows, n_cols = _batch_shape(n, self.data.rows.n_features)
        drawn = rng.choice(n, n_rows + n_cols, replace=False, shuffle=False)
        rng.shuffle(drawn)
        return self.learned_from[np.sort(drawn[:n_rows])], self.learned_from[np.sort(drawn[n_rows:])]

    def _loss(self, gamma: Floats, batch: Batch) -> tuple[float, Floats]:
        rows, cols = self._sides(gamma, batch)
        loss, of_counted = neighbour_loss(*rows, *cols, self._workers)
        gradient = np.zeros(len(gamma))
        gradient[gamma > 0] = of_counted
        return loss, gradient

    def _sides(self, gamma: Floats, batch: Batch) -> tuple[Side, Side]:
        """Return the points of a batch, of rows and of centres, in units of the distance, with targets and weights."""
        data, counted = self.data, np.flatnonzero(gamma)
        scale = np.sqrt(gamma[counted])
        center = np.asarray(data.rows[batch[1][:1]], dtype=np.float64)[:, counted]

        def side(part: NDArray[np.intp]) -> Side:
            points = data.rows[part]
            points = points if len(counted) == len(gamma) else points[:, counted]
            points = (np.asarray(points, dtype=np.float64) - center) * scale
            return np.ascontiguousarray(points, dtype=np.float32), data.calm_targets[part], data.weights[part]

        return side(batch[0]), side(batch[1])


def _batch_shape(n: int, n_features: int) -> tuple[int, int]:
    """Return how many rows and centres a step draws from ``n`` rows."""
    n_rows = max(1, min(N_ROWS, max(n // 10, min(FEW_ROWS, n // 5))))
    others = n - n_rows
    n_cols = others if n > HALVED_ROWS else min(others, max(FEW_COLS, others // 2))
    return n_rows, min(N_COLS, max(FEWEST_COLS, MOST_ENTRIES // n_features), n_cols)


def pairs_of_descent(n: int, n_features: int) -> float:
    """Return how many pairs of rows a descent compares, its width and its end included."""
    n_rows, n_cols = _batch_shape(n, n_features)
    return float((N_STEPS + (len(WIDTHS) + 1) * N_BATCHES) * n_rows * n_cols)


def learner(data: Data, held_out: NDArray[np.intp], seed: tuple[int, ...]) -> Learner:
    """Return a learner that may see all rows but those held out."""
    data = replace(data, rows=data.rows.without(held_out))
    return Learner(data, others(len(data), held_out), held_out, seed)
