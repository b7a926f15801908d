"""The tables of the benchmarks: real ones from DSEKL_DATA and scikit-learn, and generated ones."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from report import load
from sklearn import datasets

from dsekl.data.recipe_learner import Options
from dsekl.data.training_data import load_training


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
    with tempfile.TemporaryDirectory() as folder:
        path = with_numbers_for_times(path, Path(folder)) if path.suffix == ".parquet" else path
        recipe, X, y = load_training(path, Options(target=target))
    return not recipe.target.classes, X, y


def with_numbers_for_times(path: Path, folder: Path) -> Path:
    """Return a copy of a parquet file with the hour, the weekday and the day in the place of each time."""
    import pandas as pd

    frame = pd.read_parquet(path)
    for name in frame.select_dtypes("datetime").columns:
        times = frame.pop(name).dt
        frame[f"{name} hour"] = times.hour + times.minute / 60
        frame[f"{name} weekday"], frame[f"{name} day"] = times.dayofweek, times.dayofyear
    frame.to_parquet(folder / path.name)
    return folder / path.name


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
