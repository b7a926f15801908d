"""What the sections of benchmarks/distributed.py share: clusters of processes on this machine, and rows on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import cells
import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from report import load

from dsekl.dask import DaskDSEKLClassifier

CELLS = cells.RESULTS / "distributed.json"
CHUNK = 50_000
FIXED: dict[str, Any] = dict(gamma=100.0, C=4.0, kernel="rbf", loss="hinge")
"""The settings of benchmarks/exact.py for covertype's columns between 0 and 1."""

WARM_UP_ROWS = 9_000

Cell = dict[str, Any]


@contextmanager
def workers(n: int, **settings: Any) -> Iterator[Client]:
    """Start processes with one thread each; those that are killed are started again, however long that takes."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=":0", **settings) as cluster,
        Client(cluster) as client,
    ):
        yield client


def pids(client: Client) -> list[int]:
    """Return the processes of the workers that are alive."""
    return [nanny.pid for nanny in list(client.cluster.workers.values()) if nanny.pid is not None]


def covertype(n_rows: int | None) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows, columns between 0 and 1, class 2 against the rest; a tenth is for the test."""
    X, y = load("covertype")
    X, y = X.astype(np.float32), (y == 2).astype(np.int8)
    order = np.random.default_rng(0).permutation(len(X))[:n_rows]
    X, y = X[order], y[order]
    test = len(X) // 10
    low, high = X[test:].min(axis=0), X[test:].max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1)
    return X[test:], y[test:], X[:test], y[:test]


def collections(X: Any, y: Any) -> tuple[da.Array, da.Array]:
    return da.from_array(X, chunks=(CHUNK, X.shape[1])), da.from_array(y, chunks=CHUNK)


def persisted(X: Any, y: Any) -> list[da.Array]:
    """Return rows that the workers hold, after a small fit that loads what is compiled."""
    rows = [part.persist() for part in collections(X, y)]
    few = [part[:WARM_UP_ROWS] for part in rows]
    DaskDSEKLClassifier(**FIXED, random_state=0, verbose=False).fit(*few)
    return rows


def fitted(client: Client, rows: Any, **settings: Any) -> tuple[DaskDSEKLClassifier, float]:
    """Fit on a cluster; return the model and the seconds."""
    started = perf_counter()
    model = DaskDSEKLClassifier(**settings, client=client, random_state=0, verbose=False).fit(*rows)
    return model, perf_counter() - started


def same_bits(one: Any, other: Any) -> bool:
    """Tell whether two models have the same terms and coefficients."""
    return np.array_equal(one.support_, other.support_) and np.array_equal(one.dual_coef_, other.dual_coef_)


def kept(section: str, name: str, make: Callable[[], Cell], again: bool) -> Cell:
    """Return a cell, made now if it is not there."""
    found = cells.read(CELLS).get(section, {})
    if again or name not in found:
        cell = make()
        cells.keep(CELLS, [section, name], cell)
        print("  ", section, name, cell, flush=True)
        return cell
    return dict(found[name])
