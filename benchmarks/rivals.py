"""dsekl and its rivals on tables, each with what a careful user would give it, and how a fit is measured."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from dsekl import DSEKLClassifier, DSEKLRegressor


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


class XRFM:
    """Recursive feature machines (the package xrfm): the best of eight settings by a validation fifth."""

    SETTINGS = tuple(
        {"kernel": kernel, "diag": diag, "bandwidth": bandwidth, "exponent": 1.0, "bandwidth_mode": "constant"}
        for kernel in ("l2", "l1")
        for diag in (False, True)
        for bandwidth in (5.0, 20.0)
    )

    def __init__(self, regression: bool, seed: int) -> None:
        self.regression, self.seed = regression, seed

    def fit(self, X: Any, y: Any) -> XRFM:
        import torch
        from xrfm import xRFM

        self.scaler = StandardScaler().fit(X)
        X = self.scaler.transform(X).astype(np.float32)
        self.classes, codes = (None, y) if self.regression else np.unique(y, return_inverse=True)
        self.middle, self.deviation = (float(y.mean()), float(y.std())) if self.regression else (0.0, 1.0)
        targets = (codes - self.middle) / self.deviation if self.regression else codes
        strata = None if self.regression else codes
        parts = train_test_split(X, targets, test_size=0.2, random_state=self.seed, stratify=strata)
        fitted, validation, y_fitted, y_validation = (torch.as_tensor(part) for part in parts)
        if self.regression:
            y_fitted, y_validation = y_fitted.float()[:, None], y_validation.float()[:, None]
        best = np.inf
        for setting in self.SETTINGS:
            model = xRFM(
                {"model": setting, "fit": {"reg": 1e-3, "iters": 5, "verbose": False, "early_stop_rfm": True}},
                tuning_metric="mse" if self.regression else "accuracy",
                random_state=self.seed,
                n_threads=2,
                verbose=False,
            )
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                model.fit(fitted, y_fitted, validation, y_validation)
                predicted = np.asarray(model.predict(validation)).ravel()
            wrong = np.ravel(y_validation)
            error = float(np.mean((predicted - wrong) ** 2 if self.regression else predicted != wrong))
            if error < best:
                best, self.model = error, model
        return self

    def predict(self, X: Any) -> Any:
        import torch

        predicted = self.model.predict(torch.as_tensor(self.scaler.transform(X).astype(np.float32)))
        predicted = np.asarray(predicted).ravel()
        return predicted * self.deviation + self.middle if self.classes is None else self.classes[predicted.astype(int)]


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
    "xRFM": XRFM,
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
