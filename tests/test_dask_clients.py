"""Clients and clusters that are unusual but legal, and rows in unusual collections: each works or is named."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import dask.dataframe as dd
import pandas as pd
import scipy.sparse as sp
from distributed import Client, LocalCluster, worker_client

from dsekl import DSEKLClassifier
from dsekl.dask import DaskDSEKLClassifier, clients
from tests.on_dask import LABELS, ROWS, SETTINGS, UP, C, X, encoded_table, same_bits


def test_an_asynchronous_client_is_named() -> None:
    async def fit() -> None:
        async with (
            LocalCluster(n_workers=1, processes=False, asynchronous=True, dashboard_address=":0") as workers,
            Client(workers, asynchronous=True, set_as_default=False) as client,
        ):
            DaskDSEKLClassifier(**SETTINGS, client=client).fit(ROWS, UP)

    with pytest.raises(ValueError, match=r"client is asynchronous, and fit waits for its tasks; give Client"):
        asyncio.run(fit())


def test_a_client_may_be_an_address(client: Client, fitted: DaskDSEKLClassifier) -> None:
    model = clone(fitted).set_params(client=client.scheduler.address).fit(ROWS, UP)
    same_bits(fitted, model)
    assert (model.predict(ROWS).compute() == fitted.predict(ROWS).compute()).all()
    assert model.to_local().score(X, LABELS) == model.score(ROWS, UP)
    assert clients.client_of(client.scheduler.address.removeprefix("tcp://")) is client
    with Client(client.scheduler.address, set_as_default=True):  # another one of the same scheduler
        assert clients.client_of("tcp://" + client.scheduler.address.removeprefix("tcp://")) is not client


def test_fits_inside_tasks_leave_the_threads_to_their_own_tasks(client: Client, fitted: DaskDSEKLClassifier) -> None:
    """As many as there are threads: each would wait for tasks that wait behind it."""

    def fit(C: float) -> DSEKLClassifier:
        model = DaskDSEKLClassifier(**{**SETTINGS, "C": C}).fit(ROWS, UP)
        model.score(ROWS, UP)
        with worker_client():  # whoever has given the thread back already
            return clone(model).fit(ROWS, UP).to_local()

    assert sum(client.nthreads().values()) == 2
    inside = client.gather(client.map(fit, [C, 2 * C]))
    np.testing.assert_array_equal(inside[0].dual_coef_, fitted.dual_coef_)


def test_a_client_that_is_closed_is_named() -> None:
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as workers:
        closed = Client(workers, set_as_default=False)
        closed.close()
        with pytest.raises(ValueError, match=r"client is closed; give one that is connected"):
            DaskDSEKLClassifier(**SETTINGS, client=closed).fit(ROWS, UP)


def test_threads_alone_are_a_cluster(fitted: DaskDSEKLClassifier) -> None:
    with (
        LocalCluster(n_workers=1, threads_per_worker=4, processes=False, dashboard_address=":0") as workers,
        Client(workers, set_as_default=False) as threads,
    ):
        same_bits(fitted, clone(fitted).set_params(client=threads).fit(ROWS, UP))


def test_an_adaptive_cluster_starts_its_first_worker_when_there_is_work(fitted: DaskDSEKLClassifier) -> None:
    with (
        LocalCluster(n_workers=0, threads_per_worker=1, processes=False, dashboard_address=":0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        workers.adapt(minimum=0, maximum=2, interval="50ms")
        same_bits(fitted, clone(fitted).set_params(client=client).fit(ROWS, UP))


def test_columns_may_be_in_chunks_too(client: Client, fitted: DaskDSEKLClassifier) -> None:
    same_bits(fitted, clone(fitted).fit(ROWS.rechunk((600, 1)), UP))
    assert (fitted.predict(ROWS.rechunk((600, 1))) == fitted.predict(ROWS)).all().compute()


def test_an_index_says_nothing_of_the_order(client: Client, fitted: DaskDSEKLClassifier) -> None:
    """It may repeat itself, and divisions may be unknown."""
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(len(X)) % 7).assign(y=LABELS)
    parts = dd.from_map(lambda k: frame[600 * k : 600 * (k + 1)], range(4), meta=frame[:0])
    model = clone(fitted).fit(parts[["a", "b"]], parts["y"])
    same_bits(fitted, model)
    assert (model.predict(parts[["a", "b"]]).compute() == fitted.predict(ROWS).compute()).all()


@pytest.mark.parametrize("kind", ["array", "frame", "list"])
def test_rows_in_memory_are_cut_into_blocks(client: Client, fitted: DaskDSEKLClassifier, kind: str) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(len(X)) % 7)
    given: Any = {"array": X, "frame": frame, "list": X.tolist()}[kind]
    y: Any = {"array": LABELS, "frame": pd.Series(LABELS, index=frame.index), "list": LABELS.tolist()}[kind]
    model = clone(fitted).fit(given, y)
    assert (model.predict(ROWS).compute() == fitted.predict(ROWS).compute()).mean() > 0.99
    assert model.score(given, y) == pytest.approx(fitted.score(ROWS, UP), abs=0.01)


def test_a_frame_in_memory_may_hold_texts(client: Client) -> None:
    frame = encoded_table()
    rows, y = frame.drop(columns="up"), frame["up"]
    model = DaskDSEKLClassifier(gamma=3.0, C=C, random_state=0, n_parts=2, verbose=False).fit(rows, y)
    assert model.feature_names_in_.tolist() == list(rows)
    assert (model.predict(rows).compute() == y).mean() == model.score(rows, y) > 0.9


def test_sparse_blocks_are_named(client: Client, fitted: DaskDSEKLClassifier) -> None:
    sparse = ROWS.map_blocks(sp.csr_matrix, dtype=np.float64)
    with pytest.raises(ValueError, match=r"partition 0: .*sparse.*toarray"):
        clone(fitted).fit(sparse, UP)
    with pytest.raises(ValueError, match=r"sparse.*toarray"):
        fitted.predict(sparse).compute()
    with pytest.raises(ValueError, match=r"X is a sparse .*toarray"):
        clone(fitted).fit(sp.csr_matrix(X), LABELS)


def test_a_grid_search_takes_an_estimator_on_dask(client: Client, fitted: DaskDSEKLClassifier) -> None:
    search = GridSearchCV(clone(fitted), {"gamma": [1e7, 200.0]}, cv=2, error_score="raise").fit(X, LABELS)
    assert search.best_params_ == {"gamma": 200.0}
    assert search.score(X, LABELS) > 0.9


def test_a_client_is_no_part_of_a_pickle(client: Client) -> None:
    with pytest.raises(TypeError, match=r"client is a connection.* give the address of its scheduler"):
        pickle.dumps(DaskDSEKLClassifier(client=client))
    there = pickle.loads(pickle.dumps(DaskDSEKLClassifier(client="host:8786")))
    assert there.client == "host:8786"
