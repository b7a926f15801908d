"""The closing table of fit and tune: the figures of the fitted model."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType

from dsekl.data.recipe import Recipe

from .console import pairs, size
from .models import FittedModel
from .streams import naming

TOP_FEATURES = 5


def save_model(model: FittedModel, path: Path, recipe: Recipe, data: Path) -> None:
    """Write a model file that holds the recipe and where the model comes from."""
    with naming(str(path)):
        model.save(path, table=recipe.to_dict(), provenance={"data": data.name, "command": shlex.join(sys.argv)})


def summarise(model: FittedModel, recipe: Recipe, path: Path, seconds: dict[str, float]) -> dict[str, Any]:
    """Return the figures of a model that was written to a file."""
    last = model.history_[-1] if model.history_ else {}
    gamma: Any = getattr(model, "gamma_", None)
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
        "gap": last.get("gap"),
        "kernel_evaluations": last.get("kernel_evaluations"),
        "terms": len(model.dual_coef_),
        "seconds": {step: round(value, 3) for step, value in seconds.items()},
        "model": str(path),
        "bytes": path.stat().st_size,
    }


def most_important(model: FittedModel, recipe: Recipe) -> dict[str, float] | None:
    """Return the most important features and their shares, None where there are none."""
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return None
    return {recipe.encoder.feature(i): float(shares[i]) for i in np.argsort(-shares, kind="stable")[:TOP_FEATURES]}


def model_table(summary: dict[str, Any]) -> RenderableType:
    """Return the figures as a table."""
    important = summary["most_important"] or {}
    figures = {
        name.replace("_", " "): summary[name]
        for name in ("task", "rows", "features", "kernel", "loss", "solver", "gamma", "weights", "most_important", "C",
                     "epochs", "gap", "kernel_evaluations")
    }  # fmt: skip
    figures |= {
        "most important": ", ".join(f"{name} {share:.0%}" for name, share in important.items()) or None,
        "support vectors": summary["terms"],
        "stopped by": summary.get("stopped"),
        "seconds": ", ".join(f"{step} {value:.1f}" for step, value in summary["seconds"].items()),
        "file": f"{summary['model']} ({size(summary['bytes'])})",
    }
    return pairs("Model", figures)
