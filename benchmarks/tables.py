"""dsekl with its defaults on tables, against gradient boosting, random forests and tuned support vector machines.

DSEKL_DATA=... python benchmarks/tables.py [--again] [digits|madelon|columns|guard]...

The fits of digits and madelon are kept in results/tables.json; those that are there are not measured again without
``--again``. Covertype with all defaults is a part of ``claim.py``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import cells
import numpy as np
from report import Section, load, publish, publish_all, table
from rivals import TunedSVM, boosting, measure, ours
from sklearn import datasets
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, DSEKLRegressor

COMMAND = "DSEKL_DATA=... python benchmarks/tables.py"
CELLS = cells.RESULTS / "tables.json"
SEEDS = (0, 1, 2)
N_SMALL_SPLITS = 10


def warm_up() -> None:
    """Load the compiled code, which the first fit of a process would otherwise pay for."""
    rng = np.random.default_rng(0)
    for n in (2_000, 6_000):
        X = rng.standard_normal((n, 4))
        DSEKLClassifier(random_state=0).fit(X, X[:, 0] > 0).predict(X)
        DSEKLRegressor(random_state=0).fit(X, X[:, 0]).predict(X)


def covertype_split(seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return raw training and test rows with their labels, class 2 against the rest; the sizes are the paper's."""
    X, y = load("covertype")
    X, y = X.astype(np.float32), np.where(y == 2, 1, -1)
    order = np.random.default_rng(seed).permutation(len(X))
    test, train = order[:20_000], order[21_122:]
    return (X[train], y[train]), (X[test], y[test])


def digits() -> None:
    """README's first snippet on five splits; errors alone, nothing is timed."""
    X, y = datasets.load_digits(return_X_y=True)
    for seed in range(5):
        if not cells.has(CELLS, ["digits", "dsekl, all defaults", str(seed)]):
            train, test, y_train, y_test = train_test_split(X, y, random_state=seed)
            error, _ = measure(DSEKLClassifier(random_state=0), (train, y_train), (test, y_test), regression=False)
            cells.keep(CELLS, ["digits", "dsekl, all defaults", str(seed)], dict(error=error))
            print("   digits", seed, error, flush=True)


def madelon() -> None:
    X, y = load("madelon")
    X = X.astype(np.float32)
    data = (X[:2000], y[:2000]), (X[2000:], y[2000:])
    for seed in SEEDS:
        for name, make in [
            ("dsekl, all defaults", lambda seed: DSEKLClassifier(random_state=seed)),
            ("tuned SVM, one gamma for all columns", lambda seed: TunedSVM(False, seed)),
            ("LightGBM", lambda seed: boosting(False, random_state=seed)),
        ]:
            if cells.has(CELLS, ["madelon", name, str(seed)]):
                continue
            model = make(seed)
            error, seconds = measure(model, *data, regression=False)
            cell = dict(error=error, seconds=seconds)
            if isinstance(model, DSEKLClassifier):
                cell["top"] = float(np.sort(model.feature_importances_)[-20:].sum())
            cells.keep(CELLS, ["madelon", name, str(seed)], cell)
            print("  ", name, seed, cell, flush=True)
    publish_all(sections())


def sections() -> Iterator[Section]:
    """Yield the section that is made from the file of results."""
    rows = []
    for name, runs in cells.read(CELLS)["madelon"].items():
        errors, seconds = ([run[figure] for run in runs.values()] for figure in ("error", "seconds"))
        top = [100 * run["top"] for run in runs.values() if "top" in run]
        rows.append([
            name, cells.spread([100 * error for error in errors], 1), cells.span(seconds, 1),
            f"{cells.span(top)} %" if top else "",
        ])  # fmt: skip
    yield Section(
        "Madelon", COMMAND + " madelon",
        "500 columns, 480 of them noise; 2,000 rows, 600 for the test; three seeds, ± their standard deviation. The "
        "last column is the share of the 20 heaviest columns in the importances.\n\n"
        + table(["model", "test error, %", "fit, s", "top 20 columns"], rows),
    )  # fmt: skip


def columns() -> None:
    rows = []
    for n_columns in (10, 100, 1000):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((10_000, n_columns)).astype(np.float32)
        y = X[:, 0] * X[:, 1] > 0
        start = perf_counter()
        model = DSEKLClassifier(gamma="learn", random_state=0, max_epochs=1).fit(X, y)
        top = set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
        rows.append([n_columns, f"{perf_counter() - start:.1f}", "yes" if top else "no"])
        print("  ", *rows[-1], flush=True)
    publish(
        "Cost against columns", COMMAND + " columns",
        "10,000 rows, two columns that matter; metric, width, C and one epoch.\n\n"
        + table(["columns", "s", "found both"], rows),
    )  # fmt: skip


def small_tables() -> dict[str, tuple[Any, Any]]:
    """Return tables so small that learned weights may overfit."""
    tables = {name: load(name) for name in ("sonar", "diabetes", "breast-cancer")}
    tables["breast-cancer"] = (tables["breast-cancer"][0][:, 1:], tables["breast-cancer"][1])
    tables["wdbc"] = datasets.load_breast_cancer(return_X_y=True)
    generated = dict(n_samples=1_000, n_features=24, flip_y=0.2, shuffle=False, random_state=0)
    tables["1,000 x 24, a fifth of the labels random"] = datasets.make_classification(n_informative=6, **generated)
    X, y = datasets.make_classification(n_informative=12, n_redundant=12, **generated)
    tables["the same, all columns informative, features cubed"] = (X**3, y)
    return tables


def guard() -> None:
    rows = []
    for name, (X, y) in small_tables().items():
        X = np.asarray(X, dtype=np.float64)
        found = []
        for seed in range(N_SMALL_SPLITS):
            train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=seed, stratify=y)
            widths = 2.0 ** np.arange(-6, 4) / X.shape[1]
            grid = {"svc__gamma": widths, "svc__C": 4.0 ** np.arange(-1, 4)}
            equal = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5, n_jobs=2)
            models = [ours(False, seed), equal]
            found.append([measure(m, (X[train], y[train]), (X[test], y[test]), regression=False)[0] for m in models])
        learned, equal_errors = np.transpose(found)
        gain = learned - equal_errors
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        rows.append([
            f"{name} ({len(X):,} rows)", f"{100 * learned.mean():.1f} %", f"{100 * equal_errors.mean():.1f} %",
            f"{100 * gain.mean():+.1f} ± {100 * error:.1f}",
        ])  # fmt: skip
        print("  ", *rows[-1], flush=True)
    publish(
        "Small tables: learned weights or one gamma", COMMAND + " guard",
        f"Test error over {N_SMALL_SPLITS} random splits (70 % to fit); scikit-learn's SVC with one gamma and C "
        "by 5-fold cross-validation of 50 pairs, on standardised "
        "columns. The last column is the mean difference in points, and its standard error."
        "\n\n" + table(["data", "defaults", "SVC, one tuned gamma", "difference"], rows),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    warm_up()
    named = [word for word in sys.argv[1:] if word != "--again"]
    for task in named or ["digits", "madelon", "columns", "guard"]:
        if "--again" in sys.argv:
            cells.forget(CELLS, task)
        globals()[task]()
