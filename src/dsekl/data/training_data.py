"""Training data from wherever they are: a file in any format, or a converted folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from . import open_table
from .errors import DataFileError
from .folder import read_folder
from .recipe import Options, Recipe, learn
from .table import Watch, unwatched


def load_training(
    path: Path, options: Options, header: bool | None = None, delimiter: str | None = None, watch: Watch = unwatched
) -> tuple[Recipe, Any, NDArray[Any]]:
    """Return the recipe, X (of a folder: mapped into memory) and y (labels or numbers)."""
    if not path.is_dir():
        table = open_table(path, header, delimiter)
        recipe = learn(table, options, watch)
        return recipe, *recipe.load(table, watch)
    recipe, X, y = read_folder(path)
    asked = replace(options, target=None if options.target == recipe.target.name else options.target, seed=0)
    if asked.task == recipe.target.task:
        asked = replace(asked, task=None)
    if asked != Options():
        raise DataFileError(
            path, "was converted with its target, task and columns decided; give such options to 'dsekl convert'"
        )
    return recipe, X, y
