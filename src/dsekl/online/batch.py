"""Rows with all that they have, for machines that learn from many at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .buffer import Floats


@dataclass(frozen=True)
class Batch:
    """Rows, targets (n, n_outputs), weights and labels."""

    rows: Floats
    targets: Floats
    weights: Floats
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, places: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Batch:
        """Return some of the rows."""
        return Batch(self.rows[places], self.targets[places], self.weights[places], self.labels[places])

    def with_more(self, other: Batch) -> Batch:
        """Return these rows and further ones."""
        mine, theirs = vars(self), vars(other)
        return Batch(**{name: np.concatenate([mine[name], theirs[name]]) for name in mine})

    @staticmethod
    def none(n_features: int, n_outputs: int) -> Batch:
        """Return no rows."""
        return Batch(np.empty((0, n_features)), np.empty((0, n_outputs)), np.empty(0), np.empty(0, dtype=np.int64))

    def widened(self, n_features: int) -> Batch:
        """Return the rows with further features, which they do not have: 0."""
        more = np.zeros((len(self), n_features - self.rows.shape[1]))
        return replace(self, rows=np.concatenate([self.rows, more], axis=1))

    def with_class(self, places: list[int], signs: list[float]) -> Batch:
        """Return the rows with one output per class, and one more, of a class that none of them is of."""
        own = self.targets[:, places] * signs
        return replace(self, targets=np.concatenate([own, np.full((len(self), 1), -1.0)], axis=1))
