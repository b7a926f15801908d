"""Dual ascent finds the exact kernel machine, scikit-learn's and L-BFGS's, within its own certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.kernels import RBF, Laplacian, Matern, RationalQuadratic, Sigmoid
from dsekl.losses import EpsilonInsensitive, Hinge, Huber, Quantile
from dsekl.rows import as_rows
from dsekl.solvers import DualAscent, Problem
from dsekl.solvers.dual.shrinking import SLACKS, Conditions, confirmed_slack
from tests.oracles import build
from tests.problems import xor

TIGHT: dict[str, Any] = dict(
    solver=DualAscent(block_size=64), tol=1e-6, max_epochs=2000, dtype="float64", kernel_tol=0.0, random_state=0
)


def without_intercept(K: Any, y: Any) -> tuple[Any, Any]:
    """Mirror a problem: with each point's negative added, the optimal intercept of SVC and SVR is 0."""
    return np.block([[K, -K], [-K, K]]), np.concatenate([y, -y])


def test_hinge_finds_the_decision_values_of_svc() -> None:
    X, y = make_moons(150, noise=0.3, random_state=0)
    K = rbf_kernel(X, gamma=1.0)
    mirrored, labels = without_intercept(K, 2 * y - 1)
    # Each point stands twice in the mirrored problem, so each stand has half the weight.
    exact = SVC(C=1.5, kernel="precomputed", tol=1e-8).fit(mirrored, labels).decision_function(mirrored)[:150]
    model = DSEKLClassifier(gamma=1.0, C=3.0, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact, atol=2e-3)


def test_epsilon_insensitive_finds_the_predictions_of_svr() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(120)
    mirrored, targets = without_intercept(rbf_kernel(X, gamma=1.0), y)
    exact = SVR(C=1.0, epsilon=0.1, kernel="precomputed", tol=1e-8).fit(mirrored, targets).predict(mirrored)[:120]
    model = DSEKLRegressor(gamma=1.0, C=2.0, loss=EpsilonInsensitive(0.1), fit_intercept=False, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact, atol=5e-3)


@pytest.mark.parametrize("n_targets", [1, 3])
def test_squared_finds_the_coefficients_of_kernel_ridge(n_targets: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4)), rng.standard_normal((300, n_targets)).squeeze()
    weight = rng.uniform(0.5, 2.0, 300)
    exact = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.3).fit(X, y, sample_weight=weight)
    model = DSEKLRegressor(gamma=0.3, C=2.0, fit_intercept=False, **TIGHT).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=5e-3)


@pytest.mark.parametrize(
    ("loss", "task"),
    [("squared_hinge", "classification"), ("logistic", "classification"), (Huber(0.3), "regression")],
)
def test_smooth_losses_find_the_minimum_of_l_bfgs(loss: Any, task: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 2))
    y = np.sign(X[:, 0] * X[:, 1]) if task == "classification" else X[:, 0] ** 2
    K = rbf_kernel(X, gamma=0.5)
    settings_ = dict(gamma=0.5, C=2.0, loss=loss, **TIGHT)
    model = (
        DSEKLClassifier(**settings_) if task == "classification" else DSEKLRegressor(fit_intercept=False, **settings_)
    )
    model.fit(X, y)
    from dsekl import losses

    known = losses.resolve(loss, task)

    def objective(c: Any) -> tuple[float, Any]:
        f = K @ c
        value = 0.5 * c @ f + 2.0 * known.value(y, f).sum()
        return value, K @ (c + 2.0 * known.gradient(y, f))

    best = minimize(objective, np.zeros(80), jac=True, method="L-BFGS-B", options={"maxiter": 20000, "ftol": 1e-15})
    ours = model.decision_function(X) if task == "classification" else model.predict(X)
    coef = np.zeros(80)
    coef[model.support_] = model.dual_coef_[:, 0]
    assert objective(coef)[0] <= best.fun * (1 + 1e-5)
    np.testing.assert_allclose(ours, K @ best.x, atol=2e-2)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_quantile_meets_its_optimality_conditions(share: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 1))
    y = X[:, 0] + rng.standard_normal(200)
    model = DSEKLRegressor(gamma=0.5, C=1.0, loss=Quantile(share), fit_intercept=False, **TIGHT).fit(X, y)
    coef = np.zeros(200)
    coef[model.support_] = model.dual_coef_[:, 0]
    residual = y - model.predict(X)
    np.testing.assert_allclose(coef[residual > 0.01], share, atol=1e-6)
    np.testing.assert_allclose(coef[residual < -0.01], share - 1, atol=1e-6)


