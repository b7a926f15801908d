"""Rows in a mapped file: the same model to the bit, in little memory, and errors that name what is wrong."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl import DSEKLClassifier, DSEKLRegressor, load
from dsekl.gram import stored_points
from dsekl.gram.placement import Placement
from dsekl.gram.stored_order import stored_in_order
from dsekl.gram.stored_points import StoredPoints
from dsekl.gram.tree import spatial_order
from dsekl.kernels import RBF
from dsekl.metric import descent
from dsekl.rows import StoredRows, as_rows, mapping_of, store
from dsekl.search import regions
from dsekl.solvers import DoublyStochastic, SharedMemory
from dsekl.workers import Threads

N_ROWS, N_FEATURES = 7_000, 12


def clusters(n: int = N_ROWS, dtype: str = "float32") -> tuple[Any, Any]:
    """Rows around 30 centers, of three classes."""
    rng = np.random.default_rng(0)
    centers, cluster = rng.uniform(-3.0, 3.0, (30, N_FEATURES)), rng.integers(0, 30, n)
    return (centers[cluster] + 0.7 * rng.standard_normal((n, N_FEATURES))).astype(dtype), cluster % 3


def mapped(folder: Path, X: Any) -> Any:
    """Write an array to a file and map it, read-only."""
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let products read so few rows at a time that a small file takes many reads, and learn the metric in few steps."""
    monkeypatch.setattr(stored_points, "HELD_BYTES", 2**15)
    monkeypatch.setattr(descent, "N_STEPS", 20)
    monkeypatch.setattr(regions, "REGION_ROWS", 1_000)


MODELS = {
    "dual": dict(gamma=0.3, C=2.0),
    "learned": dict(max_epochs=1, loss="squared_hinge"),
    "held out": dict(gamma=0.3, early_stopping=True),
    "no pruning": dict(kernel="linear", max_epochs=2),
    "manhattan": dict(kernel="laplacian", gamma=1.0, max_epochs=2),
    "histograms": dict(kernel="chi2", gamma=0.3, max_epochs=2),
    "float64": dict(gamma="median", dtype="float64", max_epochs=2),
    "Algorithm 1": dict(solver=DoublyStochastic(200, 200), gamma="scale", max_epochs=1),
    "Algorithm 2": dict(solver=SharedMemory(2000, 2000), gamma=0.3, max_epochs=1),
    "Algorithm 2, local": dict(solver=SharedMemory(2000, 2000, gradient="local"), gamma=0.3, max_epochs=1),
    "few terms": dict(solver="doubly_stochastic", expansion="fixed_subset", max_epochs=1),
    "Fourier": dict(solver="doubly_stochastic", expansion="random_fourier", early_stopping=True, max_epochs=1),
    "gone on": dict(gamma=0.3, warm_start=True, max_epochs=1),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_on_a_mapped_file_is_the_fit_in_memory(name: str, tmp_path: Path, small_pieces: None) -> None:
    X, y = clusters()
    if name == "histograms":
        X = np.abs(X)
    models = []
    for rows in (X, mapped(tmp_path, X)):
        model = DSEKLClassifier(**MODELS[name], random_state=0, memory_budget=1)
        for _ in range(2 if name == "gone on" else 1):
            model.fit(rows, y)
        models.append((model, model.decision_function(rows)))
    (in_memory, expected), (from_file, found) = models
    assert np.array_equal(in_memory.dual_coef_, from_file.dual_coef_)
    assert np.array_equal(in_memory.gamma_, from_file.gamma_)
    assert np.array_equal(expected, found)


@pytest.mark.parametrize(
    "change",
    [np.asfortranarray, lambda X: X.astype(">f8"), lambda X: np.round(10 * X).astype(np.int16)],
    ids=["Fortran order", "other byte order", "integers"],
)
def test_the_layout_of_the_file_does_not_matter(change: Any, tmp_path: Path, small_pieces: None) -> None:
    X, y = clusters()
    X = change(X)
    on_disk = mapped(tmp_path, X)
    weights = np.arange(len(X)) % 5 / 4  # every fifth row counts nothing
    models = [
        DSEKLRegressor(loss="epsilon_insensitive", gamma=0.1, random_state=0, memory_budget=1).fit(rows, y, weights)
        for rows in (X, on_disk)
    ]
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)
    assert np.array_equal(models[0].predict(X), models[1].predict(on_disk))


