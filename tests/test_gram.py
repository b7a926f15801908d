"""Products with the kernel matrix against plain NumPy, and what must not change them: threads, chunks, budgets."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import cpu_count
from joblib.parallel import ThreadingBackend
from numba import njit
from scipy import sparse

from dsekl import gram, kernels
from dsekl.gram.dense import DenseGram
from dsekl.gram.sparse import SparseGram
from dsekl.rows import as_rows
from dsekl.workers import Threads
from tests.oracles import (
    CASE,
    EVERY,
    FORMATS,
    KERNEL_CASES,
    PRECISIONS,
    as_rows_of,
    assert_close,
    build,
    gammas,
    histograms,
)

every_kernel = pytest.mark.parametrize("case", KERNEL_CASES, ids=str)
every_precision = pytest.mark.parametrize("precision", PRECISIONS)
every_format = pytest.mark.parametrize("form", FORMATS)

X, QUERIES = histograms(77), histograms(31, seed=1)
INDICES = {
    "all": EVERY,
    "slice": slice(3, 30, 2),
    "array": np.array([30, 2, 17, 5]),
    "repeated": np.array([4, 4, 0, 4]),
    "one": np.array([7]),
    "empty": np.array([], dtype=np.intp),
    "empty slice": slice(5, 5),
}


def built(case: Any, form: str, precision: str, points: Any = X, **options: Any) -> Any:
    return build(case.kernel, FORMATS[form](points), gammas(points.shape[1]), precision, **options)


def weights(n: int, n_outputs: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, n_outputs))


@every_kernel
@every_precision
@every_format
def test_blocks_and_products_are_those_of_plain_numpy(case: Any, precision: str, form: str) -> None:
    K = case.reference(QUERIES, X, gammas())
    queried = built(case, form, precision).at(as_rows(FORMATS[form](QUERIES)))
    assert (queried.n_rows, queried.n_terms) == K.shape
    assert_close(queried.block(EVERY, EVERY), K, precision)
    assert queried.block(EVERY, EVERY).dtype == precision
    for n_outputs in (1, 3):
        V, U = weights(77, n_outputs), weights(31, n_outputs)
        size = float(np.abs(K).max()) * 77
        assert_close(queried.product(EVERY, EVERY, V), K @ V, precision, size)
        assert_close(queried.columns(EVERY).product(EVERY, V), K @ V, precision, size)
        assert_close(queried.transposed_product(EVERY, EVERY, U), K.T @ U, precision, size)


@every_format
@every_precision
@pytest.mark.parametrize("cols", INDICES)
@pytest.mark.parametrize("rows", INDICES)
def test_any_rows_and_cols_can_be_chosen(rows: str, cols: str, precision: str, form: str) -> None:
    case = CASE["matern32"]
    chosen_rows, chosen_cols = INDICES[rows], INDICES[cols]
    queried = built(case, form, precision).at(as_rows(FORMATS[form](QUERIES)))
    K = case.reference(QUERIES, X, gammas())[chosen_rows][:, chosen_cols]
    V, U = weights(K.shape[1], 2), weights(K.shape[0], 2)
    assert_close(queried.block(chosen_rows, chosen_cols), K, precision)
    assert_close(queried.product(chosen_rows, chosen_cols, V), K @ V, precision, 77)
    assert_close(queried.transposed_product(chosen_rows, chosen_cols, U), K.T @ U, precision, 31)
    restricted = queried.restricted(chosen_cols)
    assert restricted.n_terms == len(queried.columns(chosen_cols)) == K.shape[1]
    assert_close(restricted.product(chosen_rows, EVERY, V), K @ V, precision, 77)


@every_format
def test_a_detached_gram_has_no_rows_and_the_same_values_at_new_ones(form: str) -> None:
    whole = built(CASE["rbf"], form, "float64")
    detached = whole.detached()
    assert detached.n_rows == 0
    assert detached.n_terms == whole.n_terms
    np.testing.assert_array_equal(detached.at(as_rows(FORMATS[form](X))).block(EVERY, EVERY), whole.block(EVERY, EVERY))


@every_format
@every_precision
@settings(deadline=None, max_examples=15)
@given(
    name=st.sampled_from(sorted(CASE)),
    n=st.integers(1, 60),
    n_features=st.integers(1, 150),
    n_outputs=st.integers(1, 3),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    seed=st.integers(0, 2**32 - 1),
)
def test_results_do_not_depend_on_the_chunks_of_rows(
    form: str, precision: str, name: str, n: int, n_features: int, n_outputs: int, cuts: list[int], seed: int
) -> None:
    some = built(CASE[name], form, precision, histograms(n, n_features, seed))
    columns, V = some.columns(EVERY), weights(n, n_outputs)
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    parts = [slice(start, stop) for start, stop in pairwise(edges)]
    np.testing.assert_array_equal(np.vstack([columns.product(part, V) for part in parts]), columns.product(EVERY, V))
    np.testing.assert_array_equal(np.vstack([columns.block(part) for part in parts]), columns.block(EVERY))


@every_kernel
@every_precision
@every_format
def test_results_do_not_depend_on_the_number_of_threads(case: Any, precision: str, form: str) -> None:
    alone = built(case, form, precision, histograms(701))
    V = weights(701, 2)
    for n_threads in (2, 3, 7):
        shared = alone.with_workers(Threads(n_threads))
        for name in ("product", "transposed_product"):
            np.testing.assert_array_equal(getattr(shared, name)(EVERY, EVERY, V), getattr(alone, name)(EVERY, EVERY, V))
        np.testing.assert_array_equal(shared.block(EVERY, EVERY), alone.block(EVERY, EVERY))


@every_precision
@every_format
@pytest.mark.parametrize("n_features", [2, 30, 784])
def test_a_twin_far_from_the_origin_is_at_distance_zero(n_features: int, precision: str, form: str) -> None:
    # Two clusters: no common centre can bring both to the origin.
    points = (
        np.random.default_rng(0).standard_normal((200, n_features)) + np.where(np.arange(200) % 2, 1e2, -1e2)[:, None]
    )
    K = build(kernels.Matern(0.5), FORMATS[form](points), 1 / n_features, precision).block(EVERY, EVERY)
    np.testing.assert_array_equal(np.diag(K), 1)


@every_precision
@every_format
@pytest.mark.parametrize("name", ["laplacian", "chi2"])
def test_kernel_values_of_distances_do_not_pass_one(name: str, precision: str, form: str) -> None:
    points = 10 * histograms(60, 300)
    K = build(CASE[name].kernel, FORMATS[form](points), 1.0, precision).block(EVERY, EVERY)
    assert K.max() <= 1


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern12", "matern32", "matern52", "rational_quadratic"])
def test_centring_keeps_float32_accurate_far_from_the_origin(name: str) -> None:
    far = X + 1000
    single = built(CASE[name], "dense", "float32", far).block(EVERY, EVERY)
    np.testing.assert_allclose(single, CASE[name].reference(far, far, gammas()), rtol=0, atol=2e-5)


@every_format
def test_points_whose_squared_distance_overflows_are_refused_or_far_apart(form: str) -> None:
    points = np.array([[0.0], [1e20], [-1e20]])
    with suppress(ValueError):
        K = build(kernels.RBF(), FORMATS[form](points), 1.0, "float32").block(EVERY, EVERY)
        np.testing.assert_allclose(K[~np.eye(3, dtype=bool)], 0, atol=1e-30)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "chi2"])
def test_repeated_entries_of_a_sparse_row_add_up(name: str) -> None:
    repeated = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    found = build(CASE[name].kernel, repeated, 0.1, "float64").block(EVERY, EVERY)
    assert_close(found, CASE[name].reference(repeated.toarray(), repeated.toarray(), 0.1), "float64")


def test_sparse_queries_of_a_dense_gram_are_refused_or_understood() -> None:
    whole = built(CASE["rbf"], "dense", "float64", X + 1.0)
    with suppress(ValueError):
        found = whole.at(as_rows(sparse.csr_array(QUERIES))).block(EVERY, EVERY)
        assert_close(found, CASE["rbf"].reference(QUERIES, X + 1.0, gammas()), "float64")


@pytest.mark.parametrize("name", ["rbf", "linear", "polynomial"])
def test_dense_rows_that_are_mostly_zero_are_walked_like_sparse_ones(name: str) -> None:
    rng = np.random.default_rng(0)
    pixels = rng.uniform(size=(200, 300)) * (rng.uniform(size=(200, 300)) < 0.15)
    found = build(CASE[name].kernel, pixels, 0.1, "float64")
    assert isinstance(found, SparseGram)
    assert_close(found.block(EVERY, EVERY), CASE[name].reference(pixels, pixels, 0.1), "float64")
    queries = np.vstack([pixels[:3] + 0.5, np.zeros((1, 300))])
    assert_close(found.at(as_rows(queries)).block(EVERY, EVERY), CASE[name].reference(queries, pixels, 0.1), "float64")


@pytest.mark.parametrize("what", ["filled", "narrow", "far from 0"])
def test_other_dense_rows_stay_dense(what: str) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(200, 300)) * (rng.uniform(size=(200, 300)) < 0.15)
    if what == "filled":
        points = points + 1.0
    elif what == "narrow":
        points = points[:, :20]
    else:
        points[:, 0] += 2000.0
    assert isinstance(build(kernels.RBF(), points, 0.1), DenseGram)


@every_format
@pytest.mark.parametrize("name", ["rbf", "polynomial"])
def test_a_tiny_budget_changes_no_result_and_bounds_the_memory(name: str, form: str) -> None:
    n = 3000
    points, V = histograms(n, 5), weights(n, 1)
    roomy, tight = (built(CASE[name], form, "float32", points, budget=budget) for budget in (2**28, 1))
    for product in ("product", "transposed_product"):
        expected = getattr(roomy, product)(EVERY, EVERY, V)
        tracemalloc.start()
        found = getattr(tight, product)(EVERY, EVERY, V)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)
        assert peak < 4 * n * n / 20


@every_format
def test_chunks_of_rows_fill_the_budget_and_no_more(form: str) -> None:
    some = built(CASE["rbf"], form, "float64", budget=10_000)
    assert 5_000 < some.chunk_rows(50) * 50 * 8 <= 10_000
    assert some.chunk_rows(10**6) == 1
    rows = np.arange(40)[::-1].copy()
    blocks = list(gram.row_blocks(some.columns(EVERY), rows, 7))
    assert max(len(block) for _, block in blocks) == 7
    np.testing.assert_array_equal(np.vstack([block for _, block in blocks]), some.block(rows, EVERY))


@every_precision
def test_products_with_a_block_in_memory_are_those_of_plain_numpy(precision: str) -> None:
    K = CASE["rbf"].reference(QUERIES, histograms(2100, seed=3), gammas()).astype(precision)
    V, U = weights(2100, 2), weights(31, 2)
    U[::3] = 0
    assert_close(gram.times(K, V), K.astype(np.float64) @ V, precision, 100)
    assert_close(gram.transposed_times(K, U), K.T.astype(np.float64) @ U, precision, 31)


# Kernels on objects, and matrices made elsewhere.

WORDS = ["".join(np.random.default_rng(i).choice(list("abcd"), 3 + i % 5)) for i in range(40)]


def shared_letters(a: Any, b: Any) -> Any:
    common = [sum(min(s.count(c), t.count(c)) for c in "abcd") for s in a for t in b]
    return np.array(common, dtype=float).reshape(len(a), len(b))


def structured(kind: str, budget: int = 2**28) -> tuple[Any, Any]:
    K = shared_letters(WORDS, WORDS)
    kernel = kernels.ObjectKernel(shared_letters) if kind == "strings" else kernels.Precomputed()
    return build(kernel, WORDS if kind == "strings" else K, budget=budget), K


@pytest.mark.parametrize("kind", ["strings", "precomputed"])
@pytest.mark.parametrize("rows", INDICES)
def test_objects_and_precomputed_matrices_have_the_same_products(kind: str, rows: str) -> None:
    whole, K = structured(kind)
    chosen, cols = INDICES[rows], np.array([3, 1, 1, 38])
    part = K[chosen][:, cols]
    V, U = weights(4, 2), weights(len(part), 2)
    np.testing.assert_array_equal(whole.block(chosen, cols), part)
    np.testing.assert_allclose(whole.product(chosen, cols, V), part @ V, atol=1e-12)
    np.testing.assert_allclose(whole.transposed_product(chosen, cols, U), part.T @ U, atol=1e-12)
    kept = whole.restricted(cols).detached()
    queries = as_rows_of(whole.kernel, WORDS[:9] if kind == "strings" else K[:9])
    assert (kept.n_rows, kept.n_terms) == (0, 4)
    np.testing.assert_allclose(kept.at(queries).product(EVERY, EVERY, V), K[:9][:, cols] @ V, atol=1e-12)


def counted_words(budget: int) -> tuple[Any, list[int]]:
    asked: list[int] = []

    def counted(a: Any, b: Any) -> Any:
        asked.append(len(a) * len(b))
        return shared_letters(a, b)

    return build(kernels.ObjectKernel(counted), WORDS, budget=budget), asked


def test_a_function_of_objects_is_asked_for_blocks_within_the_budget() -> None:
    tight, asked = counted_words(budget=400 * 8)
    tight.product(EVERY, EVERY, weights(40, 1))
    tight.transposed_product(EVERY, EVERY, weights(40, 1))
    assert max(asked) <= 400


def test_a_function_of_objects_is_never_asked_for_an_empty_block() -> None:
    whole, asked = counted_words(budget=2**28)
    assert whole.block(slice(0), EVERY).shape == (0, 40)
    assert whole.product(EVERY, slice(0), weights(0, 1)).shape == (40, 1)
    assert asked == []


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda a, b: np.zeros((len(b), len(a) + 1)), [r"shape \(4, 41\)", r"must return shape \(40, 4\)"]),
        (lambda a, b: np.zeros(len(a)), [r"shape \(40,\)", r"must return shape \(40, 4\)"]),
        (lambda a, b: np.full((len(a), len(b)), np.nan), ["NaN or infinite", "must return finite numbers"]),
        (lambda a, b: np.full((len(a), len(b)), np.inf), ["NaN or infinite", "must return finite numbers"]),
    ],
)
def test_a_function_with_bad_blocks_is_named_with_the_fix(function: Any, named: list[str]) -> None:
    whole = build(kernels.ObjectKernel(function), WORDS)
    for pattern in ("kernel=<function", *named):
        with pytest.raises(ValueError, match=pattern):
            whole.product(EVERY, np.arange(4), weights(4, 1))


# Threads and processes of the user's own.


def test_products_are_safe_from_several_threads_at_once() -> None:
    V = weights(301, 2)
    tasks = [(case, form, precision) for case in KERNEL_CASES for form in FORMATS for precision in PRECISIONS]

    def run(task: Any) -> Any:
        case, form, precision = task
        return built(case, form, precision, histograms(301), n_threads=2).product(EVERY, EVERY, V)

    serial = [run(task) for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        for found, expected in zip(pool.map(run, tasks * 3), serial * 3, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_process_of_a_pool_takes_one_thread_unless_told_otherwise() -> None:
    """It may have no processes of its own, but threads. Workers of Dask are such processes."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(Threads.of, [None, 3, -1]) == [Threads(1), Threads(3), Threads(cpu_count())]


