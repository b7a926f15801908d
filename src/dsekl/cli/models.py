"""Model files as the commands need them: the estimator and the recipe of its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsekl.data.recipe import Recipe

from .console import UsageError


def read_model(path: Path) -> tuple[Any, Recipe]:
    """Return the estimator and the recipe in a model file."""
    from dsekl.estimators.files import read

    saved = read(path)
    if saved.table is None:
        raise UsageError(
            f"{path}: the model was saved from Python and knows no table; load it there with dsekl.load, or make it "
            "with 'dsekl fit'"
        )
    return saved.estimator, Recipe.from_dict(saved.table, path)


def needs_probabilities(estimator: Any, path: Path) -> None:
    """Raise an error if the model has no probabilities."""
    if not hasattr(estimator, "predict_proba"):
        raise UsageError(
            f"--proba: {path} has loss={estimator.loss!r}, which gives no probabilities; fit with --loss logistic"
        )