def test_the_gap_bounds_the_distance_to_the_optimum() -> None:
    X, y = xor(400, seed=0)
    K = rbf_kernel(X, gamma=1.0)

    def objective(model: Any) -> float:
        f = model.decision_function(X)
        coef = np.zeros(400)
        coef[model.support_] = model.dual_coef_[:, 0]
        return float(0.5 * coef @ K @ coef + np.maximum(0, 1 - y * f).sum())

    best = objective(DSEKLClassifier(gamma=1.0, **TIGHT).fit(X, y))
    for tol in (0.3, 0.05, 1e-3):
        model = DSEKLClassifier(gamma=1.0, tol=tol, random_state=0).fit(X, y)
        assert model.stop_reason_ == "tol"
        value = objective(model)
        assert best <= value + 1e-3
        assert value - best <= model.history_[-1]["gap"] * value + 1e-3


def test_growing_finds_the_same_model_as_all_rows_at_once() -> None:
    X, y = xor(20_000, seed=0)
    values = [
        DSEKLClassifier(gamma=2.0, solver=DualAscent(grow=grow), tol=1e-3, random_state=0)
        .fit(X, y)
        .decision_function(X)
        for grow in (True, False)
    ]
    assert np.abs(values[0] - values[1]).mean() < 0.05
    assert np.mean((values[0] > 0) != (values[1] > 0)) < 0.002


