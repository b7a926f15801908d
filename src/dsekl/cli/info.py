"""``dsekl info``: the content of a model or a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from dsekl.data.recipe import Recipe

from . import options as o
from .console import Output, grid, pairs
from .models import check_readable

SHOWN_COLUMNS = 30


def info(
    file: Annotated[Path, typer.Argument(help="A model or a checkpoint.")],
    as_json: o.Json = False,
) -> None:
    """Show the content of a model or a checkpoint, and check its integrity."""
    from dsekl.estimators.files import describe

    check_readable(file)
    content = describe(file)
    table = content.get("table")
    single = {name: value for name, value in content.items() if not isinstance(value, dict | list)}
    parts = [pairs(str(file), single)]
    for name in ("parameters", "fitted", "run", "provenance", "last_epoch"):
        if content.get(name):
            parts.append(pairs(name.replace("_", " "), content[name]))
    if table is not None:
        parts.append(_columns(Recipe.from_dict(table, file)))
    Output(as_json).result(content, *parts)


def _columns(recipe: Recipe) -> RenderableType:
    """Return the columns of the training table and their encoding."""
    target = recipe.target
    rows = [[target.name, "target", f"{len(target.classes)} classes" if target.classes else "numeric"]]
    encoder = recipe.encoder.to_dict()
    for column in encoder.get("columns", []):
        if column["kind"] == "text":
            rows.append([column["name"], "categorical", f"{len(column['levels'])} categories"])
        else:
            rows.append([column["name"], "numeric", f"median {column['fill']:.4g}"])
    rows += [[name, "left out", reason] for name, reason in encoder.get("left_out", {}).items()]
    if "first" in encoder:
        rows.append([f"{encoder['first']} to {encoder['last']}", "numeric", "SVMlight indices"])
    if len(rows) > SHOWN_COLUMNS:
        rows = [*rows[:SHOWN_COLUMNS], [f"and {len(rows) - SHOWN_COLUMNS} more", "", ""]]
    return grid("columns", ["column", "type", "encoding"], rows)
