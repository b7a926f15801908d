"""What people want to know of a model file: ``dsekl info`` without ``--json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import RenderableType

from dsekl.data.encoding import TableEncoder
from dsekl.data.recipe import Recipe
from dsekl.data.sparse_encoding import SparseEncoder

from .console import grid, pairs, size
from .progressive import Scores
from .stream_run import DEFAULT_C, DEFAULTS, LOSSES
from .summary import LEAST_GAP, LEAST_SHARE

SHOWN_COLUMNS = 30
MOST_CLASSES_COUNTED = 8
"""Beyond it, support vectors are not told by class."""

SETTINGS = "Settings other than the defaults (--json has all)"

Encoder = TableEncoder | SparseEncoder


def model_card(content: dict[str, Any], encoder: Encoder | None, recipe: Recipe | None) -> list[RenderableType]:
    """Return a model: what it is, what it was fitted to, and its settings."""
    fitted, by = content["fitted"], content.get("provenance", {}).get("user")
    by = by if isinstance(by, dict) else {}
    shares = content.get("most_important", {})
    figures = {
        "kind": content["class"],
        "target": None if recipe is None else recipe.target.name,
        "classes": fitted.get("classes_"),
        "rows": None if recipe is None else recipe.n_rows,
        "columns": len(encoder.columns) if isinstance(encoder, TableEncoder) else None,
        "features": fitted.get("n_features_in_"),
        "most important": ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share >= LEAST_SHARE)
        or None,
        "kernel": fitted.get("kernel_"),
        "weights": fitted.get("metric_"),
        "loss": fitted.get("loss_"),
        "C": fitted.get("C_"),
        "support vectors": _by_class(fitted.get("n_support_"), fitted.get("classes_")),
        "stopped by": fitted.get("stop_reason_"),
        "epochs": fitted.get("n_iter_"),
        "gap": _gap((content.get("last_epoch") or {}).get("gap")),
        "data": by.get("data"),
        "command": _told(by.get("command")),
        **_origin(content),
    }
    settings = _not_defaults(content["class"], content.get("parameters", {}))
    return [
        pairs(content["path"], figures),
        *([pairs(SETTINGS, settings)] if settings else []),
        *([] if encoder is None else [_columns(encoder, recipe)]),
    ]


def stream_card(content: dict[str, Any]) -> list[RenderableType]:
    """Return a model of ``dsekl stream``: its scores first, then what it keeps."""
    given, progress = content["parameters"], content["progress"]
    task = "classification" if given["classes"] else "regression"
    scores = Scores.of(task, progress["scores"]).figures()
    usual = {**DEFAULTS, "loss": LOSSES[task][0], "C": DEFAULT_C[task]}
    settings = {name: value for name, value in given.items() if name in usual and value != usual[name]}
    figures = {
        "kind": "a model of dsekl stream",
        "target": progress["target"],
        "classes": content["codes"] or None,
        **scores,
        "broken lines": progress["broken"] or None,
        "features": len(content["slots"]),
        "budget": given["budget"],
        "kernel": given["kernel"],
        "loss": given["loss"],
        **_origin(content),
    }
    return [pairs(content["path"], figures), *([pairs(SETTINGS, settings)] if settings else [])]


def _origin(content: dict[str, Any]) -> dict[str, str]:
    """Return when and by what a file was written, and its size."""
    written = str(content.get("provenance", {}).get("time", ""))
    return {
        "fitted": " ".join(written.split("T")).removesuffix("+00:00") + " UTC",
        "written by": f"dsekl {content['library']}",
        "file": size(content["bytes"]),
    }


def _gap(gap: object) -> str | None:
    return None if not isinstance(gap, float) else f"{gap:.1e}" if gap > LEAST_GAP else "0"


def _by_class(counts: object, classes: object) -> str | None:
    """Return the number of support vectors and, of a few classes, of each."""
    if not isinstance(counts, list):
        return None if counts is None else str(counts)
    total = f"{sum(counts):,}"
    if not isinstance(classes, list) or len(classes) != len(counts) or len(classes) > MOST_CLASSES_COUNTED:
        return total
    return f"{total} ({', '.join(f'{label}: {count:,}' for label, count in zip(classes, counts, strict=True))})"


def _not_defaults(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model that are not those of a new estimator."""
    from dsekl.estimators.files import KINDS, shown
    from dsekl.estimators.online_files import KINDS as ONLINE

    known = {**KINDS, **ONLINE}.get(kind)
    defaults = {} if known is None else known().get_params(deep=False)
    return {name: value for name, value in parameters.items() if name not in defaults or value != shown(defaults[name])}


def _told(command: object) -> str | None:
    """Return a command line as it was typed, whatever the folder that its program is in."""
    if not isinstance(command, str):
        return None
    program, _, rest = command.partition(" ")
    return f"dsekl {rest}" if Path(program).name in ("dsekl", "__main__.py") else command


def _columns(encoder: Encoder, recipe: Recipe | None) -> RenderableType:
    """Return the columns of the training table and their encoding."""
    rows = []
    if recipe is not None:
        target = recipe.target
        rows.append([target.name, "target", f"{len(target.classes)} classes" if target.classes else "numeric"])
    saved = encoder.to_dict()
    rows += [[column["name"], *_encoding(column)] for column in saved.get("columns", [])]
    rows += [[name, "left out", reason] for name, reason in saved.get("left_out", {}).items()]
    if "first" in saved:
        rows.append([f"{saved['first']} to {saved['last']}", "numeric", "SVMlight indices"])
    if len(rows) > SHOWN_COLUMNS + 1:  # a line that says "and 1 more" is as long as the column
        rows = [*rows[:SHOWN_COLUMNS], [f"and {len(rows) - SHOWN_COLUMNS} more", "", ""]]
    return grid("Columns", ["column", "type", "encoding"], rows)


def _encoding(column: dict[str, Any]) -> tuple[str, str]:
    """Return what a column is, and what it becomes."""
    if column["kind"] == "text":
        means = ", mean of the target" if column.get("statistic") is not None else ""
        means += "".join(f", with {other}" for other in column.get("pairs", ()))
        return "categorical", f"{len(column['levels'])} categories{means}"
    if column["kind"] == "ordered":
        return "ordered", f"{len(column['levels'])} levels"
    if column["kind"] == "date":
        return "date", ", ".join(["days", *column["cycles"]])
    return "numeric", f"median {column['fill']:.4g}{', rank' if column.get('ranks') is not None else ''}"