@pytest.mark.parametrize("gamma", [0.5, 30.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_rows_that_leave_the_play_change_no_answer(loss: str, gamma: float) -> None:
    X, y = xor(12_000, seed=0)
    kind = DSEKLClassifier if loss in ("hinge", "squared_hinge") else DSEKLRegressor
    models = [
        kind(gamma=gamma, loss=loss, solver=DualAscent(shrink=shrink), tol=1e-3, max_epochs=400, random_state=0)
        for shrink in (True, False)
    ]
    spared, whole = (model.fit(X, y) for model in models)
    f = [m.decision_function(X) if hasattr(m, "decision_function") else m.predict(X) for m in (spared, whole)]
    assert spared.stop_reason_ == "tol"
    assert np.abs(f[0] - f[1]).mean() < 0.05


def test_slack_is_the_least_that_an_epoch_confirms() -> None:
    X, _ = xor(5, seed=0)
    problem = Problem(build(RBF(), X), np.ones((5, 1)), np.ones(5), Hinge(), 1.0)
    f = np.array([[0.9], [1.15], [1.3], [1.5], [3.0]])
    before = Conditions.of(problem, np.arange(5), np.zeros((5, 1)), f, np.ones(5))
    np.testing.assert_array_equal(before.settled(0.2), [False, False, True, True, True])
    nobody = np.zeros(5, dtype=bool)
    assert confirmed_slack(before, nobody, 0.0) == SLACKS[0]
    assert confirmed_slack(before, np.array([True, True, False, False, False]), 0.0) == 0.2
    assert confirmed_slack(before, np.array([True, True, True, True, True]), 0.0) == np.inf


def test_the_certificate_counts_the_rows_that_were_away() -> None:
    X, y = xor(12_000, seed=0)
    model = DSEKLClassifier(gamma=30.0, tol=0.01, dtype="float64", kernel_tol=0.0, random_state=0).fit(X, y)
    f, coef = model.decision_function(X), np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[:, 0]
    primal = 0.5 * coef @ f + np.maximum(0.0, 1.0 - y * f).sum()
    dual = y @ coef - 0.5 * coef @ f
    assert (primal - dual) / primal == pytest.approx(model.history_[-1]["gap"], rel=1e-6)


def test_ridge_with_a_wide_kernel_needs_few_epochs() -> None:
    """Without the acceleration over epochs this run takes more than 100."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 6))
    y = np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(3000)
    settings: dict[str, Any] = dict(gamma=0.1, C=10.0, fit_intercept=False)
    model = DSEKLRegressor(**settings, solver=DualAscent(block_size=512), tol=1e-4, random_state=0).fit(X, y)
    exact = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1).fit(X, y)
    assert model.stop_reason_ == "tol"
    assert model.n_iter_ <= 50
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.02)


@pytest.mark.parametrize(
    ("n", "C", "dtype"), [(4_096, 1.0, "float64"), (4_097, 1.0, "float32"), (4_097, 1e6, "float64")]
)
def test_kernel_values_are_doubles_for_few_rows_and_where_C_makes_rounding_a_part_of_f(
    n: int, C: float, dtype: str
) -> None:
    X = np.random.default_rng(0).standard_normal((n, 2))
    model = DSEKLClassifier(gamma=1.0, C=C, max_seconds=1e-9, random_state=0).fit(X, X[:, 0] > 0)
    assert model.model_.gram.to_values()["data"].dtype == dtype


def test_a_large_C_on_few_rows_is_solved() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 1))
    y = 1e4 * np.sin(2 * X[:, 0])
    assert DSEKLRegressor(gamma=2.0, C=1e5, random_state=0).fit(X, y).score(X, y) > 0.999


def test_the_model_does_not_depend_on_the_number_of_threads() -> None:
    X, y = xor(9_000, seed=1)
    models = [DSEKLClassifier(gamma=20.0, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 5)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)
        np.testing.assert_array_equal(model.support_, models[0].support_)


def test_sparse_rows_and_weights_and_classes() -> None:
    X, y = make_moons(600, noise=0.1, random_state=0)
    codes = y + 2 * (X[:, 0] > 0.5)
    dense = DSEKLClassifier(gamma=3.0, random_state=0, tol=1e-4).fit(X, codes, sample_weight=np.linspace(0.5, 2, 600))
    csr = DSEKLClassifier(gamma=3.0, random_state=0, tol=1e-4).fit(
        sparse.csr_array(X), codes, sample_weight=np.linspace(0.5, 2, 600)
    )
    np.testing.assert_allclose(csr.decision_function(X), dense.decision_function(X), atol=0.02)
    assert dense.score(X, codes) > 0.97


def test_no_convergence_is_said_with_the_gap() -> None:
    X, y = xor(500, seed=0)
    with pytest.warns(ConvergenceWarning, match=r"max_epochs=1: the gap is .* tol is 1e-08"):
        DSEKLClassifier(gamma=1.0, max_epochs=1, tol=1e-8).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_a_kernel_that_is_not_positive_semi_definite_is_named(loss: str) -> None:
    X, y = xor(400, seed=0)
    with pytest.raises(ValueError, match=r"Sigmoid\(coef0=-2.0\) is not positive semi-definite"):
        DSEKLClassifier(kernel=Sigmoid(coef0=-2.0), gamma=1.0, C=100.0, loss=loss).fit(X, y)


def test_empty_rows_under_the_linear_kernel_do_not_keep_the_gap_open() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X @ [1.0, -1.0, 0.5] > 0
    X[:100] = 0.0
    assert DSEKLClassifier(kernel="linear", tol=1e-3, max_epochs=300, random_state=0).fit(X, y).stop_reason_ == "tol"


def test_a_sample_that_still_grows_costs_no_patience() -> None:
    X, y = xor(40_000, seed=0)
    model = DSEKLClassifier(gamma=5.0, early_stopping=True, n_iter_no_change=1, random_state=0).fit(X, y)
    growing = [record for record in model.history_ if np.isinf(record["gap"])]
    assert 0 < len(growing) < len(model.history_)


def test_an_expansion_in_other_terms_is_refused() -> None:
    X, y = xor(100, seed=0)
    with pytest.raises(ValueError, match="expansion='empirical'"):
        DSEKLClassifier(expansion="random_fourier").fit(X, y)


@given(
    st.integers(0, 10**6),
    st.sampled_from([RBF(), Laplacian(), Matern(0.5), Matern(1.5), Matern(2.5), RationalQuadratic(4.0)]),
    st.floats(0.01, 100.0),
    st.sampled_from([1e-2, 1e-4, 1e-6]),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_pruning_stays_within_its_bound(
    seed: int, kernel: Any, gamma: float, kernel_tol: float, per_feature: bool
) -> None:
    rng = np.random.default_rng(seed)
    centres = 5 * rng.standard_normal((8, 3))
    X = centres[rng.integers(0, 8, 1500)] + rng.standard_normal((1500, 3)) * [1.0, 0.1, 1.0]
    X[:, 2] = np.round(X[:, 2])
    widths = gamma * rng.uniform(0.2, 5.0, 3) if per_feature else gamma
    V = rng.standard_normal((1500, 2))
    pruned = build(kernel, X, widths, "float64", kernel_tol=kernel_tol)
    whole = build(kernel, X[pruned.order], widths, "float64")
    everything = slice(None)
    error = np.abs(pruned.product(everything, everything, V) - whole.product(everything, everything, V))
    assert (error.max(axis=0) <= kernel_tol * np.abs(V).sum(axis=0) + 1e-9).all()
    block = np.abs(pruned.block(np.arange(300), everything) - whole.block(np.arange(300), everything))
    assert block.max() <= kernel_tol
    queries = rng.permutation(X)
    again = pruned.at(as_rows(queries)).product(everything, everything, V)
    error = np.abs(again - whole.at(as_rows(queries)).product(everything, everything, V))
    assert (error.max(axis=0) <= kernel_tol * np.abs(V).sum(axis=0) + 1e-9).all()


def test_far_apart_clusters_are_never_compared() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(100.0 * np.arange(10), 960)[:, None] + rng.standard_normal((9600, 1))
    some = build(RBF(), X, 1.0, kernel_tol=1e-6)
    evaluations = some.add_product(slice(None), np.ones((9600, 1)), np.zeros((9600, 1)))
    assert evaluations <= 0.11 * 9600**2
