"""``dsekl info``: the content of a model or a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from dsekl.data.recipe import Recipe

from . import options as o
from .console import Output, grid, pairs, size
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
    recipe = Recipe.from_dict(content["table"], file) if content.get("table") is not None else None
    parts = _model(content, recipe) if content["kind"] == "model" and "fitted" in content else _all(content)
    if recipe is not None:
        parts.append(_columns(recipe))
    Output(as_json).result(content, *parts)


def _model(content: dict[str, Any], recipe: Recipe | None) -> list[RenderableType]:
    """Return what people want to know of a model; ``--json`` has all of it."""
    fitted, provenance = content["fitted"], content.get("provenance", {})
    by = provenance.get("user")
    by = by if isinstance(by, dict) else {}
    parameters = content.get("parameters", {})
    settings = {name: value for name, value in parameters.items() if value not in (None, "auto") and value is not False}
    figures = {
        "kind": content["class"],
        "classes": fitted.get("classes_"),
        "features": fitted.get("n_features_in_"),
        "most important": _named(content.get("most_important", {}), recipe, content.get("feature_names")),
        "kernel": fitted.get("kernel_"),
        "weights": fitted.get("metric_"),
        "loss": fitted.get("loss_"),
        "C": fitted.get("C_"),
        "support vectors": fitted.get("n_support_"),
        "stopped by": fitted.get("stop_reason_"),
        "epochs": fitted.get("n_iter_"),
        "gap": (content.get("last_epoch") or {}).get("gap"),
        "fitted": " ".join(str(provenance.get("time", "")).split("T")).removesuffix("+00:00") + " UTC",
        "data": by.get("data"),
        "command": _told(by.get("command")),
        "written by": f"dsekl {content['library']}",
        "file": size(content["bytes"]),
    }
    return [
        pairs(content["path"], figures),
        pairs("Settings (all of them, and the rest of the file: --json)", settings),
    ]


def _told(command: object) -> str | None:
    """Return a command line as it was typed, whatever the folder that its program is in."""
    if not isinstance(command, str):
        return None
    program, _, rest = command.partition(" ")
    return f"dsekl {rest}" if Path(program).name in ("dsekl", "__main__.py") else command


def _named(shares: dict[str, float], recipe: Recipe | None, names: object) -> str | None:
    """Return the most important features and their shares in one line."""
    listed = []
    for place, share in shares.items():
        i, name = int(place), f"column {place}"
        if recipe is not None and i < recipe.encoder.n_features:
            name = recipe.encoder.feature(i)
        elif isinstance(names, list) and i < len(names):
            name = str(names[i])
        listed.append(f"{name} {share:.0%}")
    return ", ".join(listed) or None


def _all(content: dict[str, Any]) -> list[RenderableType]:
    """Return every part of a checkpoint, or of a model of another kind."""
    single = {name: value for name, value in content.items() if not isinstance(value, dict | list)}
    parts = [pairs(content["path"], single)]
    for name in ("parameters", "fitted", "run", "provenance", "last_epoch"):
        if content.get(name):
            parts.append(pairs(name.replace("_", " "), content[name]))
    return parts


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
