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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

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
    stream: Stream, X: Floats, targets: Floats, penalties: Floats, step_sizes: Floats, n_rows: int, n_steps: int,
    rng: np.random.Generator,
) -> Iterator[tuple[int, Floats, Floats]]:  # fmt: skip
    """Yield each step's number, new coefficients (n_terms, n_outputs), and the factor on all earlier ones.

    ``targets`` are (n, n_outputs) of -1 and 1, or (n, 1) for as many outputs as there are ``penalties``.
    """
    f = np.zeros((len(X), max(len(penalties), targets.shape[1])))
    for t in range(1, n_steps + 1):
        rows = draw_with_replacement(rng, len(X), n_rows)
        features = stream.features(t, X)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.where(targets[rows] * f[rows] < 1.0, -targets[rows], 0.0)
            shrink = 1.0 - 2.0 * penalties * step_sizes / t
            coef = -step_sizes / t * (features[rows].T @ slope)
            f = shrink * f + features @ coef
        yield t, coef, shrink


class DoublyStochasticFeatures(ClassifierMixin, BaseEstimator):
    """A hinge-loss classifier by Dai et al.'s algorithm, with the RBF kernel.

    Parameters
    ----------
    gamma : float
        Width, ``k = exp(-gamma d^2)``.
    C : float
        Weight of the loss; lambda is ``1 / (C N)``.
    n_rows, n_terms : int
        Rows and new features a step.
    step_size : float
        Factor of every step, which shrinks as 1/t.
    n_steps : int
        Steps to take.
    random_state : int, RandomState or None
    """

    def __init__(
        self, gamma: float = 1.0, *, C: float = 1.0, n_rows: int = 50, n_terms: int = 50, step_size: float = 1.0,
        n_steps: int = 500, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.gamma = gamma
        self.C = C
        self.n_rows = n_rows
        self.n_terms = n_terms
        self.step_size = step_size
        self.n_steps = n_steps
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to the rows of X and their labels y."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only, {self.classes_[0]!r}; a classifier needs at least two")
        if len(self.classes_) == 2:
            targets = np.where(codes == 1, 1.0, -1.0)[:, None]
        else:
            targets = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self.stream_ = Stream(int(rng.integers(2**31 - 1)), self.n_terms, self.gamma)
        setting = np.array([1.0 / (self.C * len(X))]), np.array([self.step_size])
        self.coef_ = np.zeros((self.n_steps, self.n_terms, targets.shape[1]))
        for t, coef, shrink in descend(self.stream_, X, targets, *setting, self.n_rows, self.n_steps, rng):
            self.coef_[: t - 1] *= shrink
            self.coef_[t - 1] = coef
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return f: (n,) for two classes, (n, n_classes) for more."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        f = np.zeros((len(X), self.coef_.shape[2]))
        for t, coef in enumerate(self.coef_, start=1):
            f += self.stream_.features(t, X) @ coef
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        f = self.decision_function(X)
        codes = (f > 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[codes])
