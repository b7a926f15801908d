"""Sparse rows with indices of up to 1e8: memory goes with the entries and the budget, results are those of others."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dsekl import DSEKLClassifier, kernels
from dsekl.expansions import RandomFourier
from dsekl.gram import tables
from dsekl.gram.sparse import SparseGram
from dsekl.kernels import Pairwise, median_gamma
from dsekl.models import storage
from dsekl.models.machine import unequal_scales
from dsekl.rows import ArrayRows, CsrRows, as_rows, store
from tests.oracles import CASE, EVERY, KERNEL_CASES, PRECISIONS, assert_close, build, histograms

WIDTH = 10**8 + 1
PLACES = np.array([3, 1_000, 65_536, 10**6, 2**24 + 1, 5 * 10**7, WIDTH - 1])
"""Where the columns of a narrow array stand in wide rows."""

UNSEEN = np.array([0, 4, 10**7, WIDTH - 2])
"""Columns that the training rows do not have: before, between and behind theirs."""

X, GAMMA = histograms(77), 0.3
QUERIES = np.hstack([histograms(31, seed=1), histograms(31, len(UNSEEN), seed=2)])


def widened(narrow: Any, places: Any, width: int = WIDTH) -> Any:
    """Return the columns of a narrow array at other places of wide rows."""
    rows = sparse.coo_array(narrow)
    wide = sparse.coo_array((rows.data, (rows.row, places[rows.col])), shape=(len(narrow), width)).tocsr()
    wide.sum_duplicates()
    return wide


def texts(n: int, n_features: int, n_words: int, seed: int = 0) -> Any:
    """Return rows of so many random entries."""
    rng = np.random.default_rng(seed)
    places = np.concatenate([rng.choice(n_features, n_words, replace=False) for _ in range(n)])
    starts = np.arange(0, n * n_words + 1, n_words)
    return sparse.csr_array((rng.uniform(0.1, 1, n * n_words), places, starts), shape=(n, n_features))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("case", KERNEL_CASES, ids=str)
def test_wide_rows_have_the_kernel_values_of_narrow_ones(case: Any, precision: str) -> None:
    gram = build(case.kernel, widened(X, PLACES), GAMMA, precision)
    assert_close(gram.block(EVERY, EVERY), case.reference(X, X, GAMMA), precision)
    assert_close(gram.diagonal(), np.diag(case.reference(X, X, GAMMA)), precision)
    points = np.hstack([X, np.zeros((len(X), len(UNSEEN)))])
    expected = case.reference(QUERIES, points, GAMMA)
    queries = gram.at(as_rows(widened(QUERIES, np.concatenate([PLACES, UNSEEN]))))
    assert_close(queries.block(EVERY, EVERY), expected, precision)
    V = np.random.default_rng(0).normal(size=(len(X), 3))
    assert_close(queries.product(EVERY, EVERY, V), expected @ V, precision, terms=50.0)
    W = V[: len(QUERIES)]
    assert_close(queries.transposed_product(EVERY, EVERY, W), expected.T @ W, precision, terms=50.0)


def test_rows_without_entries_are_wide_rows_too() -> None:
    empty = sparse.csr_array((2, WIDTH))
    gram = build(kernels.RBF(), empty, 1.0, "float64")
    np.testing.assert_array_equal(gram.block(EVERY, EVERY), np.ones((2, 2)))
    queries = gram.at(as_rows(widened(QUERIES, np.concatenate([PLACES, UNSEEN]))))
    expected = np.exp(-np.square(QUERIES).sum(axis=1))
    np.testing.assert_allclose(queries.block(EVERY, EVERY), np.stack([expected, expected], axis=1))


@pytest.mark.parametrize("case", KERNEL_CASES, ids=str)
@pytest.mark.parametrize("n_words", [20, 150], ids=["whole tables", "tables of fewer columns"])
def test_a_small_budget_cuts_the_columns_into_parts(case: Any, n_words: int) -> None:
    points, queries = texts(260, 12_000, n_words), texts(700, 12_000, n_words, seed=1)
    V = np.random.default_rng(0).normal(size=(260, 2))
    roomy, tight, shared = (
        build(case.kernel, points, 0.01, "float32", budget, n_threads=n_threads).at(as_rows(queries))
        for budget, n_threads in ((2**28, 1), (1, 1), (1, 3))
    )
    np.testing.assert_array_equal(tight.block(EVERY, EVERY), roomy.block(EVERY, EVERY))
    expected, found = roomy.product(EVERY, EVERY, V), tight.product(EVERY, EVERY, V)
    np.testing.assert_array_equal(found, shared.product(EVERY, EVERY, V))
    if n_words == 20:  # 64 columns have fewer features than a table has lines
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_parts_have_few_features_and_all_columns(precision: str) -> None:
    gram = build(kernels.RBF(), texts(260, 12_000, 150), 0.01, precision)
    starts, features, _, _ = gram.col_points.arrays
    found = list(tables.parts(features, starts, features, 12_000, precision, budget=1))
    assert [part.begin for part in found] == [0, *(part.end for part in found[:-1])]
    assert found[-1].end == 260
    assert len(found) > 4
    for part in found:
        assert part.n_lines <= tables.FEWEST_LINES
        mine = slice(starts[part.begin, 0], starts[part.end - 1, -1])
        assert part.col_lines[mine].min() == 1
        assert part.col_lines[mine].max() == part.n_lines - 1
        absent = ~np.isin(features, features[mine])
        assert not part.row_lines[absent].any()


def test_tables_at_a_time_are_as_many_as_the_budget_holds() -> None:
    points = texts(8000, 60_000, 10)
    V = np.ones((8000, 1))

    def peak(budget: int) -> int:
        gram = build(kernels.RBF(), points, 0.01, "float32", budget, n_threads=8)
        columns = gram.columns(np.arange(100))
        columns.product(slice(0, 1000), V[:100])  # compiled by now
        tracemalloc.start()
        columns.product(EVERY, V[:100])
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(2**22) < 2**22 + 2**20 + 4 * points.nnz
    assert peak(1) < 2 * 2**20 + 4 * points.nnz


def test_what_is_told_of_wide_rows_is_what_is_told_of_narrow_ones() -> None:
    narrow = X.copy()
    narrow[:, 5] *= 1e5
    narrow[0, 2] = -3e7
    wide, dense = CsrRows(widened(narrow, PLACES)), ArrayRows(narrow)
    assert wide.largest() == (PLACES[2], 3e7)
    assert dense.largest() == (2, 3e7)
    assert wide.lowest() == -3e7
    columns, ranges = wide.ranges(50)
    np.testing.assert_array_equal(columns, PLACES)
    np.testing.assert_array_equal(ranges, dense.ranges(50)[1])
    large, small, ratio = unequal_scales(dense) or (0, 0, 0.0)
    assert ratio > 0
    assert unequal_scales(wide) == (PLACES[large], PLACES[small], ratio)
    size = 77 * WIDTH
    assert wide.variance() == pytest.approx(np.square(narrow).sum() / size - (narrow.sum() / size) ** 2)
    nothing = CsrRows(sparse.csr_array((4, WIDTH)))
    assert nothing.largest() == (0, 0.0)
    assert nothing.variance() == 0.0
    assert unequal_scales(nothing) is None


@pytest.mark.parametrize("pairwise", [Pairwise.SQUARED_DISTANCE, Pairwise.MANHATTAN, Pairwise.CHI_SQUARED])
def test_the_median_distance_of_wide_rows(pairwise: Pairwise) -> None:
    wide = median_gamma(widened(X, PLACES), pairwise, np.random.default_rng(0))
    left, right = np.random.default_rng(0).integers(0, len(X), (2, 100))
    difference, total = np.abs(X[left] - X[right]), X[left] + X[right]
    parts = {
        Pairwise.SQUARED_DISTANCE: difference**2,
        Pairwise.MANHATTAN: difference,
        Pairwise.CHI_SQUARED: difference**2 / np.where(total > 0, total, 1),
    }[pairwise]
    assert wide == pytest.approx(1 / np.median(parts.sum(axis=1)[left != right]))


@pytest.mark.parametrize("name", ["rbf", "laplacian", "polynomial"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_points_with_a_scale_for_each_feature_are_those_with_one_for_all(form: Any, name: str) -> None:
    gram = build(CASE[name].kernel, form(X), GAMMA, "float32").detached()
    values = gram.to_values()
    assert values["scale"].shape == (1,)
    of_format_1 = {**values, "scale": np.repeat(values["scale"], 7)}
    del of_format_1["n_features"]
    queries = as_rows(form(histograms(31, seed=1)))
    for kept in (values, of_format_1):
        loaded = storage.from_values(CASE[name].kernel, kept)
        assert storage.n_features(loaded) == 7
        np.testing.assert_array_equal(loaded.at(queries).block(EVERY, EVERY), gram.at(queries).block(EVERY, EVERY))


def test_mostly_zero_rows_have_no_centre_in_memory_nor_from_a_file_of_format_1(tmp_path: Path) -> None:
    pixels = texts(60, 300, 20).toarray()
    np.save(tmp_path / "queries.npy", pixels)
    stored = store(np.load(tmp_path / "queries.npy", mmap_mode="r"))
    gram = build(kernels.RBF(), pixels, GAMMA, "float64")
    assert isinstance(gram, SparseGram)
    assert gram.placement.center is None
    fourier = RandomFourier(30).expand(gram, np.random.default_rng(0))
    np.testing.assert_allclose(fourier.at(stored).block(EVERY, EVERY), fourier.block(EVERY, EVERY), atol=1e-12)
    for kept in (gram.detached(), fourier.detached()):
        loaded = storage.from_values(kernels.RBF(), {**kept.to_values(), "center": np.ones(300)})
        for rows in (as_rows(pixels), stored):
            np.testing.assert_array_equal(loaded.at(rows).block(EVERY, EVERY), kept.at(rows).block(EVERY, EVERY))


def test_a_model_of_mostly_zero_rows_predicts_those_of_a_mapped_file(tmp_path: Path) -> None:
    pixels = texts(200, 400, 30).toarray()
    np.save(tmp_path / "rows.npy", pixels)
    model = DSEKLClassifier(gamma=0.1, random_state=0, memory_budget=1).fit(pixels, pixels[:, :200].sum(axis=1) > 8)
    assert isinstance(model.model_.gram, SparseGram)
    found = model.decision_function(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    np.testing.assert_array_equal(found, model.decision_function(pixels))


def test_wide_points_come_back_from_values_to_the_bit() -> None:
    gram = build(kernels.Laplacian(), widened(X, PLACES), GAMMA, "float32")
    model = gram.restricted(np.arange(0, 77, 3)).detached()
    values = model.to_values()
    assert values["n_features"] == WIDTH
    assert sum(part.nbytes for part in values.values() if isinstance(part, np.ndarray)) < 10_000
    assert set(np.unique(values["features"])) <= set(PLACES)
    loaded = storage.from_values(kernels.Laplacian(), values)
    assert isinstance(loaded, SparseGram)
    queries = as_rows(widened(QUERIES, np.concatenate([PLACES, UNSEEN])))
    np.testing.assert_array_equal(loaded.at(queries).block(EVERY, EVERY), model.at(queries).block(EVERY, EVERY))


FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "no features": ({"n_features": 0}, "number of features"),
    "fewer than none": ({"n_features": -7}, "number of features"),
    "a truth value": ({"n_features": True}, "number of features"),
    "half a feature": ({"n_features": 7.0}, "number of features"),
    "a text": ({"n_features": "7"}, "number of features"),
    "beyond 64 bits": ({"n_features": 2**70}, "number of features"),
    "fewer than entries have": ({"n_features": 6}, r"ind(ices|ex values) must be < 6"),
    "two scales": ({"scale": np.ones(2)}, "one scale, or a scale per feature"),
    "no scale": ({"scale": np.ones(0)}, "scale"),
    "a centre of fewer features": ({"center": np.zeros(6)}, "a centre per feature"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_values_of_sparse_points_are_refused(name: str) -> None:
    change, words = FORGED[name]
    values = build(kernels.RBF(), sparse.csr_array(X), GAMMA).detached().to_values()
    with pytest.raises(ValueError, match=words):
        storage.from_values(kernels.RBF(), {**values, **change})


@pytest.mark.parametrize("n_features", [1, 6, 8, 10**8])
def test_dense_points_have_a_column_for_each_feature_that_a_file_speaks_of(n_features: int) -> None:
    values = build(kernels.RBF(), X, GAMMA).detached().to_values()
    with pytest.raises(ValueError, match="per feature"):
        storage.from_values(kernels.RBF(), {**values, "n_features": n_features})


LIMITED = """
import resource, sys
from pathlib import Path