def test_part_of_a_mapped_array_is_mapped_too(tmp_path: Path, small_pieces: None) -> None:
    X, y = clusters(12_000)
    some = mapped(tmp_path, X)[100:11_000, 2:10]
    assert mapping_of(np.asarray(some)) is not None
    models = [
        DSEKLClassifier(gamma=0.3, random_state=0, memory_budget=1).fit(rows, y[100:11_000])
        for rows in (X[100:11_000, 2:10], some)
    ]
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)


@pytest.mark.parametrize("budget", [2**14, 2**18, 2**24])
def test_the_order_in_a_file_is_that_of_the_tree(budget: int, tmp_path: Path) -> None:
    X, _ = clusters(30_000)
    X[:, 0] = np.round(X[:, 0])  # values that no cut may part
    placement = Placement.of(RBF(), 0.3, as_rows(X), "float32")
    order, leaf = spatial_order(placement.dense(X))
    points, found_order, found_leaf = stored_in_order(
        placement, store(np.asarray(mapped(tmp_path, X))), budget, Threads(2)
    )
    assert np.array_equal(found_order, order)
    assert np.array_equal(found_leaf, leaf)
    assert np.array_equal(points[:], placement.dense(X)[order])


def test_stored_rows_are_indexed_like_an_array(tmp_path: Path) -> None:
    X, _ = clusters()
    rows = StoredRows(np.asarray(mapped(tmp_path, X)))
    some = np.random.default_rng(1).integers(0, len(X), 500)
    for wanted in (
        some,
        slice(3, 40),
        slice(None, None, 7),
        slice(0),
        np.array([], dtype=np.intp),
        np.array([5, 5, 7]),
    ):
        assert np.array_equal(rows[wanted], X[wanted])
        assert np.array_equal(rows[wanted, 5], X[wanted, 5])
    assert np.array_equal(rows[some[0]], X[some[0]])
    part = rows.take(some).take(slice(10, 50))
    assert part.shape == (40, N_FEATURES)
    assert np.array_equal(part[::-1], X[some[10:50]][::-1])
    assert np.array_equal(np.asarray(part), X[some[10:50]])


def test_a_model_outlives_the_file_and_can_be_saved(tmp_path: Path, small_pieces: None) -> None:
    X, y = clusters(20_000)
    model = DSEKLClassifier(gamma=0.3, C=0.01, random_state=0, memory_budget=1, warm_start=True)
    model.fit(mapped(tmp_path, X), y)
    (tmp_path / "rows.npy").unlink()
    assert isinstance(model.model_.gram.col_points, StoredPoints)
    copy = pickle.loads(pickle.dumps(model))
    assert not isinstance(copy.model_.gram.col_points, StoredPoints)
    assert np.array_equal(copy.decision_function(X), model.decision_function(X))
    model.save(tmp_path / "model.dsekl")
    assert np.array_equal(load(tmp_path / "model.dsekl").decision_function(X), model.decision_function(X))


def test_rows_in_a_file_are_told_apart_by_their_bytes(tmp_path: Path) -> None:
    X, _ = clusters()
    assert store(mapped(tmp_path, X)).digest() == as_rows(X).digest()
    X[-1, -1] += 1
    assert store(mapped(tmp_path, X)).digest() == as_rows(X).digest()
    assert as_rows(X).digest() != as_rows(clusters()[0]).digest()


