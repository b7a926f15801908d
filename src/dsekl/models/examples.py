"""Training data as a plain value: rows, targets and weights, and where the rows came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dsekl.rows import ArrayRows, CsrRows, DenseRows, InformedRows, Rows, SquareRows
from dsekl.runs import ErrorMeasure

Floats = NDArray[np.float64]


MOST_ENTRIES = 2**23
"""Numbers of X up to which rows are put into an order of their own; among more, the luck of a draw matters little."""


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

    def in_order(self, order: NDArray[np.intp]) -> Examples:
        """Return targets, weights and places in the order of a gram's rows; the rows themselves stay where they are."""
        return self._reordered(order, self.rows)

    def for_search(self, sparse: bool = False) -> Examples:
        """Return the examples as a search for gamma and C should see them: in an order of their own, copies as one.

        Which rows a search draws must not depend on the order of the rows or columns, or on the columns' units: so rows
        are ordered by the ranks of their entries. A copy that is held out is foretold by the one that is not: so rows
        that are the same in all are one row with the sum of their weights. Where the same x has several answers, the
        rows are observations, not copies, and stay. ``sparse`` rows stay as they are unless they are asked for.
        """
        kinds = (DenseRows, CsrRows) if sparse else DenseRows
        if not isinstance(self.rows, kinds) or len(self) * self.rows.n_features > MOST_ENTRIES:
            return self
        X = self.rows[:] if isinstance(self.rows, DenseRows) else self.rows.dense(slice(None))
        keys = _keys(X)
        order = np.lexsort((self.weights, *self.targets.T, keys))
        X, keys = X[order], keys[order]
        in_memory = sparse or isinstance(self.rows, InformedRows)
        ordered = self._reordered(order, self.rows.take(order) if in_memory else ArrayRows(X))
        targets = ordered.targets
        repeats = np.zeros(len(order), dtype=bool)
        repeats[1:] = (keys[1:] == keys[:-1]) & (X[1:] == X[:-1]).all(axis=1)
        starts = np.flatnonzero(~repeats)
        group = np.cumsum(~repeats) - 1
        agrees = (targets == targets[starts[group]]).all(axis=1)
        copies = np.logical_and.reduceat(agrees, starts)[group]
        weights = np.where(copies, np.add.reduceat(ordered.weights, starts)[group], ordered.weights)
        kept = np.flatnonzero(~(repeats & copies))
        return ordered if len(kept) == len(self) else replace(ordered, weights=weights).take(kept)

    def for_cross_fits(self) -> Examples:
        """Return the examples in an order of their own, without a measure of errors, which only validation needs."""
        return replace(self, errors=absolute_errors).for_search(sparse=True)

    def without(self, hidden: NDArray[np.intp]) -> Examples:
        """Return the examples with features that know nothing of the targets of some of them."""
        return replace(self, rows=self.rows.without(hidden)) if isinstance(self.rows, InformedRows) else self

    def split(self, fraction: float | None, rng: np.random.Generator) -> tuple[Examples, Examples | None]:
        """Return the examples to train on, and those to hold out: a share of them, a number of them, or none.

        Those of weight 0 are in neither.
        """
        counted = np.flatnonzero(self.weights > 0)
        if len(counted) < len(self):
            return self.take(counted).split(fraction, rng)
        if fraction is None:
            return self, None
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
        known = self.without(out)
        return known.take(np.sort(kept)), known.take(np.sort(out))

    def _reordered(self, indices: NDArray[np.intp], rows: Rows) -> Examples:
        classes = None if self.classes is None else self.classes[indices]
        return Examples(rows, self.targets[indices], self.weights[indices], self.places[indices], self.errors, classes)


def _keys(X: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a number for each row, by the ranks of its entries in their columns and whatever the columns' order."""
    keys = np.zeros(len(X), dtype=np.uint64)
    for column in X.T:
        keys += _scrambled(np.unique(column, return_inverse=True)[1].astype(np.uint64))
    return keys


def _scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 bits for each number, of which all depend on all of its own: Steele, Lea and Flood's SplitMix."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
