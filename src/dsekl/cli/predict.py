"""``dsekl predict``: raw rows in, predictions out, some rows at a time."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import typer

from dsekl.atomic import replacing_text
from dsekl.data import SparseTable, open_table
from dsekl.data.fields import as_text
from dsekl.data.layout import find_column
from dsekl.data.recipe import Recipe, Rows
from dsekl.data.table import Chunk

from . import options as o
from .console import UsageError, Voice, pairs
from .models import needs_probabilities, read_model


def predict(
    model: o.ModelFile,
    data: Annotated[Path, typer.Argument(help="Raw rows, in any format that fit reads.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="csv to write; default: standard output.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    decision: Annotated[bool, typer.Option("--decision", help="Add the decision values.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="Copy this column of the input (repeatable).")
    ] = None,
    jobs: o.Jobs = None,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Predict each row of a file; the memory does not grow with the rows.

    The output is csv with a header and a column "prediction", after the columns to keep.
    """
    voice = Voice(as_json, quiet)
    if as_json and output is None:
        raise UsageError("--json: say with --output where predictions go; standard output is for the summary")
    if output is not None:
        o.check_writable("--output", output, force=True, inputs=(model, data))
    started = time.perf_counter()
    estimator, recipe = read_model(model)
    if proba:
        needs_probabilities(estimator, model)
    if decision and not recipe.target.classes:
        raise UsageError(f"--decision: {model} predicts numbers, which are its decision values")
    estimator.set_params(n_jobs=jobs)
    table = open_table(data, header, delimiter)
    if keep and isinstance(table, SparseTable):
        raise UsageError(f"--keep: {data} is in SVMlight's format, which has no named columns")
    kept = [] if isinstance(table, SparseTable) else [find_column(table, name) for name in keep or []]

    notes: list[str] = []
    n_rows = 0
    with _opened(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*kept, *_names(recipe, proba, decision)])
        for rows in recipe.encoded(table, False, notes, kept, voice.watch("predict")):
            copied = [_copied(rows, name) for name in kept]
            writer.writerows(zip(*copied, *_predictions(estimator, rows.X, proba, decision), strict=True))
            n_rows += rows.raw.n_rows
    for note in notes:
        voice.note(note)
    if output is not None:
        seconds = time.perf_counter() - started
        figures = {"rows": n_rows, "seconds": round(seconds, 3), "output": str(output)}
        voice.result(figures, pairs("Predictions", figures))


def _names(recipe: Recipe, proba: bool, decision: bool) -> list[str]:
    """Return the names of the columns that predictions have."""
    classes = recipe.target.classes
    values = ["decision"] if len(classes) == 2 else [f"decision {label}" for label in classes]
    return ["prediction", *(values if decision else []), *([f"probability {c}" for c in classes] if proba else [])]


def _predictions(estimator: Any, X: Any, proba: bool, decision: bool) -> list[list[Any]]:
    """Return the columns that predictions have."""
    columns = [estimator.predict(X)[:, None]]
    if decision:
        columns.append(estimator.decision_function(X).reshape(X.shape[0], -1))
    if proba:
        columns.append(estimator.predict_proba(X))
    return [column.tolist() for part in columns for column in part.T]


def _copied(rows: Rows, name: str) -> list[str]:
    """Return a column of the input as it stands there."""
    assert isinstance(rows.raw, Chunk)
    column = rows.raw.column(name)
    if isinstance(column, np.ndarray):
        return ["" if np.isnan(value) else as_text(value) for value in column.tolist()]
    return list(column)


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[str]]:
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
    else:
        with replacing_text(output) as file:
            yield file