def test_changes_that_are_in_memory_alone_are_kept(tmp_path: Path) -> None:
    X, y = clusters()
    np.save(tmp_path / "rows.npy", np.zeros_like(X))
    private = np.load(tmp_path / "rows.npy", mmap_mode="c")
    private[:] = X
    model = DSEKLClassifier(gamma=0.3, random_state=0, memory_budget=1).fit(private, y)
    assert np.array_equal(private, X)
    assert np.array_equal(model.dual_coef_, DSEKLClassifier(gamma=0.3, random_state=0).fit(X, y).dual_coef_)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_named_by_row_and_column(value: float, tmp_path: Path) -> None:
    X, y = clusters(200_000)
    model = DSEKLClassifier(gamma=0.3, memory_budget=1, random_state=0).fit(X[:5000], y[:5000])
    X[123_456, 7] = value
    for use in (lambda rows: DSEKLClassifier(memory_budget=1).fit(rows, y), model.predict):
        with pytest.raises(ValueError, match=f"{value} in row 123456, column 7"):
            use(mapped(tmp_path, X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.reshape(-1), "Expected 2D array"),
        (lambda X: X.astype(complex), "Complex data not supported"),
        (lambda X: X[:, :11], "11 features"),
    ],
)
def test_what_is_wrong_with_an_array_is_wrong_with_a_file(change: Any, message: str, tmp_path: Path) -> None:
    X, y = clusters()
    model = DSEKLClassifier(gamma=0.3, memory_budget=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(mapped(tmp_path, change(X)))


def test_negative_histograms_in_a_file_are_refused(tmp_path: Path) -> None:
    X, y = clusters()
    with pytest.raises(ValueError, match="X holds the negative value -"):
        DSEKLClassifier(kernel="chi2", memory_budget=1).fit(mapped(tmp_path, X), y)


NO_SPACE = """
import resource, sys
import numpy as np
from dsekl import DSEKLClassifier
X = np.load(sys.argv[1], mmap_mode="r")
resource.setrlimit(resource.RLIMIT_FSIZE, (2**17, 2**17))
DSEKLClassifier(gamma=0.3, memory_budget=1).fit(X, np.arange(len(X)) % 2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits on the size of files")
def test_a_folder_without_space_is_named(tmp_path: Path) -> None:
    mapped(tmp_path, clusters()[0])
    command = [sys.executable, "-c", NO_SPACE, str(tmp_path / "rows.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot hold 336,000 bytes, which the points of a mapped X need" in done.stderr
    assert "set TMPDIR" in done.stderr


PEAK = """
import json, sys
import numpy as np
from dsekl import DSEKLClassifier

def status(field):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
    return int(lines[field].split()[0]) * 1024

def model():
    return DSEKLClassifier(gamma=0.05, C=10.0, dtype="float32", random_state=0, memory_budget=192)

X, y = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2])
model().fit(X[:2000].copy(), y[:2000]).predict(X[:2000].copy())  # compiled code and libraries are loaded
before = status("VmRSS")
fitted = model().fit(X, y)
after_fit = status("VmHWM") - before
wrong = float(np.mean(fitted.predict(X) != y))
print(json.dumps([after_fit, status("VmHWM") - before, wrong]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")
def test_memory_is_a_tenth_of_the_file_and_a_budget(tmp_path: Path) -> None:
    n_rows, n_features, budget = 60_000, 1_000, 192 * 2**20
    rng = np.random.default_rng(0)
    fields = rng.integers(0, 4, (n_rows, 2))
    places = (fields + rng.uniform(0.25, 0.75, fields.shape)).astype(np.float32) / 4
    X = np.cos(places @ rng.normal(0.0, 2.0, (2, n_features)).astype(np.float32))
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "labels.npy", fields.sum(axis=1) % 2)
    command = [sys.executable, "-c", PEAK, str(tmp_path / "rows.npy"), str(tmp_path / "labels.npy")]
    after_fit, after_prediction, wrong = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    allowed = X.nbytes / 10 + 8 * n_rows + budget
    assert after_fit < allowed
    assert after_prediction < allowed
    assert wrong < 0.001
