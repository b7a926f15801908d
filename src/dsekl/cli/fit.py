"""``dsekl fit``: from a table to a model file."""

from __future__ import annotations

import re
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dsekl.data.recipe import Recipe
from dsekl.data.training_data import load_training

from . import options as o
from .console import UsageError, Voice, pairs, size
from .scores import classification_scores, regression_scores, score_tables

INTERRUPTED = 130
FEWEST_ROWS_TO_SPLIT = 100
DEFAULT_VALIDATION = 0.1
TOP_FEATURES = 5


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
    kernel: o.Kernel = "rbf",
    gamma: Annotated[
        str,
        typer.Option(help="auto, learn (one per column), scale, median, or a number.", rich_help_panel=o.MODEL),
    ] = "auto",
    C: Annotated[
        str, typer.Option("--C", "-C", help="auto, or a number: weight of the errors.", rich_help_panel=o.MODEL)
    ] = "auto",
    loss: o.Loss = None,
    solver: Annotated[
        str, typer.Option(help="dual, doubly_stochastic or shared_memory.", rich_help_panel=o.MODEL)
    ] = "dual",
    max_epochs: o.MaxEpochs = 100,
    tol: Annotated[
        float | None, typer.Option(min=0.0, help="Duality gap at which to stop.", rich_help_panel=o.RUN)
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=0.9, rich_help_panel=o.RUN,
            help="Share of rows to hold out; 0: none. Default 0.1, of 100 rows or more.",
        ),
    ] = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    memory: o.Memory = 256,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state of the run here, to go on from.", rich_help_panel=o.RUN)
    ] = None,
    checkpoint_interval: Annotated[
        float, typer.Option(min=0.0, help="Seconds between checkpoints.", rich_help_panel=o.RUN)
    ] = 60.0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.", rich_help_panel=o.RUN)
    ] = False,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Fit a model to a table and write it to a file.

    A tenth of the rows is held out: the model is judged by them each epoch, the best epoch's is kept, and they are not
    fitted again. Ctrl-C writes the model so far.
    """
    voice = Voice(as_json, quiet)
    if resume and checkpoint is None:
        raise UsageError("--resume: say with --checkpoint which file to go on from")
    if checkpoint is not None and checkpoint.exists() and not resume:
        raise UsageError(f"--checkpoint {checkpoint}: is there already; add --resume to go on from it, or delete it")
    o.check_writable("--model", model, force or resume, inputs=(data, checkpoint))
    if checkpoint is not None:
        o.check_writable("--checkpoint", checkpoint, force=True, inputs=(data, model))

    settings: dict[str, Any] = dict(
        kernel=kernel, gamma=o.number_or_word("--gamma", gamma, ("auto", "learn", "scale", "median")),
        C=o.number_or_word("--C", C, ("auto",)), solver=solver, max_epochs=max_epochs, tol=tol,
        n_jobs=jobs, random_state=seed, verbose=voice.verbose, memory_budget=memory,
    )  # fmt: skip
    if checkpoint is not None:
        settings |= dict(checkpoint=checkpoint, checkpoint_interval=checkpoint_interval)

    started = time.perf_counter()
    said = o.table_options(target, task, text, number, ignore, scale, max_levels, seed)
    recipe, X, y = load_training(data, said, header, delimiter, voice.watch("read"))
    announce(voice, recipe, asked=task is not None)
    share = _share_to_hold_out(voice, validation, recipe, y)
    read = time.perf_counter()

    if share:
        settings |= dict(early_stopping=True, validation_fraction=share)
    estimator = estimator_for(recipe, loss, settings)
    try:
        with voice.warnings_as_notes(but="stopped by Ctrl-C"):
            estimator.fit(X, y)
    except ValueError as error:
        raise UsageError(_in_options(str(error))) from error
    except KeyboardInterrupt:
        voice.note("stopped by Ctrl-C before the first step; no model was written")
        raise typer.Exit(INTERRUPTED) from None
    fitted = time.perf_counter()
    estimator.save(model, table=recipe.to_dict(), provenance={"data": data.name, "command": shlex.join(sys.argv)})

    scores = _validation_scores(estimator, recipe, X, y)
    summary = {
        **summarise(estimator, recipe),
        "stopped": estimator.stop_reason_,
        "seconds": {"read": round(read - started, 3), "fit": round(fitted - read, 3)},
        "model": str(model),
        "bytes": model.stat().st_size,
    }
    judged = score_tables("Held-out rows", scores) if scores else []
    voice.result({**summary, "validation": scores}, fitted_table(summary), *judged)
    if estimator.stop_reason_ == "interrupted":
        _say_how_to_go_on(voice, model, checkpoint)
        raise typer.Exit(INTERRUPTED)


def announce(voice: Voice, recipe: Recipe, asked: bool) -> None:
    """Say what was made of the table."""
    for note in recipe.notes:
        voice.note(note)
    if not asked:
        classes = recipe.target.classes
        kind = (
            f"{len(classes)} classes, so this is classification" if classes else "many numbers, so this is regression"
        )
        voice.note(f"column {recipe.target.name!r} has {kind} (--task says otherwise)")


def estimator_for(recipe: Recipe, loss: str | None, settings: dict[str, Any]) -> Any:
    """Return an unfitted estimator for the recipe's task."""
    import dsekl

    kind: Any = dsekl.DSEKLClassifier if recipe.target.classes else dsekl.DSEKLRegressor
    return kind(**settings, **({} if loss is None else {"loss": loss}))


