"""The estimators as users meet them: inputs, tasks, weights, and scikit-learn's tools around them."""

from __future__ import annotations

import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from numba import njit
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.expansions import FixedSubset, RandomFourier
from dsekl.kernels import DotProduct, Polynomial, Radial
from dsekl.losses import EpsilonInsensitive, Huber, Quantile
from dsekl.solvers import DoublyStochastic, SharedMemory
from tests.problems import xor


@njit
def cauchy(s: float) -> float:
    return 1 / (1 + s)


@njit
def square(s: float) -> float:
    return (s + 1) * (s + 1)


@pytest.fixture(scope="module")
def moons() -> tuple[Any, Any]:
    X, y = make_moons(400, noise=0.15, random_state=0)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("solver", ["dual", "doubly_stochastic", "shared_memory"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared"])
def test_every_classification_loss_learns(moons: Any, loss: str, solver: str) -> None:
    X, y = moons
    model = DSEKLClassifier(gamma=3.0, loss=loss, solver=solver, random_state=0, tol=None if solver == "dual" else 0.0)
    assert model.fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("solver", ["dual", "doubly_stochastic", "shared_memory"])
@pytest.mark.parametrize("loss", ["squared", EpsilonInsensitive(0.05), Huber(0.5), Quantile(0.5)])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_every_regression_loss_learns_targets_of_any_size(loss: Any, solver: str, size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 1))
    y = size * np.sin(2 * X[:, 0])
    if size > 1 and isinstance(loss, EpsilonInsensitive | Huber):
        loss = type(loss)(size * (loss.shape))
    tol = None if solver == "dual" else 0.0
    # A bounded loss pulls by C at most, so C must be of the targets' size; the paper's penalty has no such bound.
    C = 10.0 * size if solver == "dual" else 10.0
    model = DSEKLRegressor(gamma=2.0, loss=loss, solver=solver, C=C, tol=tol, max_epochs=200, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.85


@pytest.mark.parametrize("expansion", ["empirical", FixedSubset(60), RandomFourier(200)])
@pytest.mark.parametrize("solver", ["doubly_stochastic", "shared_memory"])
def test_every_expansion_works_with_every_solver(moons: Any, expansion: Any, solver: str) -> None:
    X, y = moons
    solver = SharedMemory(n_rows=50, n_cols=100) if solver == "shared_memory" else solver
    model = DSEKLClassifier(gamma=1.0, expansion=expansion, solver=solver, tol=0.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.93


def test_full_gradient_descent_tends_to_kernel_ridge_in_the_coefficient_norm(moons: Any) -> None:
    """With all rows and cols a step, Algorithm 1 is gradient descent on the objective, whose optimum has a formula."""
    X, y = moons[0][:80], np.sin(moons[0][:80, 0])
    solver = DoublyStochastic(n_rows=4000, n_cols=80, schedule="constant", steps="paper")
    model = DSEKLRegressor(
        gamma=1.0, C=1e-3, solver=solver, fit_intercept=False, max_epochs=3000, dtype="float64", random_state=0
    )
    model.fit(X, y)
    K = rbf_kernel(X, gamma=1.0)
    # A step sees 4000 rows, each of the 80 about 50 times: the data term counts 50-fold against the penalty.
    exact = np.linalg.solve(50 * K.T @ K + 2 / (1e-3 * 80) * np.eye(80), 50 * K.T @ y)
    np.testing.assert_allclose(model.predict(X), K @ exact, atol=0.02)


def test_multi_class_and_many_targets_share_one_model() -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    classifier = DSEKLClassifier(loss="logistic", random_state=0, max_epochs=300).fit(X, y)
    assert classifier.score(X, y) > 0.93
    assert classifier.decision_function(X).shape == (150, 3) == classifier.predict_proba(X).shape
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)
    regressor = DSEKLRegressor(C=10.0, random_state=0, max_epochs=300).fit(X[:, :2], X[:, 2:])
    assert regressor.predict(X[:, :2]).shape == (150, 2)
    assert regressor.score(X[:, :2], X[:, 2:]) > 0.7


def test_probabilities_are_calibrated() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (3000, 1))
    truth = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.random(3000) < truth
    model = DSEKLClassifier(loss="logistic", gamma=0.5, random_state=0, max_epochs=30).fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1] - truth).mean() < 0.05


def test_quantiles_cover_their_share() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (1500, 1))
    y = X[:, 0] + rng.standard_normal(1500)
    for share in (0.1, 0.5, 0.9):
        model = DSEKLRegressor(loss=Quantile(share), gamma=1.0, random_state=0).fit(X, y)
        assert np.mean(y <= model.predict(X)) == pytest.approx(share, abs=0.06)


def test_dense_sparse_and_pandas_inputs_give_one_model(moons: Any) -> None:
    X, y = moons
    model = DSEKLClassifier(gamma=2.0, max_epochs=5, dtype="float64", random_state=0)
    f = clone(model).fit(X, y).decision_function(X)
    np.testing.assert_allclose(clone(model).fit(sparse.csr_matrix(X), y).decision_function(sparse.csr_array(X)), f)
    table = pd.DataFrame(X, columns=["left", "right"])
    fitted = clone(model).fit(table, y)
    np.testing.assert_allclose(fitted.decision_function(table), f)
    assert list(fitted.feature_names_in_) == ["left", "right"]


