"""Data cut at random into training, validation and evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dsekl.data import catalogue

Rows = NDArray[np.float32]


class Scaler(Protocol):
    """Any of scikit-learn's scalers."""

    def fit(self, X: Rows) -> Self: ...

    def transform(self, X: Rows) -> Rows: ...


@dataclass(frozen=True)
class Parts:
    """Raw rows and labels, cut at random into training, validation and evaluation."""

    X: dict[str, Rows]
    y: dict[str, NDArray[np.int64]]
    batch: int

    @staticmethod
    def of(data: catalogue.Dataset, n_validation: int, n_evaluation: int, batch: int, seed: int) -> Parts:
        order = np.random.default_rng(seed).permutation(len(data.y))
        cuts = [n_evaluation, n_evaluation + n_validation]
        places = dict(zip(("evaluation", "validation", "training"), np.split(order, cuts), strict=True))
        rows = {part: data.X[chosen] for part, chosen in places.items()}
        return Parts(rows, {part: data.y[chosen] for part, chosen in places.items()}, batch)

    def scaled(self, scaler: Scaler) -> Parts:
        """Return the parts with columns scaled as the training rows say."""
        scaler.fit(self.X["training"])
        return Parts({part: scaler.transform(rows) for part, rows in self.X.items()}, self.y, self.batch)
