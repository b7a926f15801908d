"""Kernel machines on Dask: the local model's answers, the same bits on any workers, and workers that die."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import dask.array as da
import dask.dataframe as dd
import joblib
import pandas as pd
from distributed import Client, LocalCluster

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.dask import DaskDSEKLClassifier, DaskDSEKLRegressor, blocks, cluster, overview

GAMMA, C = 200.0, 2.0
SETTINGS: dict[str, Any] = dict(gamma=GAMMA, C=C, random_state=0, n_parts=3, verbose=False)


def table(n: int = 2_000, seed: int = 0) -> tuple[Any, Any]:
    """Return rows in a square and a noisy wave on it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.1 * rng.normal(size=n)


X, WAVE = table()
LABELS = np.where(WAVE > 0, "up", "down")
ROWS = da.from_array(X, chunks=(600, 2))
UP = da.from_array(LABELS, chunks=600)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two workers in processes of their own."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def fitted(client: Client) -> DaskDSEKLClassifier:
    return DaskDSEKLClassifier(**SETTINGS, client=client).fit(ROWS, UP)


def same_bits(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.support_, other.support_)
    assert [record["gap"] for record in one.history_] == [record["gap"] for record in other.history_]


def test_no_client_and_none_running_is_named() -> None:
    with pytest.raises(ValueError, match=r"client=None, and no Dask client is there"):
        cluster.client_of(None)
    with pytest.raises(TypeError, match=r"client=3 must be"):
        cluster.client_of(3)  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        DaskDSEKLClassifier().predict(ROWS)


def test_a_classifier_is_the_local_one(client: Client, fitted: DaskDSEKLClassifier) -> None:
    local = DSEKLClassifier(gamma=GAMMA, C=C, random_state=0).fit(X, LABELS)
    predicted = fitted.predict(ROWS)
    assert isinstance(predicted, da.Array)
    assert predicted.chunks == ROWS.chunks[:1]
    assert (predicted.compute() == local.predict(X)).mean() > 0.985
    assert fitted.score(ROWS, UP) == pytest.approx(local.score(X, LABELS), abs=0.01)
    assert np.abs(fitted.predict_proba(ROWS).compute() - local.predict_proba(X)).mean() < 0.01
    assert fitted.history_[-1]["gap"] < 0.05
    assert fitted.stop_reason_ == "tol"
    assert set(vars(local)) - {"_late", "model_", "_fitted_with"} - set(vars(fitted)) == set()
    assert fitted.n_support_.sum() == len(fitted.support_) == len(fitted.dual_coef_)
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)


def test_to_local_predicts_saves_and_loads_as_any_other(fitted: DaskDSEKLClassifier, tmp_path: Path) -> None:
    local = fitted.to_local()
    assert type(local) is DSEKLClassifier
    f = fitted.decision_function(ROWS).compute()
    np.testing.assert_allclose(local.decision_function(X), f, atol=1e-4)
    local.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    np.testing.assert_array_equal(loaded.predict_proba(X), local.predict_proba(X))
    assert (loaded.support_ == fitted.support_).all()
    with pytest.raises(TypeError, match="to_local"):
        joblib.hash(fitted)


@pytest.mark.parametrize("trend", [False, True])
def test_a_regressor_is_the_local_one(client: Client, trend: bool) -> None:
    y = 50.0 + 7.0 * WAVE + 20.0 * X[:, 0]
    settings: dict[str, Any] = dict(gamma=GAMMA, C=C, random_state=0, trend=trend, fit_intercept=True, tol=1e-3)
    model = DaskDSEKLRegressor(**settings, n_parts=3, verbose=False).fit(ROWS, da.from_array(y, chunks=600))
    local = DSEKLRegressor(**settings).fit(X, y)
    np.testing.assert_allclose(model.predict(ROWS).compute(), local.predict(X), atol=0.5)
    np.testing.assert_allclose(model.to_local().predict(X), model.predict(ROWS).compute(), atol=1e-6)
    assert model.score(ROWS, y) == pytest.approx(local.score(X, y), abs=1e-3)
    assert isinstance(model.intercept_, float)
    assert ("trend_" in vars(model)) is trend


