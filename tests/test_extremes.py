"""Numbers of any size and labels of odd kinds: right ones are fitted, and of wrong ones the right part is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.solvers import DoublyStochastic, DualAscent, SharedMemory

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 3))
LABELS = (X[:, 0] > 0).astype(int)
Y = X[:, 0] + 0.1 * RNG.standard_normal(120)


def refused(words: list[str], model: Any, *data: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        model.fit(*data)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "a"])
def test_class_weights_that_are_none_are_named(weight: Any) -> None:
    model = DSEKLClassifier(gamma=1.0, class_weight={0: weight, 1: 1.0})
    refused(["class_weight", "class 0", repr(weight), "finite, at least 0"], model, X, LABELS)


def test_a_class_weight_of_0_that_leaves_one_class_is_named() -> None:
    refused(["class_weight", "one class"], DSEKLClassifier(gamma=1.0, class_weight={0: 0.0, 1: 1.0}), X, LABELS)


@pytest.mark.parametrize("gamma", ["scale", "median", "learn", "auto", 1.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_columns_too_large_or_too_small_for_squares_are_named(gamma: Any, container: Any) -> None:
    model = DSEKLClassifier(gamma=gamma)
    refused(["column 1", "1e+200", "divide"], model, container(X * [1.0, 0.0, 1.0] + [0.0, 1e200, 0.0]), LABELS)
    refused(["X", "e-200", "multiply"], model, container(X * 1e-200), LABELS)


def test_a_column_is_named_by_its_name() -> None:
    frame = pd.DataFrame(X * [1.0, 1.0, 1e160], columns=["a", "b", "c"])
    refused(["column 'c'"], DSEKLClassifier(), frame, LABELS)


def test_new_rows_may_be_as_small_as_they_like() -> None:
    model = DSEKLClassifier(gamma=1.0, random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(model.decision_function(X[:2] * 1e-200), model.decision_function(X[:2] * 0))


@pytest.mark.parametrize("size", [1e19, 1e160, 1e300, 1e-160, 1e-300])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_targets_of_any_size_are_fitted(size: float, loss: str) -> None:
    model = DSEKLRegressor(gamma=0.5, C=10.0, loss=loss, random_state=0)
    usual = model.fit(X, Y).predict(X)
    np.testing.assert_allclose(model.fit(X, Y * size).predict(X) / size, usual, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", ["doubly_stochastic", "shared_memory"])
def test_targets_too_large_for_steps_are_blamed(solver: str) -> None:
    refused(["y holds", "e+160", "divide y"], DSEKLRegressor(gamma=0.5, solver=solver), X, Y * 1e160)


@pytest.mark.parametrize("weight", [1e100, 1e-100])
def test_weights_of_extreme_size_are_blamed(weight: float) -> None:
    refused(["sample_weight", f"{weight:.3g}"], DSEKLClassifier(gamma=1.0), X, LABELS, np.full(120, weight))


def test_one_weight_that_is_almost_nothing_is_fitted() -> None:
    weights = np.ones(120)
    weights[0] = 1e-200
    for dtype in ("float32", "float64"):
        model = DSEKLRegressor(gamma=0.5, dtype=dtype, random_state=0).fit(X, Y, weights)
        without = DSEKLRegressor(gamma=0.5, dtype=dtype, random_state=0).fit(X[1:], Y[1:])
        np.testing.assert_allclose(model.predict(X), without.predict(X), atol=1e-4)


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (DualAscent(block_size=1.5), ["block_size=1.5", "DualAscent", "an integer"]),  # type: ignore[arg-type]
        (DualAscent(block_size=True), ["block_size=True", "an integer"]),
        (DualAscent(grow="yes"), ["grow='yes'", "True or False"]),  # type: ignore[arg-type]
        (DoublyStochastic(n_rows="a"), ["n_rows='a'", "an integer"]),  # type: ignore[arg-type]
        (DoublyStochastic(step_size=[1]), ["step_size=[1]", "a number or a name"]),  # type: ignore[arg-type]
        (SharedMemory(n_rows=None), ["n_rows=None", "an integer"]),  # type: ignore[arg-type]
    ],
)
def test_settings_of_solvers_of_wrong_types_are_named(solver: Any, words: list[str]) -> None:
    refused(words, DSEKLClassifier(gamma=1.0, solver=solver), X, LABELS)


def test_settings_may_be_numpys_own() -> None:
    solver = DualAscent(block_size=np.int64(64), grow=np.bool_(True))  # type: ignore[arg-type]
    assert DSEKLClassifier(gamma=1.0, solver=solver, random_state=0).fit(X, LABELS).score(X, LABELS) > 0.9


@pytest.mark.parametrize("container", [list, np.asarray])
def test_integer_labels_above_2_to_53_stay_apart(container: Any) -> None:
    labels = container([2**53 + int(label) for label in LABELS])
    model = DSEKLClassifier(gamma=1.0, random_state=0).fit(X, labels)
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert (model.predict(X) == np.asarray(labels)).mean() > 0.9


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([2**63 + int(label) for label in LABELS[1:]] + [-1], ["y holds integers from -1", "texts"]),
        ([2**70 + int(label) for label in LABELS], ["y holds integers", "texts"]),
        (["a" if label else 1 for label in LABELS], ["different types", "'a'", "1"]),
        (np.array(["a" if label else 1 for label in LABELS], dtype=object), ["different types", "'a'", "1"]),
        (np.array(["a" if label else None for label in LABELS], dtype=object), ["y holds None"]),
    ],
)
def test_labels_that_an_array_would_change_are_named(labels: Any, words: list[str]) -> None:
    refused(words, DSEKLClassifier(gamma=1.0), X, labels)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_a_function_as_kernel_takes_sparse_rows(container: Any) -> None:
    def linear(a: Any, b: Any) -> Any:
        return a @ b.T

    sparse_rows = container(X)
    given = DSEKLClassifier(kernel=linear, random_state=0).fit(sparse_rows, LABELS)
    dense = DSEKLClassifier(kernel=linear, random_state=0).fit(X, LABELS)
    np.testing.assert_allclose(given.decision_function(sparse_rows), dense.decision_function(X), atol=1e-10)


def test_a_gap_that_float32_cannot_reach_is_blamed_on_the_type_and_float64_reaches_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    model = DSEKLRegressor(kernel="rbf", gamma=0.5, C=1e6, dtype="float32", max_epochs=10, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"kernel values in float32 are too coarse .* set dtype='float64'"):
        model.fit(X, y)
    assert model.set_params(dtype="float64").fit(X, y).stop_reason_ == "tol"
    hinge = DSEKLClassifier(gamma=0.5, C=1e4, dtype="float64", tol=1e-9, max_epochs=1, random_state=0)
    with pytest.warns(ConvergenceWarning) as said:
        hinge.fit(X, y > 0)
    assert "float" not in str(said[0].message)
