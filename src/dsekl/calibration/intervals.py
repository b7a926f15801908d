"""Intervals around the predictions of a regression: split conformal, wider where rows that were not seen were far off.

Some unseen rows say how large residuals are where, the others how many of these sizes an interval must reach. With
scores ``(y - f(x)) / size(x)`` of n other rows, an interval between the ``floor((n + 1) a / 2)``-th smallest and
largest score holds a new row with probability of at least 1 - a, for the model that had not seen these rows, whatever
the distribution, as long as new rows come from the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from dsekl.gram import Gram
from dsekl.solvers.state import Floats, Form, can_be_added

from .unseen import Unseen

MOST_SIZED, MOST_SCORED = 1_000, 20_000
"""Rows that say how large residuals are where, and rows that are scored."""

FEWEST_SIZED = 50

RIDGES = 4.0 ** np.arange(-1, 6)
"""Ridges among which left-out rows choose, beside none but the mean."""

SMALLEST = 0.05
"""Residuals that are smaller than this share of their median count as much: their logarithm says nothing."""

WIDEST = 1.5
"""Logarithm of the factor by which a size may differ from the mean one."""

ROUNDING = 1e-9

PerScore = Annotated[Floats, Form(("any", "outputs"))]


@dataclass(frozen=True)
class Intervals:
    """Scores, ascending in each column, their rows' shares of the weight; and the sizes, expanded in the model's terms.

    ``log_size(x) = sum_j k(x, x_j) size_coef_j``, of which most coefficients are 0; None where sizes are all 1.
    """

    scores: PerScore
    shares: PerScore
    size_coef: Annotated[Floats, Form(("terms", "outputs"))] | None = None

    def check(self) -> None:
        """Raise ValueError where these are no scores."""
        if self.scores.shape != self.shares.shape or len(self.scores) == 0:
            raise ValueError("scores and shares of intervals do not fit each other")
        if (np.diff(self.scores, axis=0) < 0).any() or (self.shares <= 0).any():
            raise ValueError("scores of intervals are not ascending, or have no weight")
        if not can_be_added(self.scores) or (self.shares > 1).any() or not np.allclose(self.shares.sum(axis=0), 1.0):
            raise ValueError("scores of intervals are too large, or their shares do not sum to 1")

    @property
    def largest_coverage(self) -> float:
        """The largest coverage that so many rows allow."""
        return 1.0 - 2.0 / (len(self.scores) + 1)

    def bounds(self, f: Floats, log_size: Floats | None, coverage: float) -> tuple[Floats, Floats]:
        """Return the lower and upper ends, each (n_rows, n_outputs), around predictions ``f``."""
        size = 1.0 if log_size is None else np.exp(np.clip(log_size, -WIDEST, WIDEST))
        tail = 0.5 * (1.0 - coverage)
        low = np.array([-_reached(-s[::-1], w[::-1], tail) for s, w in zip(self.scores.T, self.shares.T, strict=True)])
        high = np.array([_reached(s, w, tail) for s, w in zip(self.scores.T, self.shares.T, strict=True)])
        return f + size * low, f + size * high

    def in_unit(self, unit: Floats) -> Intervals:
        """Return the intervals of targets that are multiplied by ``unit``, one number for each."""
        return Intervals(self.scores * unit, self.shares, self.size_coef)

    def without_sizes(self) -> Intervals:
        """Return the intervals for a model with other terms: as wide everywhere."""
        return Intervals(self.scores, self.shares)


def _reached(scores: Floats, shares: Floats, tail: float) -> float:
    """Return the smallest score beyond which at most ``tail`` of the weight lies, counting one more row there."""
    one = shares.mean()
    beyond = (shares.sum() - np.cumsum(shares) + one) / (shares.sum() + one)
    return float(scores[np.argmax(beyond <= tail * (1.0 + ROUNDING))])


def fit_intervals(unseen: Unseen, gram: Gram | None, rows: NDArray[np.intp]) -> Intervals:
    """Return the intervals that unseen rows give, with sizes expanded in all terms of ``gram``, which is symmetric.

    ``rows`` are the unseen rows' numbers among the gram's. Without a gram sizes are the same everywhere.
    """
    residuals, scored = unseen.targets - unseen.f, np.arange(len(unseen))
    size_coef = None
    sized = scored[:: max(2, -(-len(scored) // MOST_SIZED))]
    if gram is not None and len(sized) >= FEWEST_SIZED:
        scored = np.setdiff1d(scored, sized)
        K = np.asarray(gram.block(rows[sized], rows[sized]), dtype=np.float64)
        coef = np.column_stack([_size_coef(K, column) for column in residuals[sized].T])
        if coef.any():
            size_coef = np.zeros((gram.n_terms, coef.shape[1]))
            size_coef[rows[sized]] = coef
    scored = scored[:: -(-len(scored) // MOST_SCORED)]
    scores, weights = residuals[scored], unseen.weights[scored, None]
    if size_coef is not None and gram is not None:
        log_size = np.zeros_like(scores)
        gram.with_rows(rows[scored]).add_product(rows[sized], size_coef[rows[sized]], log_size)
        scores = scores / np.exp(np.clip(log_size, -WIDEST, WIDEST))
    order = np.argsort(scores, axis=0, kind="stable")
    shares = np.take_along_axis(np.broadcast_to(weights / weights.sum(), scores.shape), order, axis=0)
    return Intervals(np.take_along_axis(scores, order, axis=0), shares, size_coef)


def _size_coef(K: Floats, residuals: Floats) -> Floats:
    """Return coefficients of the logarithm of sizes: kernel ridge on the logarithm of residuals; 0 where it gains none.

    Rows that are left out choose the ridge, in closed form: ``(y - f) / (1 - h)`` with h the diagonal of the smoother.
    """
    size = np.abs(residuals)
    least = SMALLEST * float(np.median(size))
    nothing = np.zeros(len(size))
    if least <= 0:
        return nothing
    logs = np.log(np.maximum(size, least))
    logs -= logs.mean()
    values, vectors = eigh(K)
    values, rotated = np.maximum(values, 0.0), vectors.T @ logs
    best, chosen = logs**2, nothing
    for ridge in RIDGES:
        smoother = (vectors**2) @ (values / (values + ridge))
        coef = vectors @ (rotated / (values + ridge))
        left_out = ((logs - K @ coef) / (1.0 - smoother)) ** 2
        gain = best - left_out
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            best, chosen = left_out, coef
    return chosen
