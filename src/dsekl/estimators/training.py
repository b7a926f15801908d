"""From checked data to a fitted model, the same for every task: basis, validation rows, solver, support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

from dsekl import expansions, gram, kernels, metric, solvers
from dsekl.gram.structured import select
from dsekl.kernels import ObjectKernel, Precomputed
from dsekl.solvers import Monitor, Problem, Progress, State, Validation

from . import inputs
from .parameters import MEGABYTE, generator, resolve_dtype, resolve_gamma, thread_count

Floats = NDArray[np.float64]
QUERY_ROWS = 2**16
"""Rows that a prediction places at a time."""


@dataclass(frozen=True)
class Examples:
    """Training data behind the door: rows, targets (n_rows, n_outputs), weights, and their places in the user's X."""

    X: Any
    targets: Floats
    weights: Floats
    places: NDArray[np.intp]

    def in_order(self, order: NDArray[np.intp] | None) -> Examples:
        """Return targets, weights and places in the order of a gram's rows."""
        if order is None:
            return self
        return Examples(self.X, self.targets[order], self.weights[order], self.places[order])

    def take(self, indices: NDArray[np.intp], square: bool) -> Examples:
        """Return some of the examples; of a ``square`` kernel matrix, the columns go with the rows."""
        if square:
            X = self.X[np.ix_(indices, indices)]
        elif sparse.issparse(self.X):
            X = self.X[indices]
        else:
            X = select(self.X, indices)
        return Examples(X, self.targets[indices], self.weights[indices], self.places[indices])


def train(estimator: Any, examples: Examples, loss: Any, errors: Any, strata: NDArray[Any] | None) -> None:
    """Fit ``estimator`` and set what every fitted model has.

    ``errors`` says how wrong each held-out row is; ``strata`` are labels whose shares a validation split should keep.
    """
    rng = generator(estimator.random_state)
    n_threads = thread_count(estimator.n_jobs)
    kernel = kernels.resolve(estimator.kernel)
    solver = solvers.resolve(estimator.solver)
    expansion = expansions.resolve(estimator.expansion)
    square = isinstance(kernel, Precomputed)

    counted = np.flatnonzero(examples.weights > 0)
    if len(counted) < len(examples.weights):
        examples = examples.take(counted, square)
        strata = None if strata is None else strata[counted]
    held_out = None
    estimator.__dict__.pop("validation_rows_", None)
    if estimator.early_stopping:
        if square:
            raise ValueError(
                "early_stopping=True needs rows to hold out, which kernel='precomputed' cannot give; set False"
            )
        kept, out = _split(estimator, len(examples.places), strata, rng)
        held_out, examples = examples.take(out, square), examples.take(kept, square)
        estimator.validation_rows_ = held_out.places

    going_on = _state_to_go_on_from(estimator, examples)
    if going_on is None:
        gamma, estimator.C_ = _settle(estimator, kernel, solver, expansion, examples, loss, errors, rng, n_threads)
    else:
        gamma = getattr(estimator, "gamma_", 1.0)
        estimator.C_ = estimator.C_ if estimator.C == "auto" else float(estimator.C)
    if going_on is None or isinstance(expansion, expansions.Empirical):
        kernel_matrix = _gram(estimator, kernel, gamma, examples.X, rng, n_threads)
        examples = examples.in_order(getattr(kernel_matrix, "order", None))
        basis = expansion.expand(kernel_matrix, rng)
    else:
        basis = estimator._terms.threaded(n_threads).at(examples.X)
    problem = Problem(basis, examples.targets, examples.weights, loss, estimator.C_, n_threads)
    state = solver.start(problem, rng) if going_on is None else going_on
    validation = None if held_out is None else Validation(basis.at(held_out.X), held_out.targets, errors)
    monitor = Monitor(validation, estimator.n_iter_no_change)
    coef, reason = solvers.optimise(
        solver, problem, state, monitor, estimator.max_epochs, estimator.tol, estimator.verbose
    )

    moved = np.flatnonzero(coef.any(axis=1))
    estimator.basis_ = basis.restricted(moved).detached().threaded(1)
    estimator.dual_coef_ = coef[moved]
    estimator.__dict__.pop("support_", None)
    if isinstance(expansion, expansions.Empirical):
        estimator.support_ = examples.places[moved]
    estimator.history_ = monitor.history
    estimator.n_iter_ = state.epoch
    estimator.stop_reason_ = reason
    if estimator.warm_start:
        estimator._state, estimator._terms = state, basis.detached().threaded(1)


