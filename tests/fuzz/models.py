"""Forged model files: loaded, described, asked for predictions, copied and saved again."""

from __future__ import annotations

import contextlib
import io
import json
import random
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numba import njit
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor, ModelFileError, kernels, losses
from dsekl.cli import main
from dsekl.data import DataFileError
from dsekl.estimators import files
from dsekl.expansions import FixedSubset, RandomFourier
from dsekl.solvers import DoublyStochastic, DualAscent, SharedMemory

from .forging import forged, genuine

NAME = "model files"
COUNT = 20_000

TABLE = "table"
"""The model that the command line made, with the columns of a table."""


@njit
def cauchy(s: float) -> float:
    return 1 / (1 + s)


def shared_letters(a: Any, b: Any) -> Any:
    counts = [[[word.count(letter) for letter in "abc"] for word in side] for side in (a, b)]
    return np.array(counts[0], dtype=float) @ np.array(counts[1], dtype=float).T


RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
SIDES, THREE = (X[:, 0] * X[:, 1] > 0).astype(int), np.digitize(X[:, 0], [-0.5, 0.5])
WORDS = [w * (1 + k % 3) for k, w in enumerate(["aab", "abc", "bca", "ccb"] * 10)]
PLAIN: dict[str, Any] = dict(gamma=0.5, random_state=0, max_epochs=5, n_jobs=1)
OWN_KERNEL: dict[str, Any] = {"radial": kernels.Radial(cauchy), "words": shared_letters}


def frame() -> Any:
    """Return rows with numbers, gaps, categories, ordered ones, dates, and texts that hardly repeat."""
    numbers = np.where(np.arange(40) % 7 == 0, np.nan, X[:, 0])
    return pd.DataFrame({
        "number": numbers, "text": np.array(["u", "v", "w"])[THREE],
        "size": pd.Categorical(np.array(["S", "M", "L"])[THREE], ["S", "M", "L"], ordered=True),
        "day": pd.Timestamp("2024-02-28") + pd.to_timedelta(7 * np.arange(40), unit="h"),
        "city": [f"city {k % 13}" for k in range(40)], "sure": X[:, 1] > 0,
    })  # fmt: skip


