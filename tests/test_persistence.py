"""Model files: what is saved comes back to the bit, and what is damaged or made up is refused."""

from __future__ import annotations

import json
import os
import pickle
import re
import stat
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from numba import njit
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor, ModelFileError, kernels, losses
from dsekl.estimators import files
from dsekl.expansions import FixedSubset, RandomFourier
from dsekl.kernels import DotProduct, Matern, Radial
from dsekl.losses import Quantile
from dsekl.persistence.container import FORMAT
from dsekl.solvers import DoublyStochastic, DualAscent, SharedMemory
from tests.files.make import FOLDER, grid

X, y = make_moons(150, noise=0.2, random_state=0)
IRIS, SPECIES = load_iris(return_X_y=True)
QUICK: dict[str, Any] = dict(gamma=1.0, random_state=0)


@njit
def cauchy(s: float) -> float:
    return 1 / (1 + s)


@njit
def square(s: float) -> float:
    return s * s


def shared_letters(a: Any, b: Any) -> Any:
    counts = [[[word.count(letter) for letter in "abcé"] for word in side] for side in (a, b)]
    return np.array(counts[0], dtype=float) @ np.array(counts[1], dtype=float).T


WORDS = ["aab", "aba", "baa", "aaé", "bbc", "bcb", "cbb", "ccb"] * 5
PRECOMPUTED = shared_letters(WORDS, WORDS)
LABELS = ["A", "A", "A", "A", "B", "B", "B", "B"] * 5

MODELS: dict[str, tuple[Any, Any, Any]] = {
    "defaults": (DSEKLClassifier(random_state=0), X, y),
    "probabilities": (DSEKLClassifier(loss="logistic", **QUICK), X, y > 0),
    "texts": (DSEKLClassifier(loss=losses.Logistic(), **QUICK), IRIS, np.array(["x", "yy", "zzz"])[SPECIES]),
    "objects": (DSEKLClassifier(**QUICK), IRIS, np.array(["x", "yy", "zzz"], dtype=object)[SPECIES]),
    "weights": (DSEKLClassifier(class_weight={0: 1.0, 1: 2.5}, solver=DualAscent(64), **QUICK), X, y),
    "frame": (DSEKLClassifier(**QUICK), pd.DataFrame(X, columns=["left", "rïght"]), y.astype(np.int32)),
    "gammas": (DSEKLClassifier(gamma=np.array([1.0, 2.0]), random_state=np.random.RandomState(3)), X, y),
    "float32": (DSEKLRegressor(gamma=[0.5, 2.0], dtype="float32"), X.astype(np.float32), X[:, 0]),
    "pruned": (DSEKLClassifier(gamma=50.0, dtype="float32"), *make_moons(1500, noise=0.2, random_state=0)),
    "sparse": (DSEKLClassifier(**QUICK), sparse.csr_matrix(np.where(X > 0, X, 0)), y),
    "pixels": (DSEKLClassifier(**QUICK), np.eye(300)[np.arange(150) % 40], y),
    "regression": (DSEKLRegressor(loss=Quantile(0.7), **QUICK), X, X[:, 0] ** 2),
    "targets": (DSEKLRegressor(Matern(0.5), early_stopping=True, **QUICK), X, X**2),
    "no intercept": (DSEKLRegressor("poly", fit_intercept=False), X, X[:, 0] ** 2),
    "histograms": (DSEKLClassifier("chi2", **QUICK), np.abs(X), y),
    "subset": (DSEKLClassifier(expansion=FixedSubset(30), solver=DoublyStochastic(20, 20), **QUICK), X, y),
    "fourier": (DSEKLClassifier(expansion=RandomFourier(50), solver="shared_memory", **QUICK), X, y),
    "sparse fourier": (DSEKLClassifier(expansion="random_fourier", solver=SharedMemory()), sparse.csr_array(X), y),
    "precomputed": (DSEKLClassifier("precomputed", random_state=0), PRECOMPUTED, LABELS),
}  # fmt: skip

OWN_KERNELS: dict[str, tuple[Any, Any, Any]] = {
    "radial": (DSEKLClassifier(Radial(cauchy), **QUICK), X, y),
    "dot product": (DSEKLClassifier(DotProduct(square), **QUICK), sparse.csr_array(np.abs(X)), y),
    "words": (DSEKLClassifier(shared_letters, random_state=0), WORDS, LABELS),
    "array of words": (DSEKLClassifier(shared_letters, random_state=0), np.array(WORDS), LABELS),
    "series of words": (DSEKLClassifier(shared_letters, random_state=0), pd.Series(WORDS, dtype=object), LABELS),
}