def test_strings_and_precomputed_kernels() -> None:
    words = ["aab", "aba", "baa", "aaa", "bbc", "bcb", "cbb", "ccb"] * 5
    labels = ["A", "A", "A", "A", "B", "B", "B", "B"] * 5

    def shared_letters(a: Any, b: Any) -> Any:
        counts = [[np.array([w.count(c) for c in "abc"], dtype=float) for w in side] for side in (a, b)]
        return np.array(counts[0]) @ np.array(counts[1]).T

    on_objects = DSEKLClassifier(kernel=shared_letters, max_epochs=20, random_state=0).fit(words, labels)
    assert on_objects.score(words, labels) == 1.0
    assert on_objects.predict(["aaa", "ccc"]).tolist() == ["A", "B"]
    K = shared_letters(words, words)
    on_matrix = DSEKLClassifier(kernel="precomputed", max_epochs=20, random_state=0).fit(K, labels)
    np.testing.assert_allclose(on_matrix.decision_function(K), on_objects.decision_function(words))
    assert on_matrix.model_.gram.n_rows == 0


@pytest.mark.parametrize("kernel", [Radial(cauchy), DotProduct(square)])
def test_a_users_compiled_function_is_a_kernel(moons: Any, kernel: Any) -> None:
    X, y = moons
    model = DSEKLClassifier(kernel=kernel, gamma=2.0, loss="squared_hinge", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_sample_weight_acts_on_the_decision() -> None:
    X = np.array([[0.0], [0.0], [0.0], [1.0]] * 20)
    y = np.array([0, 0, 1, 1] * 20)
    weight = np.where(y == 1, 10.0, 1.0)
    plain = DSEKLClassifier(gamma=1.0, random_state=0).fit(X, y)
    weighted = DSEKLClassifier(gamma=1.0, random_state=0).fit(X, y, sample_weight=weight)
    by_class = DSEKLClassifier(gamma=1.0, random_state=0, class_weight={0: 1.0, 1: 10.0}).fit(X, y)
    assert plain.predict([[0.0]]) == 0
    assert weighted.predict([[0.0]]) == by_class.predict([[0.0]]) == 1


def test_rows_of_weight_zero_leave_no_trace(moons: Any) -> None:
    X, y = moons
    noise = np.concatenate([X, np.full((50, 2), 9.0)]), np.concatenate([y, 1 - y[:50]])
    weight = np.r_[np.ones(400), np.zeros(50)]
    model = DSEKLClassifier(gamma=2.0, max_epochs=3, random_state=0)
    f = clone(model).fit(X, y).decision_function(X)
    weighted = clone(model).fit(*noise, sample_weight=weight)
    np.testing.assert_array_equal(weighted.decision_function(X), f)
    assert weighted.support_.max() < 400


def test_grid_search_reaches_the_solvers_and_kernels_own_settings(moons: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), DSEKLClassifier(Polynomial(), max_epochs=5, tol=0.0))
    grid = {
        "dseklclassifier__solver__n_rows": [20, 50],
        "dseklclassifier__kernel__degree": [2, 3],
        "dseklclassifier__solver": [DoublyStochastic(), SharedMemory(n_cols=100)],
    }
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(*moons)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_score_ > 0.75
    assert cross_val_score(pipeline, *moons, cv=2).min() > 0.7


def test_pickle_and_joblib_return_the_same_model(moons: Any, tmp_path: Any) -> None:
    X, y = moons
    model = DSEKLClassifier(gamma=2.0, max_epochs=5, random_state=0).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_predictions_do_not_depend_on_the_batch_or_the_threads(moons: Any) -> None:
    X, y = moons
    model = DSEKLClassifier(gamma=2.0, max_epochs=5, random_state=0).fit(X, y)
    whole = model.decision_function(X)
    parts = np.concatenate([model.decision_function(X[i : i + 7]) for i in range(0, 400, 7)])
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).decision_function(X), whole)


def test_a_fitted_model_holds_the_support_and_nothing_more() -> None:
    X, y = xor(2000, seed=0)
    model = DSEKLClassifier(gamma=1.0, solver="shared_memory", max_epochs=3, tol=0.0, dtype="float32", random_state=0)
    model.fit(X, y).predict_proba(X[:1])  # until then it keeps X
    assert len(model.support_) == len(model.dual_coef_) == model.model_.n_terms
    assert np.all(model.dual_coef_.any(axis=1))
    np.testing.assert_array_equal(model.n_support_, np.unique(y[model.support_], return_counts=True)[1])
    assert len(pickle.dumps(model)) < 2000 * (2 * 4 + 4 + 8 + 8) + 20_000


def test_kernel_ridge_intercept_is_the_best_constant() -> None:
    X = np.zeros((5, 1))
    y = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    assert DSEKLRegressor().fit(X, y).intercept_ == pytest.approx(22.0)
    assert DSEKLRegressor(loss="quantile").fit(X, y).intercept_ == pytest.approx(3.0)
    assert DSEKLRegressor(fit_intercept=False).fit(X, y).intercept_ == 0.0


@pytest.mark.parametrize("estimator", [DSEKLClassifier, DSEKLRegressor])
def test_a_fit_that_fails_leaves_no_model_rather_than_parts_of_two(estimator: Any) -> None:
    """Its labels or its intercept would be those of the new data, with the terms of the old."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    model = estimator(gamma=1.0, random_state=0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=r"gamma has shape \(4,\)"):
        model.set_params(gamma=np.ones(4)).fit(X, 100.0 + (X[:, 0] > 0))
    for ask in (lambda: model.predict(X), lambda: model.save("nowhere"), lambda: model.compact(0.1)):
        with pytest.raises(NotFittedError):
            ask()
    assert model.set_params(gamma=1.0).fit(X, 100.0 + (X[:, 0] > 0)).predict(X).min() > 99
