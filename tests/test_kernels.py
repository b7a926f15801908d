"""Kernels against scikit-learn's, their rules for gamma, their spectra, and the errors they raise."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, kernels
from dsekl.kernels.elementary import FAST, decay
from tests.oracles import (
    CASE,
    EVERY,
    FORMATS,
    KERNEL_CASES,
    PRECISIONS,
    SPECTRAL_CASES,
    assert_close,
    assert_refused,
    build,
    chi_squared_distance,
    first_part,
    gammas,
    histograms,
    manhattan_distance,
    rbf,
    squared_distance,
)


def block(kernel: Any, X: Any, gamma: Any, precision: str = "float64") -> Any:
    return build(kernel, X, gamma, precision).block(EVERY, EVERY)


GAMMA = 0.3
SCIKIT_LEARN = {
    "rbf": (kernels.RBF(), lambda X: pairwise.rbf_kernel(X, gamma=GAMMA)),
    "laplacian": (kernels.Laplacian(), lambda X: pairwise.laplacian_kernel(X, gamma=GAMMA)),
    "matern12": (kernels.Matern(0.5), Matern(GAMMA**-0.5, nu=0.5)),
    "matern32": (kernels.Matern(1.5), Matern(GAMMA**-0.5, nu=1.5)),
    "matern52": (kernels.Matern(2.5), Matern(GAMMA**-0.5, nu=2.5)),
    # scikit-learn divides by 2 l^2, so its length scale for a gamma is that of the rbf kernel.
    "rational_quadratic": (
        kernels.RationalQuadratic(1.7),
        RationalQuadratic(length_scale=(2 * GAMMA) ** -0.5, alpha=1.7),
    ),
    "linear": (kernels.Linear(), pairwise.linear_kernel),
    "polynomial": (kernels.Polynomial(4, 0.5), lambda X: pairwise.polynomial_kernel(X, None, 4, GAMMA, 0.5)),
    "sigmoid": (kernels.Sigmoid(-0.5), lambda X: pairwise.sigmoid_kernel(X, gamma=GAMMA, coef0=-0.5)),
    "chi2": (kernels.Chi2(), lambda X: pairwise.chi2_kernel(X, gamma=GAMMA)),
}


@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_blocks_are_those_of_scikit_learn(name: str) -> None:
    kernel, reference = SCIKIT_LEARN[name]
    X = histograms(40)
    assert_close(block(kernel, X, GAMMA), reference(X), "float64")


@pytest.mark.parametrize("case", KERNEL_CASES, ids=str)
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20), n_features=st.integers(1, 9))
def test_blocks_are_symmetric_and_positive_semi_definite(case: Any, seed: int, n: int, n_features: int) -> None:
    K = block(case.kernel, histograms(n, n_features, seed), gammas(n_features))
    np.testing.assert_allclose(K, K.T, rtol=1e-13, atol=1e-14)
    if case.psd:
        assert np.linalg.eigvalsh(K).min() >= -1e-12 * n * np.abs(K).max()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rational_quadratic_tends_to_rbf_as_its_shape_grows(precision: str) -> None:
    X = histograms(40)
    found = block(kernels.RationalQuadratic(1e5), X, GAMMA, precision)
    np.testing.assert_allclose(found, rbf(X, X, GAMMA), rtol=0, atol=2e-5)


@pytest.mark.parametrize(("precision", "smallest"), [("float32", 87.0), ("float64", 708.0)])
def test_decay_is_exp_over_the_whole_range(precision: str, smallest: float) -> None:
    @njit(fastmath=FAST)
    def decay_all(values: Any) -> Any:
        out = np.empty_like(values)
        for i in range(values.size):
            out[i] = decay(values[i])
        return out

    s = np.concatenate([[0.0], np.geomspace(1e-30, smallest, 20_000), np.linspace(0, smallest, 50_001)])
    s = s.astype(precision)
    # The rounding of s alone moves exp(-s) by eps s, relatively.
    allowed = np.finfo(precision).eps * (2 + s.astype(np.float64))
    exact = np.exp(-s.astype(np.float64))
    assert np.all(np.abs(decay_all(s) / exact - 1) <= allowed)
    assert decay_all(np.zeros(1, precision))[0] == 1
    beyond = decay_all(np.array([smallest + 1, 10 * smallest, np.inf], dtype=precision))
    assert np.all((beyond >= 0) & (beyond <= 1.001 * math.exp(-smallest)))
    assert np.isnan(decay_all(np.array([np.nan], dtype=precision))[0])


@pytest.mark.parametrize("form", FORMATS)
def test_scale_is_the_gamma_of_svc(form: str) -> None:
    X = FORMATS[form](histograms(50))
    expected = SVC(gamma="scale").fit(X, np.arange(50) % 2)._gamma
    assert kernels.scale_gamma(X) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("rule", "distance"),
    [
        (kernels.Pairwise.SQUARED_DISTANCE, squared_distance),
        (kernels.Pairwise.DOT, squared_distance),
        (kernels.Pairwise.MANHATTAN, manhattan_distance),
        (kernels.Pairwise.CHI_SQUARED, chi_squared_distance),
    ],
)
def test_median_gamma_puts_the_median_pair_at_distance_one(rule: Any, distance: Any, form: str) -> None:
    X = histograms(300)
    gamma = kernels.median_gamma(FORMATS[form](X), rule, np.random.default_rng(0))
    scaled = distance(X, X, gamma)[np.triu_indices(300, 1)]
    # The share of pairs nearer than 1 is a half, give or take four deviations of 5,000 draws.
    assert abs((scaled < 1).mean() - 0.5) < 4 * 0.5 / math.sqrt(5_000)


def test_gamma_is_one_where_the_data_do_not_vary() -> None:
    constant = np.full((10, 3), 2.0)
    assert kernels.scale_gamma(constant) == 1
    assert kernels.median_gamma(constant, kernels.Pairwise.MANHATTAN, np.random.default_rng(0)) == 1
    assert kernels.median_gamma(constant[:1], kernels.Pairwise.MANHATTAN, np.random.default_rng(0)) == 1


@pytest.mark.parametrize("case", SPECTRAL_CASES, ids=str)
def test_products_of_random_fourier_features_tend_to_the_kernel(case: Any) -> None:
    n_terms, rng = 200_000, np.random.default_rng(0)
    X = histograms(12, 3, seed=4)
    angles = X @ case.kernel.sample_frequencies(rng, 3, n_terms) + rng.uniform(0, 2 * np.pi, n_terms)
    features = math.sqrt(2 / n_terms) * np.cos(angles)
    # A product of two features has variance of at most 3/2; five deviations for any of the 78 pairs.
    np.testing.assert_allclose(features @ features.T, case.reference(X, X, 1.0), atol=5 * math.sqrt(1.5 / n_terms))


def test_exactly_the_spectral_kernels_offer_frequencies() -> None:
    assert {case.name for case in SPECTRAL_CASES} == {"rbf", "laplacian", "matern12", "matern32", "matern52"}


@pytest.mark.parametrize("form", FORMATS)
def test_a_compiled_function_meets_only_real_pairs(form: str, capfd: Any) -> None:
    # 1 / (1 + s) divides by 0 at s = -1, which no squared distance is.
    cauchy, points = CASE["radial"], np.array([[1.0], [-1.0]])
    found = block(cauchy.kernel, FORMATS[form](points), 1.0)
    assert_close(found, cauchy.reference(points, points, 1.0), "float64")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("form", FORMATS)
def test_a_division_by_zero_in_a_compiled_function_is_not_hidden(form: str) -> None:
    inverse = kernels.Radial(njit(lambda s: 1 / s))
    with suppress(ZeroDivisionError):
        K = block(inverse, FORMATS[form](histograms(20)), 1.0)
        assert np.isinf(np.diag(K)).all()


def test_names_objects_and_functions_resolve_to_kernels() -> None:
    assert kernels.resolve("rbf") == kernels.RBF()
    assert [kernels.resolve(f"matern{nu}2").nu for nu in (1, 3, 5)] == [0.5, 1.5, 2.5]
    assert kernels.resolve("poly") == kernels.resolve("polynomial") == kernels.Polynomial()
    assert kernels.resolve("precomputed") == kernels.Precomputed()
    own = kernels.Matern(2.5)
    assert kernels.resolve(own) is own
    assert kernels.resolve(np.outer) == kernels.ObjectKernel(np.outer)


def plain(s: float) -> float:
    return s


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: kernels.resolve("gauss"), ["kernel='gauss'", "rbf", "chi2"]),
        (lambda: kernels.resolve(3), ["kernel=3", "must be a name"]),
        (lambda: kernels.Matern(1.0).profile(), ["nu=1.0", "0.5, 1.5, 2.5"]),
        (lambda: kernels.Polynomial(2.5).profile(), ["degree=2.5", "whole number"]),
        (lambda: kernels.Polynomial(0).profile(), ["degree=0", "from 1"]),
        (lambda: kernels.Polynomial(math.inf).profile(), ["degree=inf", "whole number"]),
        (lambda: kernels.Polynomial(math.nan).profile(), ["degree=nan", "whole number"]),
        (lambda: kernels.Polynomial(None).profile(), ["degree=None", "whole number"]),
        (lambda: kernels.RationalQuadratic(0.0).profile(), ["shape=0.0", "from 1e-10"]),
        (lambda: kernels.RationalQuadratic(1e-300).profile(), ["shape=1e-300", "from 1e-10"]),
        (lambda: kernels.RationalQuadratic(1e300).profile(), ["shape=1e+300", "to 1e+10"]),
        (lambda: kernels.RationalQuadratic(math.nan).profile(), ["shape=nan", "from 1e-10"]),
        (lambda: kernels.Radial(plain).profile(), ["function=", "plain", "numba.njit"]),
        (lambda: kernels.DotProduct(plain).profile(), ["function=", "plain", "numba.njit"]),
    ],
    ids=first_part,
)
def test_errors_name_the_parameter_the_value_and_what_would_be_right(wrong: Any, named: list[str]) -> None:
    assert_refused(wrong, named)


@pytest.mark.parametrize("shape", [1e-10, 1e-3, 1e10])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_tail_of_any_shape_can_be_fitted(shape: float, dtype: str) -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = DSEKLClassifier(kernels.RationalQuadratic(shape), gamma=1.0, dtype=dtype, random_state=0)
    assert np.isfinite(model.fit(X, X[:, 0] > 0).decision_function(1e10 * X)).all()
