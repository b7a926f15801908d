"""Workers and schedulers that die, stop, join and leave: the same bits, or an error that says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("distributed", reason="dask is not installed: pip install 'dsekl[dask]'")

import dask
import dask.array as da
from distributed import Client, LocalCluster

from dsekl.dask import DaskDSEKLClassifier, cluster
from tests.on_dask import FINE, ROWS, SETTINGS, UP, X, same_bits

HOST = """
import time
from distributed import LocalCluster
one = dict(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0")
with LocalCluster(**one) as cluster:
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def fragile() -> Iterator[Client]:
    """Workers that are killed, and that their cluster starts again however long that takes."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


def test_workers_that_are_killed_change_no_bit(fragile: Client, fitted: DaskDSEKLClassifier) -> None:
    """The fit to compare with is of workers that are threads."""
    killed, over = 0, threading.Event()
    rng = np.random.default_rng(0)

    def kill() -> None:
        nonlocal killed
        while killed < 2 and not over.wait(rng.uniform(0.3, 0.8)):
            pids = [worker["pid"] for worker in fragile.run(_about, on_error="ignore").values()]
            if pids:
                os.kill(int(rng.choice(pids)), signal.SIGKILL)
                killed += 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(10):
            again = clone(fitted).set_params(client=fragile).fit(ROWS, UP)
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


def test_a_restart_of_all_workers_changes_no_bit(fragile: Client, fitted: DaskDSEKLClassifier) -> None:
    again = clone(fitted).set_params(client=fragile)
    lost = clone(again).set_params(tol=0.9).fit(ROWS, UP)
    done: list[Any] = []
    before = set(fragile.who_has())
    fit = threading.Thread(target=lambda: done.append(again.fit(ROWS, UP)))
    fit.start()
    while not any("ascend" in str(key) for key in set(fragile.who_has()) - before):
        time.sleep(0.02)
    fragile.restart(wait_for_workers=False)
    fit.join(240)
    assert done
    same_bits(fitted, again)
    with pytest.raises(RuntimeError, match=r"the cluster has lost the terms of this model"):
        lost.predict(ROWS)


def test_a_fit_goes_on_from_its_checkpoint_on_another_cluster(
    client: Client, fine: DaskDSEKLClassifier, tmp_path: Path
) -> None:
    settings = {**FINE, "checkpoint": tmp_path / "c.dsekl", "checkpoint_interval": 0}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as other,
        pytest.warns(match="not converged"),
    ):
        DaskDSEKLClassifier(**settings, max_epochs=8, client=other.get_client()).fit(ROWS, UP)
    assert fine.n_iter_ > 8
    with pytest.raises(ValueError, match=r"unfinished run that differs in sample_weight"):
        DaskDSEKLClassifier(**settings, client=client).fit(ROWS, UP, da.full(len(X), 2.0, chunks=600))
    same_bits(fine, DaskDSEKLClassifier(**settings, client=client).fit(ROWS, UP))


def test_a_scheduler_that_is_killed_costs_nothing_that_a_checkpoint_has(
    client: Client, fine: DaskDSEKLClassifier, tmp_path: Path
) -> None:
    path = tmp_path / "c.dsekl"
    settings = {**FINE, "checkpoint": path, "checkpoint_interval": 0}
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None

        def kill(report: Any) -> None:
            if report.record["epoch"] == 7:
                host.kill()

        try:
            with Client(host.stdout.readline().strip(), timeout="2s", set_as_default=False) as doomed:
                model = DaskDSEKLClassifier(**settings, client=doomed, callbacks=[kill])
                with pytest.raises(RuntimeError, match=r"its scheduler has gone. Connect to another"):
                    model.fit(ROWS, UP)
        finally:
            host.kill()
    assert path.exists()
    resumed = DaskDSEKLClassifier(**settings, client=client).fit(ROWS, UP)
    same_bits(fine, resumed)


async def _give_up(address: str, dask_scheduler: Any) -> None:
    """Do as the scheduler does with a worker that it has not heard of for longer than ``worker-ttl``."""
    dask_scheduler.workers[address].last_seen = 0.0
    await dask_scheduler.check_worker_ttl()


def test_a_worker_that_stops_answering_is_done_without(fine: DaskDSEKLClassifier, fragile: Client) -> None:
    given_up: list[threading.Thread] = []

    def stop(report: Any) -> None:
        if report.record["epoch"] == 4:
            address, about = next(iter(fragile.run(_about).items()))
            os.kill(about["pid"], signal.SIGSTOP)  # for good: its nanny kills it, and starts another one
            given_up.append(threading.Thread(target=fragile.run_on_scheduler, args=(_give_up, address)))
            given_up[0].start()

    found = DaskDSEKLClassifier(**FINE, client=fragile, callbacks=[stop]).fit(ROWS, UP)
    (thread,) = given_up
    thread.join()
    same_bits(fine, found)


def test_workers_that_join_and_leave_change_no_bit(fine: DaskDSEKLClassifier, fragile: Client) -> None:
    def move(report: Any) -> None:
        if report.record["epoch"] == 3:
            fragile.cluster.scale(3)
        if report.record["epoch"] == 5:
            fragile.cluster.scale(1)

    same_bits(fine, DaskDSEKLClassifier(**FINE, client=fragile, callbacks=[move]).fit(ROWS, UP))


def _end_of_memory(block: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)  # as the system does where memory is at its end


def test_a_task_that_no_worker_survives_is_named(fragile: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "RETRIES", 1)
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 20.0)
    monkeypatch.setattr(cluster, "SECONDS_A_LOOK", 0.5)
    monkeypatch.setattr(fragile.cluster.scheduler, "allowed_failures", 0)
    rows = da.from_array(X, chunks=X.shape).map_blocks(_end_of_memory, meta=X[:0])
    # Dask now and then loses track of what it was asked to try again; the fit then gives up by its patience.
    with pytest.raises(RuntimeError, match=r"has ended (2 times|once) with the workers that ran it .*memory_budget"):
        DaskDSEKLClassifier(**SETTINGS, client=fragile).fit(rows, UP.rechunk(len(X)))


def test_a_task_that_ends_the_last_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(cluster, "SECONDS_A_LOOK", 0.1)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        Client(empty, set_as_default=False) as alone,
    ):
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        with subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", alone.scheduler.address, *options]
        ) as only:
            try:
                alone.wait_for_workers(1, timeout=60)
                executor = cluster.DaskExecutor(alone)
                with pytest.raises(RuntimeError, match=r"has ended once with the workers that ran it .*memory_budget"):
                    executor.gather([executor.submit("end", os._exit, 1)])
            finally:
                only.kill()
        with pytest.raises(RuntimeError, match=r"no worker has been connected to tcp.* for 0 seconds; start workers"):
            executor.gather([executor.submit("none", abs, 0)])


def test_workers_that_are_all_paused_for_want_of_memory_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(cluster, "SECONDS_A_LOOK", 0.1)
    small = dict(n_workers=1, processes=False, memory_limit="50MB", dashboard_address=":0")
    with (
        LocalCluster(**small) as full,
        Client(full, set_as_default=False) as client,
        pytest.raises(RuntimeError, match=r"all workers \(1\) have been paused .* more memory than 50 MB"),
    ):
        DaskDSEKLClassifier(**SETTINGS, client=client).fit(ROWS, UP)
