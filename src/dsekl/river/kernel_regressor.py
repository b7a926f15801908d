"""Regression for river."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from .stream_model import Streamed, dicts_of, values_of


class KernelRegressor(Streamed, base.MiniBatchRegressor):
    """A kernel regressor that learns one row at a time, keeps a bounded number of points, and forgets.

    The machine is that of ``dsekl.OnlineDSEKLRegressor``; features may come and go, as in ``KernelClassifier``, whose
    parameters it has.

    Parameters
    ----------
    kernel, gamma, C, budget, maintenance, half_life, n_cols, seed
        As in ``KernelClassifier``.
    loss : str or loss object
        "squared", "epsilon_insensitive", "huber" or "quantile".

    See Also
    --------
    dsekl.OnlineDSEKLRegressor : The same with scikit-learn's interface.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from dsekl.river import KernelRegressor
    >>> model = KernelRegressor(seed=1)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())  # doctest: +NUMBER
    MAE: 0.20
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: Any = "auto",
        loss: Any = "squared",
        C: float | str = 10.0,
        budget: int = 500,
        maintenance: str = "merge",
        half_life: Any = "auto",
        n_cols: int = 32,
        seed: int | None = None,
    ) -> None:
        self.kernel, self.gamma, self.loss, self.C = kernel, gamma, loss, C
        self.budget, self.maintenance, self.half_life = budget, maintenance, half_life
        self.n_cols, self.seed = n_cols, seed
        self._start(loss, "regression")

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn from a row ``x`` with target ``y`` and weight ``w``."""
        self._machine.learn(x, y, w)

    def learn_many(self, X: Any, y: Any, w: float = 1.0) -> None:
        """Learn from the rows of a frame, in order."""
        for x, target in zip(dicts_of(X), values_of(y), strict=True):
            self._machine.learn(x, target, w)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return the target of a row; 0 before any row."""
        f = self._machine.evaluate([x])
        return 0.0 if f is None else float(f[0, 0])

    def predict_many(self, X: Any) -> Any:
        """Return the targets of the rows of a frame, as a series."""
        import pandas as pd

        f = self._machine.evaluate(dicts_of(X))
        return pd.Series(np.zeros(len(X)) if f is None else f[:, 0], index=X.index)
