"""The options of the commands: one name, one meaning, one help text, wherever an option occurs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsekl.data.recipe_learner import Options

from .console import UsageError

KERNELS = (
    "auto", "rbf", "laplacian", "matern12", "matern32", "matern52", "rational_quadratic", "linear", "poly",
    "polynomial", "sigmoid", "chi2", "precomputed",
)  # fmt: skip
LOSSES = {
    "classification": ("auto", "hinge", "squared_hinge", "logistic", "squared"),
    "regression": ("squared", "epsilon_insensitive", "huber", "quantile"),
}
OBJECTIVES = ("decisions", "probabilities")
SOLVERS = ("dual", "doubly_stochastic", "shared_memory")
"""Written here as well as in the library, so that ``--help`` need not import it; a test compares them."""

GAMMA_RULES = ("auto", "learn", "scale", "median")
C_RULES = ("auto",)

DEFAULT_VALIDATION = 0.1
FEWEST_ROWS_TO_SPLIT = 100

OPTION_OF = {
    "target": "--target", "task": "--task", "categorical": "--text", "numeric": "--number", "ignore": "--ignore",
    "max_categories": "--max-levels", "header": "--header", "delimiter": "--delimiter",
    "decimal": "--decimal", "day_first": "--day-first", "dtype": "--dtype",
}  # fmt: skip
"""The option that sets a parameter of ``dsekl.data``, for messages that name it."""


class Task(StrEnum):
    """The kind of prediction."""

    classification = "classification"
    regression = "regression"


TABLE, MODEL, RUN, OUTPUT = "Data", "Model", "Training", "Output"
"""Headings of the help."""

FORMATS = "csv (also gz, bz2, xz, zip), SVMlight, npy, npz, parquet, a pattern such as 'rows/*.csv'"
Data = Annotated[Path, typer.Argument(help=f"{FORMATS}, or a folder made by convert.")]
DataFile = Annotated[Path, typer.Argument(help=f"{FORMATS}.")]
ModelFile = Annotated[Path, typer.Argument(help="A model written by fit or tune.")]
ModelOut = Annotated[Path, typer.Option("--model", "-m", help="The model file to write.", rich_help_panel=MODEL)]

Target = Annotated[
    str | None,
    typer.Option("--target", "-t", help="Target column: its name, or its number (-1: last).", rich_help_panel=TABLE),
]
TaskOption = Annotated[
    Task | None,
    typer.Option(help="Default: classification of text and of up to 20 integers; at a terminal, dsekl asks.",
                 rich_help_panel=TABLE),
]  # fmt: skip
Text = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="<column>", help="Categorical column (repeatable).", rich_help_panel=TABLE),
]
Number = Annotated[
    list[str] | None,
    typer.Option("--number", metavar="<column>", help="Numeric column (repeatable).", rich_help_panel=TABLE),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="<column>", help="Column to leave out (repeatable).", rich_help_panel=TABLE),
]
Scale = Annotated[bool, typer.Option("--scale", help="Standardise numeric columns.", rich_help_panel=TABLE)]
MaxLevels = Annotated[
    int, typer.Option(metavar="<int>", min=1, help="Max. categories per column (one-hot).", rich_help_panel=TABLE)
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="csv: whether line 1 is a header. Default: inferred.",
                 rich_help_panel=TABLE),
]  # fmt: skip
Delimiter = Annotated[
    str | None, typer.Option(help="csv: default inferred among , ; tab and |.", rich_help_panel=TABLE)
]
Decimal = Annotated[
    str | None, typer.Option(help="csv: decimal mark, . or , . Default: inferred.", rich_help_panel=TABLE)
]
DayFirst = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="Whether 3/4/2024 is in April. Default: inferred.",
                 rich_help_panel=TABLE),
]  # fmt: skip

Kernel = Annotated[str, typer.Option(help=f"{', '.join(KERNELS)}.", rich_help_panel=MODEL)]
Kernels = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel", metavar="<name>", help="Kernel to try (repeatable). Default: matern32.", rich_help_panel=MODEL
    ),
]
Gamma = Annotated[str, typer.Option(help=f"{', '.join(GAMMA_RULES)}, or a number.", rich_help_panel=MODEL)]
Cost = Annotated[
    str,
    typer.Option("--C", "-C", help="auto, or a number: inverse regularisation strength.", rich_help_panel=MODEL),
]


def help_of_losses(losses: Mapping[str, Sequence[str]]) -> str:
    """Return the losses of each task, as the help of an option has them."""
    return " | ".join(f"{task}: {', '.join(names)}" for task, names in losses.items()) + ". Default: auto, or squared."


Loss = Annotated[str | None, typer.Option(help=help_of_losses(LOSSES), rich_help_panel=MODEL)]
Losses = Annotated[
    list[str] | None,
    typer.Option(
        "--loss", metavar="<name>", help="Loss to try (repeatable). Default: hinge, or squared.", rich_help_panel=MODEL
    ),
]
Objective = Annotated[
    str, typer.Option(help="classification: choose by decisions or by probabilities.", rich_help_panel=MODEL)
]
Solver = Annotated[str, typer.Option(help=f"{', '.join(SOLVERS)}.", rich_help_panel=MODEL)]

MaxEpochs = Annotated[int, typer.Option(metavar="<int>", min=1, help="Maximum number of epochs.", rich_help_panel=RUN)]
MaxSeconds = Annotated[
    float | None,
    typer.Option(help="Seconds that the search and the fit may take. Default: as many as they need.",
                 rich_help_panel=RUN),
]  # fmt: skip
Tol = Annotated[
    float | None,
    typer.Option(metavar="<float>", min=0.0, help="Relative duality gap at which to stop.", rich_help_panel=RUN),
]
Validation = Annotated[
    float | None,
    typer.Option(metavar="<float>", min=0.0, max=0.9, rich_help_panel=RUN,
                 help=f"Share of rows to hold out; 0: none. Default: {DEFAULT_VALIDATION}, or 0 for fewer than "
                 f"{FEWEST_ROWS_TO_SPLIT} rows."),
]  # fmt: skip
Refit = Annotated[
    bool,
    typer.Option("--refit/--no-refit", rich_help_panel=RUN,
                 help="Fit all rows for the file, or write the model that the held-out rows have judged."),
]  # fmt: skip
Seed = Annotated[int, typer.Option(metavar="<int>", min=0, help="Random seed.", rich_help_panel=RUN)]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="<int>", min=1, help="Threads. Default: all cores.", rich_help_panel=RUN),
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, such as host:8786.", rich_help_panel=RUN)
]
Workers = Annotated[
    int | None, typer.Option(metavar="<int>", min=1, help="Dask workers to start on this machine.", rich_help_panel=RUN)
]
Memory = Annotated[int, typer.Option(metavar="<int>", min=1, help="Megabytes for kernel blocks.", rich_help_panel=RUN)]
Checkpoint = Annotated[Path | None, typer.Option(help="Checkpoint file to write.", rich_help_panel=RUN)]
CheckpointInterval = Annotated[
    float, typer.Option(metavar="<float>", min=0.0, help="Seconds between checkpoints.", rich_help_panel=RUN)
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume from the checkpoint, if it exists.", rich_help_panel=RUN)
]
Journal = Annotated[
    Path | None,
    typer.Option(help="File of the candidates' scores, from which a search can resume.", rich_help_panel=RUN),
]

Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing result.", rich_help_panel=OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.", rich_help_panel=OUTPUT)]


def table_options(
    target: str | None, task: Task | None, text: list[str] | None, number: list[str] | None, ignore: list[str] | None,
    scale: bool, max_levels: int, day_first: bool | None, seed: int,
) -> Options:  # fmt: skip
    """Return the options that concern the training table."""
    return Options(
        target=target, task=None if task is None else task.value, categorical=tuple(text or ()),
        numeric=tuple(number or ()), ignore=tuple(ignore or ()), scale=scale, max_categories=max_levels,
        day_first=day_first, seed=seed,
    )  # fmt: skip


def check_choice(option: str, given: str, choices: Sequence[str]) -> None:
    """Raise an error if an option's value is not one of the choices."""
    if given not in choices:
        near = "".join(f"did you mean {name}? " for name in get_close_matches(given, choices, n=1))
        raise UsageError(f"{option} {given} is not known; {near}choose one of {', '.join(choices)}")


