"""How much each feature moves the fitted f: the share of its total effect.

A row gets one feature of another row, and f changes. Half the mean square of that change is the feature's total effect
on the variance of f (Sobol, in Jansen's form). It is a property of the fitted function, so it tells features apart
whatever weights, kernel or width were chosen. With dense points each new kernel value costs one feature, not all: its
part of the distance is exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.deadline import NEVER, Deadline
from dsekl.gram.dense import DenseGram
from dsekl.gram.points import DensePoints
from dsekl.kernels import Pairwise
from dsekl.rows import ArrayRows, CsrRows, NumberRows, Rows, StoredRows
from dsekl.workers import Workers, chunks

from .model import Model

Floats = NDArray[np.float64]

EVALUATIONS = 2**24
"""Kernel values that may be computed, all features together."""

FEWEST_ROWS, MOST_ROWS = 16, 1_000
"""Rows whose features are exchanged: the fewest that say anything, and the most that are needed."""

TILE = 2**20
"""Kernel values of a feature that are held at a time."""


def importances(model: Model, rows: Rows, seed: int, workers: Workers, deadline: Deadline = NEVER) -> Floats | None:
    """Return each feature's share of the total effects, which add up to 1; zeros where f is constant.

    None where rows are no numbers, or where so few rows could be looked at that it would say nothing. By the
    ``deadline`` those few are looked at, and more of them if there is time.
    """
    if not isinstance(rows, ArrayRows | CsrRows | StoredRows) or model.n_terms == 0:
        return None
    gram = model.gram
    fast = isinstance(gram, DenseGram) and isinstance(gram.col_points, DensePoints)
    # Elsewhere every feature asks for all of each new row's kernel values, which take all features each.
    cost = model.n_terms * rows.n_features * (1 if fast else rows.n_features)
    n_rows = rows_for(len(rows), cost)
    if deadline.passed or (not fast and n_rows * cost > 2 * EVALUATIONS):
        return None
    chosen, others = exchanged_rows(len(rows), n_rows, seed)
    effects = (
        _exchanged(model, gram, rows, chosen, others, workers, deadline)
        if fast
        else _evaluated(model, rows, chosen, others)
    )
    return shares(effects)


def rows_for(n: int, cost: int) -> int:
    """Return how many of n rows are looked at, where one of them costs so many kernel values."""
    return min(n, MOST_ROWS, max(FEWEST_ROWS, EVALUATIONS // cost))


def exchanged_rows(n: int, n_rows: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that are looked at, and for each the number among them of the one whose features it gets."""
    rng = np.random.default_rng([seed, 5])
    chosen = np.sort(rng.choice(n, n_rows, replace=False))
    # A round in random order, so that no row gets its own.
    order = rng.permutation(n_rows)
    others = np.empty_like(order)
    others[order] = np.roll(order, 1)
    return chosen, others


def shares(effects: Floats) -> Floats:
    """Return effects as shares of their sum, if there are any."""
    total = effects.sum()
    return np.asarray(effects / total if total > 0 else effects)


def _evaluated(model: Model, rows: NumberRows, chosen: NDArray[np.intp], others: NDArray[np.intp]) -> Floats:
    """Return the features' effects from whole evaluations of f."""
    X = np.asarray(rows.dense(chosen), dtype=np.float64)
    f = model.evaluate(ArrayRows(X))
    effects = np.zeros(X.shape[1])
    for d in np.flatnonzero((X[0] != X).any(axis=0)):
        changed = X.copy()
        changed[:, d] = X[others, d]
        effects[d] = np.mean((model.evaluate(ArrayRows(changed)) - f) ** 2)
    return effects


def _exchanged(
    model: Model, gram: Any, rows: NumberRows, chosen: NDArray[np.intp], others: NDArray[np.intp], workers: Workers,
    deadline: Deadline,
) -> Floats:  # fmt: skip
    """Return the features' effects by an exchange of their parts of the distance."""
    raw = rows.dense(chosen)
    points = gram.placement.dense(raw)
    slopes = None if model.trend is None else (model.columns(raw), model.trend)
    moves = np.flatnonzero((points != points[0]).any(axis=0))
    most = FEWEST_ROWS if deadline.comes else len(points)
    effects = np.zeros(points.shape[1])
    for piece in chunks(len(points), min(most, rows_a_tile(model.n_terms))):
        if piece.start >= FEWEST_ROWS and deadline.passed:
            break
        exchange = Exchange(gram, model.coef, points[piece], points[others[piece]])

        def effect(d: int, exchange: Exchange = exchange, piece: Any = piece) -> float:
            change = exchange.change(d)
            if slopes is not None:
                columns, trend = slopes
                change = change + (columns[others[piece], d] - columns[piece, d])[:, None] * trend[d]
            return float((change**2).sum(dtype=np.float64))

        effects[moves] += workers.map(effect, moves.tolist())
    return effects


def rows_a_tile(n_terms: int) -> int:
    """Return how many rows are looked at together."""
    return max(1, TILE // max(1, n_terms))


class Exchange:
    """Some points ``x`` and the terms of a model, and what becomes of f when a feature is that of a ``new`` point."""

    def __init__(self, gram: DenseGram, coef: Floats, x: NDArray[Any], new: NDArray[Any]) -> None:
        self._x, self._new, self._centres = x, new, gram.col_points.data
        self._part, self._kernel, self._coef = PARTS[gram.kernel.pairwise], gram.kernel, coef.astype(x.dtype)
        parts = (self._part(x[:, d, None], self._centres[None, :, d]) for d in range(x.shape[1]))
        self._pairwise = np.asarray(sum(parts))
        self._f = self._value(self._pairwise.copy())

    def change(self, d: int) -> NDArray[Any]:
        """Return how f changes at each point."""
        centres = self._centres[None, :, d]
        tile = self._pairwise - self._part(self._x[:, d, None], centres) + self._part(self._new[:, d, None], centres)
        if self._kernel.pairwise is not Pairwise.DOT:
            np.maximum(tile, 0, out=tile)  # rounding
        return np.asarray(self._value(tile) - self._f)

    def _value(self, tile: NDArray[Any]) -> NDArray[Any]:
        self._kernel.profile()(tile, self._kernel.params())
        return np.asarray(tile @ self._coef)


def _squares(x: NDArray[Any], z: NDArray[Any]) -> NDArray[Any]:
    return np.asarray((x - z) ** 2)


def _chi_squares(x: NDArray[Any], z: NDArray[Any]) -> NDArray[Any]:
    total = x + z
    return np.asarray(np.divide((x - z) ** 2, total, out=np.zeros_like(total), where=total > 0))


PARTS: dict[Pairwise, Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]] = {
    Pairwise.SQUARED_DISTANCE: _squares,
    Pairwise.MANHATTAN: lambda x, z: np.asarray(np.abs(x - z)),
    Pairwise.DOT: lambda x, z: np.asarray(x * z),
    Pairwise.CHI_SQUARED: _chi_squares,
}
"""One feature's part of what a kernel needs to know of a pair."""
