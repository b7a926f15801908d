"""Training data behind the door."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dsekl.rows import Rows, SquareRows
from dsekl.runs import ErrorMeasure

Floats = NDArray[np.float64]


def absolute_errors(y: Floats, f: Floats) -> Floats:
    """Return the mean absolute error of each row."""
    return np.asarray(np.abs(y - f).mean(axis=1))


@dataclass(frozen=True)
class Examples:
    """Rows, targets (n_rows, n_outputs) and weights, and the places of the rows in the user's X.

    ``errors`` says how wrong each held-out row is; ``classes`` are codes of the rows' classes, whose shares a
    validation split keeps.
    """

    rows: Rows
    targets: Floats
    weights: Floats
    places: NDArray[np.intp]
    errors: ErrorMeasure = absolute_errors
    classes: NDArray[np.intp] | None = None

    @staticmethod
    def of(
        rows: Rows,
        targets: Floats,
        weights: Floats | None = None,
        errors: ErrorMeasure = absolute_errors,
        classes: NDArray[np.intp] | None = None,
    ) -> Examples:
        """Return all rows as examples, with weight 1 unless weights are given."""
        weights = np.ones(len(rows)) if weights is None else weights
        return Examples(rows, targets, weights, np.arange(len(rows)), errors, classes)

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, indices: NDArray[np.intp]) -> Examples:
        """Return some of the examples."""
        return self._reordered(indices, self.rows.take(indices))

    def in_order(self, order: NDArray[np.intp] | None) -> Examples:
        """Return targets, weights and places in the order of a gram's rows; the rows themselves stay where they are."""
        return self if order is None else self._reordered(order, self.rows)

    def weighted(self) -> Examples:
        """Return the examples whose weight is not 0."""
        counted = np.flatnonzero(self.weights > 0)
        return self if len(counted) == len(self) else self.take(counted)

    def split(self, fraction: float, rng: np.random.Generator) -> tuple[Examples, Examples]:
        """Return the examples to train on and those to hold out: a share, or a number of them."""
        if isinstance(self.rows, SquareRows):
            raise ValueError(
                "early_stopping=True needs rows to hold out, which kernel='precomputed' cannot give; set False"
            )
        seed = int(rng.integers(2**31 - 1))
        try:
            kept, out = train_test_split(
                np.arange(len(self)), test_size=fraction, stratify=self.classes, random_state=seed
            )
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={fraction!r} cannot be held out of {len(self)} rows ({error}); change it, or set "
                "early_stopping=False"
            ) from error
        return self.take(np.sort(kept)), self.take(np.sort(out))

    def _reordered(self, indices: NDArray[np.intp], rows: Rows) -> Examples:
        classes = None if self.classes is None else self.classes[indices]
        return Examples(rows, self.targets[indices], self.weights[indices], self.places[indices], self.errors, classes)
