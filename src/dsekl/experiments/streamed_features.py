"""Dai et al. (2014): doubly stochastic gradients on random Fourier features that are new in each step.

Where the paper draws random training points, Dai et al. draw random frequencies. Nothing of them is kept: step t draws
its own from the seed (seed, t), in training and again in prediction::

    t <- t + 1
    rows ~ unif(1, N);  terms: J cosines phi_t at frequencies from seed t
    coef_s <- (1 - 2 lambda step_size / t) coef_s                    for all s < t
    coef_t <- - step_size / t  phi_t(rows).T  loss'(y[rows], f(rows))

f has J more terms after each step, so the model is exact in the limit and prediction costs t J cosines a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import RBF
from dsekl.sampling import draw_with_replacement

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """The features of every step, made again whenever they are needed."""

    seed: int
    n_terms: int
    gamma: float

    def features(self, step: int, X: Floats) -> Floats:
        """Return the features (n, n_terms) of one step."""
        rng = np.random.default_rng([self.seed, step])
        frequencies = np.sqrt(self.gamma) * RBF().sample_frequencies(rng, X.shape[1], self.n_terms)
        phases = rng.uniform(0.0, 2.0 * np.pi, self.n_terms)
        return np.asarray(np.sqrt(2.0 / self.n_terms) * np.cos(X @ frequencies + phases))


def descend(
    stream: Stream, X: Floats, y: Floats, penalties: Floats, step_sizes: Floats, n_rows: int, n_steps: int,
    rng: np.random.Generator,
) -> Iterator[tuple[int, Floats, Floats]]:  # fmt: skip
    """Yield each step's number, new coefficients (n_terms, n_settings), and the factors on all earlier ones.

    ``y`` is (n,) of -1 and 1; ``penalties`` and ``step_sizes`` are (n_settings,).
    """
    labels = y[:, None]
    f = np.zeros((len(X), len(penalties)))
    for t in range(1, n_steps + 1):
        rows = draw_with_replacement(rng, len(X), n_rows)
        features = stream.features(t, X)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.where(labels[rows] * f[rows] < 1.0, -labels[rows], 0.0)
            shrink = 1.0 - 2.0 * penalties * step_sizes / t
            coef = -step_sizes / t * (features[rows].T @ slope)
            f = shrink * f + features @ coef
        yield t, coef, shrink
