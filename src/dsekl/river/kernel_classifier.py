"""Classification for river; classes and features may come up at any time."""

from __future__ import annotations

from typing import Any

from river import base

from .stream_model import Streamed, dicts_of, values_of


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
        "auto" is "hinge" for two classes, and "squared_hinge" for more up to a budget of 4,096. Every loss has
        probabilities, learned from rows as they were predicted before they were learned from.
    C : "auto" or float
        Weight of the loss of a row against the regularisation. "auto" weighs machines with 0.1, 1 and 10, which share
        points and kernel values, by their recent losses.
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
    >>> evaluate.progressive_val_score(datasets.Phishing(), KernelClassifier(seed=1), metrics.Accuracy())
    Accuracy: 91.35%
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: Any = "auto",
        loss: Any = "auto",
        C: float | str = "auto",
        budget: int = 500,
        maintenance: str = "merge",
        half_life: Any = "auto",
        n_cols: int = 32,
        seed: int | None = None,
    ) -> None:
        self.kernel, self.gamma, self.loss, self.C = kernel, gamma, loss, C
        self.budget, self.maintenance, self.half_life = budget, maintenance, half_life
        self.n_cols, self.seed = n_cols, seed
        self._start(loss, "classification")

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a row ``x`` with label ``y`` and weight ``w``."""
        self._machine.learn(x, y, w)

    def learn_many(self, X: Any, y: Any, w: float = 1.0) -> None:
        """Learn from the rows of a frame, in order."""
        for x, label in zip(dicts_of(X), values_of(y), strict=True):
            self._machine.learn(x, label, w)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the likeliest class; None before any row."""
        return self._machine.likeliest(x)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each class that has come up; nothing before any row."""
        found = self._machine.probabilities([x])
        return {} if found is None else dict(zip(self._machine.codes, found[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of probabilities, a column for each class."""
        import pandas as pd

        found = self._machine.probabilities(dicts_of(X))
        return pd.DataFrame(found, index=X.index, columns=None if found is None else list(self._machine.codes))
