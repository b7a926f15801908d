"""Tables as they come: one call each, against boosting with native categories.

``DSEKL_DATA=... python benchmarks/frames.py [--rows N]`` fits bank-marketing and wage from their raw files, three
random halves each. It prints AUC and log loss, or RMSE and the coverage of 90 % intervals, and seconds of processor
time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from dsekl import DSEKLClassifier, DSEKLRegressor

TABLES = {"bank-marketing": ("y", ";"), "wage": ("wage", ",")}
SEEDS = 3


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table and its target as they come."""
    target, separator = TABLES[name]
    table = pd.read_csv(Path(os.environ["DSEKL_DATA"]) / "raw" / f"{name}.csv.gz", sep=separator)
    return table.drop(columns=target), table[target]


def machines(classes: bool) -> dict[str, Callable[[], Any]]:
    """Return what is compared."""
    import lightgbm

    ours = DSEKLClassifier if classes else DSEKLRegressor
    boosting = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    return {"dsekl": lambda: ours(random_state=0), "LightGBM": lambda: boosting(verbose=-1, random_state=0)}


def scores(model: Any, X: pd.DataFrame, y: pd.Series) -> dict[str, float]:
    """Return the usual scores of a fitted model."""
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(X)
        return {"AUC": roc_auc_score(y, p[:, 1]), "log loss": log_loss(y, p, labels=model.classes_)}
    found = {"RMSE": float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))}
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X).T
        found |= {"coverage": float(((low <= y) & (y <= high)).mean()), "width": float((high - low).mean())}
    return found


def main() -> None:
    """Fit, score and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=None, help="training rows, half of the table by default")
    rows = parser.parse_args().rows
    for name in TABLES:
        X, y = read(name)
        for machine, make in machines(y.dtype.kind not in "if").items():
            lines = []
            for seed in range(SEEDS):
                order = np.random.default_rng(seed).permutation(len(y))
                half = len(y) // 2
                fitted, new = order[:half][:rows], order[half:]
                # LightGBM takes categories, and no texts.
                ready = X if machine == "dsekl" else X.astype(dict.fromkeys(X.select_dtypes("str"), "category"))
                started = time.process_time()
                model = make().fit(ready.iloc[fitted], y.iloc[fitted])
                seconds = time.process_time() - started
                lines.append({**scores(model, ready.iloc[new], y.iloc[new]), "seconds": seconds})
            means = {score: float(np.mean([line[score] for line in lines])) for score in lines[0]}
            print(name, machine, ", ".join(f"{score} {value:.4g}" for score, value in means.items()), flush=True)


if __name__ == "__main__":
    main()
