"""``dsekl convert``: a table as files that training maps into memory."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsekl.data import open_table
from dsekl.data.folder import is_replaceable, write_folder
from dsekl.data.recipe import learn

from . import options as o
from .console import UsageError, Voice, pairs
from .fit import announce


class Precision(StrEnum):
    """Type of the numbers in X."""

    float32 = "float32"
    float64 = "float64"


def convert(
    data: o.Data,
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    target: o.Target = None,
    task: o.TaskOption = None,
    text: o.Text = None,
    number: o.Number = None,
    ignore: o.Ignore = None,
    scale: o.Scale = False,
    max_levels: o.MaxLevels = 100,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    dtype: Annotated[Precision, typer.Option(help="Type of the numbers.")] = Precision.float32,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Write X.npy, y.npy and table.json into a folder, which fit and tune take in place of a file.

    The file is read twice, some rows at a time; the memory does not grow with it.
    """
    voice = Voice(as_json, quiet)
    if folder.exists() and not force:
        raise UsageError(f"{folder}: is there already; give another name, or --force to replace it")
    if folder.exists() and not is_replaceable(folder):
        raise UsageError(f"{folder}: --force replaces only folders that 'dsekl convert' made; give another name")
    started = time.perf_counter()
    table = open_table(data, header, delimiter)
    recipe = learn(
        table, o.table_options(target, task, text, number, ignore, scale, max_levels, seed), voice.watch("read")
    )
    announce(voice, recipe, asked=task is not None)
    size = write_folder(folder, table, recipe, dtype.value, voice.watch("convert"))
    figures = {
        "task": recipe.target.task, "rows": recipe.n_rows, "features": len(recipe.encoder.features), "bytes": size,
        "seconds": round(time.perf_counter() - started, 3), "folder": str(folder),
    }  # fmt: skip
    voice.result(figures, pairs("Converted", figures))
