"""Batch models that go online, and online models that are compacted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor, OnlineDSEKLClassifier, OnlineDSEKLRegressor
from dsekl.kernels import RBF
from dsekl.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Quantile, Squared, SquaredHinge
from dsekl.online import Settings
from dsekl.online.taking_over import implied

X = np.random.default_rng(0).standard_normal((900, 3))
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
TARGETS = 50 + 3 * (X[:, 0] * X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(900))

MODELS: dict[str, Any] = {
    "hinge, many classes": DSEKLClassifier(gamma=0.5, random_state=0),
    "logistic, two classes": DSEKLClassifier("matern32", gamma=0.3, loss="logistic", C=2.0, random_state=0),
    "everything learned": DSEKLClassifier(fit_intercept=True, trend=True, random_state=0),
    "squared": DSEKLRegressor("rbf", gamma=0.3, random_state=0),
    "epsilon-insensitive": DSEKLRegressor(loss=EpsilonInsensitive(0.3), gamma=[0.3, 0.5, 0.1], random_state=0),
}


def fitted(name: str, n: int = 300) -> tuple[Any, Any, Any]:
    model = MODELS[name]
    if isinstance(model, DSEKLRegressor):
        return model.fit(X[:n], TARGETS[:n]), OnlineDSEKLRegressor, TARGETS
    y = LABELS > 0 if "two" in name else LABELS
    return model.fit(X[:n], y[:n]), OnlineDSEKLClassifier, y


def values(model: Any) -> Any:
    return model.predict(X) if hasattr(model, "_one_target") or isinstance(model, DSEKLRegressor) else (
        model.decision_function(X)
    )  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_model_goes_online_and_learns_on(name: str, tmp_path: Path) -> None:
    model, kind, y = fitted(name)
    online = kind.from_model(model, budget=400, random_state=0)
    spread = np.abs(values(model)).max()
    np.testing.assert_allclose(values(online), values(model), atol=1e-5 * spread)
    assert online.n_seen_ == 0
    online.partial_fit(X[300:500], y[300:500])
    online.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    for first in range(500, 700, 50):
        loaded.partial_fit(X[first : first + 50], y[first : first + 50])
    online.partial_fit(X[500:700], y[500:700])
    np.testing.assert_array_equal(values(loaded), values(online))
    assert online.n_seen_ == 400
    assert online.score(X[700:], y[700:]) > model.score(X[700:], y[700:]) - 0.01


@pytest.mark.parametrize("name", ["hinge, many classes", "squared"])
def test_large_budgets_take_over_a_model_too(name: str, tmp_path: Path) -> None:
    model, kind, y = fitted(name)
    online = kind.from_model(model, budget=5000, random_state=0)
    np.testing.assert_allclose(values(online), values(model), atol=1e-4)
    online.partial_fit(X[300:700], y[300:700])
    online.save(tmp_path / "m.dsekl")
    np.testing.assert_array_equal(values(dsekl.load(tmp_path / "m.dsekl")), values(online))
    assert online.score(X[700:], y[700:]) > model.score(X[700:], y[700:]) - 0.01


def test_a_model_over_the_budget_is_compacted_first() -> None:
    model, kind, y = fitted("squared")
    assert model.model_.n_terms == 300
    online = kind.from_model(model, budget=60, random_state=0)
    assert len(online.support_vectors_) == 60
    assert online.score(X[300:], y[300:]) > model.score(X[300:], y[300:]) - 0.02


def test_coefficients_tell_the_targets() -> None:
    f, C = np.random.default_rng(2).uniform(-1.5, 1.5, (200, 1)), 2.0
    signs = np.where(np.random.default_rng(3).random((200, 1)) < 0.5, -1.0, 1.0)
    for loss in (Hinge(), SquaredHinge(), Logistic(), Squared()):
        coef = -C * loss.gradient(signs, f)
        targets, masses, labels = implied(Settings(RBF(), loss, C=C), coef, f)
        told = coef[:, 0] != 0
        np.testing.assert_array_equal(targets[told], signs[told])
        np.testing.assert_array_equal(labels == 1, targets[:, 0] > 0)
        np.testing.assert_allclose(masses, 1.0)
    y = f + np.random.default_rng(4).standard_normal((200, 1))
    for residual_loss in (Squared(), Huber(0.7), EpsilonInsensitive(0.2), Quantile(0.3)):
        coef = -C * residual_loss.gradient(y, f)
        targets, _, _ = implied(Settings(RBF(), residual_loss, C=C, classes=False), coef, f)
        nudged = -C * residual_loss.gradient(targets + 1e-6 * np.sign(coef), f)
        np.testing.assert_allclose(nudged, coef, atol=1e-4)


def test_frames_go_online(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    kinds = np.random.default_rng(5).choice(["u", "v"], 900)
    frame = pandas.DataFrame(X, columns=list("abc")).assign(kind=kinds)
    y = (X[:, 0] > 0) != (kinds == "u")
    model = DSEKLClassifier(gamma=0.5, random_state=0).fit(frame[:300], y[:300])
    online = OnlineDSEKLClassifier.from_model(model, budget=400, random_state=0)
    np.testing.assert_allclose(online.decision_function(frame), model.decision_function(frame), atol=1e-5)
    online.partial_fit(frame[300:400], y[300:400])
    online.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    np.testing.assert_array_equal(loaded.decision_function(frame), online.decision_function(frame))
    with pytest.raises(ValueError, match="kind"):
        loaded.partial_fit(frame[["a", "b", "c"]], y)


@pytest.mark.parametrize("budget", [300, 5000])
def test_online_models_are_compacted_and_go_on(budget: int, tmp_path: Path) -> None:
    model = OnlineDSEKLClassifier(budget=budget, random_state=0).partial_fit(X, LABELS, classes=[0, 1, 2])
    smaller = model.compact(0.5, X)
    assert len(smaller.support_vectors_) == smaller.compaction_["terms_after"] < len(model.support_vectors_)
    change = np.abs(smaller.decision_function(X) - model.decision_function(X)).max()
    assert change == pytest.approx(smaller.compaction_["largest_change"], abs=1e-4)
    assert change <= 0.5 + 1e-4
    before = smaller.decision_function(X)
    smaller.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    assert loaded.compaction_ == smaller.compaction_
    np.testing.assert_array_equal(loaded.decision_function(X), before)
    smaller.partial_fit(X, LABELS)
    assert smaller.score(X, LABELS) > 0.9
    with pytest.raises(ValueError, match="tolerance"):
        model.compact(0.0)


def test_models_that_cannot_go_online_are_named() -> None:
    model = DSEKLClassifier(gamma=0.5, random_state=0).fit(X[:100], LABELS[:100])
    with pytest.raises(TypeError, match="DSEKLRegressor"):
        OnlineDSEKLRegressor.from_model(model)
    with pytest.raises(ValueError, match="budget"):
        OnlineDSEKLClassifier.from_model(model, budget=0)
    hard = DSEKLClassifier(gamma=0.5, C=np.inf, loss="hinge", random_state=0).fit(X[:100], X[:100, 0] > 0)
    with pytest.raises(ValueError, match="C=inf"):
        OnlineDSEKLClassifier.from_model(hard)
    precomputed = DSEKLClassifier("precomputed", random_state=0).fit(X[:100] @ X[:100].T, LABELS[:100])
    with pytest.raises(ValueError, match="rows of numbers"):
        OnlineDSEKLClassifier.from_model(precomputed)
