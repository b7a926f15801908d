"""Options that several commands share: one name, one meaning, one help text."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsekl.data.recipe import Options

from .console import UsageError


class Task(StrEnum):
    """What the target asks for."""

    classification = "classification"
    regression = "regression"


TABLE, MODEL, RUN, OUTPUT = "The table", "The model", "The run", "What is said"
"""Headings under which the help lists options."""

Data = Annotated[
    Path, typer.Argument(help="csv (also gz, bz2, xz), SVMlight, npy, npz, parquet, or a folder made by convert.")
]
ModelFile = Annotated[Path, typer.Argument(help="A model written by fit or tune.")]
ModelOut = Annotated[Path, typer.Option("--model", "-m", help="Where to write the model.", rich_help_panel=MODEL)]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="Column to predict: its name, or its number (-1: last).", rich_help_panel=TABLE
    ),
]
TaskOption = Annotated[
    Task | None,
    typer.Option(help="Default: texts and up to 20 whole numbers are classes.", rich_help_panel=TABLE),
]
Text = Annotated[
    list[str] | None, typer.Option("--text", help="Take this column as texts (repeatable).", rich_help_panel=TABLE)
]
Number = Annotated[
    list[str] | None, typer.Option("--number", help="Take this column as numbers (repeatable).", rich_help_panel=TABLE)
]
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", help="Leave this column out (repeatable).", rich_help_panel=TABLE)
]
Scale = Annotated[bool, typer.Option("--scale", help="Standardise columns of numbers.", rich_help_panel=TABLE)]
MaxLevels = Annotated[
    int, typer.Option(min=1, help="Texts of a column that have a feature each.", rich_help_panel=TABLE)
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="csv: is the first row a header? Default: found out.", rich_help_panel=TABLE
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="csv: default is found out among , ; tab and |.", rich_help_panel=TABLE)
]
Kernel = Annotated[str, typer.Option(help="rbf, laplacian, matern32, linear, poly, ...", rich_help_panel=MODEL)]
Loss = Annotated[
    str | None,
    typer.Option(
        help="Default: hinge, or squared for regression; logistic gives probabilities.", rich_help_panel=MODEL
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Decides everything random.", rich_help_panel=RUN)]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Threads; default: all cores.", rich_help_panel=RUN)
]
MaxEpochs = Annotated[int, typer.Option(min=1, help="Most passes over the data.", rich_help_panel=RUN)]
Memory = Annotated[int, typer.Option(min=1, help="Megabytes for kernel blocks.", rich_help_panel=RUN)]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.", rich_help_panel=RUN)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel=OUTPUT)]


def table_options(
    target: str | None, task: Task | None, text: list[str] | None, number: list[str] | None, ignore: list[str] | None,
    scale: bool, max_levels: int, seed: int,
) -> Options:  # fmt: skip
    """Return what the user said of the training table."""
    return Options(
        target=target, task=None if task is None else task.value, texts=tuple(text or ()), numbers=tuple(number or ()),
        ignored=tuple(ignore or ()), scale=scale, most_levels=max_levels, seed=seed,
    )  # fmt: skip


def number_or_word(option: str, given: str, words: tuple[str, ...]) -> float | str:
    """Return an option's value that is a positive number or one of some words."""
    if given in words:
        return given
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{option} {given}: give {', '.join(words)} or a number greater than 0")
    return value


def check_writable(option: str, path: Path, force: bool, inputs: Iterable[Path | None] = ()) -> None:
    """Raise an error before any work is done if the result cannot be written, or would replace what it is made of."""
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; give the name of a file")
    if any(given is not None and path.resolve() == given.resolve() for given in inputs):
        raise UsageError(f"{option} {path}: has another part in this command already; give another name")
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path}: is a device or a pipe; give the name of a file")
    if path.exists() and not force:
        raise UsageError(f"{option} {path}: is there already; give another name, or --force to replace it")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written there ({error.strerror}); give another folder") from error
