"""What f is expanded in, and where rows and cols come from."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare

from dsekl import kernels, sampling
from dsekl.expansions import Empirical, FixedSubset, RandomFourier, resolve
from dsekl.rows import as_rows
from dsekl.workers import Threads
from tests.oracles import (
    EVERY,
    FORMATS,
    PRECISIONS,
    SPECTRAL_CASES,
    assert_refused,
    build,
    first_part,
    gammas,
    histograms,
)

X = histograms(40)
every_format = pytest.mark.parametrize("form", FORMATS)


def expanded(expansion: Any, kernel: Any = None, form: str = "dense", points: Any = X, **options: Any) -> Any:
    whole = build(kernel or kernels.RBF(), FORMATS[form](points), gammas(), **{"dtype": "float64", **options})
    return expansion.expand(whole, np.random.default_rng(0))


def values(basis: Any) -> Any:
    return basis.columns(EVERY).block(EVERY)


def test_the_empirical_map_is_the_gram_itself() -> None:
    whole = build(kernels.RBF(), X)
    assert Empirical().expand(whole, np.random.default_rng(0)) is whole


@every_format
@pytest.mark.parametrize("n_terms", [1, 7, 39, 40, 1000])
def test_a_fixed_subset_keeps_distinct_columns_of_the_gram(n_terms: int, form: str) -> None:
    whole = expanded(Empirical(), form=form)
    subset = expanded(FixedSubset(n_terms), form=form)
    n_kept = min(n_terms, 40)
    assert (subset.n_rows, subset.n_terms) == (40, n_kept)
    kept, all_columns = values(subset), values(whole)
    source = [np.flatnonzero((all_columns == column[:, None]).all(axis=0)) for column in kept.T]
    assert len({int(place) for (place,) in source}) == n_kept
    if n_terms >= 40:
        np.testing.assert_array_equal(kept, all_columns)


def test_different_seeds_fix_different_subsets() -> None:
    whole = build(kernels.RBF(), X)
    first, second, again = (values(FixedSubset(5).expand(whole, np.random.default_rng(seed))) for seed in (1, 2, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


@every_format
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("case", SPECTRAL_CASES, ids=str)
def test_fourier_features_come_as_near_the_kernel_as_their_number_allows(case: Any, precision: str, form: str) -> None:
    K = case.reference(X, X, gammas())

    def error(n_terms: int) -> float:
        features = values(expanded(RandomFourier(n_terms), case.kernel, form, dtype=precision))
        return float(np.sqrt(np.mean((features @ features.T - K) ** 2)))

    few, many = error(100), error(10_000)
    # A product of two features has variance of at most 3/2; a hundred times as many divide the error by ten.
    assert few < 1.5 / np.sqrt(100)
    assert many < 1.5 / np.sqrt(10_000)
    assert 4 < few / many < 25


@every_format
@pytest.mark.parametrize("cols", [slice(3, 20, 2), np.array([9, 9, 0]), np.array([], dtype=np.intp)])
def test_restricted_and_detached_fourier_bases_keep_their_values(cols: Any, form: str) -> None:
    basis = expanded(RandomFourier(30), form=form)
    whole = values(basis)
    assert whole.shape == (basis.n_rows, basis.n_terms) == (40, 30)
    restricted, detached = basis.restricted(cols), basis.detached()
    assert restricted.n_terms == whole[:, cols].shape[1]
    assert detached.n_rows == 0
    np.testing.assert_allclose(values(restricted), whole[:, cols], atol=1e-14)
    np.testing.assert_allclose(values(detached.at(as_rows(FORMATS[form](X)))), whole, atol=1e-14)
    V = np.random.default_rng(1).standard_normal((restricted.n_terms, 2))
    rows = np.array([30, 2, 2])
    np.testing.assert_allclose(basis.product(rows, cols, V), whole[rows][:, cols] @ V, atol=1e-13)
    np.testing.assert_allclose(
        restricted.with_workers(Threads(2)).product(EVERY, EVERY, V), whole[:, cols] @ V, atol=1e-13
    )


def test_a_tiny_budget_changes_no_fourier_product() -> None:
    V = np.ones((30, 2))
    roomy, tight = (expanded(RandomFourier(30), budget=budget) for budget in (2**28, 1_000))
    assert 500 < tight.chunk_rows(30) * 30 * 8 <= 1_000
    np.testing.assert_allclose(tight.product(EVERY, EVERY, V), roomy.product(EVERY, EVERY, V), rtol=0, atol=1e-13)
    assert tight.product(slice(0), EVERY, V).shape == (0, 2)


def test_dense_and_sparse_rows_have_the_same_fourier_features() -> None:
    # Dense rows are centred, which turns the phases; rows whose mean is 0 already have the same ones.
    balanced = np.vstack([X, -X])
    dense, csr = (values(expanded(RandomFourier(50), form=form, points=balanced)) for form in FORMATS)
    np.testing.assert_allclose(dense, csr, atol=1e-12)


def test_sparse_queries_of_a_dense_fourier_basis_are_refused_or_understood() -> None:
    basis = expanded(RandomFourier(50))
    with suppress(ValueError):
        np.testing.assert_allclose(values(basis.at(as_rows(sparse.csr_array(X)))), values(basis), atol=1e-12)


def test_names_and_objects_resolve_to_expansions() -> None:
    assert resolve("empirical") == Empirical()
    assert resolve("fixed_subset") == FixedSubset()
    own = RandomFourier(7)
    assert resolve(own) is own


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: resolve("nystroem"), ["expansion='nystroem'", "empirical, fixed_subset, random_fourier"]),
        (lambda: resolve(100), ["expansion=100", "empirical, fixed_subset, random_fourier"]),
        (lambda: expanded(FixedSubset(0)), ["n_terms=0", "FixedSubset", "at least 1"]),
        (lambda: expanded(RandomFourier(0)), ["n_terms=0", "RandomFourier", "at least 1"]),
        (lambda: expanded(RandomFourier(), kernels.Polynomial()), ["kernel=Polynomial(", "rbf, laplacian or matern"]),
        (lambda: expanded(RandomFourier(), kernels.Chi2()), ["kernel=Chi2()", "rbf, laplacian or matern"]),
        (lambda: expanded(RandomFourier(), kernels.ObjectKernel(np.outer)), ["kernel=", "rbf, laplacian or matern"]),
    ],
    ids=first_part,
)
def test_errors_name_the_parameter_the_value_and_what_would_be_right(wrong: Any, named: list[str]) -> None:
    assert_refused(wrong, named)


# Where rows and cols come from.

seeds, sizes = st.integers(0, 2**32 - 1), st.integers(1, 200)


@settings(deadline=None, max_examples=50)
@given(seed=seeds, n=sizes, size=sizes)
def test_distinct_draws_are_distinct_and_in_range(seed: int, n: int, size: int) -> None:
    drawn = sampling.draw_distinct(np.random.default_rng(seed), n, size)
    assert drawn.dtype == np.intp
    assert len(drawn) == len(set(drawn.tolist())) == min(n, size)
    assert drawn.min() >= 0
    assert drawn.max() < n
    if size >= n:
        np.testing.assert_array_equal(drawn, np.arange(n))


@settings(deadline=None, max_examples=50)
@given(seed=seeds, n=sizes, size=sizes)
def test_the_batches_of_an_epoch_are_a_partition(seed: int, n: int, size: int) -> None:
    batches = sampling.cut(np.random.default_rng(seed).permutation(n), size)
    np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(n))
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert 1 <= len(batches[-1]) <= size
    assert all(batch.dtype == np.intp for batch in batches)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: sampling.draw_with_replacement(rng, 20, 5),
        lambda rng: sampling.draw_distinct(rng, 20, 5),
        lambda rng: sampling.cut(rng.permutation(20), 5)[0],
        lambda rng: sampling.cut(rng.permutation(20), 5)[-1],
    ],
    ids=["with replacement", "distinct", "first batch", "last batch"],
)
def test_every_index_is_drawn_equally_often(draw: Any) -> None:
    rng = np.random.default_rng(0)
    counts = np.bincount(np.concatenate([draw(rng) for _ in range(4_000)]), minlength=20)
    assert counts.sum() == 20_000
    # Draws without replacement vary less than independent ones, so the test is only the more lenient for them.
    assert chisquare(counts).pvalue > 1e-3


def test_draws_with_replacement_repeat() -> None:
    drawn = sampling.draw_with_replacement(np.random.default_rng(0), 10, 1_000)
    assert len(drawn) == 1_000
    assert set(drawn.tolist()) == set(range(10))
