"""Every solver, and small problems with known answers: the two lists from which all tests of solvers are made.

A solver that is added to ``SOLVERS`` gets scikit-learn's checks, the known answers, checkpoints after any step, states
as plain values, and kills at random moments.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, DSEKLRegressor, losses
from dsekl.kernels import RBF
from dsekl.solvers import DoublyStochastic, DualAscent, Problem, SharedMemory
from tests.oracles import build


def xor(n: int, seed: int) -> tuple[Any, Any]:
    """The paper's XOR problem: Gaussians of variance 0.2 around the corners of a square, opposite corners alike."""
    rng = np.random.default_rng(seed)
    corners = rng.choice([-1.0, 1.0], (n, 2))
    return corners + np.sqrt(0.2) * rng.standard_normal((n, 2)), np.where(corners.prod(axis=1) > 0, 1, -1)


def real_data(name: str) -> Any:
    """Load a real data set from the folder DSEKL_DATA, or skip the test by name."""
    folder = os.environ.get("DSEKL_DATA")
    path = Path(folder or "") / f"{name}.npz"
    if folder is None or not path.exists():
        pytest.skip(f"needs {name}.npz in the folder that DSEKL_DATA names")
    return np.load(path)


@dataclass(frozen=True, eq=False)
class SolverCase:
    """A solver, and a fit to the XOR problem that takes it through all that it does, in several epochs."""

    name: str
    solver: Any
    kind: Any = DSEKLClassifier
    settings: dict[str, Any] = field(default_factory=dict)
    gamma: float = 5.0
    n_rows: int = 1100
    exact: bool = False
    """Whether it finds the optimum; others come near it."""

    def __str__(self) -> str:
        return self.name

    def estimator(self, **more: Any) -> Any:
        """Return the estimator of the fit; every setting can be given otherwise."""
        own = {"gamma": self.gamma, "random_state": 0, "n_jobs": 1, "verbose": False, **self.settings}
        return self.kind(**{**own, "solver": self.solver, **more})

    def data(self) -> tuple[Any, Any]:
        return xor(self.n_rows, seed=1)

    def fit(self, **more: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.estimator(**more).fit(*self.data())

    def problem(self) -> Problem:
        """Return the problem of the fit, for those who call the solver themselves."""
        X, y = self.data()
        gram = build(RBF(), X, self.gamma, "float64", kernel_tol=1e-6)
        loss = losses.Hinge() if self.kind is DSEKLClassifier else losses.Squared()
        return Problem(gram, y[gram.order].astype(float)[:, None], np.ones(len(y)), loss, 1.0, tol=1e-9)


SOLVERS = (
    SolverCase("dual", DualAscent(200), settings=dict(tol=1e-4), exact=True),
    SolverCase("growing", DualAscent(1500), settings=dict(tol=1e-2), n_rows=10_000, exact=True),
    SolverCase("not shrinking", DualAscent(200, shrink=False), settings=dict(tol=1e-3), exact=True),
    SolverCase("ridge", DualAscent(200), DSEKLRegressor, dict(max_epochs=6, tol=0.0), gamma=1.0, exact=True),
    SolverCase("ridge in blocks", DualAscent(200), DSEKLRegressor, dict(max_epochs=6, tol=0.0), 100.0, exact=True),
    SolverCase(
        "learned metric", DualAscent(200), settings=dict(gamma="auto", tol=1e-4, early_stopping=True), exact=True
    ),
    SolverCase(
        "doubly stochastic", DoublyStochastic(), settings=dict(gamma="median", early_stopping=True, max_epochs=8)
    ),
    SolverCase("paper's steps", DoublyStochastic(steps="paper"), settings=dict(gamma="median", max_epochs=6)),
    SolverCase("averaged", DoublyStochastic(average=True), settings=dict(max_epochs=6)),
    SolverCase(
        "constant steps", DoublyStochastic(80, 120, schedule="constant", average=True, steps="paper"),
        settings=dict(max_epochs=6),
    ),
    SolverCase("subset", DoublyStochastic(), settings=dict(expansion="fixed_subset", max_epochs=6), gamma=1.0),
    SolverCase("shared memory", SharedMemory(200, 200), DSEKLRegressor, dict(max_epochs=6, tol=0.0), gamma=1.0),
    SolverCase(
        "shared memory, paper's steps", SharedMemory(200, 200, steps="paper"), DSEKLRegressor,
        dict(max_epochs=6, tol=0.0), gamma=1.0,
    ),
    SolverCase(
        "shared memory, local", SharedMemory(150, 150, gradient="local", steps="paper"),
        settings=dict(max_epochs=6, tol=0.0),
    ),
    SolverCase(
        "shared memory, pruned", SharedMemory(200, 200, average=False), settings=dict(max_epochs=6, tol=0.0),
        gamma=300.0,
    ),
)  # fmt: skip
SOLVER = {case.name: case for case in SOLVERS}
every_solver = pytest.mark.parametrize("case", SOLVERS, ids=str)
exact_solvers = pytest.mark.parametrize("case", [case for case in SOLVERS if case.exact], ids=str)


def different_solvers() -> list[Any]:
    """Return the solver objects of the list, each once."""
    return list({repr(case.solver): case.solver for case in SOLVERS}.values())


@dataclass(frozen=True, eq=False)
class KnownProblem:
    """A problem whose optimum is known: ``found_elsewhere`` is f at the rows, by scikit-learn or L-BFGS."""

    name: str
    kind: Any
    settings: dict[str, Any]
    X: Any
    y: Any
    found_elsewhere: Callable[[], Any]
    weights: Any = None

    def __str__(self) -> str:
        return self.name

    @property
    def of_classes(self) -> bool:
        return self.kind is DSEKLClassifier

    @cached_property
    def answer(self) -> Any:
        return self.found_elsewhere()

    def fit(self, solver: Any, **more: Any) -> Any:
        """Return f at the rows, as a solver finds it."""
        own: dict[str, Any] = dict(gamma=1.0, dtype="float64", kernel_tol=0.0, random_state=0, **self.settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self.kind(solver=solver, **own, **more).fit(self.X, self.y, self.weights)
        return model.decision_function(self.X) if self.of_classes else model.predict(self.X)


MOONS, SIDES = make_moons(240, noise=0.3, random_state=0)
LINE = np.random.default_rng(0).uniform(-2, 2, (240, 1))
WAVES = np.column_stack([np.sin(2 * LINE[:, 0]), LINE[:, 0] ** 2]) + 0.2 * np.random.default_rng(1).standard_normal(
    (240, 2)
)
WEIGHTS = np.random.default_rng(2).uniform(0.2, 3.0, 240)


def without_intercept(K: Any, y: Any) -> tuple[Any, Any]:
    """Mirror a problem: with each point's negative added, the optimal intercept of SVC and SVR is 0."""
    return np.block([[K, -K], [-K, K]]), np.concatenate([y, -y])


def of_svc(C: float) -> Any:
    """Each point stands twice in the mirrored problem, so each stand has half the weight."""
    K, labels = without_intercept(rbf_kernel(MOONS, gamma=1.0), 2 * SIDES - 1)
    return SVC(C=C / 2, kernel="precomputed", tol=1e-8).fit(K, labels).decision_function(K)[:240]


def of_kernel_ridge(C: float, n_targets: int, weighted: bool) -> Any:
    y = WAVES[:, :n_targets] if n_targets > 1 else WAVES[:, 0]
    ridge = KernelRidge(alpha=1 / C, kernel="rbf", gamma=1.0)
    return ridge.fit(LINE, y, sample_weight=WEIGHTS if weighted else None).predict(LINE)


def of_lbfgs(loss: Any, C: float, weighted: bool = False) -> Any:
    """Minimise the primal objective itself over the coefficients."""
    margin = isinstance(loss, losses.Logistic)
    X, y = (MOONS, 2.0 * SIDES - 1) if margin else (LINE, WAVES[:, 0])
    K, weights = rbf_kernel(X, gamma=1.0), WEIGHTS if weighted else np.ones(240)

    def objective(coef: Any) -> tuple[float, Any]:
        f = K @ coef
        slope = C * weights * loss.gradient(y, f)
        return float(0.5 * coef @ f + C * (weights * loss.value(y, f)).sum()), f + K @ slope

    found = minimize(
        objective, np.zeros(240), jac=True, method="L-BFGS-B", options=dict(maxiter=20_000, maxfun=40_000, ftol=1e-15)
    )
    return K @ found.x


PLAIN: dict[str, Any] = dict(fit_intercept=False)
PROBLEMS = (
    KnownProblem("hinge", DSEKLClassifier, dict(C=3.0), MOONS, SIDES, partial(of_svc, 3.0)),
    KnownProblem(
        "logistic", DSEKLClassifier, dict(C=2.0, loss="logistic"), MOONS, SIDES,
        partial(of_lbfgs, losses.Logistic(), 2.0, weighted=True), WEIGHTS,
    ),
    KnownProblem(
        "ridge", DSEKLRegressor, dict(C=2.0, **PLAIN), LINE, WAVES[:, 0], partial(of_kernel_ridge, 2.0, 1, False)
    ),
    KnownProblem(
        "huber", DSEKLRegressor, dict(C=2.0, loss=losses.Huber(0.3), **PLAIN), LINE, WAVES[:, 0],
        partial(of_lbfgs, losses.Huber(0.3), 2.0),
    ),
    KnownProblem("outputs", DSEKLRegressor, dict(C=2.0, **PLAIN), LINE, WAVES, partial(of_kernel_ridge, 2.0, 2, False)),
    KnownProblem(
        "weights", DSEKLRegressor, dict(C=2.0, **PLAIN), LINE, WAVES[:, 0],
        partial(of_kernel_ridge, 2.0, 1, True), WEIGHTS,
    ),
)  # fmt: skip
every_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=str)
