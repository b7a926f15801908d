"""``dsekl tune``: the search for gamma and C, and the best model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Group, RenderableType

from . import options as o
from .console import Output, grid
from .models import new_estimator
from .reading import TrainingSet, read_training
from .signals import INTERRUPTED
from .summary import model_table, save_model, summarise

if TYPE_CHECKING:
    from dsekl import DSEKLClassifier, DSEKLRegressor
    from dsekl.tuning import Outcome, Tuned

    Estimators = Sequence[DSEKLClassifier | DSEKLRegressor]

SHOWN = 10


def tune(
    data: o.Data,
    model: o.ModelOut,
    target: o.Target = None,
    task: o.TaskOption = None,
    text: o.Text = None,
    number: o.Number = None,
    ignore: o.Ignore = None,
    scale: o.Scale = False,
    max_levels: o.MaxLevels = 100,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    day_first: o.DayFirst = None,
    kernel: o.Kernels = None,
    loss: o.Losses = None,
    max_epochs: o.MaxEpochs = 100,
    max_seconds: o.MaxSeconds = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    memory: o.Memory = 256,
    journal: o.Journal = None,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Search gamma and C, and write the best model.

    Successive halving: many candidates on few rows, the best of them on more. The best of all is fitted to all rows.
    """
    output = Output(as_json, quiet)
    o.check_seconds(max_seconds)
    _check_files(data, model, journal, force)
    kernels = kernel or ["matern32"]
    for name in kernels:
        o.check_choice("--kernel", name, [known for known in o.KERNELS if known != "auto"])
    options = o.table_options(target, task, text, number, ignore, scale, max_levels, day_first, seed)
    training = read_training(output, data, options, header, delimiter, decimal)
    for name in loss or ():
        task_of = training.recipe.target.task
        o.check_loss(name, task_of, [known for known in o.LOSSES[task_of] if known != "auto"])

    estimators = [
        new_estimator(training.recipe, of_loss, dict(kernel=of_kernel, max_epochs=max_epochs, memory_budget=memory))
        for of_kernel in kernels
        for of_loss in loss or ("hinge" if training.recipe.target.classes else "squared",)
    ]
    started = time.perf_counter()
    left = None if max_seconds is None else max(max_seconds - training.seconds, o.NEXT_TO_NOTHING)
    settings = dict(journal=journal, n_jobs=jobs, seed=seed, max_seconds=left)
    tuned = _search(output, estimators, training, settings)
    seconds = {"read": training.seconds, "search": time.perf_counter() - started}
    save_model(tuned.estimator, model, training.recipe, data)
    summary = summarise(tuned.estimator, training.recipe, model, seconds)
    tried = [_figures(outcome, estimators) for outcome in tuned.outcomes]
    error, digits = ("error", ".4f") if training.recipe.target.classes else ("mean squared error", ".4g")
    best = _candidates(tried, error, digits)
    output.result({**summary, "best": tried[0], "tried": tried}, best, model_table(summary))


def _check_files(data: Path, model: Path, journal: Path | None, force: bool) -> None:
    """Raise an error if a file cannot be written, or would be overwritten."""
    o.check_writable("--model", model, force, inputs=(data, journal))
    if journal is not None:
        o.check_writable("--journal", journal, force=True, inputs=(data, model))


def _search(output: Output, estimators: Estimators, training: TrainingSet, settings: dict[str, Any]) -> Tuned:
    from dsekl import tuning
    from dsekl.runs import Progress

    y = training.recipe.target.decoded(training.y)
    try:
        with Progress(output.verbose, 1, "tune") as bar:
            return tuning.tune(estimators, training.X, y, **settings, report=bar.advance)
    except KeyboardInterrupt:
        journal = settings["journal"]
        saved = f"{journal} holds the scores so far, and the same command resumes the search"
        output.note(f"stopped; {saved if journal else '--journal FILE makes a search resumable'}")
        raise typer.Exit(INTERRUPTED) from None


def _figures(outcome: Outcome, estimators: Estimators) -> dict[str, Any]:
    """Return how a candidate did."""
    candidate = outcome.candidate
    estimator = estimators[candidate.arm]
    return {
        "kernel": str(estimator.kernel), "loss": str(estimator.loss), "width": candidate.width, "C": candidate.C,
        "error": outcome.error, "judged_by": outcome.rows, "rung": outcome.rung + 1,
    }  # fmt: skip


def _candidates(tried: list[dict[str, Any]], error: str, digits: str) -> RenderableType:
    """Return the best candidates as a table; ``error`` is the name of their error, ``digits`` how it is written."""
    best = tried[:SHOWN]
    rows = [
        [
            figures["error"], figures["judged_by"], figures["rung"], figures["kernel"], figures["loss"],
            f"{figures['width']:g}", f"{figures['C']:g}",
        ]
        for figures in best
    ]  # fmt: skip
    table = grid(
        f"Best {len(best)} of {len(tried)} candidates",
        [error, "validation rows", "round", "kernel", "loss", "gamma", "C"],
        rows,
        digits,
    )
    legend = (
        "gamma is times the value learned from the data; the best of a round are compared on more rows in the next."
    )
    return Group(table, legend)
