"""The closing table of fit and tune: the figures of the fitted model."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType

from dsekl.data.encoding import TableEncoder
from dsekl.data.recipe import Recipe

from .console import pairs, size
from .models import FittedModel, recipe_of
from .streams import naming

TOP_COLUMNS = 5

LEAST_SHARE = 0.005
"""Shares below it would be shown as 0 %."""

LEAST_GAP = 1e-12
"""Duality gaps below it are what rounding leaves of 0."""


def save_model(model: FittedModel, path: Path, recipe: Recipe, data: Path) -> None:
    """Write a model file that holds the recipe and where the model comes from."""
    with naming(str(path)):
        table = recipe_of(model, recipe).to_dict()
        model.save(path, table=table, provenance={"data": data.name, "command": shlex.join(sys.argv)})


def summarise(model: FittedModel, recipe: Recipe, path: Path, seconds: dict[str, float]) -> dict[str, Any]:
    """Return the figures of a model that was written to a file."""
    last = model.history_[-1] if model.history_ else {}
    gamma: Any = getattr(model, "gamma_", None)
    gap = last.get("gap")
    return {
        "task": recipe.target.task,
        "rows": recipe.n_rows,
        "features": recipe.encoder.n_features,
        "kernel": str(model.kernel_),
        "loss": str(model.loss_),
        "solver": str(model.solver),
        "gamma": gamma if np.ndim(gamma) == 0 else "one per feature",
        "weights": getattr(model, "metric_", None),
        "most_important": most_important(model, recipe),
        "C": model.C_,
        "epochs": model.n_iter_,
        "gap": gap if gap is None or gap > LEAST_GAP else 0.0,
        "kernel_evaluations": last.get("kernel_evaluations"),
        "terms": len(model.dual_coef_),
        "seconds": {step: round(value, 3) for step, value in seconds.items()},
        "model": str(path),
        "bytes": path.stat().st_size,
    }


def most_important(model: FittedModel, recipe: Recipe) -> dict[str, float] | None:
    """Return the most important columns and their shares, None where there are none."""
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return None
    encoder = recipe.encoder
    if isinstance(encoder, TableEncoder):
        shares = encoder.per_column(shares)
    ranked = [int(i) for i in np.argsort(-shares, kind="stable")[:TOP_COLUMNS] if shares[i] > 0]
    return {encoder.column(i): float(shares[i]) for i in ranked}


def _fitted_to(fitted_rows: int, rows: int) -> str:
    return "all rows" if fitted_rows == rows else f"{fitted_rows:,} rows, without those held out"


def model_table(summary: dict[str, Any]) -> RenderableType:
    """Return the figures as a table."""
    important = summary["most_important"] or {}
    figures = {
        name.replace("_", " "): summary[name]
        for name in ("task", "rows", "features", "kernel", "loss", "solver", "gamma", "weights", "most_important", "C",
                     "epochs", "gap")
    }  # fmt: skip
    if summary["weights"] is not None:
        figures["gamma"] = None  # one for each feature: "weights" says of what kind they are
    evaluations, fitted_rows = summary["kernel_evaluations"], summary.get("fitted_rows")
    figures |= {
        "gap": None if summary["gap"] is None else f"{summary['gap']:.1e}" if summary["gap"] else "0",
        "kernel evaluations": None if evaluations is None else f"{evaluations:.1e}",
        "most important": ", ".join(f"{name} {share:.0%}" for name, share in important.items() if share >= LEAST_SHARE)
        or None,
        "fitted to": None if fitted_rows is None else _fitted_to(fitted_rows, summary["rows"]),
        "support vectors": summary["terms"],
        "stopped by": summary.get("stopped"),
        "seconds": ", ".join(f"{step} {value:.1f}" for step, value in summary["seconds"].items()),
        "file": f"{summary['model']} ({size(summary['bytes'])})",
    }
    return pairs("Model", figures)
