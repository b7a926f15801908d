"""The training table of fit, tune and convert, and the notes on it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dsekl.data.messages import Message
from dsekl.data.recipe import Options, Recipe
from dsekl.data.table import Features
from dsekl.data.training_data import load_training

from . import options as o
from .console import Output


@dataclass(frozen=True)
class TrainingSet:
    """Encoded rows, their targets (codes of the classes, or numbers), and the seconds it took to read them."""

    recipe: Recipe
    X: Features
    y: NDArray[Any]
    seconds: float


def read_training(
    output: Output, path: Path, options: Options, header: bool | None, delimiter: str | None
) -> TrainingSet:
    """Read the training table and print the notes on it."""
    started = time.perf_counter()
    recipe, X, y = load_training(path, options, header, delimiter, output.progress("read"))
    print_recipe_notes(output, recipe, options.task)
    return TrainingSet(recipe, X, y, time.perf_counter() - started)


def print_recipe_notes(output: Output, recipe: Recipe, task: str | None) -> None:
    """Print what was inferred about the training table; the user gave ``task``, or None."""
    print_notes(output, recipe.notes)
    if task is None:
        name, classes = recipe.target.name, recipe.target.classes
        kind = f"{len(classes)} classes: fitting a classifier" if classes else "many numbers: fitting a regressor"
        output.note(f"column {name!r} has {kind}; override with --task")


def print_notes(output: Output, notes: Iterable[Message]) -> None:
    """Print notes on a table with the names of the command line's options."""
    for note in notes:
        output.note(note.with_names(o.OPTION_OF))
