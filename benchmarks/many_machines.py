"""Kernel machines on Dask, on clusters of processes on this machine. Each section is a command of its own.

DSEKL_DATA=... python benchmarks/many_machines.py covertype [--rows 581012] [--defaults]
DSEKL_DATA=... python benchmarks/many_machines.py workers [--rows 100000]
DSEKL_DATA=... python benchmarks/many_machines.py kills [--rows 100000] [--kills 20]
DSEKL_DATA=... python benchmarks/many_machines.py memory [--gigabytes 4] [--limit 1500]
DSEKL_DATA=... python benchmarks/many_machines.py traffic [--rows 581012]
DSEKL_DATA=... python benchmarks/many_machines.py lightgbm [--rows 581012]
DSEKL_DATA=... python benchmarks/many_machines.py paper [--rows 20000]

Nothing is chosen on test rows. --publish puts a section into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.append(sys.path.pop(0))  # or this file would be Dask's package of the same name

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from report import publish, table

from dsekl import DSEKLClassifier
from dsekl.dask import DaskDSEKLClassifier

CHUNK = 50_000
FIXED: dict[str, Any] = dict(gamma=100.0, C=4.0, kernel="rbf", loss="hinge")
"""The settings of benchmarks/exact.py for covertype's columns between 0 and 1."""


@contextmanager
def workers(n: int, **settings: Any) -> Iterator[Client]:
    """Start processes with one thread each."""
    cluster = LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=":0", **settings)
    with cluster, Client(cluster) as client:
        yield client


