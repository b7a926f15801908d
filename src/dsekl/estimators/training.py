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
from dsekl.solvers import Hooks, Monitor, Problem, Progress, Validation
from dsekl.stored import StoredRows

from . import inputs
from .callbacks import Listeners
from .checkpoints import Keeper
from .parameters import MEGABYTE, resolve_dtype, resolve_gamma, thread_count
from .resuming import put_down, take_up
from .runs import Ground

Floats = NDArray[np.float64]
QUERY_ROWS = 2**16
"""Rows that a prediction places at a time; fewer of wide rows."""


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
        elif isinstance(self.X, StoredRows):
            X = self.X.subset(indices)
        elif sparse.issparse(self.X):
            X = self.X[indices]
        else:
            X = select(self.X, indices)
        return Examples(X, self.targets[indices], self.weights[indices], self.places[indices])


def train(
    estimator: Any, examples: Examples, loss: Any, errors: Any, codes: NDArray[np.intp] | None, listeners: Listeners
) -> None:
    """Fit ``estimator`` and set what every fitted model has.

    ``errors`` says how wrong each held-out row is; ``codes`` are the classes of the rows, whose shares a validation
    split should keep.
    """
    n_threads = thread_count(estimator.n_jobs)
    kernel = kernels.resolve(estimator.kernel)
    solver = solvers.resolve(estimator.solver)
    expansion = expansions.resolve(estimator.expansion)
    run = take_up(estimator, examples.X, examples.targets, examples.weights)
    keeper = Keeper(estimator, run)
    rng = np.random.default_rng(run.seed)
    listeners.before_fit()

    examples, held_out = _divide(estimator, examples, codes, isinstance(kernel, Precomputed), rng)
    if run.ground is None:
        run.ground = _settle(estimator, kernel, solver, expansion, examples, loss, errors, rng, n_threads)
        keeper.write()
    rng.bit_generator.state = run.ground.randomness
    estimator.C_ = run.ground.C if estimator.C == "auto" else float(estimator.C)
    _set_attributes(estimator, run.ground)
    kernel_matrix = _gram(estimator, kernel, run.ground.gamma, examples.X, n_threads)
    examples = examples.in_order(getattr(kernel_matrix, "order", None))
    basis = expansion.expand(kernel_matrix, rng)
    problem = Problem(basis, examples.targets, examples.weights, loss, estimator.C_, n_threads)
    if run.state is None:
        run.state = solver.start(problem, rng)
    elif run.changed:
        solver.adapt(problem, run.state)
    if run.monitor is None:
        run.monitor = Monitor(first_epoch=run.state.epoch)
    state, monitor = run.state, run.monitor
    monitor.patience = estimator.n_iter_no_change
    if held_out is not None:
        monitor.validation = Validation(basis.at(held_out.X), held_out.targets, errors)

    def fitted() -> dict[str, Any]:
        coef = solver.coefficients(problem, state) if monitor.best_coef is None else monitor.best_coef
        places = examples.places if isinstance(expansion, expansions.Empirical) else None
        return {**_model(basis, coef, places, codes), "history_": monitor.history, "n_iter_": state.epoch}

    def after_epoch(record: dict[str, Any]) -> bool:
        try:
            return listeners.after_epoch(monitor.history, fitted)
        except BaseException:
            put_down(estimator, run, keeper)
            raise

    hooks = Hooks(listeners.before_epoch, keeper.write_if_due, after_epoch)
    # Stopped before the first epoch, a fit is one epoch long: on a sample of many rows, a second or two.
    n_epochs, whole = (estimator.max_epochs, True) if run.ground.whole else (1, False)
    solvers.optimise(solver, problem, state, monitor, n_epochs, estimator.tol, estimator.verbose, hooks, warn=whole)
    if not whole:
        monitor.reason = "interrupted"
    for name, value in fitted().items():
        setattr(estimator, name, value)
    estimator.stop_reason_ = monitor.reason
    put_down(estimator, run, keeper)
    listeners.after_fit()


def _divide(
    estimator: Any, examples: Examples, codes: NDArray[np.intp] | None, square: bool, rng: np.random.Generator
) -> tuple[Examples, Examples | None]:
    """Leave out the rows of weight 0; return those to train on, and those to hold out if any are."""
    counted = np.flatnonzero(examples.weights > 0)
    if len(counted) < len(examples.weights):
        examples = examples.take(counted, square)
    estimator.__dict__.pop("validation_rows_", None)
    if not estimator.early_stopping:
        return examples, None
    if square:
        raise ValueError(
            "early_stopping=True needs rows to hold out, which kernel='precomputed' cannot give; set False"
        )
    strata = None if codes is None else codes[examples.places]
    kept, out = _split(estimator, len(examples.places), strata, rng)
    estimator.validation_rows_ = examples.places[out]
    return examples.take(kept, square), examples.take(out, square)


