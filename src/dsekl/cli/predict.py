"""``dsekl predict``: raw rows in, predictions out, in chunks of rows."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import numpy as np
import typer

from dsekl.atomic import replacing_text
from dsekl.data import SparseTable, Table, open_table, opener
from dsekl.data.field_values import as_text
from dsekl.data.layout import find_column
from dsekl.data.many_files import Opener, pieces_of
from dsekl.data.messages import Message
from dsekl.data.recipe import Recipe, Rows
from dsekl.data.table import Chunk, Features

from . import options as o
from .clusters import connected
from .console import Output, UsageError, pairs, printable
from .models import FittedModel, probabilities, read_model
from .reading import print_notes
from .streams import STANDARD_OUTPUT, naming

Some = TypeVar("Some")


def predict(
    model: o.ModelFile,
    data: Annotated[Path, typer.Argument(help="Raw rows, in any format that fit reads.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="csv to write; default: standard output.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    decision: Annotated[bool, typer.Option("--decision", help="Add the decision values.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="<column>", help="Copy this column of the input (repeatable).")
    ] = None,
    jobs: o.Jobs = None,
    scheduler: o.Scheduler = None,
    workers: o.Workers = None,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Predict every row of a file.

    The output is csv with a header: the kept columns, then "prediction". Memory does not grow with the number of rows.
    """
    if as_json and output is None:
        raise UsageError("--json: write the predictions to a file with --output; the JSON is on standard output")
    if output is None and sys.__stdout__ is None:
        raise UsageError("standard output is closed; write the predictions to a file with --output")
    if output is not None:
        o.check_writable("--output", output, force=True, inputs=(model, data))
    started = time.perf_counter()
    fitted, recipe = read_model(model, data)
    _check_columns(model, fitted, bool(recipe.target.classes), proba, decision)
    fitted.set_params(n_jobs=jobs)
    table = open_table(data, header, delimiter, decimal)
    if keep and isinstance(table, SparseTable):
        raise UsageError(f"--keep: {data} is an SVMlight file, which has no named columns")
    kept = [] if isinstance(table, SparseTable) else [find_column(table, name) for name in keep or []]

    printer = Output(as_json, quiet)
    notes: list[Message] = []
    n_rows = 0
    with _opened(output) as file, connected(scheduler, workers) as client:
        writer = csv.writer(file, lineterminator="\n")
        header_line = [*kept, *_names(recipe, proba, decision)]
        if client is None:
            chunks = recipe.encoded(table, False, notes, kept, printer.progress("predict"))
            for rows in _after_the_first(chunks, lambda: writer.writerow(header_line)):
                writer.writerows(zip(*_columns(fitted, rows, kept, proba, decision), strict=True))
                n_rows += rows.raw.n_rows
        else:
            there = _there(client, fitted, table, opener(header, delimiter, decimal), recipe, kept, proba, decision)
            answers = printer.progress("predict")(there, None)
            for found in _after_the_first(answers, lambda: writer.writerow(header_line)):
                writer.writerows(zip(*found.columns, strict=True))
                n_rows += found.n_rows
                notes += [note for note in found.notes if note not in notes]
    print_notes(printer, notes)
    if output is not None:
        seconds = time.perf_counter() - started
        figures = {"rows": n_rows, "seconds": round(seconds, 3), "output": str(output)}
        printer.result(figures, pairs("Predictions", figures | {"seconds": f"{seconds:.1f}"}))


def _after_the_first(chunks: Iterator[Some], begin: Callable[[], object]) -> Iterator[Some]:
    """Yield the chunks; call ``begin`` when the first has been read, so that a table that is refused writes nothing."""
    first = next(chunks, None)
    begin()
    if first is not None:
        yield first
    yield from chunks


def _check_columns(model: Path, fitted: FittedModel, classifies: bool, proba: bool, decision: bool) -> None:
    """Raise an error for columns that the model does not have."""
    if proba and not classifies:
        raise UsageError(f"--proba: {model} is a regressor and has no probabilities; leave it out")
    if proba and not hasattr(fitted, "predict_proba"):
        raise UsageError(
            f"--proba: {model} has no probabilities, which fits by sampling do not give for many rows; fit with "
            "--solver dual or --loss logistic"
        )
    if decision and not classifies:
        raise UsageError(f"--decision: {model} is a regressor and has no decision values; leave it out")


def _names(recipe: Recipe, proba: bool, decision: bool) -> list[str]:
    """Return the names of the columns of the predictions."""
    classes = recipe.target.classes
    values = ["decision"] if len(classes) == 2 else [f"decision {label}" for label in classes]
    return ["prediction", *(values if decision else []), *([f"probability {c}" for c in classes] if proba else [])]


def _there(
    client: Any, fitted: FittedModel, table: Table | SparseTable, opener: Opener, recipe: Recipe, *options: Any
) -> Iterator[Any]:
    """Let the workers read and predict the pieces of a table, and yield what each comes to."""
    from dsekl.dask import table_pieces

    if isinstance(table, SparseTable):
        raise UsageError("--scheduler and --workers are for dense rows, and these are sparse; predict on this machine")
    fitted.set_params(n_jobs=1)
    return table_pieces.predictions(client, fitted, pieces_of(table, opener), recipe, _columns, *options)


def _columns(fitted: FittedModel, rows: Rows, kept: Sequence[str], proba: bool, decision: bool) -> list[list[object]]:
    """Return the columns that are kept, and those of the predictions."""
    return [*(_copied(rows, name) for name in kept), *_predictions(fitted, rows.X, proba, decision)]


def _predictions(fitted: FittedModel, X: Features, proba: bool, decision: bool) -> list[list[object]]:
    """Return the columns of the predictions."""
    columns = [fitted.predict(X)[:, None]]
    if decision:
        columns.append(fitted.decision_function(X).reshape(X.shape[0], -1))
    if proba:
        columns.append(np.asarray(probabilities(fitted, X)))
    return [column.tolist() for part in columns for column in part.T]


def _copied(rows: Rows, name: str) -> list[object]:
    """Return a column of the input as it is in the file."""
    assert isinstance(rows.raw, Chunk)
    column = rows.raw.column(name)
    if isinstance(column, np.ndarray):
        return [value or "" for value in as_text(column)]
    return list(column)


class Writable(Protocol):
    """What the csv module writes to."""

    def write(self, text: str, /) -> object: ...


class _Terminal:
    """Standard output where people read it: labels and kept columns come from files, and may hold escape sequences."""

    def write(self, text: str, /) -> None:
        sys.stdout.write("\n".join(map(printable, text.split("\n"))))


@contextmanager
def _opened(output: Path | None) -> Iterator[Writable]:
    if output is None:
        with naming(STANDARD_OUTPUT):
            yield _Terminal() if sys.stdout.isatty() else sys.stdout
            sys.stdout.flush()
    else:
        with naming(str(output)), replacing_text(output) as file:
            yield file