def models() -> dict[str, tuple[Any, Any, Any]]:
    """Return unfitted models, X and y: every kind of points, and every optional attribute."""
    texts = np.array(["left", "middle", "right"])[THREE]
    seeded = np.random.RandomState(3)
    return {
        "plain": (DSEKLClassifier(**PLAIN), X, SIDES),
        "one feature": (DSEKLClassifier(**PLAIN), X[:, :1], SIDES),
        "texts": (DSEKLClassifier(loss="logistic", **PLAIN), X, texts),
        "floats": (DSEKLClassifier("matern32", **{**PLAIN, "random_state": seeded}), X, THREE * 2.0),
        "gammas": (DSEKLRegressor(**{**PLAIN, "gamma": [0.5, 2.0, 0.0], "dtype": "float32"}), X, X[:, 0]),
        "held out": (DSEKLRegressor(early_stopping=True, loss=losses.Huber(0.5), **PLAIN), X, X[:, :2]),
        "weights": (DSEKLClassifier(class_weight={0: 1.0, 1: 2.0}, solver=DualAscent(16), **PLAIN), X, SIDES),
        "poly": (DSEKLRegressor(kernels.Polynomial(2, 0.5), **PLAIN), X, X[:, 0]),
        "quadratic": (DSEKLRegressor(kernels.RationalQuadratic(0.5), dtype="float32", **PLAIN), X, X[:, 0]),
        "sigmoid": (DSEKLClassifier("sigmoid", solver=DoublyStochastic(10, 10), **PLAIN), X, SIDES),
        "linear": (DSEKLClassifier("linear", **PLAIN), X, SIDES),
        "histograms": (DSEKLClassifier("chi2", **PLAIN), np.abs(X), SIDES),
        "laplacian": (DSEKLRegressor("laplacian", loss=losses.Quantile(0.3), **PLAIN), X, X[:, 0]),
        "sparse": (DSEKLClassifier(**PLAIN), sparse.csr_array(np.where(X > 0, X, 0.0)), SIDES),
        "sparse linear": (DSEKLRegressor("linear", **PLAIN), sparse.csr_array(np.where(X > 0, X, 0.0)), X[:, 0]),
        "subset": (DSEKLClassifier(expansion=FixedSubset(10), solver=DoublyStochastic(5, 5), **PLAIN), X, SIDES),
        "fourier": (DSEKLClassifier(expansion=RandomFourier(20), solver=SharedMemory(), **PLAIN), X, SIDES),
        "precomputed": (DSEKLClassifier("precomputed", **PLAIN), X @ X.T, SIDES),
        "intercept": (DSEKLClassifier(fit_intercept=True, **PLAIN), X, THREE),
        "trend": (DSEKLRegressor(trend=True, dtype="float32", **PLAIN), X, X[:, :2]),
        "sparse trend": (DSEKLClassifier(trend=True, **PLAIN), sparse.csr_array(np.where(X > 0, X, 0.0)), SIDES),
        "gaps": (DSEKLRegressor(**PLAIN), np.where(X > 1.0, np.nan, X), X[:, 0]),
        "frame": (DSEKLClassifier(**PLAIN), frame(), SIDES),
        "frame of numbers": (DSEKLRegressor(**PLAIN), pd.DataFrame(X, columns=["a", "b", "c"]), X[:, 0]),
        "radial": (DSEKLClassifier(OWN_KERNEL["radial"], **PLAIN), X, SIDES),
        "words": (DSEKLClassifier(shared_letters, **PLAIN), WORDS, SIDES),
    }  # fmt: skip


def prepare(folder: Path) -> None:
    """Save a model of every kind, one of them compacted, and one that the command line has fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (model, rows, targets) in models().items():
            model.fit(rows, targets).save(folder / f"{name}.dsekl")
            dsekl.load(folder / f"{name}.dsekl", kernel=OWN_KERNEL.get(name)).predict(rows)
        DSEKLClassifier(**PLAIN).fit(X, SIDES).compact(0.5).save(folder / "compact.dsekl")
        learned = DSEKLClassifier(random_state=0, n_jobs=1).fit(np.tile(X, (4, 1)), np.tile(SIDES, 4))
        learned.save(folder / "learned.dsekl")
        rows, own = pd.concat([frame()] * 6, ignore_index=True), dict(random_state=0, n_jobs=1)
        for name, model, targets in (
            ("statistics", DSEKLClassifier(**own), np.tile(THREE, 6)),
            ("intervals", DSEKLRegressor(**own), np.tile(X[:, 0], 6) + RNG.normal(size=240)),
        ):
            model.fit(rows, targets)
            assert (
                model.encoder_.statistics.any()
            )  # and the map of probabilities, or the intervals, before it is saved:
            (model.predict_proba if name == "statistics" else model.predict_interval)(rows[:5])
            model.save(folder / f"{name}.dsekl")
    lines = [f"{a:.3f},{'uvw'[k % 3]},{side}" for k, (a, side) in enumerate(zip(X[:, 0], SIDES, strict=True))]
    (folder / "rows.csv").write_text("\n".join(["a,b,target", *lines]) + "\n")
    on_command_line(["fit", folder / "rows.csv", "--target", "target", "--model", folder / f"{TABLE}.dsekl"])


def on_command_line(arguments: list[Any]) -> int:
    """Run a command in this process; return its exit code."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as left:
            return int(left.code or 0)
    return 0


