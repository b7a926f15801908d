"""Columns on another scale: each through an increasing function of its own.

A heavy tail stretches a column until most of its rows lie close together, and a distance then sees the tail alone.
``squashed`` bends the tails in and leaves the middle as it is; ``ranked`` makes every column a normal one. Both are
linear between knots, so that one value describes either, in a model's file too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .array import ArrayRows, InChunks
from .stored import StoredRows

Floats = NDArray[np.float64]

SAMPLE = 20_000
"""Rows that are looked at."""

N_KNOTS = 65
BEND = 3.0
"""Units from the median at which a squashed column is bent most; none ends further out."""

FARTHEST = 100.0
"""Units from the median of the last knots of a squashed column."""

NORMAL_QUARTILES = 1.35
"""Distance between the quartiles of a normal column, in standard deviations."""

SQUASHED, RANKED = "squashed", "ranked"


@dataclass(frozen=True)
class Reshaping:
    """Knots and values (n_features, n_knots): column d becomes linear between ``(knots[d], values[d])``."""

    name: str
    knots: Floats
    values: Floats

    def __call__(self, rows: NDArray[Any]) -> Floats:
        """Return rows with every column reshaped."""
        reshaped = np.empty(rows.shape)
        for d in range(rows.shape[1]):
            reshaped[:, d] = np.interp(rows[:, d], self.knots[d], self.values[d])
        return reshaped

    def entries(self, entries: NDArray[Any], columns: NDArray[np.intp]) -> Floats:
        """Return single entries reshaped, each by the column that is given for it."""
        reshaped = np.empty(len(entries))
        for d in np.unique(columns):
            chosen = columns == d
            reshaped[chosen] = np.interp(entries[chosen], self.knots[d], self.values[d])
        return reshaped

    def check(self, n_features: int) -> None:
        """Raise ValueError where no reshaping of so many columns has such knots."""
        shape = self.knots.shape
        if len(shape) != 2 or shape[0] != n_features or shape[1] < 1 or self.values.shape != shape:
            raise ValueError(f"knots of shape {shape} do not fit {n_features} features")
        if self.knots.dtype != np.float64 or self.values.dtype != np.float64:
            raise ValueError("knots are float64")
        if not (np.isfinite(self.knots).all() and np.isfinite(self.values).all()):
            raise ValueError("knots are finite")
        if (np.diff(self.knots, axis=1) < 0).any() or (np.diff(self.values, axis=1) < 0).any():
            raise ValueError("knots and their values ascend")


@dataclass(frozen=True, eq=False)
class ReshapedRows(InChunks):
    """Rows whose columns are reshaped when they are read."""

    rows: ArrayRows | StoredRows
    reshaping: Reshaping

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.rows.shape

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, wanted: Any, /) -> Floats:
        """Return some rows, or with ``[rows, column]`` their entries in one column."""
        if isinstance(wanted, tuple):
            entries, column = self.rows[wanted], int(wanted[1])
            return np.asarray(np.interp(entries, self.reshaping.knots[column], self.reshaping.values[column]))
        return self.reshaping(self.rows[wanted])


def squashed(rows: ArrayRows | StoredRows) -> Reshaping:
    """Return ``z / sqrt(1 + (z / 3)^2)`` for each column, z in units of its middle half around its median."""
    some = np.asarray(rows.sample(SAMPLE), dtype=np.float64)
    low, median, high = np.quantile(some, [0.25, 0.5, 0.75], axis=0)
    unit = (high - low) / NORMAL_QUARTILES
    unit = np.where(unit > 0, unit, 0.5 * (some.max(axis=0) - some.min(axis=0)))
    unit = np.where(unit > 0, unit, 1.0)
    # Close where the curve bends, far apart where it is nearly flat.
    z = BEND * np.sinh(np.linspace(-1, 1, N_KNOTS) * np.arcsinh(FARTHEST / BEND))
    values = np.broadcast_to(z / np.sqrt(1 + (z / BEND) ** 2), (some.shape[1], N_KNOTS))
    return Reshaping(SQUASHED, median[:, None] + unit[:, None] * z, np.ascontiguousarray(values))


def ranked(rows: ArrayRows | StoredRows) -> Reshaping:
    """Return each column's way to normal scores, through its quantiles; equal entries share their middle rank."""
    some = np.asarray(rows.sample(SAMPLE), dtype=np.float64)
    knots, values = np.empty((some.shape[1], N_KNOTS)), np.empty((some.shape[1], N_KNOTS))
    for d in range(some.shape[1]):
        entries, counts = np.unique(some[:, d], return_counts=True)
        shares = (np.cumsum(counts) - 0.5 * counts) / len(some)
        if len(entries) > N_KNOTS:
            # Evenly spaced ranks, and both ends.
            places = np.unique(np.searchsorted(shares, np.linspace(shares[0], shares[-1], N_KNOTS)))
            entries, shares = entries[places], shares[places]
        # Columns of few different entries repeat the last.
        last = np.minimum(np.arange(N_KNOTS), len(entries) - 1)
        knots[d], values[d] = entries[last], ndtri(shares[last])
    return Reshaping(RANKED, knots, values)