def covertype(n_rows: int | None) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows, columns between 0 and 1, class 2 against the rest; a tenth is for the test."""
    with np.load(Path(os.environ["DSEKL_DATA"]) / "covertype.npz") as file:
        X, y = file["X"].astype(np.float32), (file["y"] == 2).astype(np.int8)
    order = np.random.default_rng(0).permutation(len(X))[:n_rows]
    X, y = X[order], y[order]
    test = len(X) // 10
    low, high = X[test:].min(axis=0), X[test:].max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1)
    return X[test:], y[test:], X[:test], y[:test]


def collections(X: Any, y: Any) -> tuple[da.Array, da.Array]:
    return da.from_array(X, chunks=(CHUNK, X.shape[1])), da.from_array(y, chunks=CHUNK)


def covertype_against_one_machine(options: argparse.Namespace) -> str:
    """Time and error of two workers against two threads."""
    X, y, X_test, y_test = covertype(options.rows)
    lines = []
    for name, settings in [("fixed", FIXED), *([("defaults", {})] if options.defaults else [])]:
        started = perf_counter()
        local = DSEKLClassifier(**settings, random_state=0, n_jobs=2, verbose=False).fit(X, y)
        seconds = perf_counter() - started
        lines.append([name, "two threads", f"{seconds:.1f}", local.n_iter_, *_figures(local, X_test, y_test), ""])
        with workers(2) as client:
            rows = [part.persist() for part in collections(X, y)]
            DaskDSEKLClassifier(**FIXED, random_state=0, verbose=False).fit(
                rows[0][:9_000], rows[1][:9_000]
            )  # compiles
            started = perf_counter()
            model = DaskDSEKLClassifier(**settings, client=client, random_state=0, verbose=False).fit(*rows)
            spent = perf_counter() - started
            figures = _figures(model.to_local(), X_test, y_test)
            lines.append([name, "two workers", f"{spent:.1f}", model.n_iter_, *figures, f"{spent / seconds:.2f}"])
    return table(["settings", "who", "seconds", "epochs or rounds", "gap", "test error", "over local"], lines)


def _figures(model: DSEKLClassifier, X: Any, y: Any) -> list[str]:
    return [f"{model.history_[-1]['gap']:.4f}", f"{1 - model.score(X, y):.4f}"]


def same_bits(options: argparse.Namespace) -> str:
    """Fit on 1, 2 and 4 workers and compare coefficients."""
    X, y, *_ = covertype(options.rows)
    models, lines = [], []
    for n in (1, 2, 4):
        with workers(n) as client:
            model = DaskDSEKLClassifier(**FIXED, client=client, random_state=0, verbose=False).fit(*collections(X, y))
            models.append((model.support_, model.dual_coef_))
        same = all(np.array_equal(a, b) for a, b in zip(models[0], models[-1], strict=True))
        lines.append([n, model.n_iter_, len(model.support_), "yes" if same else "no"])
    return table(["workers", "rounds", "terms", "the bits of one worker"], lines)


def kills(options: argparse.Namespace) -> str:
    """Kill random workers at random moments, restart all once, and compare with a fit in peace."""
    X, y, *_ = covertype(options.rows)
    rng, over, killed, restarts = np.random.default_rng(0), threading.Event(), 0, 0
    with workers(2) as client:
        rows = collections(X, y)
        peace = DaskDSEKLClassifier(**FIXED, client=client, random_state=0, verbose=False, tol=1e-3).fit(*rows)

        def kill() -> None:
            nonlocal killed, restarts
            while killed < options.kills and not over.wait(rng.uniform(0.5, 4.0)):
                if killed == options.kills // 2 and not restarts:
                    client.restart(wait_for_workers=False)
                    restarts = 1
                    continue
                pids = list(client.run(os.getpid, on_error="ignore").values())
                if pids:
                    os.kill(int(rng.choice(pids)), signal.SIGKILL)
                    killed += 1

        killer = threading.Thread(target=kill)
        killer.start()
        n_fits = 0
        started = perf_counter()
        while True:
            model = DaskDSEKLClassifier(**FIXED, client=client, random_state=0, verbose=False, tol=1e-3).fit(*rows)
            n_fits += 1
            same = np.array_equal(model.dual_coef_, peace.dual_coef_)
            if killed >= options.kills or not same:
                break
        over.set()
        killer.join()
    line = [killed, restarts, n_fits, f"{perf_counter() - started:.0f}", "yes" if same else "no"]
    return table(["SIGKILLs", "restarts of all", "fits", "seconds", "the bits of a fit in peace"], [line])


def memory(options: argparse.Namespace) -> str:
    """Fit and predict rows in parquet that are larger than the memory of all workers."""
    n_features, part = 50, 100_000
    n_parts = int(options.gigabytes * 2**30 / (8 * n_features * part)) or 1
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n_parts):
            rng = np.random.default_rng(number)
            X = rng.uniform(size=(part, n_features))
            frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(n_features)])
            frame["y"] = (np.sin(6 * X[:, 0]) * np.cos(5 * X[:, 1]) > 0).astype(np.int8)
            frame.to_parquet(Path(folder) / f"{number:04d}.parquet")
        with workers(2, memory_limit=f"{options.limit}MB") as client:
            frame = dd.read_parquet(folder)
            X, y = frame.drop(columns="y"), frame["y"]
            gamma = np.where(np.arange(n_features) < 2, 200.0, 1e-6)
            settings = {**FIXED, "gamma": gamma}
            model = DaskDSEKLClassifier(**settings, client=client, random_state=0, verbose=False).fit(X, y)
            score = model.score(X, y)
            peaks = client.run(_peak)
            line = [
                f"{n_parts * part:,} x {n_features}", f"{options.gigabytes:g}", 2, options.limit,
                " and ".join(f"{peak:.0f}" for peak in peaks.values()), f"{_peak():.0f}", f"{score:.4f}",
            ]  # fmt: skip
    header = ["rows", "GB as float64", "workers", "limit of each, MB", "their peaks, MB", "client's, MB", "accuracy"]
    return table(header, [line])


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def traffic(options: argparse.Namespace) -> str:
    """Rounds, copies and bytes a round for several numbers of parts."""
    X, y, *_ = covertype(options.rows)
    with np.load(Path(os.environ["DSEKL_DATA"]) / "mnist.npz") as file:
        digits = file["X"][: options.rows].astype(np.float32) / 255, (file["y"][: options.rows] == 8).astype(np.int8)
    lines = []
    with workers(2) as client:
        for name, rows, settings in (("covertype", (X, y), FIXED), ("MNIST, 8", digits, dict(gamma=0.02, C=4.0))):
            for n_parts in (2, 8, 32):
                model = DaskDSEKLClassifier(
                    **settings, client=client, random_state=0, verbose=False, n_parts=n_parts
                ).fit(*collections(*rows))
                received = [record["received"] for record in model.history_]
                last = model.history_[-1]
                lines.append(
                    [
                        name,
                        n_parts,
                        model.n_iter_,
                        f"{last['halo_ratio']:.2f}",
                        "yes" if last["wide"] else "no",
                        f"{np.mean(received) / 2 / 1e6:.2f}",
                        f"{max(received) / 2 / 1e6:.2f}",
                        f"{last['kernel_evaluations']:.3g}",
                    ]
                )
    header = ["data", "parts", "rounds", "copies of a row", "wide", "MB a round and worker", "most", "kernel values"]
    return table(header, lines)


def lightgbm(options: argparse.Namespace) -> str:
    """LightGBM's own Dask estimator on the same cluster: time, error, and a killed worker."""
    from lightgbm import DaskLGBMClassifier

    X, y, X_test, y_test = covertype(options.rows)
    lines = []
    with workers(2) as client:
        rows = [part.persist() for part in collections(X, y)]
        for name, model in (
            ("dsekl", DaskDSEKLClassifier(client=client, random_state=0, verbose=False)),
            ("LightGBM", DaskLGBMClassifier(client=client, random_state=0, verbose=-1)),
        ):
            started = perf_counter()
            model.fit(*rows)
            seconds = perf_counter() - started
            error = float((model.predict(collections(X_test, y_test)[0]).compute() != y_test).mean())
            lines.append([name, f"{seconds:.1f}", f"{error:.4f}", _when_killed(client, model, rows, options.patience)])
    return table(["who", "seconds", "test error", "a worker killed in the fit"], lines)


