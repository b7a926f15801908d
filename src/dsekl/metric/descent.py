"""Doubly stochastic metric learning: random rows, random centres, a step on the logarithm of each feature's weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import VectorKernel
from dsekl.rows import DenseRows
from dsekl.workers import Workers

from .neighbours import neighbour_loss

N_ROWS, N_COLS = 512, 20_000
"""Rows whose targets are predicted in a step, and centres that predict them."""

MOST_ENTRIES = 2**22
"""Entries of the centres of a step: with many features, fewer centres."""

FEWEST_COLS = 2_000

N_STEPS = 100
RATE, LAST_RATE = 0.2, 0.04
"""Adam's step on the logarithms, at first and at last."""

MEAN_SHARE, SQUARE_SHARE, TINY = 0.1, 0.001, 1e-12
"""Adam's share of a new gradient in the moving average, and of its square; and what keeps the quotient finite."""

N_AVERAGED = 30
"""Last steps whose logarithms are averaged: what the last batches happened to say cancels out."""

WIDTHS = 2.0 ** np.arange(-4, 13, 2)
"""Equal weights to start from, as typical squared distances between rows."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Learner:
    """The data of a descent, of which ``rows`` may be used."""

    kernel: VectorKernel
    X: DenseRows
    targets: Floats
    weights: Floats
    rows: NDArray[np.intp]
    workers: Workers

    def losses_of_widths(self, unit: Floats, rng: np.random.Generator) -> Floats:
        """Return the loss of the neighbours' mean at each of ``WIDTHS``, on one batch."""
        batch = self._draw(rng)
        return np.array([self._loss(width * unit, batch)[0] for width in WIDTHS])

    def descend(self, gamma: Floats, rng: np.random.Generator, advance: Callable[[float], None]) -> Floats:
        """Return gammas after ``N_STEPS`` steps of Adam from ``gamma``."""
        varying = gamma > 0
        log_gamma = np.log(gamma[varying])
        mean, square, average = (np.zeros_like(log_gamma) for _ in range(3))
        for step in range(1, N_STEPS + 1):
            now = np.zeros_like(gamma)
            now[varying] = np.exp(log_gamma)
            gradient = self._loss(now, self._draw(rng))[1][varying]
            mean += MEAN_SHARE * (gradient - mean)
            square += SQUARE_SHARE * (gradient**2 - square)
            spread = np.sqrt(square / (1 - (1 - SQUARE_SHARE) ** step)) + TINY
            direction = mean / (1 - (1 - MEAN_SHARE) ** step) / spread
            log_gamma -= (RATE + (LAST_RATE - RATE) * step / N_STEPS) * direction
            if step > N_STEPS - N_AVERAGED:
                average += log_gamma / N_AVERAGED
            advance(step / N_STEPS)
        learned = np.zeros_like(gamma)
        learned[varying] = np.exp(average)
        return learned

    def _draw(self, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return rows and centres, drawn without replacement."""
        n = len(self.rows)
        n_rows = max(1, min(N_ROWS, n // 5))
        n_cols = min(N_COLS, max(FEWEST_COLS, MOST_ENTRIES // self.X.n_features), n - n_rows)
        drawn = rng.choice(n, n_rows + n_cols, replace=False, shuffle=False)
        rng.shuffle(drawn)
        return self.rows[np.sort(drawn[:n_rows])], self.rows[np.sort(drawn[n_rows:])]

    def _loss(self, gamma: Floats, batch: tuple[NDArray[np.intp], NDArray[np.intp]]) -> tuple[float, Floats]:
        scale = gamma**self.kernel.gamma_power
        center = np.asarray(self.X[batch[1][:1]], dtype=np.float64)

        def side(part: NDArray[np.intp]) -> tuple[NDArray[np.float32], Floats, Floats]:
            points = (np.asarray(self.X[part], dtype=np.float64) - center) * scale
            return np.ascontiguousarray(points, dtype=np.float32), self.targets[part], self.weights[part]

        return neighbour_loss(*side(batch[0]), *side(batch[1]), self.kernel.pairwise, self.workers)
