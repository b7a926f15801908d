"""A smaller model that says nearly the same: the paper's truncation after convergence, under a bound.

Dropping small coefficients moves f wherever they added up. So the model is fitted again, to its own predictions, as a
regression that pays nothing within a tube of the user's width: ``min 1/2 |g|^2`` subject to ``|g - f| <= tolerance`` at
every point of the model. The dual of that is ``min 1/2 c' K c - f' c + tolerance |c|_1``: dual ascent with the
epsilon-insensitive loss, started at the model itself, and the l1 norm is what empties coefficients.

What comes out is measured, and where it is outside the bound, the tube is made narrower. With many outputs a term can
go only if every output empties it, and plain truncation may do better; the smaller of the two models is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.gram import Gram
from dsekl.losses import EpsilonInsensitive
from dsekl.rows import Rows
from dsekl.runs import Course, Monitor, Progress, optimise
from dsekl.solvers import DualAscent, Problem
from dsekl.workers import ALONE, Workers

from .model import Model, of_moderate_size

Floats = NDArray[np.float64]

AIM = 0.9
"""Width of the first tube over the tolerance: steps end a little outside it."""

TRIES = 4
COUNT_STEPS = 200
"""Truncation finds the number of terms to this share of them."""

SIZED = ("tolerance", "largest_change", "mean_change", "norm_of_change")
"""What is told in units of f."""

MAX_EPOCHS = 60
GAP = 2e-3


@dataclass(frozen=True)
class Compacted:
    """The smaller model, which terms of the first one it keeps, and what that cost."""

    model: Model
    kept: NDArray[np.intp]
    cost: dict[str, Any]


@dataclass(frozen=True)
class _Original:
    """The model that is to be compacted; changes of f are measured at its points, and at further rows if given."""

    model: Model
    gram: Gram
    rows: Rows | None
    workers: Workers
    budget: int

    @property
    def coef(self) -> Floats:
        return self.model.coef

    @cached_property
    def f(self) -> Floats:
        """The sum over the terms at the model's points; what stands beside it stays as it is."""
        return self.gram.product(slice(None), slice(None), self.coef)

    @cached_property
    def beyond(self) -> Floats:
        """The sum over the terms at the further rows."""
        return self.f[:0] if self.rows is None else self.model.evaluate_terms(self.rows, self.workers, self.budget)

    def change(self, coef: Floats) -> Floats:
        """Return how other coefficients change f wherever it is measured."""
        inside = self.gram.product(slice(None), slice(None), coef - self.coef)
        if self.rows is None:
            return inside
        beyond = self.model.restricted(coef)[0].evaluate_terms(self.rows, self.workers, self.budget)
        return np.concatenate([inside, beyond - self.beyond])

    def largest_change(self, coef: Floats) -> float:
        return float(np.abs(self.change(coef)).max(initial=0.0))


@one_blas_thread()
def compact(
    model: Model,
    tolerance: float,
    rows: Rows | None = None,
    workers: Workers = ALONE,
    budget: int = 2**28,
    verbose: bool | int | str = False,
    decide: Callable[[Floats], NDArray[np.intp]] | None = None,
) -> Compacted | None:
    """Return a model with fewer terms, or None where the kernel between the terms' own points is not known.

    ``decide`` turns f into classes; the share of changed decisions is then part of the cost.
    """
    square = model.gram.with_workers(workers).square()
    if square is None:
        return None
    size = float(of_moderate_size(model.coef.reshape(-1, 1))[1][0])  # of targets of extreme size
    original = _Original(model.divided_by(size), square, rows, workers, budget)
    width = tolerance / size
    candidates = [original.coef, _truncated(original, width), _within_bound(original, width, verbose)]
    coef = min(candidates, key=lambda coef: np.count_nonzero(coef.any(axis=1)))
    cost = _cost(original, coef, width, decide)
    return Compacted(*model.restricted(coef * size), {k: v * size if k in SIZED else v for k, v in cost.items()})


def _truncated(original: _Original, tolerance: float) -> Floats:
    """Return the coefficients without as many of the smallest as the bound allows: the paper's truncation."""
    order = np.argsort(np.abs(original.coef).max(axis=1, initial=0.0), kind="stable")
    best, kept, dropped = original.coef, 0, len(order)
    while dropped - kept > max(1, len(order) // COUNT_STEPS):
        middle = (kept + dropped) // 2
        trial = original.coef.copy()
        trial[order[:middle]] = 0.0
        if original.largest_change(trial) <= tolerance:
            best, kept = trial, middle
        else:
            dropped = middle
    return best


def _within_bound(original: _Original, tolerance: float, verbose: bool | int | str) -> Floats:
    """Return the coefficients of the widest tube whose predictions are measured to keep the bound."""
    tube = AIM * tolerance
    for _ in range(TRIES):
        trial = _within_tube(original, tube, verbose)
        largest = original.largest_change(trial)
        if largest <= tolerance:
            return trial
        tube *= max(0.25, AIM * tolerance / largest)
    return original.coef


def _within_tube(original: _Original, tube: float, verbose: bool | int | str) -> Floats:
    """Return the coefficients of least norm whose predictions stay within ``tube`` of f, or nearly so."""
    coef, f = original.coef, original.f
    # No term of the answer can be needed more than all terms of the model together.
    C = float(np.abs(coef).sum(axis=0).max(initial=0.0)) or 1.0
    problem = Problem(original.gram, f, np.ones(len(f)), EpsilonInsensitive(tube), C, original.workers, GAP)
    solver = DualAscent(grow=False, shrink=False)
    state = solver.start(problem, np.random.default_rng(0))
    state.coef, state.F = coef.copy(), f.copy()
    with Progress(verbose, label="compact") as progress:
        return optimise(solver, problem, state, Monitor(), MAX_EPOCHS, warn=False, course=Course(progress))


def _cost(
    original: _Original, coef: Floats, tolerance: float, decide: Callable[[Floats], NDArray[np.intp]] | None
) -> dict[str, Any]:
    change, move = original.change(coef), coef - original.coef
    # |change(x)| = |<change, k(x, .)>| <= |change| sqrt(k(x, x)), for every x.
    norms = np.sqrt(np.maximum(0.0, (move * change[: len(move)]).sum(axis=0)))
    cost = {
        "tolerance": float(tolerance),
        "terms_before": len(coef),
        "terms_after": int(np.count_nonzero(coef.any(axis=1))),
        "rows_measured": len(change),
        "largest_change": float(np.abs(change).max(initial=0.0)),
        "mean_change": float(np.abs(change).mean()) if change.size else 0.0,
        "norm_of_change": float(norms.max(initial=0.0)),
    }
    if decide is not None:
        f = original.f + original.model.beside_terms()
        if original.rows is not None:
            f = np.concatenate([f, original.beyond + original.model.beside(original.rows)])
        cost["changed_decisions"] = float((decide(f) != decide(f + change)).mean()) if len(f) else 0.0
    return cost