def check_loss(given: str, task: str, choices: Sequence[str]) -> None:
    """Raise an error if a loss is not one of the choices that its command has for the task."""
    other = next(name for name in LOSSES if name != task)
    if given in LOSSES[other] and given not in choices:
        fits = ", ".join(choices)
        raise UsageError(f"--loss {given} is for {other}, and this is {task} (see --task); choose one of {fits}")
    check_choice("--loss", given, choices)


def number_or_rule(option: str, given: str, rules: Sequence[str]) -> float | str:
    """Return an option's value: a positive number, or the name of a rule that chooses it."""
    if given in rules:
        return given
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{option} {given}: give {', '.join(rules)} or a number greater than 0")
    return value


NEXT_TO_NOTHING = 1e-9
"""Seconds that a fit is given where none are left of ``--max-seconds``: it still makes a model."""


def check_seconds(given: float | None) -> None:
    """Raise an error if no fit can take so many seconds."""
    if given is not None and not 0 < given < float("inf"):
        raise UsageError(f"--max-seconds {given}: give a number greater than 0, e.g. 60")


def check_writable(option: str, path: Path, force: bool, inputs: Iterable[Path | None] = ()) -> None:
    """Raise an error before any work is done if the result cannot be written, or would overwrite an input."""
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:  # a name that is too long, a loop of links
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror}); give another name") from error
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; give the name of a file")
    if any(given is not None and os.path.realpath(path) == os.path.realpath(given) for given in inputs):
        raise UsageError(f"{option} {path}: is used by another option or argument of this command; give another name")
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path}: is a device or a pipe; give the name of a file")
    if path.exists() and not force:
        raise UsageError(f"{option} {path}: already exists (use --force to overwrite)")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")
    try:
        with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
            pass
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror}); give another folder") from error
