"""Scores of the benchmarks of tables as they come, and the tables themselves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from tabular_data import RAW_TABLES

BINS = 15
"""Bins of certainty in which the calibration error is taken."""

Score = dict[str, float]


def read_raw(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table and its target as they come."""
    path = Path(os.environ["DSEKL_DATA"]) / "raw" / name
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, sep=None, engine="python")
    target = RAW_TABLES[name]
    return frame.drop(columns=target), frame[target]


def mushrooms() -> tuple[pd.DataFrame, pd.Series]:
    """Return the mushrooms with letters as their categories; the first column is the class."""
    codes = np.load(Path(os.environ["DSEKL_DATA"]) / "mushrooms.npz")["C"]
    letters = pd.DataFrame({f"c{place}": [chr(code) for code in codes[:, place]] for place in range(codes.shape[1])})
    return letters.drop(columns="c0"), letters["c0"]


def halves(n: int, seed: int, rows: int | None) -> tuple[Any, Any]:
    """Return rows to fit and rows to predict."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2][:rows], order[n // 2 :]


def scored(model: Any, X: Any, y: Any) -> Score:
    """Return the usual scores of a fitted model."""
    if hasattr(model, "predict_proba"):
        p = np.asarray(model.predict_proba(X), dtype=np.float64)
        loss = float(log_loss(y, p, labels=model.classes_))
        found = {"log loss": loss, "calibration error": calibration_error(p, np.searchsorted(model.classes_, y)),
                 "error": float(np.mean(model.classes_[p.argmax(axis=1)] != np.asarray(y)))}  # fmt: skip
        return {"AUC": float(roc_auc_score(y, p[:, 1])), **found} if p.shape[1] == 2 else found
    residuals = np.asarray(model.predict(X)) - np.asarray(y)
    return {"RMSE": float(np.sqrt(np.mean(residuals**2))), "MAE": float(np.mean(np.abs(residuals)))}


def calibration_error(p: Any, codes: Any) -> float:
    """Return the mean distance between certainty and share of right predictions, over bins of certainty."""
    certainty, right = p.max(axis=1), p.argmax(axis=1) == codes
    bins = np.minimum((certainty * BINS).astype(int), BINS - 1)
    gaps = np.abs(np.bincount(bins, right, BINS) - np.bincount(bins, certainty, BINS))
    return float(gaps.sum() / len(p))


def timed_fit(make: Callable[[], Any], X: Any, y: Any, new: Any, y_new: Any) -> Score:
    """Return the scores, and the seconds of a fit: by the clock, and of all cores together."""
    started, busy = perf_counter(), process_time()
    model = make().fit(X, y)
    seconds, busy = perf_counter() - started, process_time() - busy
    return {**scored(model, new, y_new), "CPU seconds": busy, "seconds": seconds}
