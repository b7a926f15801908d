"""``dsekl info``: what is in a model or a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dsekl.data.recipe import Recipe

from . import options as o
from .console import Voice, grid, pairs

SHOWN_COLUMNS = 30


def info(
    file: Annotated[Path, typer.Argument(help="A model or a checkpoint.")],
    as_json: o.Json = False,
) -> None:
    """Tell what is in a model or a checkpoint; every byte of the file is checked."""
    from dsekl.estimators.files import describe

    described = describe(file)
    table = described.get("table")
    recipe = None if table is None else Recipe.from_dict(table, file)
    parts: list[Any] = [pairs(str(file), {name: value for name, value in described.items() if _is_brief(value)})]
    for name in ("parameters", "fitted", "run", "provenance", "last_epoch"):
        if described.get(name):
            parts.append(pairs(name.replace("_", " "), described[name]))
    if recipe is not None:
        parts.append(_columns(recipe))
    Voice(as_json).result(described, *parts)


def _is_brief(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _columns(recipe: Recipe) -> Any:
    """Return what is known of the columns of the training table."""
    target = recipe.target
    rows = [[target.name, "target", f"{len(target.classes)} classes" if target.classes else "numbers"]]
    described = recipe.encoder.to_dict()
    for column in described.get("columns", []):
        if column["kind"] == "text":
            rows.append([column["name"], "texts", f"{len(column['levels'])} levels"])
        else:
            rows.append([column["name"], "numbers", f"median {column['fill']:.4g}"])
    rows += [[name, "left out", reason] for name, reason in described.get("left_out", {}).items()]
    if "first" in described:
        rows.append([f"{described['first']} to {described['last']}", "indices", "SVMlight"])
    if len(rows) > SHOWN_COLUMNS:
        rows = [*rows[:SHOWN_COLUMNS], [f"and {len(rows) - SHOWN_COLUMNS} more", "", ""]]
    return grid("table", ["column", "kind", ""], rows)
