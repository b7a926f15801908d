"""dsekl with its defaults on tables, against gradient boosting, random forests and tuned support vector machines.

DSEKL_DATA=... python benchmarks/tables.py [covertype|madelon|columns|guard|panel|curves]...
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from report import load, publish, table
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.data.recipe import Options
from dsekl.data.training_data import load_training

COMMAND = "DSEKL_DATA=... python benchmarks/tables.py"
SEEDS = (0, 1, 2)
MOST_TRAINING_ROWS = 10_000
"""Of the panel, so that the support vector machines can take part."""


N_SMALL_SPLITS = 10


class TunedSVM:
    """scikit-learn's support vector machine: scaling, gamma and C by successive halving that ends on all rows."""

    def __init__(self, regression: bool, seed: int) -> None:
        self.regression, self.seed = regression, seed

    def fit(self, X: Any, y: Any) -> TunedSVM:
        machine = TransformedTargetRegressor(SVR(), transformer=StandardScaler()) if self.regression else SVC()
        prefix = "machine__regressor__" if self.regression else "machine__"
        widths = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]) / X.shape[1]
        # In [0, 1] squared distances are about a tenth of those between standardised columns.
        grid = [
            {"scaler": [scaler], prefix + "gamma": factor * widths, prefix + "C": [0.3, 1.0, 10.0, 100.0]}
            for scaler, factor in [(StandardScaler(), 1.0), (MinMaxScaler(), 10.0)]
        ]
        pipeline = Pipeline([("scaler", StandardScaler()), ("machine", machine)])
        few = max(len(X) // 27, min(len(X), 200))
        search = HalvingGridSearchCV(pipeline, grid, cv=3, min_resources=few, n_jobs=2, random_state=self.seed)
        self.model = search.fit(X, y).best_estimator_
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


def boosting(regression: bool, **settings: Any) -> Any:
    import lightgbm

    kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    return kind(verbose=-1, n_jobs=2, **settings)


def histogram_boosting(regression: bool, seed: int) -> Any:
    return (HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier)(random_state=seed)


def catboost(regression: bool, seed: int) -> Any:
    import catboost

    kind = catboost.CatBoostRegressor if regression else catboost.CatBoostClassifier
    return kind(verbose=False, thread_count=2, random_seed=seed, allow_writing_files=False)


def forest(regression: bool, seed: int) -> Any:
    return (RandomForestRegressor if regression else RandomForestClassifier)(n_jobs=2, random_state=seed)


def ours(regression: bool, seed: int) -> Any:
    return (DSEKLRegressor if regression else DSEKLClassifier)(random_state=seed)


MODELS: dict[str, Callable[[bool, int], Any]] = {
    "dsekl": ours,
    "LightGBM 500 x 0.05": lambda regression, seed: boosting(
        regression, n_estimators=500, learning_rate=0.05, random_state=seed
    ),
    "CatBoost": catboost,
    "HistGradientBoosting": histogram_boosting,
    "random forest": forest,
    "tuned SVM": TunedSVM,
}


def measure(model: Any, train: tuple[Any, Any], test: tuple[Any, Any], regression: bool) -> tuple[float, float]:
    """Return the test error (RMSE over the deviation of the targets, for regression) and the seconds of the fit."""
    start = perf_counter()
    model.fit(*train)
    seconds = perf_counter() - start
    predicted = np.asarray(model.predict(test[0])).reshape(len(test[0]))  # CatBoost returns a column
    if regression:
        return float(np.sqrt(np.mean((predicted - test[1]) ** 2)) / test[1].std()), seconds
    return float(np.mean(predicted != test[1])), seconds


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


def covertype() -> None:
    rows = []
    for seed in SEEDS:
        data = covertype_split(seed)
        for name, model in [
            ("dsekl, all defaults", DSEKLClassifier(random_state=seed)),
            ("LightGBM 1000 x 255 leaves", boosting(False, n_estimators=1000, num_leaves=255, random_state=seed)),
        ]:
            error, seconds = measure(model, *data, regression=False)
            rows.append([name, seed, f"{100 * error:.2f} %", f"{seconds:.1f}"])
            print("  ", *rows[-1], flush=True)
    publish(
        "Covertype, defaults", COMMAND + " covertype",
        "Class 2 against the rest, 559,890 raw rows, no scaling; 20,000 test rows. The seconds of dsekl are for all of "
        "metric, width, C and fit.\n\n" + table(["model", "seed", "test error", "fit, s"], rows),
    )  # fmt: skip


def madelon() -> None:
    X, y = load("madelon")
    X = X.astype(np.float32)
    data = (X[:2000], y[:2000]), (X[2000:], y[2000:])
    rows = []
    for seed in SEEDS:
        for name, model in [
            ("dsekl, all defaults", DSEKLClassifier(random_state=seed)),
            ("tuned SVM, one gamma for all columns", TunedSVM(False, seed)),
            ("LightGBM", boosting(False, random_state=seed)),
        ]:
            error, seconds = measure(model, *data, regression=False)
            found = ""
            if hasattr(model, "feature_importances_") and name.startswith("dsekl"):
                top = np.sort(model.feature_importances_)[::-1]
                found = f"{100 * top[:20].sum():.0f} %"
            rows.append([name, seed, f"{100 * error:.1f} %", f"{seconds:.1f}", found])
            print("  ", *rows[-1], flush=True)
    publish(
        "Madelon", COMMAND + " madelon",
        "500 columns, 480 of them noise; 2,000 rows, 600 for the test. The last column is the share of the 20 heaviest "
        "in the distance.\n\n" + table(["model", "seed", "test error", "fit, s", "top 20 columns"], rows),
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


def panel_data() -> dict[str, tuple[bool, Any, Any]]:
    """Return the tables of the panel: whether they are regression, X, y."""
    tables: dict[str, tuple[bool, Any, Any]] = {}
    for name in ("covertype", "ijcnn1", "mnist", "skin", "madelon", "mushrooms", "sonar", "diabetes", "breast-cancer"):
        X, y = load(name)
        tables[name] = (False, X[:, 1:] if name == "breast-cancer" else X, y)
    for name in ("california-housing", "protein-casp"):
        tables[name] = (True, *load(name))
    for name, read in [
        ("digits", datasets.load_digits), ("wine", datasets.load_wine), ("iris", datasets.load_iris),
        ("wdbc", datasets.load_breast_cancer),
    ]:  # fmt: skip
        tables[name] = (False, *read(return_X_y=True))
    tables["diabetes progress"] = (True, *datasets.load_diabetes(return_X_y=True))
    tables["moons"] = (False, *datasets.make_moons(5_000, noise=0.3, random_state=0))
    tables["hastie"] = (False, *datasets.make_hastie_10_2(8_000, random_state=0))
    tables["classification"] = (
        False,
        *datasets.make_classification(8_000, 30, n_informative=8, n_classes=3, random_state=0),
    )
    tables["friedman1"] = (True, *datasets.make_friedman1(5_000, 20, noise=1.0, random_state=0))
    tables["friedman2"] = (True, *datasets.make_friedman2(5_000, noise=50.0, random_state=0))
    for name in ("texture", "magic", "optdigits", "penbased", "segment", "vehicle", "vowel", "ring"):
        tables[name] = (False, *load(name))
    for name, target in RAW_TABLES.items():
        tables[name.partition(".")[0]] = raw_table(name, target)
    tables["calendar"] = (True, *calendar(30_000, 0))
    return tables


RAW_TABLES = {
    "bank-marketing.csv.gz": "y", "green-taxi.parquet": "minutes", "diamonds.csv.gz": "price",
    "movies.csv.gz": "rating", "bikeshare.csv.gz": "bikers", "wage.csv.gz": "wage", "computers.csv.gz": "price",
    "hitters.csv.gz": "Salary", "caravan.csv.gz": "Purchase", "chess.csv.gz": "class",
}  # fmt: skip
"""Tables as they come, and their target."""


def raw_table(name: str, target: str) -> tuple[bool, Any, Any]:
    """Return a table as the command line encodes it: whether it is regression, X, y."""
    path = Path(os.environ["DSEKL_DATA"]) / "raw" / name
    recipe, X, y = load_training(path, Options(target=target))
    return not recipe.target.classes, X, y


def calendar(n: int, seed: int) -> tuple[Any, Any]:
    """Return a weak signal with heavy tails: 11 columns as a log of times and codes has them, of which two matter."""
    rng = np.random.default_rng(seed)
    month, day, hour, weekday = (rng.integers(low, high, n) for low, high in [(1, 13), (1, 32), (0, 24), (0, 7)])
    others = [
        rng.integers(0, 60, n), rng.integers(0, 8_500, n), rng.integers(0, 2, n), rng.integers(1, 54, n),
        rng.exponential(300.0, n), rng.integers(1990, 2020, n), rng.normal(0.0, 0.01, n),
    ]  # fmt: skip
    rhythm = 20 * np.sin(2 * np.pi * (hour - 6) / 24) * (1 + 0.5 * (weekday < 5)) + 10 * ((hour > 16) & (weekday > 4))
    return np.column_stack([month, day, hour, weekday, *others]).astype(float), rhythm + 25 * rng.standard_t(2.2, n)


CURVE_ROWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
CURVE_SEEDS = 10
CURVES = ("calendar", "california-housing", "protein-casp", "covertype", "ijcnn1", "magic")


def curves() -> None:
    """Measure test errors of the defaults as rows grow, over seeds on one split: mean, and the range in brackets."""
    lines = []
    for name in CURVES:
        regression, X, y = (True, *calendar(80_000, 0)) if name == "calendar" else panel_data()[name]
        order = np.random.default_rng(0).permutation(len(X))
        test, train = order[: min(10_000, len(X) // 4)], order[min(10_000, len(X) // 4) :]
        cells = []
        for n in CURVE_ROWS:
            if n > len(train):
                cells.append("")
                continue
            data = (X[train[:n]], y[train[:n]]), (X[test], y[test])
            found = [100 * measure(ours(regression, seed), *data, regression)[0] for seed in range(CURVE_SEEDS)]
            cells.append(f"{np.mean(found):.2f} ({min(found):.2f} to {max(found):.2f})")
            print("  ", name, n, cells[-1], flush=True)
        lines.append([name, *cells])
    publish(
        "Learning curves", COMMAND + " curves",
        f"Test error in per cent of the defaults, mean and range over {CURVE_SEEDS} seeds, on one split. \"calendar\" "
        "is made: 11 columns of very different ranges, of which two matter, a weak signal and heavy tails.\n\n"
        + table(["data", *(f"{n:,} rows" for n in CURVE_ROWS)], lines),
    )  # fmt: skip


def panel() -> None:
    errors: dict[str, dict[str, float]] = {}
    seconds: dict[str, dict[str, float]] = {}
    for name, (regression, X, y) in panel_data().items():
        X = np.asarray(X, dtype=np.float32)
        errors[name], seconds[name] = {}, {}
        for label, make in MODELS.items():
            found = []
            for seed in SEEDS:
                rows = np.random.default_rng(seed).permutation(len(X))[: int(1.25 * MOST_TRAINING_ROWS)]
                strata = None if regression else y[rows]
                train, test = train_test_split(rows, test_size=0.2, random_state=seed, stratify=strata)
                found.append(measure(make(regression, seed), (X[train], y[train]), (X[test], y[test]), regression))
            errors[name][label], seconds[name][label] = np.mean(found, axis=0)
        print("  ", name, {k: f"{v:.4f} {seconds[name][k]:.1f}s" for k, v in errors[name].items()}, flush=True)
    wins = dict.fromkeys(MODELS, 0.0)
    for found in errors.values():
        best = [label for label in MODELS if found[label] <= min(found.values()) + 1e-9]
        for label in best:
            wins[label] += 1 / len(best)
    ranks = np.mean([np.argsort(np.argsort([found[m] for m in MODELS])) + 1 for found in errors.values()], axis=0)
    lines = []
    for name, found in errors.items():
        lowest = min(found.values())
        marks = {label: "**" if value <= lowest + 1e-9 else "" for label, value in found.items()}
        cells = [f"{marks[m]}{100 * found[m]:.2f}{marks[m]} ({seconds[name][m]:.1f} s)" for m in MODELS]
        lines.append([name, *cells])
    lines.append(["wins (ties shared)", *(f"{wins[m]:.1f}" for m in MODELS)])
    lines.append(["mean rank", *(f"{rank:.2f}" for rank in ranks)])
    publish(
        "Tables", COMMAND + " panel",
        "Test error in per cent (regression: root mean squared error in per cent of the targets' deviation) and "
        f"seconds of the fit, means over three splits; at most {MOST_TRAINING_ROWS:,} training rows.\n\n"
        + table(["data", *MODELS], lines),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    warm_up()
    for task in sys.argv[1:] or ["covertype", "madelon", "columns", "guard", "panel", "curves"]:
        globals()[task]()
