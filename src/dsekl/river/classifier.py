"""Classification for river; classes and features may come up at any time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from scipy.special import expit

from .stream import Floats, Streamed, dicts_of

STEEPNESS = 2.0
"""Of the sigmoid that makes a probability of a margin, for losses that have none of their own."""


class KernelClassifier(Streamed, base.MiniBatchClassifier):
    """A kernel classifier that learns one row at a time, keeps a bounded number of points, and forgets.

    The machine is that of ``dsekl.OnlineDSEKLClassifier``. Features may come and go: a number that a row does not have
    is taken to be as usual, and texts are categories. No scaler is needed with ``gamma="auto"``.

    Parameters
    ----------
    kernel : str or kernel object
        A kernel of columns; points are merged with "rbf", and absorbed with others.
    gamma : "auto", "scale" or float
        "auto" learns a weight for each feature.
    loss : str or loss object
        With "logistic", probabilities are those of the model; with others they are squashed margins.
    C : float
        Weight of the loss of a row against the regularisation.
    budget : int
        Points that are kept.
    maintenance : str
        What happens over the budget: "merge", "absorb", "project", "random" or "oldest".
    half_life : "auto", float or None
        Rows after which what was learned counts half; None never forgets.
    n_cols : int
        Random points of the buffer that take a step with each row.
    seed : int or None
        Random seed.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from dsekl.river import KernelClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), KernelClassifier(seed=1), metrics.Accuracy())  # doctest: +SKIP
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: Any = "auto",
        loss: Any = "hinge",
        C: float = 1.0,
        budget: int = 200,
        maintenance: str = "merge",
        half_life: Any = "auto",
        n_cols: int = 32,
        seed: int | None = None,
    ) -> None:
        self.kernel, self.gamma, self.loss, self.C = kernel, gamma, loss, C
        self.budget, self.maintenance, self.half_life, self.n_cols, self.seed = budget, maintenance, half_life, n_cols, seed
        self._start(loss, "classification")
        self._codes: dict[Any, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a row ``x`` with label ``y`` and weight ``w``."""
        self._learn_rows([x], [y], w)

    def learn_many(self, X: Any, y: Any, w: float = 1.0) -> None:
        """Learn from the rows of a frame, in order."""
        for x, label in zip(dicts_of(X), y.tolist(), strict=True):
            self._learn_rows([x], [label], w)

    def _learn_rows(self, dicts: list[dict[Any, Any]], labels: list[Any], w: float) -> None:
        rows = self._slots.rows(dicts, grow=True)
        for label in labels:
            if label not in self._codes:
                self._codes[label] = len(self._codes)
                if len(self._codes) > 2 and self._learner is not None:
                    self._learner.add_output()
        codes = np.array([self._codes[label] for label in labels], dtype=np.int64)
        self._learn(rows, self._targets(codes), codes, w)

    def _targets(self, codes: NDArray[np.int64]) -> Floats:
        if len(self._codes) <= 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        return np.where(codes[:, None] == np.arange(len(self._codes)), 1.0, -1.0)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each class that has come up; nothing before any row."""
        found = self._probabilities([x])
        return {} if found is None else dict(zip(self._codes, found[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of probabilities, a column for each class."""
        import pandas as pd

        found = self._probabilities(dicts_of(X))
        return pd.DataFrame(found, index=X.index, columns=None if found is None else list(self._codes))

    def _probabilities(self, dicts: Iterable[dict[Any, Any]]) -> Floats | None:
        f = self._evaluate(dicts)
        if f is None:
            return None
        if len(self._codes) == 1:
            return np.ones((len(f), 1))
        each = expit(f if self._settings.loss.curvature == 0.25 else STEEPNESS * f)
        if f.shape[1] == 1:
            return np.column_stack([1.0 - each[:, 0], each[:, 0]])
        each += np.finfo(np.float64).tiny
        return np.asarray(each / each.sum(axis=1, keepdims=True))
