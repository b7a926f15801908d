"""Kernel machines on Dask, on clusters of processes on this machine. Cells that are there are kept, unless --again.

DSEKL_DATA=... python benchmarks/distributed.py covertype [--rows 581012] [--defaults]
DSEKL_DATA=... python benchmarks/distributed.py workers [--rows 100000]
DSEKL_DATA=... python benchmarks/distributed.py kills [--rows 100000] [--kills 20]
DSEKL_DATA=... python benchmarks/distributed.py scheduler [--rows 100000]
DSEKL_DATA=... python benchmarks/distributed.py memory [--rows 2000000] [--limit 900]
DSEKL_DATA=... python benchmarks/distributed.py traffic [--rows 581012]
DSEKL_DATA=... python benchmarks/distributed.py lightgbm [--rows 581012]
DSEKL_DATA=... python benchmarks/distributed.py killed [--rows 50000] [--patience 60]
python benchmarks/distributed.py publish

Nothing is chosen on test rows. The paper's own scheme is in docs/reproduction.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

if sys.path[0] == str(Path(__file__).resolve().parent):
    sys.path.append(sys.path.pop(0))  # or this file would be Dask's package of the same name

import cells
import distributed_failures as failures
import distributed_rows as rows_of
import distributed_tables as tables
import distributed_volumes as volumes
from distributed import Client
from distributed_rows import CELLS, FIXED, Cell
from report import publish_all

from dsekl import DSEKLClassifier
from dsekl.dask import DaskDSEKLClassifier


def measure_covertype(options: argparse.Namespace) -> None:
    """Time and error of two workers against two threads."""
    X, y, X_test, y_test = rows_of.covertype(options.rows)

    def figures(model: Any, seconds: float) -> Cell:
        error, gap = float(1 - model.score(X_test, y_test)), model.history_[-1]["gap"]
        return {"seconds": seconds, "rounds": model.n_iter_, "gap": gap, "error": error, "rows": len(X),
                "values": model.history_[-1]["kernel_evaluations"]}  # fmt: skip

    def here(settings: dict[str, Any]) -> Cell:
        few = rows_of.WARM_UP_ROWS
        DSEKLClassifier(**FIXED, random_state=0, n_jobs=2, verbose=False).fit(X[:few], y[:few])
        started = perf_counter()
        local = DSEKLClassifier(**settings, random_state=0, n_jobs=2, verbose=False).fit(X, y)
        return figures(local, perf_counter() - started)

    def there(settings: dict[str, Any]) -> Cell:
        with rows_of.workers(2) as client:
            model, seconds = rows_of.fitted(client, rows_of.persisted(X, y), **settings)
            return figures(model.to_local(), seconds)

    for name, settings in [("fixed", FIXED), *([("defaults", {})] if options.defaults else [])]:
        rows_of.kept("covertype", f"{name}, two threads", lambda settings=settings: here(settings), options.again)
        rows_of.kept("covertype", f"{name}, two workers", lambda settings=settings: there(settings), options.again)


def measure_workers(options: argparse.Namespace) -> None:
    """Fit on 1, 2 and 4 workers and compare coefficients."""
    X, y, *_ = rows_of.covertype(options.rows or 100_000)
    models: list[Any] = []

    def cell(n: int) -> Cell:
        with rows_of.workers(n) as client:
            model, _ = rows_of.fitted(client, rows_of.collections(X, y), **FIXED)
        models.append(model)
        return {"rounds": model.n_iter_, "terms": len(model.support_), "rows": len(X),
                "same": rows_of.same_bits(models[0], model)}  # fmt: skip

    done = cells.read(CELLS).get("workers", {})
    if options.again or len(done) < 3:  # models are compared within one run
        for n in (1, 2, 4):
            rows_of.kept("workers", str(n), lambda n=n: cell(n), again=True)


def _boosted(client: Client) -> Any:
    """Return LightGBM's own estimator on Dask."""
    from lightgbm import DaskLGBMClassifier

    return DaskLGBMClassifier(client=client, n_estimators=1000, num_leaves=255, random_state=0, verbose=-1)


def _exact(client: Client) -> Any:
    return DaskDSEKLClassifier(client=client, random_state=0, verbose=False)


MAKERS: dict[str, Callable[[Client], Any]] = {"dsekl": _exact, "LightGBM": _boosted}


def measure_lightgbm(options: argparse.Namespace) -> None:
    """LightGBM's Dask estimator and ours on clusters that are alike: time and error."""
    X, y, X_test, y_test = rows_of.covertype(options.rows)

    def cell(make: Callable[[Client], Any]) -> Cell:
        with rows_of.workers(2) as client:
            rows = rows_of.persisted(X, y)
            model, started = make(client), perf_counter()
            model.fit(*rows)
            seconds = perf_counter() - started
            error = float((model.predict(rows_of.collections(X_test, y_test)[0]).compute() != y_test).mean())
        return {"seconds": seconds, "error": error, "rows": len(X)}

    for name, make in MAKERS.items():
        rows_of.kept("lightgbm", name, lambda make=make: cell(make), options.again)


SHARES_OF_A_FIT = (0.3, 0.6, 0.9)
"""Moments at which a worker is killed, over the time of a fit in peace."""


def measure_killed(options: argparse.Namespace) -> None:
    """LightGBM's Dask estimator and ours where a worker is killed in the middle of a fit."""
    X, y, *_ = rows_of.covertype(options.rows or 50_000)

    def cell(make: Callable[[Client], Any]) -> Cell:
        with rows_of.workers(2) as client:
            rows = rows_of.persisted(X, y)
            started = perf_counter()
            make(client).fit(*rows)
            seconds = perf_counter() - started
        found = {}
        for share in SHARES_OF_A_FIT:
            with rows_of.workers(2) as client:  # another one, as a fit that waits for ever keeps its own
                rows, patience = rows_of.persisted(X, y), options.patience + 2 * seconds
                found[str(share)] = failures.when_killed(client, make(client), rows, share * seconds, patience)
        return {"in_peace": seconds, "killed": found, "rows": len(X)}

    for name, make in MAKERS.items():
        rows_of.kept("killed", name, lambda make=make: cell(make), options.again)


MEASURES: dict[str, Callable[[argparse.Namespace], None]] = {
    "covertype": measure_covertype,
    "workers": measure_workers,
    "kills": failures.measure_kills,
    "scheduler": failures.measure_scheduler,
    "memory": volumes.measure_memory,
    "traffic": volumes.measure_traffic,
    "lightgbm": measure_lightgbm,
    "killed": measure_killed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=[*MEASURES, "publish"])
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--limit", type=int, default=900)
    parser.add_argument("--patience", type=float, default=60.0)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.section == "publish":
        publish_all(tables.sections())
    else:
        MEASURES[options.section](options)


if __name__ == "__main__":
    main()
