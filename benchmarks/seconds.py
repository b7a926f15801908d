"""Seconds of the version before, of this one and of rivals, side by side, in processes of their own.

DSEKL_DATA=... python benchmarks/seconds.py measure [--before OTHER/src] [--rounds 1] [TASK]...
python benchmarks/seconds.py publish

OTHER is a checkout of the version before, as from ``git archive``. In each round, before, now and the rival take turns.
Every figure is kept in benchmarks/results/seconds.json as soon as it is there, and is not measured again: a measurement
that was stopped goes on, and deleting a task's figures measures it anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from cells import RESULTS, keep, read
from report import load, publish, table

HERE = Path(__file__).parent.parent / "src"
FILE = RESULTS / "seconds.json"

Figures = dict[str, float]
Data = tuple[Any, Any, Any, Any]


def timed(model: Any, data: Data, regression: bool = False) -> Figures:
    """Fit and predict; the error is a share of wrong labels, or the root of the mean squared error."""
    X, y, X_test, y_test = data
    start = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - start
    found = model.predict(X_test)
    error = np.sqrt(np.mean((found - y_test) ** 2)) if regression else np.mean(found != y_test)
    return {"seconds": seconds, "error": float(error)}


def ours(regression: bool = False, warm: bool = True, **settings: Any) -> Any:
    """Return a model of the version that is imported, after fits that load its compiled code."""
    from dsekl import DSEKLClassifier, DSEKLRegressor

    kind = DSEKLRegressor if regression else DSEKLClassifier
    rng = np.random.default_rng(0)
    for n in (2_000, 6_000) if warm else ():
        X = rng.standard_normal((n, 4)).astype(np.float32)
        kind(**{**settings, "max_epochs": 3}, random_state=0).fit(X, X[:, 0] if regression else X[:, 0] > 0).predict(X)
    return kind(**settings, random_state=0)


def boosting(regression: bool = False, **settings: Any) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if regression else LGBMClassifier)(verbose=-1, **settings)


def halves(X: Any, y: Any, n_train: int | None = None, n_test: int | None = None) -> Data:
    """Return random training and test rows, a fifth for the test where no number is given."""
    order = np.random.default_rng(0).permutation(len(X))
    n_test = len(X) // 5 if n_test is None else n_test
    test, train = order[:n_test], order[n_test:][:n_train]
    return X[train], y[train], X[test], y[test]


def standard(name: str, n_train: int | None = None) -> Data:
    """Return a table of regression, columns and targets standardised."""
    X, y = load(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return halves(X.astype(np.float32), (y - y.mean()) / y.std(), n_train)


def columns_table(n_columns: int) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, n_columns)).astype(np.float32)
    return halves(X, X[:, 0] * X[:, 1] > 0, 10_000, 2_000)


def small_table() -> Data:
    from sklearn.datasets import make_classification

    X, y = make_classification(5_000, 57, n_informative=20, random_state=0)
    return halves(X.astype(np.float32), y, 3_000, 2_000)


def covertype(scaled: bool) -> Data:
    X, y = load("covertype")
    X = X.astype(np.float32)
    if scaled:
        X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:20_000], order[21_122:]
    return X[train], y[train] == 2, X[test], y[test] == 2


def mnist() -> Data:
    X, y = load("mnist")
    X = X.astype(np.float32) / 255
    return X[:60_000], y[:60_000], X[60_000:], y[60_000:]


def intel_svc(**settings: Any) -> Any:
    from sklearnex.svm import SVC

    return SVC(**settings)


def kernel_ridge(gamma: float, C: float) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=gamma, alpha=1 / C)


def first(make: Callable[[], Any]) -> Figures:
    """From the import to a model of digits; whoever calls gives an empty folder to the compiler's cache."""
    start = perf_counter()
    from sklearn.datasets import load_digits

    data = halves(*load_digits(return_X_y=True))
    found = timed(make(), data)
    return {**found, "seconds": perf_counter() - start}


def one_row(model: Any) -> Figures:
    """Predict single rows with a model of 5,000 rows; the median call."""
    X, y, X_test, _ = standard("california-housing", 5_000)
    model.fit(X, y)
    seconds = []
    for k in range(300):
        start = perf_counter()
        model.predict(X_test[k : k + 1])
        seconds.append(perf_counter() - start)
    return {"seconds": median(seconds)}


RIDGE = {"california-housing": (0.5, 10.0), "protein-casp": (1.0, 1.0)}
FAST_TREES: dict[str, Any] = dict(n_estimators=500, learning_rate=0.05)


def ridge(name: str) -> tuple[Callable[[], Figures], Callable[[], Figures]]:
    gamma, C = RIDGE[name]
    # KernelRidge holds the kernel matrix of all rows several times: 20,000 rows are what a usual machine has room for.
    return (
        lambda: timed(ours(True, gamma=gamma, C=C), standard(name), True),
        lambda: timed(kernel_ridge(gamma, C), standard(name, 20_000), True),
    )


def columns_task(n: int) -> tuple[Callable[[], Figures], Callable[[], Figures]]:
    return lambda: timed(ours(), columns_table(n)), lambda: timed(boosting(**FAST_TREES), columns_table(n))


