"""A smaller model that says nearly the same: the paper's truncation after convergence, under a bound.

Dropping small coefficients moves f wherever they added up. So the model is fitted again, to its own predictions, as a
regression that pays nothing within a tube of the user's width: ``min 1/2 |g|^2`` subject to ``|g - f| <= tolerance`` at
every point of the model. The dual of that is ``min 1/2 c' K c - f' c + tolerance |c|_1``: dual ascent with the
epsilon-insensitive loss, started at the model itself, and the l1 norm is what empties coefficients.

What comes out is measured, and where it is outside the bound, the tube is made narrower. With many outputs a term can
go only if every output empties it, and plain truncation may do better; the smaller of the two models is taken.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dsekl.gram.csr import SparseGram
from dsekl.gram.dense import DenseGram
from dsekl.gram.structured import ObjectBlocks, StructuredGram
from dsekl.losses import EpsilonInsensitive
from dsekl.solvers import DualAscent, Hooks, Monitor, Problem, optimise

from .labels import decisions
from .parameters import thread_count
from .training import evaluate

Floats = NDArray[np.float64]

AIM = 0.9
"""Width of the first tube over the tolerance: steps end a little outside it."""

TRIES = 4
COUNT_STEPS = 200
"""Truncation finds the number of terms to this share of them."""

MAX_EPOCHS = 60
GAP = 2e-3


@dataclass(frozen=True)
class _Original:
    """The model that is to be compacted; changes of f are measured at its points, and at the rows of X if given."""

    estimator: Any
    gram: Any
    X: Any

    @cached_property
    def coef(self) -> Floats:
        return np.asarray(self.estimator.dual_coef_)

    @cached_property
    def f(self) -> Floats:
        """f at the model's points."""
        return np.asarray(self.gram.product(slice(None), slice(None), self.coef))

    @cached_property
    def beyond(self) -> Floats:
        """f at the rows of X."""
        return self.f[:0] if self.X is None else evaluate(self.estimator, self.X)

    def change(self, coef: Floats) -> Floats:
        """Return how other coefficients change f wherever it is measured."""
        inside = self.gram.product(slice(None), slice(None), coef - self.coef)
        if self.X is None:
            return np.asarray(inside)
        return np.concatenate([inside, evaluate(_with_coefficients(self.estimator, coef), self.X) - self.beyond])

    def largest_change(self, coef: Floats) -> float:
        return float(np.abs(self.change(coef)).max(initial=0.0))


def compact(estimator: Any, tolerance: float, X: Any) -> Any:
    """Return a copy of a fitted estimator with fewer terms, and ``compaction_``: what it cost."""
    check_is_fitted(estimator)
    if not (isinstance(tolerance, int | float) and 0 < tolerance < np.inf):
        raise ValueError(f"tolerance={tolerance!r} must be a positive number: the greatest change of f, e.g. 0.05")
    original = _Original(estimator, _square(estimator), X)
    candidates = [original.coef, _truncated(original, tolerance), _within_bound(original, tolerance)]
    coef = min(candidates, key=lambda coef: np.count_nonzero(coef.any(axis=1)))
    model = _with_coefficients(estimator, coef)
    model.compaction_ = _cost(original, coef, tolerance)
    return model


def _square(estimator: Any) -> Any:
    """Return the kernel matrix of the model's points with themselves."""
    basis = estimator.basis_.threaded(thread_count(estimator.n_jobs))
    match basis:
        case DenseGram():
            return replace(basis, row_points=basis.col_points)
        case SparseGram():
            return replace(basis, row_points=basis.col_points)
        case StructuredGram(source=ObjectBlocks() as source):
            return basis.at(source.col_objects)
    raise ValueError(
        f"compact needs the kernel between the model's own points, which kernel={estimator.kernel!r} with "
        f"expansion={estimator.expansion!r} does not give; it has {len(estimator.dual_coef_)} terms. Fit with another "
        "kernel, or with an expansion of fewer terms."
    )


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


def _within_bound(original: _Original, tolerance: float) -> Floats:
    """Return the coefficients of the widest tube whose predictions are measured to keep the bound."""
    tube = AIM * tolerance
    for _ in range(TRIES):
        trial = _within_tube(original, tube)
        largest = original.largest_change(trial)
        if largest <= tolerance:
            return trial
        tube *= max(0.25, AIM * tolerance / largest)
    return original.coef


def _within_tube(original: _Original, tube: float) -> Floats:
    """Return the coefficients of least norm whose predictions stay within ``tube`` of f, or nearly so."""
    estimator, coef, f = original.estimator, original.coef, original.f
    # No term of the answer can be needed more than all terms of the model together.
    C = float(np.abs(coef).sum(axis=0).max(initial=0.0)) or 1.0
    problem = Problem(original.gram, f, np.ones(len(f)), EpsilonInsensitive(tube), C, thread_count(estimator.n_jobs))
    solver = DualAscent(grow=False, shrink=False)
    state = solver.start(problem, np.random.default_rng(0))
    state.coef, state.memory["F"] = coef.copy(), f.copy()
    return optimise(solver, problem, state, Monitor(), MAX_EPOCHS, GAP, estimator.verbose, Hooks(), warn=False)


def _with_coefficients(estimator: Any, coef: Floats) -> Any:
    """Return a copy of the estimator with other coefficients, and the terms alone that have one."""
    kept = np.flatnonzero(coef.any(axis=1))
    model = copy.copy(estimator)
    for name in ("_run", "n_support_"):
        model.__dict__.pop(name, None)
    model.basis_, model.dual_coef_ = estimator.basis_.restricted(kept), coef[kept]
    if hasattr(estimator, "support_"):
        model.support_ = estimator.support_[kept]
    return model


def _cost(original: _Original, coef: Floats, tolerance: float) -> dict[str, Any]:
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
    if hasattr(original.estimator, "classes_"):
        f = np.concatenate([original.f, original.beyond])
        cost["changed_decisions"] = float((decisions(f) != decisions(f + change)).mean()) if len(f) else 0.0
    return cost
