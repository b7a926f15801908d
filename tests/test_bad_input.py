"""Every error names the parameter, the value that came, and what would be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.expansions import FixedSubset, RandomFourier
from dsekl.kernels import Matern, Polynomial, Radial
from dsekl.losses import Huber, Quantile
from dsekl.solvers import DoublyStochastic, SharedMemory

X, y = make_moons(100, noise=0.1, random_state=0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(C=-1.0), ["'C'", "-1.0", "(0.0, inf]"]),
        (dict(gamma=-2.0), ["gamma", "-2.0", "positive"]),
        (dict(gamma="wide"), ["gamma", "'wide'", "'scale'", "'median'"]),
        (dict(gamma=[1.0, 2.0, 3.0]), ["gamma", "(3,)", "2 features"]),
        (dict(gamma=[np.nan, 1.0]), ["gamma", "nan", "finite"]),
        (dict(kernel="rbff"), ["kernel", "'rbff'", "laplacian", "rbf"]),
        (dict(kernel=3), ["kernel", "3", "name"]),
        (dict(kernel=Matern(nu=0.7)), ["nu", "0.7", "1.5"]),
        (dict(kernel=Polynomial(degree=0)), ["degree", "0", "1"]),
        (dict(kernel=Radial(lambda s: s)), ["function", "njit"]),
        (dict(loss="hing"), ["loss", "'hing'", "hinge", "logistic"]),
        (dict(loss="quantile"), ["loss", "'quantile'", "classification", "hinge"]),
        (dict(solver="newton"), ["solver", "'newton'", "doubly_stochastic", "shared_memory"]),
        (dict(solver=DoublyStochastic(n_rows=0)), ["n_rows", "0", "DoublyStochastic", "at least 1"]),
        (dict(solver=DoublyStochastic(n_cols=0)), ["n_cols", "0", "at least 1"]),
        (dict(solver=DoublyStochastic(step_size=-1.0)), ["step_size", "-1.0", "greater than 0"]),
        (dict(solver=DoublyStochastic(schedule="cosine")), ["schedule", "'cosine'", "inverse_sqrt"]),
        (dict(solver=SharedMemory(n_workers=0)), ["n_workers", "0", "at least 1"]),
        (dict(solver=SharedMemory(average="last")), ["average", "'last'", "'auto', True or False"]),
        (dict(solver=SharedMemory(gradient="partial")), ["gradient", "'partial'", "'local'"]),
        (dict(solver=SharedMemory(learning_rate=0.0)), ["learning_rate", "0.0", "greater than 0"]),
        (dict(expansion="sparse"), ["expansion", "'sparse'", "empirical", "random_fourier"]),
        (dict(expansion=FixedSubset(0)), ["n_terms", "0", "at least 1"]),
        (dict(expansion=RandomFourier(), kernel="linear"), ["kernel", "Linear", "rbf"]),
        (dict(n_jobs=0), ["'n_jobs'", "0", "[1, inf)"]),
        (dict(max_epochs=0), ["'max_epochs'", "0", "[1, inf)"]),
        (dict(dtype="float16"), ["'dtype'", "'float16'", "'float32'"]),
        (dict(early_stopping=True, validation_fraction=99), ["validation_fraction", "99", "early_stopping"]),
        (dict(kernel="chi2"), ["X", "negative", "chi2", "MinMaxScaler"]),
        (dict(kernel="precomputed"), ["X", "(100, 2)", "square"]),
        (dict(kernel=lambda a, b: np.zeros((2, 2))), ["kernel", "(2, 2)", "must return shape"]),
    ],
)
def test_a_bad_parameter_is_named_with_its_value_and_a_fix(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        DSEKLClassifier(**settings).fit(X, y)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Quantile(1.5), ["quantile", "1.5", "between 0 and 1"]),
        (Huber(0.0), ["delta", "0.0", "greater than 0"]),
        ("hinge", ["loss", "'hinge'", "regression", "squared"]),
    ],
)
def test_a_bad_loss_is_named_with_its_value_and_a_fix(loss: Any, words: list[str]) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        DSEKLRegressor(loss=loss).fit(X, X[:, 0])
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("model", [DSEKLClassifier(), DSEKLRegressor()])
def test_entries_that_are_not_finite_are_refused(model: Any) -> None:
    broken = X.copy()
    broken[3, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains"):
        model.fit(broken, y)
    with pytest.raises(ValueError, match="Input X contains"):
        model.fit(X, y).predict(broken)
    if isinstance(model, DSEKLRegressor):
        with pytest.raises(ValueError, match="Input y contains"):
            model.fit(X, broken[:, 1])


def test_data_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DSEKLClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="one class only"):
        DSEKLClassifier().fit(X, np.ones(100))
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero"):
        DSEKLClassifier().fit(X, y, sample_weight=np.zeros(100))
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        DSEKLClassifier().fit(X, y).predict(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="minimum of 2"):
        DSEKLRegressor().fit(X[:1], y[:1])


def test_more_cols_than_points_are_clipped() -> None:
    clipped = DSEKLClassifier(solver=DoublyStochastic(n_rows=50, n_cols=10_000), max_epochs=3, random_state=0).fit(X, y)
    exact = DSEKLClassifier(solver=DoublyStochastic(n_rows=50, n_cols=100), max_epochs=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clipped.dual_coef_, exact.dual_coef_)


def test_columns_of_very_different_scale_give_one_warning_that_suggests_a_scaler() -> None:
    uneven = X * [1.0, 5000.0]
    with pytest.warns(UserWarning, match="column 1 varies") as caught:
        DSEKLClassifier(gamma="scale").fit(uneven, y)
    assert len(caught) == 1
    assert "gamma='learn'" in str(caught[0].message)
    assert "StandardScaler" in str(caught[0].message)
    DSEKLClassifier(gamma="learn").fit(uneven, y)
    DSEKLClassifier(gamma=[1.0, 1e-7]).fit(uneven, y)
    DSEKLClassifier(gamma="scale").fit(X * [1.0, 500.0], y)


def test_warm_start_refuses_other_data() -> None:
    model = DSEKLClassifier(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start=True goes on from 100 rows .* 50 rows"):
        model.fit(X[:50], y[:50])


def test_a_progress_bar_needs_a_terminal(capfd: Any, caplog: Any) -> None:
    with caplog.at_level("INFO", logger="dsekl"):
        DSEKLClassifier(solver="doubly_stochastic", max_epochs=2).fit(X, y)
        assert not caplog.records
        DSEKLClassifier(solver="doubly_stochastic", max_epochs=2, verbose=1).fit(X, y)
    assert len(caplog.records) == 2
    assert "kernel_evaluations" in caplog.text
    assert capfd.readouterr() == ("", "")


def test_a_parameter_that_is_not_known_is_named_with_its_estimator() -> None:
    with pytest.raises(TypeError, match=r"DSEKLClassifier.__init__\(\) got an unexpected keyword argument 'gama'"):
        DSEKLClassifier(gama=1.0)


SOUND = sparse.csr_matrix(np.eye(6))


def damaged(part: str, place: int, value: int) -> sparse.csr_matrix:
    matrix = SOUND.copy()
    getattr(matrix, part)[place] = value
    return matrix


@pytest.mark.parametrize(
    "matrix",
    [
        damaged("indices", 0, 77),
        damaged("indices", 2, -5),
        damaged("indptr", 3, 10**6),
        damaged("indptr", -1, 10**6),
    ],
    ids=["index beyond", "index below", "row beyond", "end beyond"],
)
def test_a_sparse_matrix_whose_indices_point_outside_reaches_no_compiled_code(matrix: Any) -> None:
    y = [0, 1] * 3
    model = DSEKLClassifier(gamma=1.0, random_state=0).fit(np.eye(6), y)
    for ask in (lambda: model.predict(matrix), lambda: DSEKLClassifier(gamma=1.0).fit(matrix, y)):
        with pytest.raises(ValueError, match=r"X is a damaged sparse matrix .* make it again"):
            ask()


ROWS = np.random.default_rng(0).standard_normal((6, 2))
IDS = np.stack([np.arange(6), 2**53 + np.arange(6)], axis=1)
MASKED = np.ma.masked_array(ROWS, mask=ROWS > 0)


@pytest.mark.parametrize(
    ("X", "y", "weights", "words"),
    [
        (MASKED, range(6), None, r"X is a masked array, and \d of its entries are masked; leave such rows out"),
        (ROWS, MASKED[:, 0], None, "y is a masked array"),
        (
            IDS,
            range(6),
            None,
            r"column 1 of X has integers above 2\^53 .*, e.g. 9007199254740992 and",
        ),
        (ROWS, range(6), MASKED[:, 0], "sample_weight is a masked array"),
        (np.zeros((6, 2), "M8[s]"), range(6), None, r"X holds times \(datetime64\[s\]\)"),
        (ROWS, np.zeros(6, "m8[s]"), None, r"y holds times \(timedelta64\[s\]\)"),
        (np.array([[10**400, 1]] * 6, dtype=object), range(6), None, "X cannot be read as numbers .int too large"),
        (np.array([["a", 1], [2, 1]] * 3, dtype=object), range(6), None, "column 'x0': holds 2, and row 0 a text"),
        (ROWS, ["a"] * 6, None, "y cannot be read as numbers .could not convert string to float: 'a'"),
        (ROWS, range(6), ["a"] * 6, "sample_weight cannot be read as numbers .could not convert"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_would_be_read_as_other_numbers_is_named(X: Any, y: Any, weights: Any, words: str) -> None:
    y = list(y) if isinstance(y, range) else y
    with pytest.raises(ValueError, match=words):
        DSEKLRegressor(gamma=1.0).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("X", [[[1.0, 2.0], [1.0]], pd.DataFrame(index=range(2)), ROWS.view("V8")], ids=type)
def test_rows_that_are_no_table_of_numbers_are_named_at_prediction(X: Any) -> None:
    model = DSEKLRegressor(gamma=1.0).fit(ROWS, ROWS[:, 0])
    with pytest.raises(ValueError, match=r"X cannot be read as numbers|which is no number"):
        model.predict(X)


def test_a_weight_for_all_rows_together_is_named() -> None:
    with pytest.raises(TypeError, match="sample_weight cannot be read as numbers"):
        DSEKLRegressor(gamma=1.0).fit(ROWS, ROWS[:, 0], sample_weight=2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([2**53 + 1, 2.0**53, 1.0] * 2, "y holds 9007199254740993 beside labels that are no integers"),
        (["a\0", "a", "b"] * 2, "whose NUL at the end an array would drop; rename it"),
        (np.array([1, 2, 3] * 2, dtype=object), r"y is an array of objects such as 1; .* y.astype\(int\)"),
    ],
    ids=["rounded", "NUL", "objects"],
)
def test_labels_that_an_array_would_change_are_named(labels: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DSEKLClassifier(gamma=1.0).fit(ROWS, labels)


def test_large_integers_that_floats_tell_apart_are_numbers():
    nanoseconds = np.arange(100)[:, None] * 1_000_000 + 1_700_000_000_000_000_000
    assert DSEKLRegressor().fit(nanoseconds, np.arange(100.0)).score(nanoseconds, np.arange(100.0)) > 0.9
