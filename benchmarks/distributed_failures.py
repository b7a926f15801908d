"""Workers and a scheduler that are killed in the middle of a fit: does it end, and with which bits?"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import distributed_rows as rows_of
import numpy as np
from distributed import Client
from distributed_rows import FIXED, Cell

from dsekl.dask import DaskDSEKLClassifier

TOL = 1e-3
"""A goal of some tens of rounds, so that there is time to kill."""


class Killer(threading.Thread):
    """Kills random workers at random moments, and restarts all of them once, until it is told that all is over."""

    def __init__(self, client: Client, kills: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.client, self.most, self.seconds = client, kills, seconds
        self.kills = self.restarts = 0
        self.over, self.rng = threading.Event(), np.random.default_rng(0)

    def run(self) -> None:
        while self.kills < self.most and not self.over.wait(self.rng.uniform(0.05, 0.4) * self.seconds):
            if self.kills >= self.most // 2 and not self.restarts:
                self.client.restart(wait_for_workers=False)
                self.restarts = 1
                continue
            alive = rows_of.pids(self.client)
            if alive:
                with suppress(ProcessLookupError):
                    os.kill(int(self.rng.choice(alive)), signal.SIGKILL)
                    self.kills += 1


def measure_kills(options: argparse.Namespace) -> None:
    """Kill random workers at random moments, restart all once, and compare with a fit in peace."""

    def cell() -> Cell:
        X, y, *_ = rows_of.covertype(options.rows or 100_000)
        with rows_of.workers(2) as client:
            rows = rows_of.collections(X, y)
            rows_of.persisted(X[:9_000], y[:9_000])
            peace, seconds = rows_of.fitted(client, rows, **FIXED, tol=TOL)
            killer = Killer(client, options.kills, seconds)
            killer.start()
            started, n_fits, same = perf_counter(), 0, True
            while same and (killer.is_alive() or not n_fits):
                model, _ = rows_of.fitted(client, rows, **FIXED, tol=TOL)
                n_fits += 1
                same = rows_of.same_bits(model, peace)
                print(f"   fit {n_fits} with {killer.kills} kills so far: {same}", flush=True)
            killer.over.set()
            killer.join()
        return {"kills": killer.kills, "restarts": killer.restarts, "fits": n_fits, "in_peace": seconds,
                "seconds": perf_counter() - started, "same": bool(same), "rounds": peace.n_iter_,
                "rows": len(X)}  # fmt: skip

    rows_of.kept("kills", "kills", cell, options.again)


HOST = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(3600)
"""


def measure_scheduler(options: argparse.Namespace) -> None:
    """Kill the scheduler in the middle of a fit, resume on another cluster, and compare with a fit in peace."""

    def cell() -> Cell:
        X, y, *_ = rows_of.covertype(options.rows or 100_000)
        rows = rows_of.collections(X, y)
        with rows_of.workers(2) as client:
            peace, _ = rows_of.fitted(client, rows, **FIXED, tol=TOL)
        last = int(peace.n_iter_ * 0.6)
        with tempfile.TemporaryDirectory() as folder:
            settings = {**FIXED, "tol": TOL, "checkpoint": Path(folder) / "c.dsekl", "checkpoint_interval": 0}
            words = _until_the_scheduler_dies(Path(folder), rows, settings, last)
            with rows_of.workers(2) as client:
                told: list[int] = []
                settings["callbacks"] = [lambda report: told.append(report.record["epoch"])]
                resumed, _ = rows_of.fitted(client, rows, **settings)
        return {"rounds": peace.n_iter_, "killed": last, "first": min(told), "said": words, "rows": len(X),
                "same": rows_of.same_bits(peace, resumed)}  # fmt: skip

    rows_of.kept("scheduler", "scheduler", cell, options.again)


def _until_the_scheduler_dies(folder: Path, rows: Any, settings: dict[str, Any], last: int) -> str:
    """Fit on a cluster whose scheduler is killed after a round; return what the fit says of it."""
    script = folder / "host.py"
    script.write_text(HOST)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None

        def kill(report: Any) -> None:
            if report.record["epoch"] == last:
                host.kill()

        try:
            with Client(host.stdout.readline().strip(), timeout="5s", set_as_default=False) as doomed:
                model = DaskDSEKLClassifier(**settings, client=doomed, random_state=0, verbose=False, callbacks=[kill])
                model.fit(*rows)
        except RuntimeError as error:
            return str(error)
        finally:
            host.kill()
    return "nothing"


def when_killed(client: Client, model: Any, rows: list[Any], after: float, patience: float) -> str:
    """Kill a worker some seconds after a fit has begun; return what becomes of the fit."""
    done: list[str] = []

    def fit() -> None:
        try:
            model.fit(*rows)
            done.append("ends with a model")
        except Exception as error:
            done.append(f"ends with {type(error).__name__}")

    fitting = threading.Thread(target=fit, daemon=True)
    fitting.start()
    fitting.join(after)
    os.kill(rows_of.pids(client)[0], signal.SIGKILL)
    fitting.join(patience)
    return done[0] if done else "still waits"