def test_frames_weights_and_several_classes(client: Client) -> None:
    y = np.digitize(WAVE, [-0.4, 0.4])
    weights = np.random.default_rng(1).uniform(0, 2, len(X))
    weights[::7] = 0.0
    frame = pd.DataFrame({"east": X[:, 0], "north": X[:, 1].astype(np.float32), "class": y, "weight": weights})
    parts = dd.from_pandas(frame, npartitions=4)
    model = DaskDSEKLClassifier(**SETTINGS, class_weight="balanced")
    model.fit(parts[["east", "north"]], parts["class"], sample_weight=parts["weight"])
    local = DSEKLClassifier(gamma=GAMMA, C=C, random_state=0, class_weight="balanced").fit(X, y, weights)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    assert not np.isin(np.arange(0, len(X), 7), model.support_).any()
    found = model.predict(parts[["east", "north"]]).compute()
    assert (found == local.predict(X)).mean() > 0.97
    assert model.decision_function(parts[["east", "north"]]).compute().shape == (len(X), 3)
    with pytest.raises(ValueError, match=r"columns \['north', 'east'\]"):
        model.predict(parts[["north", "east"]])


def test_a_wide_kernel_lets_blocks_travel(client: Client) -> None:
    model = DaskDSEKLClassifier(**{**SETTINGS, "gamma": 8.0}).fit(ROWS, UP)
    local = DSEKLClassifier(gamma=8.0, C=C, random_state=0).fit(X, LABELS)
    assert model.history_[-1]["wide"] == 1
    assert model.history_[-1]["gap"] < 0.05
    assert (model.predict(ROWS).compute() == local.predict(X)).mean() > 0.97


def test_gamma_and_C_are_learned(client: Client) -> None:
    few = DaskDSEKLClassifier(random_state=0, n_parts=2, verbose=False).fit(ROWS[:600], UP[:600])
    assert few.metric_
    assert few.gamma_.shape == (2,)
    assert few.score(ROWS[600:], UP[600:]) > 0.85


@pytest.mark.parametrize("n_workers", [1, 4])
def test_the_same_bits_on_one_two_and_four_workers(fitted: DaskDSEKLClassifier, n_workers: int) -> None:
    with LocalCluster(n_workers, threads_per_worker=1, processes=False, dashboard_address=":0") as others:
        same_bits(fitted, clone(fitted).set_params(client=others.get_client()).fit(ROWS, UP))


def test_workers_that_are_killed_change_no_bit(client: Client, fitted: DaskDSEKLClassifier) -> None:
    killed, over = 0, threading.Event()
    rng = np.random.default_rng(0)

    def kill() -> None:
        nonlocal killed
        while killed < 2 and not over.wait(rng.uniform(0.3, 0.8)):
            pids = [worker["pid"] for worker in client.run(_about, on_error="ignore").values()]
            if pids:
                os.kill(int(rng.choice(pids)), signal.SIGKILL)
                killed += 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(10):
            again = clone(fitted).fit(ROWS, UP)
            if killed == 2:
                break
    finally:
        over.set()
        killer.join()
    assert killed == 2
    same_bits(fitted, again)
    assert again.score(ROWS, UP) == pytest.approx(0.95, abs=0.05)


def _about() -> dict[str, int]:
    return {"pid": os.getpid()}


def test_a_restart_of_all_workers_changes_no_bit(client: Client, fitted: DaskDSEKLClassifier) -> None:
    again = clone(fitted)
    done: list[Any] = []
    fit = threading.Thread(target=lambda: done.append(again.fit(ROWS, UP)))
    fit.start()
    while not any("ascend" in str(key) for key in client.who_has()):
        time.sleep(0.02)
    client.restart(wait_for_workers=False)
    fit.join(60)
    assert done
    same_bits(fitted, again)
    with pytest.raises(RuntimeError, match=r"the cluster has lost the terms of this model"):
        fitted.predict(ROWS)


def test_a_fit_goes_on_from_its_checkpoint_on_another_cluster(
    client: Client, fitted: DaskDSEKLClassifier, tmp_path: Path
) -> None:
    settings = {**SETTINGS, "tol": 1e-3, "checkpoint": tmp_path / "c.dsekl", "checkpoint_interval": 0}
    whole = DaskDSEKLClassifier(**{**settings, "checkpoint": None}).fit(ROWS, UP)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as other,
        pytest.warns(match="not converged"),
    ):
        DaskDSEKLClassifier(**settings, max_epochs=8, client=other.get_client()).fit(ROWS, UP)
    assert whole.n_iter_ > 8
    with pytest.raises(ValueError, match=r"unfinished run that differs in sample_weight"):
        DaskDSEKLClassifier(**settings, client=client).fit(ROWS, UP, da.full(len(X), 2.0, chunks=600))
    same_bits(whole, DaskDSEKLClassifier(**settings, client=client).fit(ROWS, UP))


def test_joblibs_backend_and_a_fit_inside_a_task_work(client: Client) -> None:
    local = DSEKLClassifier(gamma=GAMMA, C=C, random_state=0, n_jobs=1).fit(X, LABELS)
    with joblib.parallel_config("dask"):
        models = joblib.Parallel()(joblib.delayed(clone(local).fit)(X, LABELS) for _ in range(2))
    inside = client.submit(clone(local).fit, X, LABELS).result()
    for model in (*models, inside):
        np.testing.assert_array_equal(model.dual_coef_, local.dual_coef_)


