"""A certificate is a certificate: the gap of a run that ended by tol, against the gap computed from scratch in float64.

``benchmarks/certificates.py`` does the same for 200 fits.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, DSEKLRegressor, load
from dsekl.gram import Reference
from dsekl.kernels import (
    RBF,
    DotProduct,
    Laplacian,
    Matern,
    Polynomial,
    Radial,
    RationalQuadratic,
    Sigmoid,
    known_definite,
)
from dsekl.losses import EpsilonInsensitive, Huber, Quantile, Squared
from dsekl.rows import as_rows
from dsekl.solvers import DualAscent, Problem
from dsekl.solvers.dual import certificate
from tests.oracles import build
from tests.problems import xor

MOST = 1e-6
"""Share of the claimed gap, and of the objective, by which the true gap may be larger."""


def codes(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Points of large norm beside small distances: what float32 rounds worst."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random((n, 3)), np.eye(4)[rng.integers(0, 4, n)]])
    return X, np.where(np.sin(7 * X[:, :3].sum(axis=1)) + 0.3 * rng.standard_normal(n) > 0, 1, -1)


def true_gap(model: Any, K: Any, y: Any, loss: Any) -> float:
    """Return the gap of a fitted model with the whole kernel matrix in float64."""
    coef = np.zeros((len(K), 1))
    # In units of y, coefficients at the end of their interval may be beyond it by the last digit.
    coef[model.support_] = model.dual_coef_ * (1.0 - 1e-12)
    f, y = K @ coef, y.reshape(-1, 1).astype(float)
    primal = 0.5 * (coef * f).sum() + model.C_ * loss.value(y, f).sum()
    dual = -0.5 * (coef * f).sum() - loss.conjugate(y, coef, model.C_).sum()
    return float((primal - dual) / primal)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_infinite_C_is_the_hard_margin(loss: str, dtype: str) -> None:
    X, y = make_moons(300, noise=0.1, random_state=0)
    signs = np.where(y == 1, 1.0, -1.0)
    settings: dict[str, Any] = dict(kernel="rbf", gamma=20.0, dtype=dtype, max_epochs=1000, random_state=0)
    model = DSEKLClassifier(C=np.inf, loss=loss, tol=1e-3, **settings).fit(X, y)
    assert (model.stop_reason_, model.C_) == ("tol", np.inf)
    K = rbf_kernel(X, gamma=20.0)
    coef = np.zeros(len(K))
    coef[model.support_] = model.dual_coef_[:, 0]
    f = K @ coef
    worst = max(0.0, 1.0 - (signs * f).min())
    # The dual bounds the least norm from below, whatever f is.
    excess = (0.5 * coef @ f - (signs @ coef - 0.5 * coef @ f)) / (0.5 * coef @ f)
    gap = model.history_[-1]["gap"]
    assert max(excess, worst if loss == "hinge" else worst**2) <= gap * (1.0 + MOST) < 1e-3
    exact = SVC(C=1e10, gamma=20.0, tol=1e-8).fit(X, y)  # has an intercept, and so no larger norm
    norm = exact.dual_coef_[0] @ K[np.ix_(exact.support_, exact.support_)] @ exact.dual_coef_[0]
    assert coef @ f > norm * 0.998


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Huber(1.0), Quantile(0.3)], ids=str)
def test_an_infinite_C_goes_through_every_target(loss: Any) -> None:
    X = np.random.default_rng(0).random((80, 2))
    y = 100.0 * np.sin(9.0 * X[:, 0])
    model = DSEKLRegressor(C=np.inf, loss=loss, kernel="laplacian", gamma=3.0, tol=1e-5, random_state=0).fit(X, y)
    assert model.stop_reason_ == "tol"
    allowed = 0.1 if isinstance(loss, EpsilonInsensitive) else 0.0
    assert np.abs(model.predict(X) - y).max() < allowed + 1.0


def test_rows_that_no_margin_parts_are_no_certificate_of_an_infinite_C() -> None:
    X, y = make_moons(60, noise=0.1, random_state=0)
    X, y = np.concatenate([X, X[:1]]), np.concatenate([y, 1 - y[:1]])
    with pytest.warns(ConvergenceWarning, match="not converged after max_epochs=20"):
        model = DSEKLClassifier(kernel="rbf", gamma=5.0, C=np.inf, max_epochs=20, random_state=0).fit(X, y)
    assert model.history_[-1]["gap"] >= 1.0


def test_ridge_with_a_C_beyond_float32_does_not_diverge() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    y = np.sin(6 * X).sum(axis=1) + 0.01 * rng.standard_normal(600)
    model = DSEKLRegressor(
        kernel="rbf",
        gamma=2.0,
        C=1e6,
        dtype="float32",
        solver=DualAscent(block_size=400),
        max_epochs=25,
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 0.5


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (dict(loss="logistic"), "DualAscent with loss Logistic"),
        (dict(loss="squared"), "DualAscent with loss Squared"),
        (dict(solver="doubly_stochastic"), "DoublyStochastic with loss Hinge"),
        (dict(solver="shared_memory", loss="hinge"), "SharedMemory with loss Hinge"),
    ],
    ids=str,
)
def test_an_infinite_C_without_a_meaning_is_refused_by_name(settings: dict[str, Any], named: str) -> None:
    X, y = make_moons(30, random_state=0)
    with pytest.raises(ValueError, match=f"C=inf has no meaning for solver {named}; give a finite C"):
        DSEKLClassifier(C=np.inf, **settings).fit(X, y)


def test_a_run_with_an_infinite_C_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    X, y = make_moons(300, noise=0.1, random_state=0)
    settings: dict[str, Any] = dict(kernel="rbf", gamma=20.0, C=np.inf, tol=1e-4, random_state=0)
    straight = DSEKLClassifier(max_epochs=1000, **settings).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        DSEKLClassifier(max_epochs=3, checkpoint=tmp_path / "run", **settings).fit(X, y)
    model = DSEKLClassifier(max_epochs=1000, checkpoint=tmp_path / "run", **settings).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)
    model.save(tmp_path / "m.dsekl")
    assert np.isinf(load(tmp_path / "m.dsekl").C_)


@pytest.mark.parametrize(
    ("settings", "gamma"),
    [
        (dict(C=1000.0, tol=1e-2, loss="hinge"), 40.0),
        (dict(C=1.0, tol=1e-3, loss="hinge"), 40.0),
        (dict(C=100.0, tol=1e-2, loss="squared_hinge"), 10.0),
        (dict(C=1.0, tol=1e-2, loss="logistic"), 10.0),
        (dict(C=1000.0, tol=1e-2, loss="squared"), 40.0),
        (dict(C=100.0, loss="hinge"), 40.0),
    ],
    ids=str,
)
def test_the_claimed_gap_of_a_classifier_is_the_true_one(settings: dict[str, Any], gamma: float) -> None:
    from dsekl import losses

    X, y = codes(1500)
    model = DSEKLClassifier(gamma=gamma, dtype="float32", max_epochs=3000, random_state=0, **settings).fit(X, y)
    assert model.stop_reason_ == "tol"
    true = true_gap(model, rbf_kernel(X, gamma=gamma), y, losses.resolve(settings["loss"], "classification"))
    assert true == pytest.approx(model.history_[-1]["gap"], rel=MOST, abs=MOST)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Huber(0.2), Quantile(0.3)], ids=str)
@pytest.mark.parametrize("kernel_tol", [1e-6, 0.1])
def test_the_claimed_gap_of_a_regressor_is_the_true_one_whatever_was_left_out(loss: Any, kernel_tol: float) -> None:
    X, y = codes(1500, seed=1)
    settings: dict[str, Any] = dict(gamma=60.0, C=10.0, tol=0.02, kernel_tol=kernel_tol, max_epochs=3000)
    model = DSEKLRegressor(loss=loss, fit_intercept=False, dtype="float32", random_state=0, **settings).fit(X, y)
    assert model.stop_reason_ == "tol"
    true = true_gap(model, rbf_kernel(X, gamma=60.0), y, loss)
    assert true == pytest.approx(model.history_[-1]["gap"], rel=MOST, abs=MOST)


def test_an_audit_of_some_rows_is_not_below_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    from dsekl.losses import Hinge

    X, y = codes(3000)
    monkeypatch.setattr(certificate, "FREE_WORK", 1)
    monkeypatch.setattr(certificate, "SHARE_OF_WORK", 0.0)
    monkeypatch.setattr(certificate, "FEWEST_AUDITED", 500)
    for seed in range(5):
        settings: dict[str, Any] = dict(gamma=40.0, C=100.0, tol=0.1, dtype="float32", random_state=seed)
        model = DSEKLClassifier(**settings).fit(X, y)
        assert model.stop_reason_ == "tol"
        true, claimed = true_gap(model, rbf_kernel(X, gamma=40.0), y, Hinge()), model.history_[-1]["gap"]
        assert true * (1 - 1e-3) <= claimed <= 1.1 * true


@pytest.mark.parametrize("budget", [2**28, 1])
def test_a_reference_is_the_whole_kernel_matrix_in_any_order(budget: int) -> None:
    X, _ = codes(2500)
    gram = build(Laplacian(), X, 3.0, "float32", kernel_tol=1e-6)
    reference = Reference(lambda rows: build(Laplacian(), rows.values, 3.0, "float64"), as_rows(X), gram.order, budget)
    rng = np.random.default_rng(0)
    rows, cols = rng.permutation(2500)[:1300], rng.permutation(2500)[:1100]
    V = rng.standard_normal((1100, 2))
    placed = X[gram.order]
    whole = np.exp(-3.0 * np.abs(placed[rows][:, None] - placed[cols][None]).sum(axis=2)) @ V
    np.testing.assert_allclose(reference.product(rows, cols, V), whole, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "kernel", [Sigmoid(-1.0), Sigmoid(0.0), Radial(njit(lambda s: 1.0 - s))], ids=["sigmoid -1", "sigmoid 0", "radial"]
)
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_an_indefinite_kernel_gets_no_certificate(kernel: Any, loss: str) -> None:
    X, y = make_moons(400, noise=0.2, random_state=0)
    with pytest.raises(ValueError, match="is not positive semi-definite on this data"):
        DSEKLClassifier(kernel=kernel, gamma=0.1, loss=loss).fit(X, y)


def test_a_matrix_with_negative_eigenvalues_gets_no_certificate() -> None:
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    K = vectors * np.linspace(-1.0, 3.0, 300) @ vectors.T
    with pytest.raises(ValueError, match=r"found by the eigenvalue -0\.9"):
        DSEKLClassifier(kernel="precomputed").fit(K + 0.1 * np.eye(300), rng.integers(0, 2, 300))


def test_a_centred_matrix_whose_diagonal_is_negative_for_rounding_is_taken() -> None:
    x = np.linspace(-1.0, 1.0, 81)[:, None]
    K = KernelCenterer().fit_transform(x @ x.T)
    assert -1e-15 < K.diagonal().min() < 0
    model = DSEKLRegressor("precomputed", C=100.0, random_state=0).fit(K, x[:, 0])
    assert model.stop_reason_ == "tol"
    assert model.score(K, x[:, 0]) > 0.99


@pytest.mark.parametrize("rounding", [0.0, 1e-16, -1e-16])
def test_a_matrix_of_distances_is_named_though_its_diagonal_is_rounded(rounding: float) -> None:
    X, y = make_moons(200, noise=0.2, random_state=0)
    with pytest.raises(ValueError, match=r"as distances have"):
        DSEKLClassifier(kernel="precomputed").fit(euclidean_distances(X) + rounding * np.eye(200), y)


def test_a_matrix_of_distances_and_a_negative_kernel_are_named() -> None:
    X, y = make_moons(200, noise=0.2, random_state=0)
    D = euclidean_distances(X)
    with pytest.raises(ValueError, match=r"as distances have.*np\.exp\(-gamma \* D\*\*2\)"):
        DSEKLClassifier(kernel="precomputed").fit(D, y)
    with pytest.raises(ValueError, match=r"k\(x, x\) = -1 of a row"):
        DSEKLClassifier(kernel="precomputed").fit(-np.exp(-(D**2)), y)
    with pytest.raises(ValueError, match=r"not symmetric: k\(x, z\) and k\(z, x\) differ by 0\.1"):
        DSEKLClassifier(kernel="precomputed").fit(np.exp(-(D**2)) + 0.1 * np.triu(np.ones_like(D)), y)
    assert DSEKLClassifier(kernel="precomputed").fit(np.exp(-5 * D**2), y).score(np.exp(-5 * D**2), y) > 0.95


def test_kernels_say_whether_they_are_positive_semi_definite() -> None:
    known = [Laplacian(), Matern(2.5), RationalQuadratic(), Polynomial(), Polynomial(coef0=0.0)]
    assert all(known_definite(kernel) for kernel in known)
    unknown = [Sigmoid(), Polynomial(coef0=-1.0), Radial(njit(lambda s: s)), DotProduct(njit(lambda s: s))]
    assert not any(known_definite(kernel) for kernel in unknown)


@pytest.mark.parametrize(("weight", "C"), [(1e99, 1e99), (1.0, 1e-300)])
def test_numbers_too_large_or_small_are_not_blamed_on_the_kernel(weight: float, C: float) -> None:
    X, y = xor(100, seed=0)
    with pytest.raises(ValueError, match="sample_weight") as caught:
        DSEKLRegressor(gamma=1.0, C=C, fit_intercept=False).fit(X, y, np.full(100, weight))
    assert "semi-definite" not in str(caught.value)


def test_targets_without_a_square_are_named() -> None:
    X, y = xor(100, seed=0)
    gram = build(RBF(), X, 1.0, "float64")
    problem = Problem(gram, 1e160 * y[:, None], np.ones(100), Squared(), 1.0)
    solver = DualAscent()
    with pytest.raises(ValueError, match=r"targets y of up to 1e\+160"), np.errstate(over="ignore", invalid="ignore"):
        for _ in solver.epoch(problem, solver.start(problem, np.random.default_rng(0))):
            pass


@pytest.mark.parametrize("C", [1e-60, 1e-20, 1e20])
def test_ridge_has_numbers_for_every_C(C: float) -> None:
    X, y = xor(100, seed=0)
    model = DSEKLRegressor(gamma=1.0, C=C, fit_intercept=False, random_state=0, max_epochs=5, dtype="float64")
    expected = np.linalg.solve(rbf_kernel(X, gamma=1.0) + np.eye(100) / C, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if C < 1:
        np.testing.assert_allclose(model.dual_coef_[np.argsort(model.support_), 0], expected, rtol=1e-6)
    assert np.isfinite(model.dual_coef_).all()
