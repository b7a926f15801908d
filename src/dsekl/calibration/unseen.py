"""Predictions of rows by models that had not seen them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dsekl.solvers.state import Floats, Form

PerUnseen = Annotated[Floats, Form(("any", "any"))]


@dataclass(frozen=True)
class Unseen:
    """f (n_rows, n_outputs) of rows, their targets of the same shape, weights, and places among the training rows."""

    f: PerUnseen
    targets: PerUnseen
    weights: Annotated[Floats, Form(("any",), least=0.0)]
    places: Annotated[NDArray[np.intp], Form(("any",), "intp", least=0)]

    def check(self, n_outputs: int, n_rows: int) -> None:
        """Raise ValueError where parts that are right by themselves do not fit each other, or the training rows."""
        n = len(self.weights)
        if self.f.shape != (n, n_outputs) or self.targets.shape != self.f.shape or len(self.places) != n:
            raise ValueError("unseen predictions do not fit their targets and weights")
        if n == 0 or not self.weights.any() or self.places.max() >= n_rows:
            raise ValueError("unseen predictions are of no rows, or of rows that there are not")

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, rows: NDArray[np.intp]) -> Unseen:
        """Return some of the rows."""
        return Unseen(self.f[rows], self.targets[rows], self.weights[rows], self.places[rows])