def test_a_class_of_one_partition_empty_ones_and_very_many(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.where(np.arange(len(X)) < 300, 2, (WAVE > 0).astype(int))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=labels)
    empty = frame.iloc[:0]
    parts = dd.from_map(lambda piece: piece, [frame.iloc[:900], empty, frame.iloc[900:], empty], meta=empty)
    model = DaskDSEKLClassifier(**SETTINGS).fit(parts[["a", "b"]], parts["y"])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict(parts[["a", "b"]]).compute().shape == (len(X),)
    monkeypatch.setattr(blocks, "MOST_READS", 30)
    tiny = DaskDSEKLClassifier(**SETTINGS, tol=0.5).fit(ROWS.rechunk((20, 2)), UP.rechunk(20))
    assert tiny.support_.max() > 1_900


def test_unknown_lengths_work_where_the_blocks_agree(client: Client) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=WAVE > 0)
    parts = dd.from_pandas(frame, npartitions=4)
    unknown, labels = parts[["a", "b"]].to_dask_array(), parts["y"].to_dask_array()
    assert np.isnan(unknown.shape[0])
    model = DaskDSEKLClassifier(**SETTINGS).fit(unknown, labels)
    same_bits(DaskDSEKLClassifier(**SETTINGS).fit(parts[["a", "b"]], parts["y"]), model)
    assert model.score(unknown, labels) > 0.9
    with pytest.raises(ValueError, match=r"y is in memory, and the lengths of the blocks of X are not known"):
        DaskDSEKLClassifier(**SETTINGS).fit(unknown, LABELS)
    with pytest.raises(ValueError, match=r"partition 0 has 500 rows of X and 499 of y"):
        DaskDSEKLClassifier(**SETTINGS).fit(unknown, labels.map_blocks(lambda y: y[1:], dtype=labels.dtype))


def test_what_is_wrong_with_rows_is_named_with_its_partition(client: Client) -> None:
    def fit(frame: pd.DataFrame, **given: Any) -> None:
        parts = dd.from_pandas(frame, npartitions=4)
        weights = parts[given["weight"]] if "weight" in given else None
        DaskDSEKLClassifier(**SETTINGS).fit(parts[["a", "b"]], parts["y"], weights)

    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=LABELS, w=1.0)
    with pytest.raises(ValueError, match=r"X holds nan in column 'b', row 0 of partition 2"):
        fit(frame.assign(b=np.where(np.arange(len(X)) == 1_000, np.nan, X[:, 1])))
    with pytest.raises(ValueError, match=r"sample_weight of partition 3 holds a negative"):
        fit(frame.assign(w=np.where(np.arange(len(X)) == 1_999, -1.0, 1.0)), weight="w")
    with pytest.raises(ValueError, match=r"one class only"):
        fit(frame.assign(y="up"))
    with pytest.raises(ValueError, match=r"at least one non-zero"):
        fit(frame.assign(w=0.0), weight="w")
    with pytest.raises(ValueError, match=r"partition 1: .*NaN"):
        fit(frame.assign(y=np.where(np.arange(len(X)) == 600, np.nan, WAVE > 0)))


