"""Outliers for river."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from .stream_model import Streamed

USUAL = "usual"
"""The one class of a machine that knows no other; its targets are -1."""


class KernelAnomalyDetector(Streamed, base.AnomalyDetector):
    """A detector of outliers that learns one row at a time, keeps a bounded number of points, and forgets.

    The machine is that of ``dsekl.OnlineDSEKLAnomaly``; features may come and go, as in ``KernelClassifier``, whose
    parameters it has. A score is 0 for rows like those before, and goes to 1 far from all of them.

    Parameters
    ----------
    C : float or "auto"
        Weight of a row against the regularisation: with a large one a few outliers that are alike are usual.
    kernel, gamma, budget, maintenance, half_life, n_cols, seed
        As in ``KernelClassifier``; "auto" for gamma takes each feature in units of its own spread so far.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: Any = "auto",
        C: float | str = 0.03,
        budget: int = 200,
        maintenance: str = "merge",
        half_life: Any = "auto",
        n_cols: int = 32,
        seed: int | None = None,
    ) -> None:
        self.kernel, self.gamma, self.C = kernel, gamma, C
        self.budget, self.maintenance, self.half_life = budget, maintenance, half_life
        self.n_cols, self.seed = n_cols, seed
        self._start("hinge", "classification", supervised=False)

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learn from a row."""
        self._machine.learn(x, USUAL)

    def score_one(self, x: dict[Any, Any]) -> float:
        """Return how unlike all rows before a row is, from 0 to 1; 0 before any row."""
        f = self._machine.evaluate([x])
        return 0.0 if f is None else float(np.clip(1.0 + f[0, 0], 0.0, 1.0))
