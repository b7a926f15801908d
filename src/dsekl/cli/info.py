"""``dsekl info``: the content of a model or a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from . import options as o
from .console import Output, pairs
from .models import check_readable


def info(
    file: Annotated[Path, typer.Argument(help="A model or a checkpoint.")],
    as_json: o.Json = False,
) -> None:
    """Describe a model file or a checkpoint.

    The whole file is read, and its checksums are verified.
    """
    from dsekl.data.recipe import Recipe
    from dsekl.estimators.encoded_tables import is_recipe
    from dsekl.estimators.files import describe, encoder_of
    from dsekl.persistence import checking

    from .cards import model_card, stream_card

    check_readable(file)
    content = describe(file)
    recipe = Recipe.from_dict(content["table"], file) if is_recipe(content.get("table")) else None
    with checking(file):
        if content["kind"] == "stream":
            parts = stream_card(content)
        elif content["kind"] == "model" and "fitted" in content:
            parts = model_card(content, encoder_of(content, file), recipe)
        else:
            parts = _all(content)
    Output(as_json).result(content, *parts)


def _all(content: dict[str, Any]) -> list[RenderableType]:
    """Return every part of a checkpoint, or of a model of another kind."""
    single = {name: value for name, value in content.items() if not isinstance(value, dict | list)}
    parts = [pairs(content["path"], single)]
    for name in ("parameters", "fitted", "run", "provenance", "last_epoch"):
        if content.get(name):
            parts.append(pairs(name.replace("_", " "), content[name]))
    return parts
