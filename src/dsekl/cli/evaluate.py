"""``dsekl evaluate``: the scores of a model on rows whose targets are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dsekl.data import open_table

from . import options as o
from .console import Voice
from .models import read_model
from .scores import classification_scores, regression_scores, score_tables


def evaluate(
    model: o.ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows with their targets, in any format that fit reads.")],
    jobs: o.Jobs = None,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a model: accuracy, each class, ROC AUC and a confusion table, or RMSE, MAE and R2.

    Probabilities (of a model with --loss logistic) are judged by the log loss.
    """
    voice = Voice(as_json, quiet)
    estimator, recipe = read_model(model)
    estimator.set_params(n_jobs=jobs)
    notes: list[str] = []
    truth, f, proba = [], [], []
    table = open_table(data, header, delimiter)
    for rows in recipe.encoded(table, with_target=True, notes=notes, watch=voice.watch("evaluate")):
        truth.append(recipe.y(rows.chunk))
        if not recipe.target.classes:
            f.append(estimator.predict(rows.X))
            continue
        f.append(estimator.decision_function(rows.X))
        if hasattr(estimator, "predict_proba"):
            proba.append(estimator.predict_proba(rows.X))
    for note in notes:
        voice.note(note)
    if recipe.target.classes:
        scores = classification_scores(
            recipe.target.classes, np.concatenate(truth), np.concatenate(f), np.concatenate(proba) if proba else None
        )
        if scores["unknown_labels"]:
            voice.note(
                f"{scores['unknown_labels']} rows have a label that training did not have; they count as wrong, "
                "and have no part in the ROC AUC and the log loss"
            )
    else:
        scores = regression_scores(np.concatenate(truth), np.concatenate(f))
    voice.result(scores, *score_tables(f"{model.name} on {data.name}", scores))
