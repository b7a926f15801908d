"""The last rows of a stream, from which the weights of the features are learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .buffer import Floats

FEWEST = 64
"""Rows that there is room for at the least."""


@dataclass
class EarlyRows:
    """At most ``most`` rows with their targets and weights; room for them is doubled as they come."""

    stored_rows: Floats
    stored_targets: Floats
    stored_weights: Floats
    size: int
    most: int

    @staticmethod
    def none(n_features: int, n_outputs: int, most: int) -> EarlyRows:
        """Return room for rows, and no row."""
        return EarlyRows(np.empty((0, n_features)), np.empty((0, n_outputs)), np.empty(0), 0, most)

    @property
    def rows(self) -> Floats:
        """(size, n_features), NaN for what a row does not have."""
        return self.stored_rows[: self.size]

    @property
    def targets(self) -> Floats:
        return self.stored_targets[: self.size]

    @property
    def weights(self) -> Floats:
        return self.stored_weights[: self.size]

    def add(self, rows: Floats, targets: Floats, weights: Floats) -> None:
        """Keep rows, as far as there may be more."""
        first, last = self.size, min(self.most, self.size + len(rows))
        if last > len(self.stored_weights):
            self._resize(min(self.most, max(FEWEST, 2 * len(self.stored_weights), last)))
        kept = last - first
        self.stored_rows[first:last] = rows[:kept]
        self.stored_targets[first:last] = targets[:kept]
        self.stored_weights[first:last] = weights[:kept]
        self.size = last

    def make_room(self, n_rows: int) -> None:
        """Let the older half go where there is no room for so many more."""
        if self.size + n_rows > self.most:
            self.keep_last(self.most // 2)

    def limit(self, most: int) -> None:
        """Keep at most so many rows from now on."""
        self.most = most
        if self.size > most:
            self.keep_last(most)

    def keep_last(self, n_rows: int) -> None:
        """Let all but the last rows go."""
        for name in ("stored_rows", "stored_targets", "stored_weights"):
            setattr(self, name, getattr(self, name)[max(0, self.size - n_rows) : self.size].copy())
        self.size = len(self.stored_weights)

    def _resize(self, n_rows: int) -> None:
        for name in ("stored_rows", "stored_targets", "stored_weights"):
            old = getattr(self, name)
            new = np.zeros((n_rows, *old.shape[1:]))
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def widen(self, n_features: int) -> None:
        """Give the rows further features, which they do not have."""
        missing = np.full((len(self.stored_rows), n_features - self.stored_rows.shape[1]), np.nan)
        self.stored_rows = np.concatenate([self.stored_rows, missing], axis=1)

    def add_class(self, places: list[int], signs: list[float]) -> None:
        """Give the rows one output per class, and one more, of a class that none of them is of."""
        own = self.stored_targets[:, places] * signs
        self.stored_targets = np.concatenate([own, np.full((len(own), 1), -1.0)], axis=1)
