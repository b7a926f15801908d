"""How much memory a fit takes where rows are more than memory, and how much its rounds send."""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import distributed_rows as rows_of
import numpy as np
import pandas as pd
from distributed import Client
from distributed_rows import FIXED, Cell
from report import load, memory

NARROW: dict[str, Any] = {**FIXED, "gamma": 1_000.0, "memory_budget": 64}
"""More rows in as little space have a narrower kernel."""

TIMES = 3
"""Times that each column is there, with noise of its own, so that rows are large."""

PART_ROWS = 15_000
"""Rows of a part, on average: building one takes several times its memory."""

USUAL_ROWS = 2_000_000
"""Rows that are more than two workers and the client hold: 2.6 GB as float64."""

NOISE = 0.01
PARQUET_ROWS = 25_000
TEST_ROWS = 50_000
MNIST_ROWS = 10_000
"""Rows of MNIST, whose kernel values are all made in every round."""


class Peaks(threading.Thread):
    """Looks at the memory of processes, also of workers that end and are started again."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.client, self.found, self.over = client, dict[int, float](), threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.2):
            for pid in rows_of.pids(self.client):
                try:
                    self.found[pid] = max(self.found.get(pid, 0.0), _peak(pid))
                except (OSError, KeyError):
                    continue  # it has ended


def _peak(pid: int) -> float:
    """Return the most memory that a process has had, in megabytes (Linux)."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def measure_memory(options: argparse.Namespace) -> None:
    """Fit and predict rows in parquet that are more than the memory of all workers and of the client."""
    n_rows = options.rows or USUAL_ROWS

    def cell() -> Cell:
        with tempfile.TemporaryDirectory() as folder:
            # In a process of its own, whose memory is not the client's.
            writer = multiprocessing.get_context("spawn").Process(target=write_rows, args=(folder, n_rows))
            writer.start()
            writer.join()
            with rows_of.workers(2, memory_limit=f"{options.limit}MB", local_directory=folder) as client:
                peaks = Peaks(client)
                peaks.start()
                X, y = _columns(dd.read_parquet(Path(folder) / "training"))
                model, seconds = rows_of.fitted(client, (X, y), **NARROW, n_parts=-(-n_rows // PART_ROWS))
                training_error = 1 - model.score(X, y)  # all of them are predicted
                error = 1 - model.score(*_columns(dd.read_parquet(Path(folder) / "test")))
                peaks.over.set()
                peaks.join()
            n_features, last = len(X.columns), model.history_[-1]
        return {"rows": n_rows, "columns": n_features, "gigabytes": 8 * n_rows * n_features / 1e9,
                "limit": options.limit, "peaks": sorted(peaks.found.values()), "client": memory("VmHWM"),
                "training_error": training_error, "error": error, "seconds": seconds,
                "rounds": model.n_iter_, "gap": last["gap"], "terms": len(model.support_),
                "halo": last["halo_ratio"]}  # fmt: skip

    rows_of.kept("memory", "parquet", cell, options.again)


def _columns(frame: Any) -> tuple[Any, Any]:
    return frame.drop(columns="y"), frame["y"]


def write_rows(folder: str, n_rows: int) -> None:
    """Write rows drawn from covertype, with noise in columns of numbers; test rows are drawn from others."""
    X, y, X_test, y_test = rows_of.covertype(None)
    for name, n, source, labels in (("training", n_rows, X, y), ("test", TEST_ROWS, X_test, y_test)):
        (Path(folder) / name).mkdir()
        for number in range(-(-n // PARQUET_ROWS)):
            rng = np.random.default_rng([number, n])
            drawn = rng.integers(0, len(source), min(PARQUET_ROWS, n - number * PARQUET_ROWS))
            rows = np.tile(source[drawn].astype(np.float64), TIMES)
            numbers = np.arange(rows.shape[1]) % source.shape[1] < 10
            rows[:, numbers] += rng.normal(scale=NOISE, size=(len(rows), np.count_nonzero(numbers)))
            frame = pd.DataFrame(rows, columns=[f"x{k}" for k in range(rows.shape[1])]).assign(y=labels[drawn])
            frame.to_parquet(Path(folder) / name / f"{number:04d}.parquet")


def measure_traffic(options: argparse.Namespace) -> None:
    """Rounds, copies and bytes a round for several numbers of parts."""

    def cell(data: Callable[[], tuple[Any, Any]], settings: dict[str, Any], n_parts: int) -> Cell:
        rows = data()
        with rows_of.workers(2) as client:
            sent: list[int] = []
            listen = [lambda report: sent.append(sum(client.run(_sent).values()))]
            given = {**settings, "n_parts": n_parts, "callbacks": listen}
            model, _ = rows_of.fitted(client, rows_of.collections(*rows), **given)
        received, last = [record["received"] for record in model.history_], model.history_[-1]
        return {"rows": len(rows[1]), "columns": rows[0].shape[1], "rounds": model.n_iter_,
                "halo": last["halo_ratio"], "wide": bool(last["wide"]), "received": float(np.mean(received)),
                "most": float(max(received)), "sent": (sent[-1] - sent[0]) / max(1, len(sent) - 1),
                "values": last["kernel_evaluations"], "gap": last["gap"]}  # fmt: skip

    def digits() -> tuple[Any, Any]:
        X, y = load("mnist")
        return X[:MNIST_ROWS].astype(np.float32) / 255, (y[:MNIST_ROWS] == 8).astype(np.int8)

    covertype = lambda: rows_of.covertype(options.rows)[:2]  # noqa: E731
    wide = dict(gamma=0.02, C=4.0, kernel="rbf", loss="hinge")
    for name, data, settings in [("covertype", covertype, FIXED), ("MNIST, 8", digits, wide)]:
        for n_parts in (2, 8, 32):
            make = lambda d=data, s=settings, n=n_parts: cell(d, s, n)  # noqa: E731
            rows_of.kept("traffic", f"{name}, {n_parts}", make, options.again)


def _sent(dask_worker: Any) -> int:
    """Return the bytes that a worker has sent to other workers and to the client."""
    return int(dask_worker.transfer_outgoing_bytes_total)
