"""``dsekl fit``: from a table to a model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from dsekl.data import opener
from dsekl.data.recipe_learner import Options

from . import options as o
from .clusters import connected, read_training_there
from .console import Output, UsageError
from .fit_job import FitJob
from .held_out import held_out_rows
from .models import fewest_rows_of_search
from .reading import TrainingSet, read_training
from .scores import score_tables
from .signals import INTERRUPTED
from .summary import model_table


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

    if (scheduler is not None or workers is not None) and validation:
        raise UsageError(f"--validation {validation}: no rows are held out on a cluster; leave it out")
    options = o.table_options(target, task, text, number, ignore, scale, max_levels, day_first, seed)
    with connected(scheduler, workers) as client:
        training = _read(output, client, data, options, settings, (header, delimiter, decimal))
        settings |= _checked_for(training, loss, objective)
        held_out = None if client is not None else held_out_rows(output, validation, training, seed)
        summary, scores = FitJob(output, training, loss, settings, data, model, client).run(held_out, refit)
    _report(output, summary, scores)
    if summary["stopped"] == "interrupted":
        how = "resume with the same command and --resume" if checkpoint else "--checkpoint FILE makes a fit resumable"
        output.note(f"stopped; {model} holds the current model; {how}")
        raise typer.Exit(INTERRUPTED)


def _read(
    output: Output, client: Any, data: Path, options: Options, settings: dict[str, Any],
    spelling: tuple[bool | None, str | None, str | None],
) -> TrainingSet:  # fmt: skip
    """Read the training table: here, or where there is a cluster, on its workers."""
    if client is not None:
        return read_training_there(output, client, data, options, opener(*spelling))
    options = replace(options, search_from=fewest_rows_of_search(settings))
    return read_training(output, data, options, *spelling)


def _checked_for(training: TrainingSet, loss: str | None, objective: str) -> dict[str, Any]:
    """Return settings that only some tasks have, checked."""
    if loss is not None:
        task = training.recipe.target.task
        o.check_loss(loss, task, o.LOSSES[task])
    o.check_choice("--objective", objective, o.OBJECTIVES)
    return dict(objective=objective) if training.recipe.target.classes else {}


def _report(output: Output, summary: dict[str, Any], scores: dict[str, Any] | None) -> None:
    tables = score_tables("Scores on rows held out from training", scores) if scores else []
    output.result({**summary, "validation": scores}, *tables, model_table(summary))


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
