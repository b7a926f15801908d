"""``dsekl fit``: from a table to a model file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from . import options as o
from .console import Output, UsageError
from .held_out import fit_without, held_out_rows, refitted, scores_of, settled_by
from .models import FittedModel
from .reading import TrainingSet, read_training
from .scores import score_tables
from .signals import INTERRUPTED
from .summary import model_table, save_model, summarise


def fit(
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
    kernel: o.Kernel = "auto",
    gamma: o.Gamma = "auto",
    C: o.Cost = "auto",
    loss: o.Loss = None,
    objective: o.Objective = "decisions",
    solver: o.Solver = "dual",
    max_epochs: o.MaxEpochs = 100,
    max_seconds: o.MaxSeconds = None,
    tol: o.Tol = None,
    validation: o.Validation = None,
    refit: o.Refit = True,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    scheduler: o.Scheduler = None,
    workers: o.Workers = None,
    memory: o.Memory = 256,
    checkpoint: o.Checkpoint = None,
    checkpoint_interval: o.CheckpointInterval = 60.0,
    resume: o.Resume = False,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit a model to a table and write it to a file.

    A tenth of the rows is held out, and a model without them is scored on them. Then all rows are fitted for the file,
    with the settings found. Ctrl-C writes the current model.
    """
    output = Output(as_json, quiet)
    o.check_seconds(max_seconds)
    _check_files(data, model, checkpoint, resume, force)
    settings = _settings(kernel, gamma, C, solver) | dict(
        max_epochs=max_epochs, max_seconds=max_seconds, tol=tol, n_jobs=jobs, random_state=seed,
        verbose=output.verbose, memory_budget=memory,
    )  # fmt: skip
    if checkpoint is not None:
        settings |= dict(checkpoint=checkpoint, checkpoint_interval=checkpoint_interval)

    options = o.table_options(target, task, text, number, ignore, scale, max_levels, day_first, seed)
    training = read_training(output, data, options, header, delimiter, decimal)
    if loss is not None:
        o.check_choice("--loss", loss, o.LOSSES[training.recipe.target.task])
    o.check_choice("--objective", objective, o.OBJECTIVES)
    if training.recipe.target.classes:
        settings |= dict(objective=objective)
    on_cluster = scheduler is not None or workers is not None
    if on_cluster and validation:
        raise UsageError(f"--validation {validation}: no rows are held out on a cluster; leave it out")
    held_out = None if on_cluster else held_out_rows(output, validation, training, seed)

    clock = Clock(training.seconds)
    if on_cluster:
        trained = _train_on_cluster(output, training, loss, settings, scheduler, workers)
    else:
        trained = _train(output, *fit_without(training, loss, settings, held_out))
    clock.stop("fit")
    goes_on = held_out is not None and refit and trained.stop_reason_ != "interrupted"
    settled = settled_by(trained) if goes_on else None
    save_model(trained, model, training.recipe, data)
    scores = None if held_out is None else scores_of(trained, training, held_out)
    clock.stop("scores")
    whole = _refit(output, model, trained, settled, training, loss, settings, clock) if goes_on else None
    if whole is not None:
        trained = whole
        save_model(trained, model, training.recipe, data)
    clock.stop("all rows" if goes_on else None)
    n_left_out = 0 if held_out is None or whole is not None else len(held_out)
    summary = summarise(trained, training.recipe, model, clock.seconds)
    summary |= {"fitted_rows": training.recipe.n_rows - n_left_out, "stopped": trained.stop_reason_}
    _report(output, summary, scores)
    if trained.stop_reason_ == "interrupted":
        how = "resume with the same command and --resume" if checkpoint else "--checkpoint FILE makes a fit resumable"
        output.note(f"stopped; {model} holds the current model; {how}")
        raise typer.Exit(INTERRUPTED)


def _report(output: Output, summary: dict[str, Any], scores: dict[str, Any] | None) -> None:
    is_refitted = summary["fitted_rows"] == summary["rows"]
    title = "Held-out rows, by a model without them" if is_refitted else "Held-out rows"
    tables = score_tables(title, scores) if scores else []
    output.result({**summary, "validation": scores}, *tables, model_table(summary))


class Clock:
    """Seconds that each step has taken."""

    def __init__(self, reading: float) -> None:
        self.seconds = {"read": reading}
        self._last = time.perf_counter()

    def stop(self, step: str | None) -> None:
        """Write down the time since the last step."""
        now = time.perf_counter()
        if step is not None:
            self.seconds[step] = now - self._last
        self._last = now


def _refit(
    output: Output, path: Path, judged: FittedModel, settled: Any, training: TrainingSet, loss: str | None,
    settings: dict[str, Any], clock: Clock,
) -> FittedModel | None:  # fmt: skip
    """Return the judged machine fitted to all rows; None where there is no time for it."""
    try:
        with output.warnings_as_notes():
            whole = refitted(judged, settled, training, loss, settings, clock.seconds["fit"])
    except KeyboardInterrupt:
        output.note(f"stopped; {path} holds the model that was judged, without the held-out rows")
        raise typer.Exit(INTERRUPTED) from None
    if whole is None:
        output.note(f"no time is left to fit all rows; {path} holds the model that was judged")
    return whole


def _check_files(data: Path, model: Path, checkpoint: Path | None, resume: bool, force: bool) -> None:
    """Raise an error if a file cannot be written, or would be overwritten."""
    if resume and checkpoint is None:
        raise UsageError("--resume: give the checkpoint to resume from with --checkpoint")
    if checkpoint is not None and checkpoint.exists() and not resume:
        raise UsageError(f"--checkpoint {checkpoint}: already exists; add --resume to resume from it, or delete it")
    o.check_writable("--model", model, force or resume, inputs=(data, checkpoint))
    if checkpoint is not None:
        o.check_writable("--checkpoint", checkpoint, force=True, inputs=(data, model))


def _settings(kernel: str, gamma: str, C: str, solver: str) -> dict[str, Any]:
    """Return the model's settings, checked before any work is done."""
    o.check_choice("--kernel", kernel, o.KERNELS)
    o.check_choice("--solver", solver, o.SOLVERS)
    return dict(
        kernel=kernel, gamma=o.number_or_rule("--gamma", gamma, o.GAMMA_RULES),
        C=o.number_or_rule("--C", C, o.C_RULES), solver=solver,
    )  # fmt: skip


def _train(output: Output, estimator: FittedModel, fit: Callable[[], FittedModel]) -> FittedModel:
    try:
        with output.warnings_as_notes():
            return fit()
    except KeyboardInterrupt:
        # A fit that was stopped leaves the model so far in its estimator, if it had come to one.
        if hasattr(estimator, "model_"):
            return estimator
        output.note("stopped before the first epoch; no model was written")
        raise typer.Exit(INTERRUPTED) from None


def _train_on_cluster(
    output: Output, training: TrainingSet, loss: str | None, settings: dict[str, Any], scheduler: str | None,
    workers: int | None,
) -> FittedModel:  # fmt: skip
    from .clusters import connected, fitted_on

    try:
        with connected(scheduler, workers) as client, output.warnings_as_notes():
            return fitted_on(client, training, loss, settings)
    except KeyboardInterrupt:
        output.note("stopped before the first epoch; no model was written")
        raise typer.Exit(INTERRUPTED) from None
