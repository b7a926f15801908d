"""Every error names the parameter, the value that came, and what would be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("model", [DSEKLClassifier(), DSEKLRegressor()])
def test_entries_that_are_not_finite_are_refused(model: Any, bad: float) -> None:
    broken = X.copy()
    broken[3, 1] = bad
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