def test_a_worker_with_another_version_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "__version__", "9.9")
    with pytest.raises(RuntimeError, match=r"worker tcp://.* has dsekl .*; install dsekl 9\.9 on it"):
        DaskDSEKLClassifier(**SETTINGS).fit(ROWS, UP)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (ROWS, UP[:-1], r"X has 2000 rows and y has 1999"),
        (ROWS, None, r"target y is None"),
        (ROWS[:, 0], UP, r"1 dimensions"),
        (UP[:, None], UP, r"X is a dask array of <U4"),
        (dd.from_pandas(pd.DataFrame({"a": ["x", "y"]}), npartitions=1), UP[:2], r"column 'a' of X is of type"),
    ],
)
def test_collections_that_do_not_fit_are_named(X: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        blocks.blocks_of(X, y)


@pytest.mark.parametrize(
    "given",
    [
        {"early_stopping": True}, {"warm_start": True}, {"callbacks": [print]}, {"solver": "doubly_stochastic"},
        {"kernel": "precomputed"}, {"C": np.inf}, {"n_parts": 0},
    ],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_parameters_that_are_not_for_dask_are_named(client: Client, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        DaskDSEKLClassifier(**{**SETTINGS, **given}).fit(ROWS, UP)


def test_width_and_C_are_chosen_at_full_density(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of a tenth of the rows cannot see fields of a size that all of them show."""
    monkeypatch.setattr(overview, "SAMPLE_ROWS", 800)
    many = np.random.default_rng(1).uniform(size=(8_000, 2))
    fields = np.floor(10 * many).sum(axis=1) % 2 == 0
    rows, y = da.from_array(many, chunks=(1_000, 2)), da.from_array(fields, chunks=1_000)
    settings: dict[str, Any] = dict(kernel="rbf", loss="hinge", random_state=0, verbose=False)
    whole = DaskDSEKLClassifier(**settings, n_parts=2).fit(rows, y)
    local = DSEKLClassifier(**settings).fit(many, fields)
    new = np.random.default_rng(2).uniform(size=(4_000, 2))
    answers = np.floor(10 * new).sum(axis=1) % 2 == 0
    assert whole.to_local().score(new, answers) == pytest.approx(local.score(new, answers), abs=0.02)


def test_the_command_line_fits_and_predicts_on_a_cluster(
    client: Client, run: Any, bought: Path, tmp_path: Path
) -> None:
    at = ("--scheduler", client.scheduler.address)
    result = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m.dsekl", "--text", "id", "-q", *at)
    assert result.code == 0, result.err
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    assert run("predict", tmp_path / "m.dsekl", bought / "test.csv", "-o", here, "--proba", "-q").code == 0
    assert run("predict", tmp_path / "m.dsekl", bought / "test.csv", "-o", there, "--proba", "-q", *at).code == 0
    assert here.read_text() == there.read_text()
    right = [line.split(",")[-1] for line in (bought / "test.csv").read_text().splitlines()[1:]]
    found = [line.split(",")[0] for line in here.read_text().splitlines()[1:]]
    assert np.mean(np.array(right) == found) > 0.8


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--scheduler", "127.0.0.1:1", "--workers", "2"), "leave one of the two out"),
        (("--scheduler", "nowhere"), "no scheduler answers there"),
        (("--workers", "2", "--validation", "0.2"), "no rows are held out on a cluster"),
    ],
)
def test_the_command_line_names_what_is_wrong_with_a_cluster(
    run: Any, bought: Path, tmp_path: Path, given: tuple[str, ...], words: str
) -> None:
    result = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m.dsekl", "-q", *given)
    assert result.code != 0
    assert words in " ".join(result.err.split())


def test_columns_that_dask_would_cut_otherwise_stay_beside_their_rows(client: Client, tmp_path: Path) -> None:
    """Of a parquet file with many columns Dask reads one column in fewer partitions than the others."""
    wide = np.random.default_rng(0).uniform(size=(len(X), 30))
    wide[:, :2] = X
    frame = pd.DataFrame(wide, columns=[f"x{k}" for k in range(30)]).assign(y=LABELS)
    for k in range(4):
        frame[500 * k : 500 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    read = dd.read_parquet(tmp_path)
    rows, y = read.drop(columns="y"), read["y"]
    assert len(rows.to_delayed()) != len(y.to_delayed())
    gamma = np.where(np.arange(30) < 2, GAMMA, 0.0)
    model = DaskDSEKLClassifier(**{**SETTINGS, "gamma": gamma}).fit(rows, y)
    assert model.score(rows, y) > 0.9


def test_rows_that_are_mostly_empty_are_dense_all_the_same(client: Client) -> None:
    rng = np.random.default_rng(0)
    empty = np.zeros((1_500, 200))
    labels = rng.integers(0, 2, 1_500)
    empty[np.arange(1_500), 10 * labels + rng.integers(0, 10, 1_500)] = 1.0
    rows, y = da.from_array(empty, chunks=(500, 200)), da.from_array(labels, chunks=500)
    assert DaskDSEKLClassifier(**{**SETTINGS, "gamma": 1.0}).fit(rows, y).score(rows, y) == 1.0


def test_frames_of_two_sources_are_put_together_by_their_places() -> None:
    """Their indices say nothing: each file counts its rows from 0."""
    first = pd.DataFrame(X[:50], columns=["a", "b"])
    rows = dd.from_map(lambda k: first + k, range(2), meta=first.iloc[:0])
    y = dd.from_map(lambda k: first["a"] + k, range(2), meta=first["a"].iloc[:0])
    found = blocks.blocks_of(rows, y)
    for k in range(2):
        np.testing.assert_array_equal(found.X[k].compute()["a"], found.y[k].compute())
    with pytest.raises(ValueError, match=r"X has 2 blocks and y has 3"):
        blocks.blocks_of(rows, dd.from_map(lambda k: first["a"], range(3), meta=first["a"].iloc[:0]))
