"""Bad input on Dask: each works or is named."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask.bag import from_sequence
from distributed import Client

from dsekl.dask import DaskDSEKLClassifier, blocks, clients, cluster
from tests.on_dask import GAMMA, LABELS, ROWS, SETTINGS, UP, WAVE, X, same_bits

WITHOUT_DSEKL = "import sys; sys.modules['dsekl'] = None; from distributed.cli.dask_worker import main; main()"


def test_no_client_and_none_running_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.client._global_clients", {})  # those of other tests
    with pytest.raises(ValueError, match=r"client=None, and no Dask client is there"):
        contextvars.Context().run(clients.client_of, None)
    with pytest.raises(TypeError, match=r"client=3 must be"):
        clients.client_of(3)  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        DaskDSEKLClassifier().predict(ROWS)


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
        DaskDSEKLClassifier(**SETTINGS, strict="b" in given).fit(parts[["a", "b"]], parts["y"], weights)

    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=LABELS, w=1.0)
    with pytest.raises(ValueError, match=r"X holds nan in column 'b', row 0 of partition 2"):
        fit(frame.assign(b=np.where(np.arange(len(X)) == 1_000, np.nan, X[:, 1])), b="is strict")
    with pytest.raises(ValueError, match=r"X holds inf in column 'b', row 0 of partition 2"):
        fit(frame.assign(b=np.where(np.arange(len(X)) == 1_000, np.inf, X[:, 1])))
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
        (ROWS[:, :0], UP, r"X has 0 columns"),
        (dd.from_pandas(pd.Series(X[:, 0], name="a"), npartitions=4), UP, r"X is the column 'a'; give a frame"),
    ],
)
def test_collections_that_do_not_fit_are_named(X: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        blocks.blocks_of(X, y)


def test_what_is_no_array_nor_frame_is_named() -> None:
    for given in (dask.delayed(X), from_sequence([X])):
        with pytest.raises(TypeError, match=r"X is a (DelayedLeaf|Bag) of Dask; give a dask array or dataframe"):
            blocks.blocks_of(given, UP)
    with pytest.raises(TypeError, match=r"y is a DelayedLeaf of Dask; give a dask array or a column"):
        blocks.blocks_of(ROWS, dask.delayed(LABELS))
    with pytest.raises(ValueError, match=r"sample_weight=1.0 is no array"):
        blocks.blocks_of(ROWS, UP, 1.0)


def test_what_is_wrong_with_blocks_is_named(client: Client) -> None:
    def fit(rows: Any = ROWS, weights: Any = None) -> None:
        DaskDSEKLClassifier(**SETTINGS).fit(rows, UP, weights)

    with pytest.raises(ValueError, match=r"partition 0: X is of shape \(600, 1\) here, and has 2 columns"):
        fit(ROWS.map_blocks(lambda block: block[:, :1], dtype=float, chunks=ROWS.chunks))
    with pytest.raises(ValueError, match=r"partition 1: X is a masked array, and 1 of its entries"):
        fit(da.ma.masked_equal(ROWS, X[700, 0]))
    with pytest.raises(ValueError, match=r"partition 0: sample_weight is of type <U4 .*; give one number a row"):
        fit(weights=UP)
    with pytest.raises(ValueError, match=r"partition 0: sample_weight is of type float64 and shape \(600, 2\)"):
        fit(weights=da.ones((len(X), 2), chunks=(600, 2)))
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ConnectionError, match=r"client='127.0.0.1:9': no scheduler answers there"),
    ):
        clients.client_of("127.0.0.1:9")


@pytest.mark.parametrize(
    "given",
    [
        {"solver": "doubly_stochastic"}, {"kernel": "precomputed"}, {"C": np.inf}, {"n_parts": 0},
    ],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_parameters_that_are_not_for_dask_are_named(client: Client, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        DaskDSEKLClassifier(**{**SETTINGS, **given}).fit(ROWS, UP)


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


def test_frames_of_one_source_are_put_together_by_their_places_too() -> None:
    """Dask would put a target beside the row of its index, wherever that is by now."""
    frame = pd.DataFrame(X[:90], columns=["a", "b"], index=np.random.default_rng(0).permutation(90))
    whole = dd.from_pandas(frame.assign(y=X[:90, 0], w=X[:90, 1]), npartitions=2, sort=False)
    rows, y, weights = whole[["a", "b"]], whole["y"], whole["w"]
    for given in ((rows.reset_index(drop=True), y, weights), (rows, y.reset_index(drop=True), weights)):
        found = blocks.blocks_of(*given)
        assert found.weights is not None
        assert len(found.X) == 2
        for block, of, weight in zip(found.X, found.y, found.weights, strict=True):
            np.testing.assert_array_equal(block.compute()["a"], of.compute())
            np.testing.assert_array_equal(block.compute()["b"], weight.compute())


def test_frames_of_one_source_with_other_rows_are_named(client: Client, fitted: DaskDSEKLClassifier) -> None:
    parts = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=LABELS), npartitions=4)
    some = parts[parts["a"] > 0.5]
    for rows, y in ((some, parts["y"]), (parts, some["y"]), (some.reset_index(drop=True), parts["y"])):
        with pytest.raises(ValueError, match=r"partition 0 has \d+ rows of X and \d+ of y; cut both alike"):
            clone(fitted).fit(rows[["a", "b"]], y)
        with pytest.raises(ValueError, match=r"a partition has \d+ rows of X and \d+ of y; cut both alike"):
            fitted.score(rows[["a", "b"]].to_dask_array(), y)


def test_a_worker_without_dsekl_is_named(client: Client) -> None:
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
    bare = subprocess.Popen([sys.executable, "-c", WITHOUT_DSEKL, client.scheduler.address, *options])
    try:
        client.wait_for_workers(3, timeout=60)
        with pytest.raises(RuntimeError, match=r"cannot import dsekl .*; install dsekl"):
            DaskDSEKLClassifier(**SETTINGS).fit(ROWS, UP)
    finally:
        bare.kill()
        bare.wait()
    while len(client.scheduler_info()["workers"]) > 2:
        time.sleep(0.1)


def test_chunks_that_are_not_cut_alike_are_cut_anew(client: Client, fitted: DaskDSEKLClassifier) -> None:
    weights = da.ones(len(X), chunks=350)
    same_bits(fitted, clone(fitted).fit(ROWS, UP.rechunk(700), sample_weight=weights))


def test_columns_of_objects_that_are_no_values_are_named(client: Client, fitted: DaskDSEKLClassifier) -> None:
    frame = pd.DataFrame(X[:600], columns=["a", "b"]).assign(y=LABELS[:600])
    frame["tags"] = [[k] for k in range(600)]
    with dask.config.set({"dataframe.convert-string": False}):
        parts = dd.from_pandas(frame, npartitions=3)
        with pytest.raises(ValueError, match=r"tags"):
            clone(fitted).fit(parts[["a", "b", "tags"]], parts["y"])
    numbers = parts.assign(b=parts["b"].astype(object))[["a", "b"]]
    assert clone(fitted).fit(numbers, parts["y"]).score(numbers, parts["y"]) > 0.8
