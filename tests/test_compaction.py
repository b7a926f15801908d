"""A compacted model is smaller, keeps the bound that it was given, and tells the truth about what it cost."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_moons

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.models import Model
from tests.problems import xor

X, y = xor(1500, seed=0)
QUERIES, _ = xor(1000, seed=1)
IRIS, SPECIES = load_iris(return_X_y=True)
MOONS = make_moons(600, noise=0.2, random_state=0)


def letters(a: Any, b: Any) -> Any:
    rows, cols = ([[word.count(c) for c in "abc"] for word in words] for words in (a, b))
    return np.array(rows, dtype=float) @ np.array(cols, dtype=float).T


MODELS: dict[str, tuple[Any, Any, Any]] = {
    "two classes": (DSEKLClassifier(gamma=1.0, random_state=0), X, y),
    "narrow": (DSEKLClassifier(gamma=20.0, dtype="float32", random_state=0), X, y),
    "three classes": (DSEKLClassifier(gamma=0.2, loss="logistic", C=10.0, random_state=0), IRIS, SPECIES),
    "sparse": (DSEKLClassifier(gamma=1.0, random_state=0), sparse.csr_array(MOONS[0]), MOONS[1]),
    "words": (DSEKLClassifier(letters, random_state=0), ["aab", "abc", "bbc", "cab", "ccc"] * 20, [0, 0, 1, 0, 1] * 20),
    "regression": (DSEKLRegressor(gamma=1.0, C=10.0, random_state=0), X[:600], np.sin(X[:600, 0])),
    "algorithm 2": (DSEKLClassifier(gamma=1.0, solver="shared_memory", random_state=0), X[:800], y[:800]),
}


@cache
def fitted(name: str) -> Any:
    """Return a model, fitted once for all tests."""
    model, rows, targets = MODELS[name]
    return model.fit(rows, targets)


def values(model: Any, X: Any) -> Any:
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("tolerance", [0.02, 0.2])
@pytest.mark.parametrize("name", MODELS)
def test_the_bound_is_kept_and_the_cost_is_told(name: str, tolerance: float) -> None:
    model, rows = fitted(name), MODELS[name][1]
    small = model.compact(tolerance)
    cost = small.compaction_
    support = [rows[i] for i in model.support_] if isinstance(rows, list) else rows[model.support_]
    change = np.abs(values(small, support) - values(model, support))
    assert change.max() <= tolerance * (1 + 1e-5)
    assert cost["largest_change"] == pytest.approx(change.max(), abs=1e-5)
    assert cost["mean_change"] == pytest.approx(change.mean(), abs=1e-5)
    assert cost["rows_measured"] == cost["terms_before"] == len(model.dual_coef_)
    assert cost["terms_after"] == len(small.dual_coef_) == small.model_.n_terms == len(small.support_)
    assert set(small.support_) <= set(model.support_)
    if hasattr(model, "classes_"):
        assert cost["changed_decisions"] == np.mean(small.predict(support) != model.predict(support))
    assert np.all(model.dual_coef_.any(axis=1)), "the model itself stays as it was"
    assert len(model.dual_coef_) == cost["terms_before"]


@pytest.mark.parametrize(("name", "share"), [("two classes", 0.25), ("narrow", 0.75), ("regression", 0.1)])
def test_a_twentieth_of_the_margin_buys_a_much_smaller_model(name: str, share: float) -> None:
    cost = fitted(name).compact(0.05).compaction_
    assert cost["terms_after"] <= share * cost["terms_before"]


def test_it_beats_dropping_small_coefficients() -> None:
    model = fitted("narrow")
    small = model.compact(0.1)
    kept = np.sort(np.argsort(np.abs(model.dual_coef_[:, 0]))[-len(small.dual_coef_) :])
    truncated = copy.copy(model)
    truncated.model_ = Model(model.model_.gram.restricted(kept), model.dual_coef_[kept])
    change = np.abs(values(truncated, X[model.support_]) - values(model, X[model.support_]))
    assert change.max() > 3 * small.compaction_["largest_change"]


def test_no_row_changes_by_more_than_the_norm_of_the_change() -> None:
    model = fitted("two classes")
    small = model.compact(0.2)
    change = np.abs(small.decision_function(QUERIES) - model.decision_function(QUERIES)).max()
    assert change <= small.compaction_["norm_of_change"] * (1 + 1e-6)


def test_the_bound_can_be_asked_for_at_further_rows() -> None:
    model = fitted("two classes")
    small = model.compact(0.2, X)
    assert np.abs(small.decision_function(X) - model.decision_function(X)).max() <= 0.2
    assert small.compaction_["rows_measured"] == len(model.dual_coef_) + len(X)
    assert len(model.compact(0.2).dual_coef_) <= len(small.dual_coef_) < 0.5 * len(model.dual_coef_)


def test_a_compacted_model_is_saved_with_its_cost(tmp_path: Path) -> None:
    small = fitted("two classes").compact(0.1)
    small.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    assert loaded.compaction_ == small.compaction_
    np.testing.assert_array_equal(loaded.decision_function(QUERIES), small.decision_function(QUERIES))
    assert not hasattr(small.fit(X, y), "compaction_")


def test_what_cannot_be_compacted_says_why() -> None:
    model = fitted("three classes")
    for bad in (0.0, -1.0, np.nan, "0.1"):
        with pytest.raises(ValueError, match=r"tolerance=.* must be a positive number"):
            model.compact(bad)
    on_matrix = DSEKLClassifier("precomputed").fit(IRIS @ IRIS.T, SPECIES)
    with pytest.raises(ValueError, match=r"kernel='precomputed'.*Fit with another kernel"):
        on_matrix.compact(0.1)
    features = DSEKLClassifier(expansion="random_fourier", solver="shared_memory").fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match=r"expansion='random_fourier'.*100 terms"):
        features.compact(0.1)