def evaluate(estimator: Any, X: Any) -> Floats:
    """Return f (n_queries, n_outputs) at the rows of X, a bounded number of rows at a time."""
    X = inputs.query_rows(estimator, kernels.resolve(estimator.kernel), X)
    basis = estimator.basis_.threaded(thread_count(estimator.n_jobs))
    n_queries = X.shape[0] if hasattr(X, "shape") else len(X)
    parts = [slice(start, start + QUERY_ROWS) for start in range(0, n_queries, QUERY_ROWS)]
    everything = slice(None)
    values = [basis.at(X[part]).product(everything, everything, estimator.dual_coef_) for part in parts]
    return np.concatenate(values)


def _settle(
    estimator: Any, kernel: Any, solver: Any, expansion: Any, examples: Examples, loss: Any, errors: Any,
    rng: np.random.Generator, n_threads: int,
) -> tuple[Any, float]:  # fmt: skip
    """Return gamma, learned if it is to be, and C."""
    gamma, C = estimator.gamma, None if estimator.C == "auto" else float(estimator.C)
    for name in ("feature_importances_", "metric_"):
        estimator.__dict__.pop(name, None)
    learnable = metric.can_learn(kernel) and not sparse.issparse(examples.X)
    if isinstance(gamma, str) and gamma == "auto":
        exact = isinstance(solver, solvers.DualAscent) and isinstance(expansion, expansions.Empirical)
        enough = len(examples.targets) >= metric.FEWEST_ROWS
        gamma = "learn" if learnable and exact and enough else "scale"
    if not (isinstance(gamma, str) and gamma == "learn"):
        return gamma, 1.0 if C is None else C
    if not learnable:
        raise ValueError(
            f"gamma='learn' needs dense rows and a kernel of weighted distances, such as 'rbf', not "
            f"kernel={estimator.kernel!r} on {type(examples.X).__name__}; set gamma='scale' or a number"
        )
    with Progress(estimator.verbose, 1, "metric") as progress:
        found = metric.learn(
            kernel, examples.X, examples.targets, examples.weights, loss, errors, C, rng, n_threads, progress.advance
        )
    estimator.metric_ = found.weights
    estimator.feature_importances_ = metric.importances(found.gamma, examples.X, kernel.pairwise)
    return found.gamma, found.C


def _gram(estimator: Any, kernel: Any, gamma: Any, X: Any, rng: np.random.Generator, n_threads: int) -> gram.Gram:
    if isinstance(kernel, ObjectKernel | Precomputed):
        gamma = 1.0
    else:
        gamma = resolve_gamma(gamma, kernel, X, rng)
        if np.ndim(gamma) == 0:
            inputs.warn_of_unequal_scales(estimator, X)
        estimator.gamma_ = gamma
    budget = int(estimator.memory_budget) * MEGABYTE
    dtype = resolve_dtype(estimator.dtype, X.shape[0] if hasattr(X, "shape") else len(X))
    return gram.build(kernel, X, gamma, dtype, budget, n_threads, estimator.kernel_tol)


def _split(
    estimator: Any, n: int, strata: NDArray[Any] | None, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    seed = int(rng.integers(2**31 - 1))
    try:
        kept, out = train_test_split(
            np.arange(n), test_size=estimator.validation_fraction, stratify=strata, random_state=seed
        )
    except ValueError as error:
        raise ValueError(
            f"validation_fraction={estimator.validation_fraction!r} cannot be held out of {n} rows ({error}); "
            "change it, or set early_stopping=False"
        ) from error
    return np.sort(kept), np.sort(out)


def _state_to_go_on_from(estimator: Any, examples: Examples) -> State | None:
    """Return the last fit's state if ``warm_start`` asks for it and it fits the data."""
    state: State | None = getattr(estimator, "_state", None)
    if not estimator.warm_start or state is None:
        return None
    n_terms, n_outputs = state.coef.shape
    expected = examples.X.shape[0] if hasattr(examples.X, "shape") else len(examples.X)
    grows_with_rows = estimator.expansion == "empirical" or isinstance(estimator.expansion, expansions.Empirical)
    if n_outputs != examples.targets.shape[1] or (grows_with_rows and n_terms != expected):
        raise ValueError(
            f"warm_start=True goes on from {n_terms} rows and {n_outputs} outputs, but this fit has {expected} rows "
            f"and {examples.targets.shape[1]} outputs; fit the same data, or set warm_start=False"
        )
    return state
