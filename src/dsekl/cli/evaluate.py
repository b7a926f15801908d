"""``dsekl evaluate``: the scores of a model on rows whose targets are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dsekl.data import open_table
from dsekl.data.messages import Message

from . import options as o
from .console import Output
from .models import probabilities, read_model
from .reading import print_notes
from .scores import classification_scores, regression_scores, score_tables


def evaluate(
    model: o.ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows with their targets, in any format that fit reads.")],
    jobs: o.Jobs = None,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a model on rows whose targets are known.

    Classification: accuracy, ROC AUC, log loss, scores per class and the confusion matrix. Regression: RMSE, MAE, R2.
    """
    output = Output(as_json, quiet)
    fitted, recipe = read_model(model, data)
    fitted.set_params(n_jobs=jobs)
    classes = recipe.target.classes
    notes: list[Message] = []
    truth, f, proba = [], [], []
    table = open_table(data, header, delimiter, decimal)
    for rows in recipe.encoded(table, with_target=True, notes=notes, progress=output.progress("evaluate")):
        truth.append(recipe.y(rows.chunk))
        f.append(fitted.decision_function(rows.X) if classes else fitted.predict(rows.X))
        proba.append(probabilities(fitted, rows.X))
    print_notes(output, notes)
    if classes:
        known = [part for part in proba if part is not None]
        scores = classification_scores(
            classes, np.concatenate(truth), np.concatenate(f), np.concatenate(known) if known else None
        )
        if scores["unknown_labels"]:
            output.note(
                f"{scores['unknown_labels']} rows have a label that the training rows did not have; they count as "
                "wrong, and are left out of the ROC AUC and the log loss"
            )
    else:
        scores = regression_scores(np.concatenate(truth), np.concatenate(f))
    output.result(scores, *score_tables(f"{model.name} on {data.name}", scores))