def _model(
    basis: expansions.Basis, coef: Floats, places: NDArray[np.intp] | None, codes: NDArray[np.intp] | None
) -> dict[str, Any]:
    """Return what a model with these coefficients predicts with: the terms that are not 0."""
    moved = np.flatnonzero(coef.any(axis=1))
    model = {"basis_": basis.restricted(moved).detached().threaded(1), "dual_coef_": coef[moved]}
    if places is not None:
        support = places[moved]
        counts = np.array([len(support)]) if codes is None else np.bincount(codes[support], minlength=codes.max() + 1)
        model |= {"support_": support, "n_support_": counts}
    return model


def _set_attributes(estimator: Any, ground: Ground) -> None:
    """Set what was settled before the fit, and forget what an earlier fit had found."""
    for name in ("feature_importances_", "metric_", "support_", "n_support_", "gamma_", "compaction_"):
        estimator.__dict__.pop(name, None)
    for name, value in ground.attributes.items():
        setattr(estimator, name, value)
    if ground.gamma is not None:
        estimator.gamma_ = ground.gamma


def evaluate(estimator: Any, X: Any) -> Floats:
    """Return f (n_queries, n_outputs) at the rows of X, a bounded number of rows at a time."""
    X = inputs.query_rows(estimator, kernels.resolve(estimator.kernel), X)
    basis = estimator.basis_.threaded(thread_count(estimator.n_jobs))
    n_queries = X.shape[0] if hasattr(X, "shape") else len(X)
    # Raw, as points and in spatial order, each entry takes up to 16 bytes: half the budget for all of them.
    n_features = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 1
    size = min(QUERY_ROWS, max(1024, estimator.memory_budget * MEGABYTE // (32 * n_features)))
    parts = [slice(start, start + size) for start in range(0, n_queries, size)]
    everything = slice(None)
    values = [basis.at(X[part]).product(everything, everything, estimator.dual_coef_) for part in parts]
    return np.concatenate(values)


def _settle(
    estimator: Any, kernel: Any, solver: Any, expansion: Any, examples: Examples, loss: Any, errors: Any,
    rng: np.random.Generator, n_threads: int,
) -> Ground:  # fmt: skip
    """Return gamma, learned if it is to be, and C."""
    gamma, C = estimator.gamma, None if estimator.C == "auto" else float(estimator.C)
    if isinstance(kernel, ObjectKernel | Precomputed):
        return Ground(None, 1.0 if C is None else C, {}, rng.bit_generator.state)
    learnable = metric.can_learn(kernel) and not sparse.issparse(examples.X)
    if isinstance(gamma, str) and gamma == "auto":
        exact = isinstance(solver, solvers.DualAscent) and isinstance(expansion, expansions.Empirical)
        enough = len(examples.targets) >= metric.FEWEST_ROWS
        gamma = "learn" if learnable and exact and enough else "scale"
    if not (isinstance(gamma, str) and gamma == "learn"):
        gamma = resolve_gamma(gamma, kernel, examples.X, rng)
        return Ground(gamma, 1.0 if C is None else C, {}, rng.bit_generator.state)
    if not learnable:
        raise ValueError(
            f"gamma='learn' needs dense rows and a kernel of weighted distances, such as 'rbf', not "
            f"kernel={estimator.kernel!r} on {type(examples.X).__name__}; set gamma='scale' or a number"
        )
    with Progress(estimator.verbose, 1, "metric") as progress:
        found = metric.learn(
            kernel, examples.X, examples.targets, examples.weights, loss, errors, C, rng, n_threads, progress.advance
        )
    importances = metric.importances(found.gamma, examples.X, kernel.pairwise)
    told = {"metric_": found.weights, "feature_importances_": importances}
    gamma = resolve_gamma(found.gamma, kernel, examples.X, rng)
    return Ground(gamma, found.C, told, rng.bit_generator.state, found.whole)


def _gram(estimator: Any, kernel: Any, gamma: Any, X: Any, n_threads: int) -> gram.Gram:
    if gamma is not None and np.ndim(gamma) == 0:
        inputs.warn_of_unequal_scales(estimator, X)
    budget = int(estimator.memory_budget) * MEGABYTE
    dtype = resolve_dtype(estimator.dtype, X.shape[0] if hasattr(X, "shape") else len(X))
    return gram.build(kernel, X, 1.0 if gamma is None else gamma, dtype, budget, n_threads, estimator.kernel_tol)


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