import numpy as np
from scipy import sparse

import dsekl
from dsekl.cli import main
from tests.test_wide_rows import WIDTH

rng = np.random.default_rng(0)


def rows(n):
    places = np.column_stack([rng.integers(1, 20, (n, 8)), rng.integers(1, WIDTH, (n, 4))])
    places[0, -1] = WIDTH - 1
    X = sparse.csr_array((rng.uniform(0.5, 1, places.size), places.ravel(), np.arange(0, 12 * n + 1, 12)), (n, WIDTH))
    X.sum_duplicates()
    return X


folder, X, new = Path(sys.argv[1]), rows(200), rows(50)
y = X[:, :10].sum(axis=1) > X[:, 10:20].sum(axis=1)
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**30,) * 2)

for options in (
    dict(), dict(kernel="laplacian", n_jobs=4), dict(kernel="chi2"), dict(kernel="linear", dtype="float32"),
    dict(gamma="median"), dict(gamma=0.1, solver="shared_memory"),
):
    model = dsekl.DSEKLClassifier(random_state=0, max_epochs=30, **options).fit(X, y)
    assert model.n_features_in_ == WIDTH
    model.save(folder / "model")
    assert (folder / "model").stat().st_size < 2**17
    loaded = dsekl.load(folder / "model")
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    assert model.score(X, y) > 0.8, (options, model.score(X, y))

try:
    dsekl.DSEKLClassifier(expansion="random_fourier").fit(X, y)
except ValueError as error:
    assert "n_terms=100 of RandomFourier on 100,000,001 features are 80 GB" in str(error)
else:
    raise AssertionError("80 GB of frequencies")

lines = [f"{int(label)} {' '.join(f'{i}:{v:.3f}' for i, v in zip(row.indices, row.data))}" for label, row in zip(y, X)]
(folder / "rows.svm").write_text("\\n".join(lines))
data, table = str(folder / "rows.svm"), str(folder / "table")
for command in (["fit", data, "-m", table], ["predict", table, data]):
    try:
        main(command)
    except SystemExit as end:
        assert not end.code, end.code
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads what a process holds from /proc")
def test_two_hundred_rows_with_an_index_of_1e8_need_little_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stderr
