"""``dsekl tune``: the search for gamma and C, and the best model."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from dsekl.data.training_data import load_training

from . import options as o
from .console import UsageError, Voice, grid
from .fit import INTERRUPTED, announce, estimator_for, fitted_table, summarise

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
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="Kernel to try (repeatable); default rbf.", rich_help_panel=o.MODEL),
    ] = None,
    loss: Annotated[
        list[str] | None,
        typer.Option("--loss", help="Loss to try (repeatable); default hinge, or squared.", rich_help_panel=o.MODEL),
    ] = None,
    max_epochs: o.MaxEpochs = 100,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    memory: o.Memory = 256,
    journal: Annotated[
        Path | None,
        typer.Option(help="Keep findings here; a search that was stopped goes on from them.", rich_help_panel=o.RUN),
    ] = None,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Search gamma and C, and write the best model, fitted on all rows.

    49 pairs for each kernel and loss, around what the data suggest, are compared on a few whole regions of the data,
    the better third on more, the last three on all rows but a tenth.
    """
    voice = Voice(as_json, quiet)
    o.check_writable("--model", model, force, inputs=(data, journal))
    started = time.perf_counter()
    said = o.table_options(target, task, text, number, ignore, scale, max_levels, seed)
    recipe, X, y = load_training(data, said, header, delimiter, voice.watch("read"))
    announce(voice, recipe, asked=task is not None)
    read = time.perf_counter()
    estimators = [
        estimator_for(recipe, of_loss, dict(kernel=of_kernel, max_epochs=max_epochs, memory_budget=memory))
        for of_kernel in kernel or ["rbf"]
        for of_loss in loss or (None,)
    ]
    found = _search(voice, estimators, X, y, journal, jobs, seed)
    found.estimator.save(model, table=recipe.to_dict(), provenance={"data": data.name, "command": shlex.join(sys.argv)})
    summary = {
        **summarise(found.estimator, recipe),
        "seconds": {"read": round(read - started, 3), "search": round(time.perf_counter() - read, 3)},
        "model": str(model),
        "bytes": model.stat().st_size,
    }
    tried = [
        {
            **{name: str(getattr(estimators[outcome.candidate.arm], name)) for name in ("kernel", "loss")},
            "width": outcome.candidate.width, "C": outcome.candidate.C, "error": outcome.error,
            "judged_by": outcome.rows, "rung": outcome.rung + 1,
        }
        for outcome in found.outcomes
    ]  # fmt: skip
    error = "error" if recipe.target.classes else "mean square"
    shown = grid(
        f"Best {min(SHOWN, len(tried))} of {len(tried)}",
        ["kernel", "loss", "gamma times", "C", error, "judged by rows", "rung"],
        [list(line.values()) for line in tried[:SHOWN]],
    )
    voice.result({**summary, "best": tried[0], "tried": tried}, fitted_table(summary), shown)


def _search(
    voice: Voice, estimators: list[Any], X: Any, y: Any, journal: Path | None, jobs: int | None, seed: int
) -> Any:
    from dsekl import tuning
    from dsekl.solvers import Progress

    if journal is not None and not journal.parent.is_dir():
        raise UsageError(f"--journal {journal}: there is no folder {journal.parent}; make it first")
    try:
        with Progress(voice.verbose, 1, "tune") as progress:
            return tuning.tune(estimators, X, y, journal=journal, n_jobs=jobs, seed=seed, report=progress.advance)
    except KeyboardInterrupt:
        kept = f"{journal} holds what was found, and the same command goes on from it"
        voice.note(f"stopped by Ctrl-C; {kept if journal else 'with --journal FILE a search can go on'}")
        raise typer.Exit(INTERRUPTED) from None