class ManyMachines(ThreadingBackend):  # type: ignore[misc]
    """A backend of joblib that counts the threads of all machines, as Dask's does."""

    def effective_n_jobs(self, n_jobs: int) -> int:
        return 1_000


def test_threads_are_those_of_this_machine() -> None:
    with joblib.parallel_config(ManyMachines()):
        assert [Threads.of(n) for n in (None, -1)] == [Threads(cpu_count())] * 2


def test_threads_may_compile_new_kernels_at_once() -> None:
    functions = [njit(lambda s, power=power: (1 + s) ** -power) for power in (1, 2, 3, 4)]

    def run(function: Any) -> Any:
        return build(kernels.Radial(function), X, 1.0, "float64").block(EVERY, EVERY)

    with ThreadPoolExecutor(4) as pool:
        for power, found in enumerate(pool.map(run, functions), start=1):
            assert_close(found, CASE["radial"].reference(X, X, 1.0) ** power, "float64")


FIRST_PRODUCT = """
import json, sys
import numpy as np
from numba.core.registry import CPUDispatcher
from scipy import sparse
from dsekl import gram, kernels
from dsekl.rows import as_rows

X = np.eye(9, 4)
for points in (X, sparse.csr_array(X)):
    gram.build(kernels.RBF(), as_rows(points)).product(slice(None), slice(None), np.ones((9, 1)))
ours = [module for name, module in sys.modules.items() if name.startswith("dsekl")]
functions = {f for module in ours for f in vars(module).values() if isinstance(f, CPUDispatcher)}
count = lambda kind: sum(sum(getattr(f.stats, kind).values()) for f in functions)
print(json.dumps([count("cache_hits"), count("cache_misses")]))
"""


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    def hits_and_misses() -> list[int]:
        package = Path(gram.__file__).parents[2]
        environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", FIRST_PRODUCT], env=environment, capture_output=True, text=True, check=True
        )
        return list(json.loads(done.stdout))

    hits, misses = hits_and_misses()
    assert hits == 0
    assert misses > 5
    hits, misses = hits_and_misses()
    assert hits > 5
    assert misses == 0