def summarise(estimator: Any, recipe: Recipe) -> dict[str, Any]:
    """Return the figures of a fitted model."""
    last = estimator.history_[-1] if estimator.history_ else {}
    gamma: Any = getattr(estimator, "gamma_", None)
    return {
        "task": recipe.target.task,
        "rows": recipe.n_rows,
        "features": len(recipe.encoder.features),
        "kernel": str(estimator.kernel),
        "loss": str(estimator.loss),
        "solver": str(estimator.solver),
        "gamma": gamma if np.ndim(gamma) == 0 else "one per feature",
        "weights": getattr(estimator, "metric_", None),
        "most_important": most_important(estimator, recipe),
        "C": estimator.C_,
        "epochs": estimator.n_iter_,
        "gap": last.get("gap"),
        "kernel_evaluations": last.get("kernel_evaluations"),
        "terms": len(estimator.dual_coef_),
    }


def most_important(estimator: Any, recipe: Recipe) -> dict[str, float] | None:
    """Return the features that matter most to a learned metric, and their shares."""
    shares = getattr(estimator, "feature_importances_", None)
    if shares is None:
        return None
    features = recipe.encoder.features
    return {features[i]: float(shares[i]) for i in np.argsort(-shares, kind="stable")[:TOP_FEATURES]}


def fitted_table(summary: dict[str, Any]) -> Any:
    """Return the closing table."""
    important = summary["most_important"]
    return pairs(
        "Model",
        {
            **{
                name.replace("_", " "): summary[name]
                for name in ("task", "rows", "features", "kernel", "loss", "solver")
            },
            "gamma": summary["gamma"],
            "weights": summary["weights"],
            "most important": ", ".join(f"{name} {share:.0%}" for name, share in important.items())
            if important
            else None,
            **{name.replace("_", " "): summary[name] for name in ("C", "epochs", "gap", "kernel_evaluations")},
            "terms kept": summary["terms"],
            "stopped by": summary.get("stopped"),
            "seconds": ", ".join(f"{name} {value:.1f}" for name, value in summary["seconds"].items()),
            "file": f"{summary['model']} ({size(summary['bytes'])})",
        },
    )


def _share_to_hold_out(voice: Voice, asked: float | None, recipe: Recipe, y: Any) -> float:
    """Return the share of rows that validation takes: what was asked for, or a tenth where that makes sense."""
    if asked is not None:
        return asked
    if recipe.n_rows < FEWEST_ROWS_TO_SPLIT:
        voice.note(f"{recipe.n_rows} rows are few: none are held out (--validation says otherwise)")
        return 0.0
    if recipe.target.classes and np.unique(y, return_counts=True)[1].min() < 2:
        voice.note("a class has one row only, so none are held out (--validation says otherwise)")
        return 0.0
    return DEFAULT_VALIDATION


def _validation_scores(estimator: Any, recipe: Recipe, X: Any, y: Any) -> dict[str, Any] | None:
    """Return the scores of the model on the rows that were held out, if any were."""
    rows = getattr(estimator, "validation_rows_", None)
    if rows is None:
        return None
    if not recipe.target.classes:
        return regression_scores(y[rows], estimator.predict(X[rows]))
    proba = estimator.predict_proba(X[rows]) if hasattr(estimator, "predict_proba") else None
    codes = np.searchsorted(estimator.classes_, y[rows])
    return classification_scores(estimator.classes_.tolist(), codes, estimator.decision_function(X[rows]), proba)


def _in_options(message: str) -> str:
    """Return an estimator's message with the command line's names for what a user of it can change."""
    names = {"validation_fraction=": "--validation ", "set early_stopping=False": "give --validation 0"}
    for parameter, option in names.items():
        message = message.replace(parameter, option)
    return re.sub(r"^(kernel|loss|solver)='(\w+)'", r"--\1 \2", message)


def _say_how_to_go_on(voice: Voice, model: Path, checkpoint: Path | None) -> None:
    how = (
        "run the same command again with --resume to go on"
        if checkpoint is not None
        else "with --checkpoint FILE a run can go on from where it was stopped"
    )
    voice.note(f"stopped by Ctrl-C; {model} holds the model so far; {how}")
