"""The training table of fit, tune and convert, and the notes on it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from numpy.typing import NDArray

from dsekl.data.encoding import TableEncoder
from dsekl.data.messages import Message
from dsekl.data.recipe import Recipe
from dsekl.data.recipe_learner import Options
from dsekl.data.table import Features
from dsekl.data.target import CLASSIFICATION, REGRESSION, Label, TaskChoice, takes_classes
from dsekl.data.target_statistics import LevelColumn
from dsekl.data.training_data import load_training

from . import options as o
from .console import Output, printable


@dataclass(frozen=True)
class TrainingSet:
    """Encoded rows, their targets (codes of the classes, or numbers), and the seconds it took to read them.

    On a cluster rows and targets are lazy collections, with labels in the place of codes. ``levels``
    are those of columns for which X has room for means of the target.
    """

    recipe: Recipe
    X: Features
    y: NDArray[Any]
    seconds: float
    levels: Sequence[LevelColumn] = ()


def read_training(
    output: Output, path: Path, options: Options, header: bool | None, delimiter: str | None, decimal: str | None
) -> TrainingSet:
    """Read the training table and print the notes on it."""
    started = time.perf_counter()
    progress, choose = output.progress("read"), task_choice(output)
    recipe, X, y = load_training(path, options, header, delimiter, decimal, progress, choose)
    print_recipe_notes(output, recipe, options.task)
    levels = recipe.encoder.level_columns(X) if isinstance(recipe.encoder, TableEncoder) else []
    return TrainingSet(recipe, X, y, time.perf_counter() - started, levels)


def print_recipe_notes(output: Output, recipe: Recipe, task: str | None) -> None:
    """Print what was inferred about the training table; the user gave ``task``, or None."""
    print_notes(output, recipe.notes)
    if task is None:
        name, classes = recipe.target.name, recipe.target.classes
        integers = bool(classes) and all(isinstance(label, int) for label in classes)
        of = f"{len(classes)} classes{', all integers' * (integers and len(classes) > 2)}: fitting a classifier"
        output.note(f"column {name!r} has {of if classes else 'numbers: fitting a regressor'}; override with --task")


def task_choice(output: Output) -> TaskChoice:
    """Return who decides whether few integers are classes: the user at a terminal; elsewhere they are, with a note."""
    if output.quiet or output.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return takes_classes

    def ask(name: str, values: Sequence[Label]) -> str:
        listed = ", ".join(map(str, values))
        question = (
            f"Column {printable(name)!r} holds {len(values)} different integers ({listed}). Are they classes to tell "
            "apart, or amounts to predict? (--task answers this beforehand)"
        )
        answers = {"classes": CLASSIFICATION, "amounts": REGRESSION}
        answer = typer.prompt(question, default="classes", err=True)
        while answer not in answers:
            answer = typer.prompt("Answer classes or amounts", default="classes", err=True)
        return answers[answer]

    return ask


def print_notes(output: Output, notes: Iterable[Message]) -> None:
    """Print notes on a table with the names of the command line's options."""
    for note in notes:
        output.note(note.with_names(o.OPTION_OF))
