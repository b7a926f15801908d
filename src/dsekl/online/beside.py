"""What a batch model that went online has beside the sum over its points: it stays as the batch model found it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsekl.rows import Reshaping

from .buffer import Floats


@dataclass(frozen=True)
class Beside:
    """``intercept + <trend, x>`` in the user's units, x on the scale on which the kernel sees its columns."""

    intercept: Floats
    trend: Floats
    reshaping: Reshaping | None = None

    @staticmethod
    def nothing(n_features: int, n_outputs: int) -> Beside:
        """Return what adds nothing, and leaves columns as they are."""
        return Beside(np.zeros(n_outputs), np.zeros((n_features, n_outputs)))

    def columns(self, X: Floats) -> Floats:
        """Return raw rows on the scale of the kernel."""
        return X if self.reshaping is None else self.reshaping(X)

    def at(self, rows: Floats) -> Floats:
        """Return what stands beside the sum at rows on that scale, (n, n_outputs)."""
        found = np.tile(self.intercept, (len(rows), 1))
        # Column by column: a product of matrices would have other bits for other numbers of rows.
        for column, slopes in zip(rows.T, self.trend, strict=True):
            if slopes.any():
                found += column[:, None] * slopes
        return found
