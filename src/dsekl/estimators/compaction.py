"""A smaller model that says nearly the same: the paper's truncation after convergence, under a bound.

Dropping small coefficients moves f wherever they added up. So the model is fitted again, to its own predictions, as a
regression that pays nothing within a tube of the user's width: ``min 1/2 |g|^2`` subject to ``|g - f| <= tolerance`` at
every point of the model. The dual of that is ``min 1/2 c' K c - f' c + tolerance |c|_1``: dual ascent with the
epsilon-insensitive loss, started at the model itself, and the l1 norm is what empties coefficients.

What comes out is measured, and where it is outside the bound, the tube is made narrower.
"""

from __future__ import annotations

import copy
from dataclasses import replace
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
MAX_EPOCHS = 60
GAP = 2e-3


def compact(estimator: Any, tolerance: float, X: Any) -> Any:
    """Return a copy of a fitted estimator with fewer terms, and ``compaction_``: what it cost."""
    check_is_fitted(estimator)
    if not (isinstance(tolerance, int | float) and 0 < tolerance < np.inf):
        raise ValueError(f"tolerance={tolerance!r} must be a positive number: the greatest change of f, e.g. 0.05")
    basis, before = _square(estimator), estimator.dual_coef_
    f = basis.product(slice(None), slice(None), before)
    beyond = None if X is None else evaluate(estimator, X)
    coef, tube = before, AIM * tolerance
    for _ in range(TRIES):
        trial = _within_tube(estimator, basis, before, f, tube)
        change = _changes(estimator, basis, before, trial, X, beyond)
        worst = float(np.abs(change).max(initial=0.0))
        if worst <= tolerance:
            coef = trial
            break
        tube *= max(0.25, AIM * tolerance / worst)
    return _compacted(estimator, basis, before, coef, tolerance, X, f, beyond)


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


def _within_tube(estimator: Any, basis: Any, coef: Floats, f: Floats, tube: float) -> Floats:
    """Return the coefficients of least norm whose predictions stay within ``tube`` of f, or nearly so."""
    # No term of the answer can be needed more than all terms of the model together.
    C = float(np.abs(coef).sum(axis=0).max(initial=0.0)) or 1.0
    problem = Problem(basis, f, np.ones(len(f)), EpsilonInsensitive(tube), C, thread_count(estimator.n_jobs))
    solver = DualAscent(grow=False, shrink=False)
    state = solver.start(problem, np.random.default_rng(0))
    state.coef, state.memory["F"] = coef.copy(), f.copy()
    return optimise(solver, problem, state, Monitor(), MAX_EPOCHS, GAP, estimator.verbose, Hooks(), warn=False)


def _changes(estimator: Any, basis: Any, before: Floats, after: Floats, X: Any, beyond: Floats | None) -> Floats:
    """Return the change of f at the model's points, and at the rows of X."""
    inside = basis.product(slice(None), slice(None), after - before)
    if beyond is None:
        return np.asarray(inside)
    return np.concatenate([inside, evaluate(_with_coefficients(estimator, after), X) - beyond])


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


def _compacted(
    estimator: Any, basis: Any, before: Floats, coef: Floats, tolerance: float, X: Any, f: Floats, beyond: Floats | None
) -> Any:
    model = _with_coefficients(estimator, coef)
    change = _changes(estimator, basis, before, coef, X, beyond)
    f = f if beyond is None else np.concatenate([f, beyond])
    move = coef - before
    # |change(x)| = |<change, k(x, .)>| <= |change| sqrt(k(x, x)), for every x.
    norms = np.sqrt(np.maximum(0.0, (move * change[: len(move)]).sum(axis=0)))
    model.compaction_ = {
        "tolerance": float(tolerance),
        "terms_before": len(before),
        "terms_after": len(model.dual_coef_),
        "rows_measured": len(change),
        "largest_change": float(np.abs(change).max(initial=0.0)),
        "mean_change": float(np.abs(change).mean()) if change.size else 0.0,
        "norm_of_change": float(norms.max(initial=0.0)),
    }
    if hasattr(estimator, "classes_"):
        changed = decisions(f) != decisions(f + change)
        model.compaction_["changed_decisions"] = float(changed.mean()) if len(changed) else 0.0
    return model