@cache
def genuine_with_rows(folder: Path) -> dict[str, tuple[Any, Any, Any]]:
    """Return the header, the arrays and some rows for each genuine file."""
    rows = {name: some[:5] for name, (_, some, _) in models().items()}
    rows |= {"compact": X[:5], "learned": X[:5], TABLE: None, "precomputed": (X @ X.T)[:5]}
    rows |= {"statistics": frame()[:5], "intervals": frame()[:5]}
    return {name: (*parts, rows[name]) for name, parts in genuine(folder).items()}


def trial(folder: Path, seed: int) -> str:
    rng = random.Random(seed)
    name = rng.choice(list(genuine_with_rows(folder)))
    header, arrays, rows = genuine_with_rows(folder)[name]
    path = folder / "forged"
    try:
        path.write_bytes(forged(header, arrays, rng, others=genuine(folder)))
    except RecursionError:
        return "refused"  # forged deeper than can be written
    told = refused(lambda: json.dumps(files.describe(path), allow_nan=False), path)
    if name == TABLE:
        return tried_on_command_line(folder, path)
    if refused(lambda: try_model(path, OWN_KERNEL.get(name), rows, rng), path):
        return "refused"
    return "refused" if told else "right"


def refused(action: Any, path: Path) -> bool:
    """Tell whether an action ends in the error of bad files, which must name the file."""
    try:
        action()
    except ModelFileError as error:
        if not str(error).startswith(f"{path}: "):
            raise
        return True
    return False


def of_model(model: Any, rows: Any) -> Any:
    """Return rows for a model: as wide as its own, under their names, numbers without its encoder, no gaps without
    medians."""
    width = vars(model).get("n_features_in_")
    if isinstance(rows, np.ndarray | sparse.sparray) and width not in (None, rows.shape[1]):
        return sparse.csr_array((rows.shape[0], width)) if sparse.issparse(rows) else np.zeros((len(rows), width))
    if isinstance(rows, np.ndarray) and "medians_" not in vars(model):
        return np.nan_to_num(rows)
    if isinstance(rows, pd.DataFrame) and len(vars(model).get("feature_names_in_", ())) == rows.shape[1]:
        return rows.set_axis(list(model.feature_names_in_), axis=1)
    if not isinstance(rows, pd.DataFrame) or "text" not in rows or "encoder_" in vars(model):
        return rows
    return np.zeros((len(rows), model.n_features_in_))


def try_model(path: Path, kernel: Any, rows: Any, rng: random.Random) -> None:
    """Load a model, and let it do what models do."""
    model = dsekl.load(path, kernel=kernel)
    model.set_params(n_jobs=1)
    rows = of_model(model, rows)
    try:
        predictions = model.predict(rows)
    except DataFileError as error:  # columns that have changed their names hold what others should
        if not str(error).startswith("row 0 of X: column "):
            raise
        return
    assert len(predictions) == 5
    for verb in ("decision_function", "predict_proba"):
        if hasattr(model, verb):
            values = getattr(model, verb)(rows)
            assert len(values) == 5
            assert np.isfinite(values).all(), verb
    if isinstance(model, DSEKLRegressor):
        assert np.isfinite(predictions).all()
        if "_late" in vars(model) and model._late.value().largest_coverage >= 0.5:
            assert np.isfinite(model.predict_interval(rows, coverage=0.5)).all()
    check_random_state(model.random_state).randint(2)
    repr(clone(model))
    if rng.random() < 0.05:
        model.save(path)
        np.testing.assert_array_equal(dsekl.load(path, kernel=kernel).predict(rows), predictions)


def tried_on_command_line(folder: Path, path: Path) -> str:
    """Show, use and score a model by the commands; return how that ended."""
    rows = folder / "rows.csv"
    codes = {
        on_command_line(["info", path]),
        on_command_line(["predict", path, rows, "--output", folder / "out.csv", "--jobs", "1"]),
        on_command_line(["evaluate", path, rows, "--jobs", "1"]),
    }
    assert codes <= {0, 2}, codes
    return "refused" if 2 in codes else "right"