def outputs(model: Any, X: Any) -> list[Any]:
    verbs = ("decision_function", "predict", "predict_proba")
    return [getattr(model, verb)(X) for verb in verbs if hasattr(model, verb)]


def assert_same(loaded: Any, model: Any, X: Any) -> None:
    for ours, theirs in zip(outputs(loaded, X), outputs(model, X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    before, after = vars(model), vars(loaded)
    assert set(after) == {name for name in before if name != "_state"}
    for name in set(after) - {"model_"}:
        np.testing.assert_equal(after[name], before[name]) if name.endswith("_") else None
        assert type(after[name]) is type(before[name])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one_to_the_bit(name: str, tmp_path: Path) -> None:
    model, rows, targets = MODELS[name]
    model.set_params(max_epochs=3).fit(rows, targets)
    model.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    assert_same(loaded, model, rows)
    assert re.sub("0x[0-9A-F]+", "", repr(loaded)) == re.sub("0x[0-9A-F]+", "", repr(model))
    loaded.save(tmp_path / "again.dsekl")
    assert_same(dsekl.load(tmp_path / "again.dsekl"), model, rows)
    json.dumps(files.describe(tmp_path / "m.dsekl"), allow_nan=False)


@pytest.mark.parametrize("name", OWN_KERNELS)
def test_a_kernel_of_ones_own_is_given_again(name: str, tmp_path: Path) -> None:
    model, rows, targets = OWN_KERNELS[name]
    model.fit(rows, targets).save(tmp_path / "m.dsekl")
    with pytest.raises(ModelFileError, match=r"a kernel of your own, .* dsekl.load\(path, kernel=...\)"):
        dsekl.load(tmp_path / "m.dsekl")
    assert_same(dsekl.load(tmp_path / "m.dsekl", kernel=model.kernel), model, rows)
    other = (
        type(model.kernel)(njit(lambda s: 1 + s * s))
        if hasattr(model.kernel, "function")
        else lambda a, b: 7.0 + shared_letters(a, b)
    )
    with pytest.raises(ModelFileError, match="gives other values"):
        dsekl.load(tmp_path / "m.dsekl", kernel=other)


def test_a_kernel_that_differs_at_few_points_only_is_not_taken_for_the_one_that_was_fitted(tmp_path: Path) -> None:
    words = [letter * n for n in range(1, 9) for letter in "abc"]
    model = DSEKLClassifier(shared_letters, solver="doubly_stochastic", random_state=0, max_epochs=2)
    model.fit(words, [k % 2 for k in range(len(words))]).save(tmp_path / "m.dsekl")

    def other(a: Any, b: Any) -> Any:
        return shared_letters(a, b) + np.array([[float(s == t == words[17]) for t in b] for s in a])

    with pytest.raises(ModelFileError, match="gives other values"):
        dsekl.load(tmp_path / "m.dsekl", kernel=other)


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    class Own(losses.Hinge):
        pass

    path = tmp_path / "m.dsekl"
    with pytest.raises(ValueError, match=r"^loss=.*cannot be saved.*joblib"):
        DSEKLClassifier(loss=Own(), **QUICK).fit(X, y).save(path)
    graphs = [{1, 2}, {2, 3}, {1}, {3}] * 5
    on_graphs = DSEKLClassifier(lambda a, b: np.array([[float(len(s & t)) for t in b] for s in a]))
    on_graphs.fit(graphs, [0, 1] * 10)
    with pytest.raises(ValueError, match=r"objects of type set.*joblib"):
        on_graphs.save(path)
    with pytest.raises(ValueError, match=r"table=.*must hold JSON alone"):
        DSEKLClassifier(**QUICK).fit(X, y).save(path, table={"mean": np.nan})
    with pytest.raises(NotFittedError):
        DSEKLClassifier().save(path)
    assert os.listdir(tmp_path) == []


def test_the_header_tells_where_a_model_comes_from(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["left", "right"])
    DSEKLClassifier(**QUICK).fit(frame, y).save(tmp_path / "m", table={"scale": [1.5]}, provenance={"by": "me"})
    saved = files.read(tmp_path / "m")
    assert saved.table == {"scale": [1.5]}
    assert saved.header["format"] == FORMAT
    assert saved.header["library"] == dsekl.__version__
    assert saved.header["class"] == "DSEKLClassifier"
    assert saved.header["feature_names"] == ["left", "right"]
    assert saved.header["provenance"]["user"] == {"by": "me"}
    assert saved.header["provenance"]["numpy"] == np.__version__
    told = files.describe(tmp_path / "m")
    assert told["parameters"]["gamma"] == 1.0
    assert told["last_epoch"] == saved.estimator.history_[-1]
    assert "Matern" in str(files.describe(FOLDER / "classifier-1.dsekl")["parameters"]["kernel"])


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.dsekl"
    model = DSEKLClassifier(**QUICK).fit(X, y)
    model.save(path)
    first = path.read_bytes()
    with pytest.raises(ValueError, match="table"):
        model.save(path, table={"x": object()})
    assert path.read_bytes() == first
    model.save(path)
    assert os.listdir(tmp_path) == ["m.dsekl"]
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "nowhere" / "m.dsekl")
    with pytest.raises(FileNotFoundError):
        dsekl.load(tmp_path / "nothing")


@pytest.mark.parametrize("version", range(1, FORMAT + 1))
def test_files_of_every_format_version_can_be_read(version: int) -> None:
    predictions = np.load(FOLDER / f"predictions-{version}.npz")
    classifier = files.read(FOLDER / f"classifier-{version}.dsekl")
    rows = pd.DataFrame(grid(), columns=["left", "right"])
    np.testing.assert_allclose(classifier.estimator.predict_proba(rows), predictions["classifier"], rtol=1e-9)
    assert classifier.table == {"columns": ["left", "right"]}
    assert classifier.estimator.kernel == kernels.Matern(2.5)
    assert classifier.estimator.predict(rows.head(1)).tolist() == ["outer"]
    regressor = dsekl.load(FOLDER / f"regressor-{version}.dsekl")
    np.testing.assert_allclose(regressor.predict(sparse.csr_array(grid())), predictions["regressor"], rtol=1e-9)
    assert regressor.loss == losses.Huber(0.5)


@pytest.mark.parametrize("name", ["texts", "frame", "sparse", "fourier", "precomputed"])
def test_pickle_joblib_and_skops_return_the_same_model(name: str, tmp_path: Path) -> None:
    model, rows, targets = MODELS[name]
    model.set_params(max_epochs=100).fit(rows, targets)
    joblib.dump(model, tmp_path / "m")
    dumped = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=dumped)
    assert all(kind.startswith(("dsekl.", "scipy.sparse._csr.csr_")) for kind in trusted)
    for copy in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "m"),
        skops.io.loads(dumped, trusted=trusted),
    ):
        for ours, theirs in zip(outputs(copy, rows), outputs(model, rows), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_error_survives_a_pickle() -> None:
    error = pickle.loads(pickle.dumps(ModelFileError("m.dsekl", "it is damaged")))
    assert str(error) == "m.dsekl: it is damaged"


@pytest.mark.parametrize(
    ("estimator", "settings"),
    [
        (DSEKLClassifier, dict(kernel="laplacian")),
        (DSEKLClassifier, dict(kernel="auto", loss="auto", gamma="auto", C="auto")),
        (DSEKLClassifier, dict(kernel=Radial(cauchy))),
        (DSEKLClassifier, dict(kernel="precomputed", gamma=2.0)),
        (DSEKLClassifier, dict(loss="logistic", class_weight="balanced", dtype="float32")),
        (DSEKLClassifier, dict(expansion="random_fourier", solver="doubly_stochastic", early_stopping=True)),
        (DSEKLRegressor, dict(loss="quantile", fit_intercept=False, C=3.0)),
    ],
    ids=lambda value: "" if isinstance(value, type) else " ".join(value),
)
def test_a_file_holds_what_was_fitted_whatever_was_set_since(
    estimator: Any, settings: dict[str, Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    model = estimator(kernel="matern32", gamma=1.0, C=2.0, random_state=0).fit(X, X[:, 0] > 0)
    params, f = model.get_params(), model.predict(X)
    model.set_params(**settings, n_jobs=1).save(tmp_path / "model")
    loaded = dsekl.load(tmp_path / "model")
    assert loaded.get_params() == {**params, "n_jobs": 1}
    assert (loaded.kernel_, loaded.loss_) == (model.kernel_, model.loss_)
    np.testing.assert_array_equal(loaded.predict(X), f)
    loaded.set_params(**settings).save(tmp_path / "again")
    assert dsekl.load(tmp_path / "again").get_params() == {**params, "n_jobs": 1}
