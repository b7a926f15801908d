"""``dsekl reproduce``: the paper's figures and tables again, and a report on what agrees."""

from __future__ import annotations

import os
import shlex
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from .signals import INTERRUPTED

NEEDED = ("matplotlib", "jinja2")
NAMES = ("xor", "figure2", "relatives", "open-question", "table1", "covertype", "speedup", "last-paragraph")


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="experiment", help=f"Which to run: {', '.join(NAMES)}. All if none is named."),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for the report, the figures and the numbers.")] = Path(
        "out/reproduction"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes, with data that come with scikit-learn.")
    ] = False,
    epochs: Annotated[
        int, typer.Option(metavar="<int>", min=1, help="Maximum number of epochs of Algorithm 2 on covertype.")
    ] = 54,
    seed: Annotated[int, typer.Option(metavar="<int>", min=0, help="Random seed.")] = 0,
    jobs: Annotated[
        int, typer.Option(metavar="<int>", min=1, help="Processes, and threads of the large fits.")
    ] = os.cpu_count() or 1,
) -> None:
    """Run the paper's experiments and write an HTML report.

    Figures (SVG, PNG) and numbers (CSV) are written beside it. Finished work is kept: the same command continues where
    an earlier one was stopped. The data sets are read from the folder that DSEKL_DATA names, or downloaded.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        _refuse(f"the report needs {' and '.join(missing)}; install it with: pip install 'dsekl[report]'")
    chosen = experiments or list(NAMES)
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        _refuse(f"experiment {unknown[0]!r} is not known; choose from {', '.join(NAMES)}")
    try:
        _run(chosen, output, quick, epochs, seed, jobs)
    except KeyboardInterrupt:
        typer.echo("\nstopped; what was finished is kept, and the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _run(chosen: list[str], output: Path, quick: bool, epochs: int, seed: int, jobs: int) -> None:
    # Imported here: the other commands need none of it.
    from dsekl.data.catalogue import DataNotFoundError
    from dsekl.experiments import report
    from dsekl.experiments.results import Results
    from dsekl.experiments.settings import Settings

    settings = Settings(seed=seed, quick=quick, epochs=epochs, n_jobs=jobs)
    try:
        results = Results(output, settings.lasting())
    except (OSError, ValueError) as error:
        _refuse(f"--output {output}: {error}")
    command = shlex.join(["dsekl", *sys.argv[1:]])
    left_out = {}
    for name in chosen:
        started = time.perf_counter()
        try:
            report.EXPERIMENTS[name].run(results, settings)
        except DataNotFoundError as error:
            left_out[name] = str(error)
            typer.echo(f"{name}: left out; {error}", err=True)
            continue
        seconds = time.perf_counter() - started
        typer.echo(f"{name}: finished in {seconds:.0f} s", err=True)
        runs = results.read("provenance")
        # A run that went on later took the seconds of all its parts.
        seconds += runs.get(name, {}).get("seconds", 0.0)
        results.write("provenance", runs | {name: report.provenance(command, seconds)})
    if quick:
        left_out |= {
            "the paper's own data sets": "a quick run has scikit-learn's bundled sets in the place of table 1's, and "
            "XOR in the place of covertype; fewer repetitions, steps and points on each axis, so most claims are not "
            "tested"
        }
        typer.echo("quick run: the paper's data sets are left out, and repetitions, steps and axes are fewer", err=True)
    path = report.write(results, left_out)
    typer.echo(str(path))


def _refuse(message: str) -> None:
    typer.echo(f"dsekl reproduce: {message}", err=True)
    raise typer.Exit(2)
