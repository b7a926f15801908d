"""Rows that ``dsekl fit`` holds out: a model that has not seen them is judged by them, then all rows are fitted."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from . import options as o
from .console import Output, UsageError
from .models import FittedModel, fitted, new_estimator, probabilities
from .reading import TrainingSet
from .scores import classification_scores, regression_scores

Places = NDArray[np.intp]


def held_out_rows(output: Output, given: float | None, training: TrainingSet, seed: int) -> Places | None:
    """Return the rows to hold out: the share that was given, or a tenth where the rows allow it; None for none."""
    share = o.DEFAULT_VALIDATION if given is None else given
    obstacle = _obstacle_to_split(share, training) if share else None
    if given is not None and obstacle:
        raise UsageError(f"--validation {given} cannot be held out: {obstacle}; change it, or give --validation 0")
    if given is None and training.recipe.n_rows < o.FEWEST_ROWS_TO_SPLIT:
        obstacle = f"there are fewer than {o.FEWEST_ROWS_TO_SPLIT}"
    if obstacle:
        output.note(f"no rows are held out: {obstacle}; override with --validation")
        return None
    return _drawn(share, training, seed) if share else None


def _obstacle_to_split(share: float, training: TrainingSet) -> str | None:
    """Return why rows cannot be split, stratified by class, if they cannot."""
    n, classes = training.recipe.n_rows, training.recipe.target.classes
    held_out = math.ceil(share * n)
    if classes and np.bincount(training.y).min() < 2:
        return "a class has one row only"
    fewest = max(1, len(classes))
    if min(held_out, n - held_out) < fewest:
        return f"{held_out} of {n} rows would be, and either part needs at least {fewest}"
    return None


def _drawn(share: float, training: TrainingSet, seed: int) -> Places:
    from sklearn.model_selection import train_test_split

    strata = training.y if training.recipe.target.classes else None
    rows = np.arange(training.recipe.n_rows)
    return cast("Places", np.sort(train_test_split(rows, test_size=share, stratify=strata, random_state=seed)[1]))


def fit_without(
    training: TrainingSet, loss: str | None, settings: dict[str, Any], held_out: Places | None
) -> tuple[FittedModel, Any]:
    """Return an estimator, and how it is fitted to all rows but those held out.

    Rows that are held out have no weight: they take no part in anything, and a table that stays in its file is not
    copied. Solvers that go by epochs hold out further rows to know when to stop.
    """
    if settings["solver"] != "dual" and held_out is not None:
        settings = settings | dict(early_stopping=True)
    estimator = new_estimator(training.recipe, loss, settings)
    estimator._keeps_settled = True
    weights = None
    if held_out is not None:
        weights = np.ones(training.recipe.n_rows)
        weights[held_out] = 0.0
    return cast("FittedModel", estimator), lambda: fitted(estimator, training, weights)


def scores_of(model: FittedModel, training: TrainingSet, rows: Places) -> dict[str, Any]:
    """Return the scores of a model on rows that it has not seen."""
    X, y = training.X[rows], training.y[rows]
    classes = training.recipe.target.classes
    if not classes:
        return regression_scores(y, model.predict(X))
    return classification_scores(classes, y, model.decision_function(X), probabilities(model, X))


def settled_by(judged: Any) -> Any:
    """Return what the fit of a model has settled; to be called before the model is saved or predicts probabilities."""
    return judged._all_settled()


def refitted(
    judged: FittedModel, settled: Any, training: TrainingSet, loss: str | None, settings: dict[str, Any]
) -> FittedModel:
    """Return the machine that was judged, fitted to all rows: with its gamma, C, kernel and loss, so without a search.

    Dual ascent starts from its coefficients.
    """
    if settings["solver"] != "dual":
        errors = [epoch["validation_error"] for epoch in judged.history_]
        settings = settings | dict(max_epochs=1 + int(np.argmin(errors)))
    if settings.get("checkpoint") is not None:
        path = settings["checkpoint"]
        settings = settings | dict(checkpoint=path.with_name(f"{path.name}.refit"))
    estimator = new_estimator(training.recipe, loss, settings)
    estimator._settled_before = settled
    if settings["solver"] == "dual":
        estimator._known_coef = known_coef(judged, training.recipe.n_rows)
    return fitted(estimator, training)


def known_coef(judged: FittedModel, n_rows: int) -> NDArray[np.float64]:
    """Return the coefficient of each row in the model that was judged; 0 for rows that it has no term for."""
    coef = np.zeros((n_rows, judged.dual_coef_.shape[1]))
    coef[judged.support_] = judged.dual_coef_
    return coef