Task = tuple[str, str, Callable[[], Figures], Callable[[], Figures] | None]
TASKS: dict[str, Task] = {
    "first": (
        "first fit on a new machine: import to a model of digits", "LightGBM",
        lambda: first(lambda: ours(warm=False)), lambda: first(boosting),
    ),
    "small": (
        "3,000 x 57, all defaults", "LightGBM 500 x .05",
        lambda: timed(ours(), small_table()), lambda: timed(boosting(**FAST_TREES), small_table()),
    ),
    "california": ("ridge, california, gamma 0.5, C 10", "KernelRidge", *ridge("california-housing")),
    "protein": ("ridge, protein, gamma 1, C 1", "KernelRidge, 20,000 rows", *ridge("protein-casp")),
    "quantile": (
        "quantile loss, california, 12,000 rows, gamma 0.5, C 10", "",
        lambda: timed(ours(True, loss="quantile", gamma=0.5, C=10.0), standard("california-housing", 12_000), True),
        None,
    ),
    "covertype": (
        "exact SVM, covertype, gamma 100, C 4", "",
        lambda: timed(ours(gamma=100.0, C=4.0), covertype(True)), None,
    ),
    "defaults": (
        "all defaults, covertype", "LightGBM 1000 x 255",
        lambda: timed(ours(), covertype(False)),
        lambda: timed(boosting(n_estimators=1000, num_leaves=255), covertype(False)),
    ),
    "mnist": (
        "exact SVM, MNIST, gamma 0.02, C 5", "scikit-learn-intelex SVC",
        lambda: timed(ours(gamma=0.02, C=5.0), mnist()), lambda: timed(intel_svc(gamma=0.02, C=5.0), mnist()),
    ),
    "columns10": ("10,000 rows, 10 columns, all defaults", "LightGBM 500 x .05", *columns_task(10)),
    "columns100": ("10,000 rows, 100 columns, all defaults", "LightGBM 500 x .05", *columns_task(100)),
    "columns1000": ("10,000 rows, 1,000 columns, all defaults", "LightGBM 500 x .05", *columns_task(1000)),
    "one_row": (
        "one row predicted, a model of 5,000 rows (n_jobs=1)", "LightGBM 500 x .05",
        lambda: one_row(ours(True, gamma=0.5, C=10.0, n_jobs=1)),
        lambda: one_row(boosting(True, n_jobs=1, **FAST_TREES)),
    ),
}  # fmt: skip


def measured(task: str, who: str, source: Path) -> dict[str, Any]:
    """Run one task in a process of its own; the first fit finds no compiled code."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "PYTHONPATH": os.fspath(source)}
        if task == "first":
            environment["NUMBA_CACHE_DIR"] = empty
        command = [sys.executable, __file__, "run", "--who", who, task]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"  {task}, {who}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    imported = found.pop("source", None)
    assert imported is None or Path(imported).is_relative_to(source), imported
    return found


def measure(tasks: list[str], before: Path | None, rounds: int) -> None:
    sources = {"before": before, "now": HERE, "rival": HERE}
    for task in tasks:
        for turn in map(str, range(rounds)):
            for who, source in sources.items():
                known = read(FILE).get(task, {}).get(who, {})
                if source is None or turn in known or (who == "rival" and TASKS[task][3] is None):
                    continue
                found = measured(task, who, source.resolve())
                if found:
                    keep(FILE, [task, who, turn], found)
                    print(f"  {task}, {who}: {found['seconds']:.4g} s, error {found.get('error')}", flush=True)


def run(task: str, who: str) -> None:
    """Measure one task here, and print its figures."""
    warnings.simplefilter("ignore")
    own, rival = TASKS[task][2:]
    chosen = rival if who == "rival" else own
    assert chosen is not None
    found: dict[str, Any] = {**chosen()}
    if who != "rival":
        import dsekl

        found |= {"source": dsekl.__file__, "version": dsekl.__version__}
    print(json.dumps(found))


def figures(cells: dict[str, Any], who: str) -> tuple[float, float]:
    """Return the medians of seconds and error over the rounds; NaN where there are none."""
    turns = list(cells.get(who, {}).values())
    if not turns:
        return float("nan"), float("nan")
    errors = [one["error"] for one in turns if "error" in one]
    return median(one["seconds"] for one in turns), median(errors) if errors else float("nan")


def written(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else ""


def put_on_the_page() -> None:
    cells, rows = read(FILE), []
    for task, (words, rival, *_) in TASKS.items():
        if task not in cells:
            continue
        found = {who: figures(cells[task], who) for who in ("before", "now", "rival")}
        ratio = found["now"][0] / found["before"][0]
        seconds = [written(found[who][0], ".3g") for who in found]
        found_errors = [written(found[who][1], ".4f") for who in found]
        rows.append([words, *seconds, written(ratio, ".2f"), rival, *found_errors])
    header = [
        "",
        "before, s",
        "now, s",
        "rival, s",
        "now / before",
        "rival",
        "error before",
        "error now",
        "error rival",
    ]
    publish(
        "Seconds", "DSEKL_DATA=... python benchmarks/seconds.py measure --before OTHER/src; "
        "python benchmarks/seconds.py publish",
        "Medians over the rounds of benchmarks/results/seconds.json; before, now and the rival in turns, each in a "
        "process of its own. Errors are shares of wrong labels, and for regression root mean squared errors of "
        "standardised targets.\n\n" + table(header, rows),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "publish", "run"))
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--who", choices=("before", "now", "rival"), default="now")
    asked = parser.parse_intermixed_args()
    unknown = sorted(set(asked.tasks) - set(TASKS))
    if unknown:
        parser.error(f"no task {', '.join(unknown)}; there are {', '.join(TASKS)}")
    if asked.what == "publish":
        put_on_the_page()
    elif asked.what == "run":
        run(asked.tasks[0], asked.who)
    else:
        measure(asked.tasks or list(TASKS), asked.before, asked.rounds)


if __name__ == "__main__":
    main()
