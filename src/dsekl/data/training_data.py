"""Training data from a file in any format, or from a converted folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from . import open_table
from .errors import DataFileError
from .folder import read_folder
from .recipe import Recipe
from .recipe_learner import Options, learn
from .replaced_folder import restore_folder
from .table import Features, ProgressHook, no_progress
from .target import TaskChoice, takes_classes


def load_training(
    path: Path, options: Options, header: bool | None = None, delimiter: str | None = None,
    decimal: str | None = None, progress: ProgressHook = no_progress, choose: TaskChoice = takes_classes,
) -> tuple[Recipe, Features, NDArray[Any]]:  # fmt: skip
    """Return the recipe, X (of a folder: mapped into memory) and y (codes of the classes, or numbers)."""
    if not path.exists():
        restore_folder(path)
    if not path.is_dir():
        table = open_table(path, header, delimiter, decimal)
        recipe = learn(table, options, progress, choose)
        if options.search_from is not None and recipe.n_rows >= options.search_from:
            recipe = recipe.with_room()
        return recipe, *recipe.load(table, progress)
    recipe, X, y = read_folder(path)
    changed = replace(
        options, target=None if options.target == recipe.target.name else options.target, seed=0, search_from=None
    )
    if changed.task == recipe.target.task:
        changed = replace(changed, task=None)
    if changed != Options():
        raise DataFileError(
            path, "was converted with its target, task and encoding; convert the data again to change them"
        )
    return recipe, X, y
