"""Running means and variances of columns, row by row, so that it does not matter in which batches rows come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dsekl.compiled import njit

from .buffer import Floats


class Moments(NamedTuple):
    """Of each column: the weight of the rows that have it, their mean, and their sum of squared deviations."""

    weight: Floats
    mean: Floats
    squares: Floats

    @staticmethod
    def of(n_columns: int) -> Moments:
        """Return the moments of no rows."""
        return Moments(np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns))

    def widened(self, n_columns: int) -> Moments:
        """Return the moments with further columns, that no row has had yet."""
        new = Moments.of(n_columns)
        for mine, old in zip(new, self, strict=True):
            mine[: len(old)] = old
        return new

    @property
    def variance(self) -> Floats:
        """The variance of each column, 0 where nothing is known of it."""
        return np.divide(self.squares, self.weight, out=np.zeros_like(self.mean), where=self.weight > 0)


@njit(cache=True, nogil=True, error_model="numpy")
def observe(moments: Any, rows: Any, weights: Any) -> None:
    """Take in rows (n, n_columns) in order; NaN stands for a column that a row does not have."""
    for r in range(rows.shape[0]):
        if weights[r] == 0.0:
            continue
        for k in range(rows.shape[1]):
            value = rows[r, k]
            if not np.isnan(value):
                moments.weight[k] += weights[r]
                off = value - moments.mean[k]
                moments.mean[k] += off * (weights[r] / moments.weight[k])
                moments.squares[k] += weights[r] * off * (value - moments.mean[k])


@njit(cache=True, nogil=True, error_model="numpy")
def observe_and_fill(moments: Any, rows: Any, weights: Any) -> None:
    """Take in rows in order, and give each the mean so far where it does not have a column."""
    for r in range(rows.shape[0]):
        observe(moments, rows[r : r + 1], weights[r : r + 1])
        for k in range(rows.shape[1]):
            if np.isnan(rows[r, k]):
                rows[r, k] = moments.mean[k]
