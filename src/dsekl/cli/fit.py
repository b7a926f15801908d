"""``dsekl fit``: from a table to a model file."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import typer

from . import options as o
from .console import Output, UsageError
from .models import FittedModel, fitted, new_estimator, probabilities
from .reading import TrainingSet, read_training
from .scores import classification_scores, regression_scores, score_tables
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
    kernel: o.Kernel = "auto",
    gamma: o.Gamma = "auto",
    C: o.Cost = "auto",
    loss: o.Loss = None,
    solver: o.Solver = "dual",
    max_epochs: o.MaxEpochs = 100,
    max_seconds: o.MaxSeconds = None,
    tol: o.Tol = None,
    validation: o.Validation = None,
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

    A tenth of the rows is held out for early stopping and is not used for training. Ctrl-C writes the current model.
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

    options = o.table_options(target, task, text, number, ignore, scale, max_levels, seed)
    training = read_training(output, data, options, header, delimiter)
    if loss is not None:
        o.check_choice("--loss", loss, o.LOSSES[training.recipe.target.task])
    on_cluster = scheduler is not None or workers is not None
    if on_cluster and validation:
        raise UsageError(f"--validation {validation}: no rows are held out on a cluster; leave it out")
    if not on_cluster and (share := _validation_share(output, validation, training)):
        settings |= dict(early_stopping=True, validation_fraction=share)

    started = time.perf_counter()
    trained = (
        _train_on_cluster(output, training, loss, settings, scheduler, workers)
        if on_cluster
        else _train(output, training, loss, settings)
    )
    seconds = {"read": training.seconds, "fit": time.perf_counter() - started}
    save_model(trained, model, training.recipe, data)
    summary = summarise(trained, training.recipe, model, seconds) | {"stopped": trained.stop_reason_}
    scores = _validation_scores(trained, training)
    held_out = score_tables("Held-out rows", scores) if scores else []
    output.result({**summary, "validation": scores}, *held_out, model_table(summary))
    if trained.stop_reason_ == "interrupted":
        how = "resume with the same command and --resume" if checkpoint else "--checkpoint FILE makes a fit resumable"
        output.note(f"stopped; {model} holds the current model; {how}")
        raise typer.Exit(INTERRUPTED)


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


def _validation_share(output: Output, given: float | None, training: TrainingSet) -> float:
    """Return the share of rows to hold out: what was given, or a tenth where the rows allow it."""
    share = o.DEFAULT_VALIDATION if given is None else given
    obstacle = _obstacle_to_split(share, training) if share else None
    if given is not None:
        if obstacle:
            raise UsageError(f"--validation {given} cannot be held out: {obstacle}; change it, or give --validation 0")
        return given
    if training.recipe.n_rows < o.FEWEST_ROWS_TO_SPLIT:
        obstacle = f"there are fewer than {o.FEWEST_ROWS_TO_SPLIT}"
    if obstacle:
        output.note(f"no rows are held out: {obstacle}; override with --validation")
        return 0.0
    return share


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


def _train(output: Output, training: TrainingSet, loss: str | None, settings: dict[str, Any]) -> FittedModel:
    estimator = new_estimator(training.recipe, loss, settings)
    try:
        with output.warnings_as_notes():
            return fitted(estimator, training.recipe, training.X, training.y)
    except KeyboardInterrupt:
        # A fit that was stopped leaves the model so far in its estimator, if it had come to one.
        if hasattr(estimator, "model_"):
            return cast("FittedModel", estimator)
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


def _validation_scores(model: FittedModel, training: TrainingSet) -> dict[str, Any] | None:
    """Return the scores of the model on the held-out rows, if there are any."""
    rows = getattr(model, "validation_rows_", None)
    if rows is None:
        return None
    X, y = training.X[rows], training.y[rows]
    classes = training.recipe.target.classes
    if not classes:
        return regression_scores(y, model.predict(X))
    return classification_scores(classes, y, model.decision_function(X), probabilities(model, X))
