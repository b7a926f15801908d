"""``dsekl convert``: a table as files that training maps into memory."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsekl.data import open_table
from dsekl.data.folder import is_replaceable, write_folder
from dsekl.data.recipe_learner import learn
from dsekl.data.replaced_folder import restore_folder

from . import options as o
from .console import Output, UsageError, pairs
from .reading import print_recipe_notes, task_choice


class Precision(StrEnum):
    """Type of the numbers in X."""

    float32 = "float32"
    float64 = "float64"


def convert(
    data: o.DataFile,
    folder: Annotated[Path, typer.Argument(help="The folder to write.")],
    target: o.Target = None,
    task: o.TaskOption = None,
    text: o.Text = None,
    number: o.Number = None,
    ignore: o.Ignore = None,
    scale: o.Scale = False,
    max_levels: o.MaxLevels = 100,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    day_first: o.DayFirst = None,
    dtype: Annotated[Precision, typer.Option(help="Type of the numbers.")] = Precision.float32,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Encode a table into a folder of NumPy files.

    fit and tune map the folder into memory. The table is read twice, in chunks: memory does not grow with the number of
    rows.
    """
    output = Output(as_json, quiet)
    restore_folder(folder)  # a kill may have left it aside
    if folder.exists() and not force:
        raise UsageError(f"{folder}: already exists (use --force to overwrite)")
    if folder.exists() and not is_replaceable(folder):
        raise UsageError(f"{folder}: --force overwrites only folders that 'dsekl convert' made; give another name")
    started = time.perf_counter()
    table = open_table(data, header, delimiter, decimal)
    options = o.table_options(target, task, text, number, ignore, scale, max_levels, day_first, seed)
    recipe = learn(table, options, output.progress("read"), task_choice(output))
    print_recipe_notes(output, recipe, options.task)
    size = write_folder(folder, table, recipe, dtype.value, output.progress("convert"))
    seconds = time.perf_counter() - started
    figures = {
        "task": recipe.target.task, "rows": recipe.n_rows, "features": recipe.encoder.n_features, "bytes": size,
        "seconds": round(seconds, 3), "folder": str(folder),
    }  # fmt: skip
    output.result(figures, pairs("Converted", figures | {"seconds": f"{seconds:.1f}"}))