def _when_killed(client: Client, model: Any, rows: list[Any], patience: float) -> str:
    done: list[str] = []

    def fit() -> None:
        try:
            model.fit(*rows)
            done.append("ends with a model")
        except Exception as error:
            done.append(f"{type(error).__name__}")

    fitting = threading.Thread(target=fit, daemon=True)
    fitting.start()
    fitting.join(3.0)
    pids = list(client.run(os.getpid, on_error="ignore").values())
    os.kill(pids[0], signal.SIGKILL)
    fitting.join(patience)
    return done[0] if done else f"still waiting after {patience:.0f} s"


def paper(options: argparse.Namespace) -> str:
    """The paper's last paragraph: Algorithm 2 with a global model after every batch, after many, and dual ascent."""
    X, y, X_test, y_test = covertype(options.rows)
    lines = []
    with workers(2) as client:
        for name, local_batches in (("naive: after every batch", 1), ("local updates: after 50", 50)):
            coef, sent, seconds = _algorithm_2(client, X, y, local_batches, n_batches=options.batches)
            error = float((np.sign(_f(X_test, X, coef)) != np.where(y_test == 1, 1, -1)).mean())
            lines.append([name, f"{sent / 1e6:.2f}", f"{seconds:.1f}", f"{error:.4f}"])
        started = perf_counter()
        model = DaskDSEKLClassifier(**FIXED, client=client, random_state=0, verbose=False, n_parts=2)
        model.fit(*collections(X, y))
        sent = sum(record["received"] for record in model.history_)
        error = 1 - model.to_local().score(X_test, y_test)
        lines.append(["dual ascent in parts", f"{sent / 1e6:.2f}", f"{perf_counter() - started:.1f}", f"{error:.4f}"])
    return table(["a global model", "MB between workers and model", "seconds", "test error"], lines)


def _f(X: Any, centres: Any, coef: Any) -> Any:
    from sklearn.metrics.pairwise import rbf_kernel

    return np.concatenate([rbf_kernel(part, centres, FIXED["gamma"]) @ coef for part in np.array_split(X, 50)])


def _algorithm_2(client: Client, X: Any, y: Any, local_batches: int, n_batches: int) -> tuple[Any, int, float]:
    """Run the paper's updates on two workers that hold all rows each: the redundant distribution."""
    data, started = client.scatter((X, np.where(y == 1, 1.0, -1.0)), broadcast=True), perf_counter()
    coef, squares, sent = np.zeros(len(X)), np.ones(len(X)), 0
    for turn in range(n_batches // local_batches):
        asked = [
            client.submit(_local_updates, data, coef, squares, local_batches, (turn, k), pure=False) for k in range(2)
        ]
        for places, change, gradients in client.gather(asked):
            # Only what has changed travels; two workers may have moved the same coefficient.
            np.add.at(coef, places, change)
            np.add.at(squares, places, gradients)
            sent += 2 * (places.nbytes + change.nbytes)
    return coef, sent, perf_counter() - started


def _local_updates(data: Any, coef: Any, squares: Any, n_batches: int, seed: tuple[int, int]) -> Any:
    """Return what some batches of the paper's steps change: hinge loss, AdaGrad steps, random rows and centres."""
    from sklearn.metrics.pairwise import rbf_kernel

    X, y = data
    rng, own, own_squares, size = np.random.default_rng(seed), coef.copy(), squares.copy(), 1_000
    for _ in range(n_batches):
        rows, cols = rng.choice(len(X), size, replace=False), rng.choice(len(X), size, replace=False)
        K = rbf_kernel(X[rows], X[cols], FIXED["gamma"])
        lose = y[rows] * (K @ own[cols]) < 1
        gradient = own[cols] / len(X) - K.T @ (lose * y[rows]) / size
        own_squares[cols] += gradient**2
        own[cols] -= gradient / np.sqrt(own_squares[cols])
    moved = np.flatnonzero(own != coef).astype(np.int32)
    return moved, own[moved] - coef[moved], own_squares[moved] - squares[moved]


SECTIONS = {
    "covertype": covertype_against_one_machine,
    "workers": same_bits,
    "kills": kills,
    "memory": memory,
    "traffic": traffic,
    "lightgbm": lightgbm,
    "paper": paper,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--limit", type=int, default=1500)
    parser.add_argument("--patience", type=float, default=120.0)
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    found = SECTIONS[options.section](options)
    if options.publish:
        rows = "" if options.rows is None else f" --rows {options.rows}"
        defaults = " --defaults" if options.defaults else ""
        command = f"python benchmarks/many_machines.py {options.section}{rows}{defaults}"
        publish(f"Many machines: {options.section}", command, found)
    else:
        print(found)


if __name__ == "__main__":
    main()
