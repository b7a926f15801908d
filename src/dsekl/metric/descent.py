"""Doubly stochastic metric learning: random rows, random cols, a step on the logarithm of each feature's weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gradient import neighbour_loss

N_ROWS, N_COLS = 512, 20_000
"""Rows whose targets are predicted in a step, and cols that predict them."""

MOST_ENTRIES = 2**22
"""Entries of the cols of a step: with many features, fewer cols."""

FEWEST_COLS = 2_000

N_STEPS = 100
RATE, LAST_RATE = 0.2, 0.04
"""Adam's step on the logarithms, at first and at last."""

N_AVERAGED = 30
"""Last steps whose logarithms are averaged: what the last batches happened to say cancels out."""

WIDTHS = 2.0 ** np.arange(-4, 13, 2)
"""Equal weights to start from, as typical squared distances between rows."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Learner:
    """The data of a descent, of which ``rows`` may be used."""

    kernel: Any
    X: Any
    targets: Floats
    weights: Floats
    rows: NDArray[np.intp]
    n_threads: int

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
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            direction = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-12)
            log_gamma -= (RATE + (LAST_RATE - RATE) * step / N_STEPS) * direction
            if step > N_STEPS - N_AVERAGED:
                average += log_gamma / N_AVERAGED
            advance(step / N_STEPS)
        learned = np.zeros_like(gamma)
        learned[varying] = np.exp(average)
        return learned

    def _draw(self, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return rows and cols, drawn without replacement."""
        n = len(self.rows)
        n_rows = max(1, min(N_ROWS, n // 5))
        n_cols = min(N_COLS, max(FEWEST_COLS, MOST_ENTRIES // self.X.shape[1]), n - n_rows)
        drawn = rng.choice(n, n_rows + n_cols, replace=False, shuffle=False)
        rng.shuffle(drawn)
        return self.rows[np.sort(drawn[:n_rows])], self.rows[np.sort(drawn[n_rows:])]

    def _loss(self, gamma: Floats, batch: tuple[NDArray[np.intp], NDArray[np.intp]]) -> tuple[float, Floats]:
        scale = gamma**self.kernel.gamma_power
        center = np.asarray(self.X[batch[1][0]], dtype=np.float64)

        def side(part: NDArray[np.intp]) -> tuple[NDArray[np.float32], Floats, Floats]:
            points = (np.asarray(self.X[part], dtype=np.float64) - center) * scale
            return np.ascontiguousarray(points, dtype=np.float32), self.targets[part], self.weights[part]

        return neighbour_loss(*side(batch[0]), *side(batch[1]), self.kernel.pairwise, self.n_threads)
