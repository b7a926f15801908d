"""What is compared on tables as they come: each takes a frame with texts, dates and gaps, and needs nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from dsekl import DSEKLClassifier, DSEKLRegressor

TUNED_ROWS = 3_000
"""Rows on which the support vector machine is tuned."""


def behind_skrub(machine: Any) -> Any:
    """Return a machine behind skrub's vectoriser, which is imported when it is wanted."""
    import skrub

    return skrub.tabular_pipeline(machine)


class WithNativeCategories:
    """A boosting library with texts as its own categories, and times as numbers."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine

    def fit(self, X: pd.DataFrame, y: Any) -> WithNativeCategories:
        texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name]) and X[name].dtype.kind != "M"]
        self.levels = {name: pd.CategoricalDtype(X[name].astype("category").cat.categories) for name in texts}
        self.machine.fit(self._ready(X), y)
        if hasattr(self.machine, "classes_"):
            self.classes_, self.predict_proba = self.machine.classes_, self._proba
        return self

    def _proba(self, X: pd.DataFrame) -> Any:
        return self.machine.predict_proba(self._ready(X))

    def predict(self, X: pd.DataFrame) -> Any:
        return self.machine.predict(self._ready(X))

    def _ready(self, X: pd.DataFrame) -> pd.DataFrame:
        X = X.astype(self.levels)
        for name in X.select_dtypes("datetime"):
            times = X[name].dt
            X = X.assign(**{f"{name} hour": times.hour + times.minute / 60, f"{name} weekday": times.dayofweek,
                            f"{name} day": times.dayofyear}).drop(columns=name)  # fmt: skip
        return X


class TunedSVM:
    """scikit-learn's support vector machine behind skrub's vectoriser: gamma and C by cross-validation on some rows."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def fit(self, X: pd.DataFrame, y: Any) -> TunedSVM:
        machine = SVC() if self.classes else SVR()
        self.encoder = behind_skrub(machine)[:-1]
        self.scaler = StandardScaler()
        y = np.asarray(y)
        if not self.classes:
            y = self.scaler.fit_transform(y[:, None])[:, 0]
        Z = np.asarray(self.encoder.fit_transform(X, y), dtype=np.float64)
        grid = {"gamma": np.array([0.03, 0.1, 0.3, 1.0]) / Z.shape[1], "C": [0.3, 1.0, 10.0, 100.0]}
        some = np.random.default_rng(0).permutation(len(y))[:TUNED_ROWS]
        best = GridSearchCV(machine, grid, cv=3).fit(Z[some], y[some]).best_estimator_
        if not self.classes:
            self.machine = best.fit(Z, y)
            return self
        fitted, rest = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
        best.fit(Z[fitted], y[fitted])
        self.machine = CalibratedClassifierCV(FrozenEstimator(best)).fit(Z[rest], y[rest])
        self.classes_, self.predict_proba = self.machine.classes_, self._proba
        return self

    def _encoded(self, X: pd.DataFrame) -> Any:
        return np.asarray(self.encoder.transform(X), dtype=np.float64)

    def _proba(self, X: pd.DataFrame) -> Any:
        return self.machine.predict_proba(self._encoded(X))

    def predict(self, X: pd.DataFrame) -> Any:
        found = self.machine.predict(self._encoded(X))
        return found if self.classes else self.scaler.inverse_transform(found[:, None])[:, 0]


def machines(classes: bool) -> dict[str, Callable[[], Any]]:
    """Return what is compared."""
    if classes:
        return {
            "dsekl": lambda: DSEKLClassifier(random_state=0),
            "dsekl, probabilities": lambda: DSEKLClassifier(objective="probabilities", random_state=0),
            "LightGBM": lambda: WithNativeCategories(lightgbm.LGBMClassifier(verbose=-1, random_state=0)),
            "HistGradientBoosting": lambda: WithNativeCategories(
                HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
            ),
            "random forest": lambda: behind_skrub(RandomForestClassifier(random_state=0)),
            "tuned SVM": lambda: TunedSVM(classes=True),
        }
    return {
        "dsekl": lambda: DSEKLRegressor(random_state=0),
        "LightGBM": lambda: WithNativeCategories(lightgbm.LGBMRegressor(verbose=-1, random_state=0)),
        "HistGradientBoosting": lambda: WithNativeCategories(
            HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
        ),
        "random forest": lambda: behind_skrub(RandomForestRegressor(random_state=0)),
        "tuned SVM": lambda: TunedSVM(classes=False),
    }
