"""Numbers of any size and labels of odd kinds: right ones are fitted, and of wrong ones the right part is named."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from dsekl import DSEKLClassifier, DSEKLRegressor, OnlineDSEKLClassifier, load
from dsekl.data import DataFileError, open_table
from dsekl.data.recipe_learner import Options, learn
from dsekl.kernels import Polynomial
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


@pytest.mark.parametrize("size", [1e60, 1e300, 1e-60, 1e-300])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_targets_beyond_float32_are_predicted_saved_and_compacted(size: float, container: Any, tmp_path: Path) -> None:
    rows = container(X)
    model = DSEKLRegressor(gamma=0.5, C=10.0, dtype="float32", random_state=0)
    usual = model.fit(rows, Y).predict(rows)
    model.fit(rows, Y * size).save(tmp_path / "model")
    for f in (model.predict(rows), load(tmp_path / "model").predict(rows)):
        np.testing.assert_allclose(f / size, usual, rtol=1e-4, atol=1e-5)
    smaller = model.compact(0.05 * size)
    assert 0 < len(smaller.support_) < len(X)
    assert np.abs(smaller.predict(rows) / size - usual).max() < 0.051
    assert smaller.compaction_["largest_change"] <= 0.05 * size


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


@pytest.mark.parametrize("solver", ["dual", DoublyStochastic(20, 20), SharedMemory(20, 20)], ids=type)
@pytest.mark.parametrize(
    ("kernel", "size"), [("linear", 1e80), ("linear", 1e120), (Polynomial(3), 1e30), (Polynomial(3), 1e100)], ids=str
)
def test_kernel_values_without_squares_are_named(kernel: Any, size: float, solver: Any) -> None:
    for model in (DSEKLClassifier, DSEKLRegressor):
        with pytest.raises(
            (ValueError, FloatingPointError), match=r"kernel values .* scale the columns of X|or scale the columns"
        ):
            model(kernel, gamma=1.0, solver=solver, random_state=0).fit(size * X, LABELS)


def test_precomputed_values_without_squares_are_named() -> None:
    K = 1e300 * np.exp(-np.square(X[:, None] - X[None]).sum(axis=-1))
    for solver in ("dual", "doubly_stochastic", "shared_memory"):
        refused(["kernel values", "too large for squares"], DSEKLRegressor("precomputed", solver=solver), K, Y)


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # of scikit-learn's look at all of y
def test_targets_whose_spread_is_no_number_are_named() -> None:
    refused(["y spreads", "1.7e+308"], DSEKLRegressor(gamma=0.5), X, np.where(Y > 0, 1.7e308, -1.7e308))


NULLABLE = ["Int64", "UInt64", "int64[pyarrow]", "uint64[pyarrow]"]


@pytest.mark.parametrize("container", [pd.Series, pd.array, lambda y, dtype: pd.DataFrame({"y": y}, dtype=dtype)])
@pytest.mark.parametrize("dtype", NULLABLE)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_nullable_labels_above_2_to_53_stay_apart(dtype: str, container: Any) -> None:
    labels = container([2**53 + int(label) for label in LABELS], dtype=dtype)
    model = DSEKLClassifier(gamma=0.01, C=0.1, random_state=0).fit(X, labels)
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert model.classes_.dtype.kind in "iu"
    right = model.predict(X) == 2**53 + LABELS
    assert model.score(X, labels) == right.mean() < 1
    online = OnlineDSEKLClassifier(random_state=0).partial_fit(X, labels, classes=[2**53, 2**53 + 1])
    assert online.score(X, labels) == (online.predict(X) == 2**53 + LABELS).mean()


def test_nullable_truth_values_are_labels_and_missing_ones_are_named() -> None:
    labels = pd.Series(LABELS == 1, dtype="boolean")
    assert DSEKLClassifier(gamma=1.0).fit(X, labels).classes_.dtype == bool
    labels[3] = pd.NA
    refused(["y holds", "in row 3, a missing value"], DSEKLClassifier(gamma=1.0), X, labels)


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


IDS = 9007199254740992 + np.arange(60)
"""Above 2^53: floats tell every other one apart."""


def frames_of_ids() -> dict[str, Any]:
    numbers = np.random.default_rng(0).normal(size=60)
    texts = pd.DataFrame({"a": numbers, "t": np.where(numbers > 0, "u", "v")})
    gaps = pd.DataFrame({"a": np.where(numbers > 1, np.nan, numbers)})
    some = pd.array(IDS, dtype="Int64")
    some[3] = pd.NA
    return {
        "numbers": pd.DataFrame({"a": numbers, "id": IDS}),
        "texts": texts.assign(id=IDS),
        "gaps": gaps.assign(id=IDS),
        "unsigned": texts.assign(id=IDS.astype(np.uint64)),
        "nullable": texts.assign(id=some),
        "objects": texts.assign(id=IDS.astype(object)),
        "polars": pl.DataFrame({"a": numbers, "id": IDS}),
    }


@pytest.mark.parametrize("name", frames_of_ids())
def test_ids_of_a_frame_that_floats_merge_are_named(name: str) -> None:
    with pytest.raises(ValueError, match="'id': 9007199254740992 and 9007199254740993 are integers above"):
        DSEKLClassifier(gamma=1.0).fit(frames_of_ids()[name], np.arange(60) % 2)


def test_ids_of_a_frame_are_categories_to_the_last_digit() -> None:
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=60), "id": 9007199254740992 + np.arange(60) % 3})
    model = DSEKLClassifier(gamma=1.0, C=100.0, categorical_features=["id"]).fit(frame, frame["id"])
    assert model.score(frame, frame["id"]) == 1.0
    assert len(model.encoder_.columns[-1].features) == 3


def test_large_integers_that_floats_tell_apart_are_taken() -> None:
    frame = pd.DataFrame({"time": 1_700_000_000_000_000_000 + 10**9 * np.arange(60), "t": ["u", "v"] * 30})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the columns are of very different scales
        assert DSEKLClassifier(gamma=1.0).fit(frame, np.arange(60) % 2).n_features_in_ == 2


def test_ids_of_a_csv_file_that_floats_merge_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,b,y\n" + "".join(f"{key},{k % 7},{['no', 'yes'][k % 2]}\n" for k, key in enumerate(IDS)))
    with pytest.raises(DataFileError, match=r"t\.csv:2: column 'id': 9007199254740992 and 9007199254740993"):
        learn(open_table(path), Options(target="y"))


@pytest.mark.parametrize("spelling", ["+{}", "00{}", " {}"])
def test_ids_with_signs_zeros_or_blanks_are_named_where_they_are(tmp_path: Path, spelling: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,y\n1,no\n" + "".join(f"{spelling.format(key)},{['no', 'yes'][key % 2]}\n" for key in IDS))
    with pytest.raises(DataFileError, match=r"t\.csv:3: column 'id': 9007199254740992 and 9007199254740993"):
        learn(open_table(path), Options(target="y"))


def test_integers_of_hundreds_of_digits_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,y\n1,no\n" + "".join(f"{'9' * 320}{key},{['no', 'yes'][key % 2]}\n" for key in range(60)))
    with pytest.raises(DataFileError, match=r"t\.csv.*column 'id'"):
        learn(open_table(path), Options(target="y"))
