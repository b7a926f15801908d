"""Scores of classification and regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType

from dsekl.data.target import Label

from .console import formatted, grid, pairs

DECIMALS = ".4f"
IN_UNITS_OF_TARGET = ("rmse", "mae")
"""Errors of any size, for which four digits are more than four decimals."""


def classification_scores(
    classes: Sequence[Label], truth: NDArray[np.integer[Any]], f: NDArray[np.float64], proba: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return the scores of decision values ``f`` (one column for two classes) for rows of the classes ``truth``.

    The code -1 is a label that the model does not know: every prediction of such a row is wrong.
    """
    from sklearn import metrics

    f = f.reshape(len(truth), -1)
    predicted = (f[:, 0] > 0).astype(int) if f.shape[1] == 1 else f.argmax(axis=1)
    known = truth >= 0
    codes = np.arange(len(classes))
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        truth, predicted, labels=codes, zero_division=0.0
    )
    # Labels that the model does not know are a class with recall 0.
    recalls = [*recall[support > 0], *([] if known.all() else [0.0])]
    return {
        "rows": len(truth),
        "accuracy": float((truth == predicted).mean()),
        "balanced_accuracy": float(np.mean(recalls)) if recalls else None,
        "roc_auc": _roc_auc(truth[known], f[known]),
        "log_loss": float(metrics.log_loss(truth[known], proba[known], labels=codes))
        if proba is not None and known.any()
        else None,
        "classes": {
            str(label): {"precision": p, "recall": r, "f1": h, "rows": int(n)}
            for label, p, r, h, n in zip(
                classes, precision.tolist(), recall.tolist(), f1.tolist(), support.tolist(), strict=True
            )
        },
        "confusion": metrics.confusion_matrix(truth, predicted, labels=codes).tolist(),
        "unknown_labels": int((~known).sum()),
    }


def regression_scores(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> dict[str, Any]:
    """Return the scores of predicted numbers."""
    residuals = truth - predicted
    spread = float(((truth - truth.mean()) ** 2).sum())
    return {
        "rows": len(truth),
        "rmse": float(np.sqrt((residuals**2).mean())),
        "mae": float(np.abs(residuals).mean()),
        "r2": 1.0 - float((residuals**2).sum()) / spread if spread > 0 else None,
    }


def score_tables(title: str, scores: dict[str, Any]) -> list[RenderableType]:
    """Return the scores as tables: totals, then each class, then the confusion matrix."""
    names = {"roc_auc": "ROC AUC", "rmse": "RMSE", "mae": "MAE", "r2": "R2"}
    totals = {
        names.get(name, name.replace("_", " ")): formatted(value) if name in IN_UNITS_OF_TARGET else value
        for name, value in scores.items()
        if name not in ("classes", "confusion") and not (name == "unknown_labels" and not value)
    }
    tables = [pairs(title, totals, DECIMALS)]
    if "classes" in scores:
        rows = [[label, *figures.values()] for label, figures in scores["classes"].items()]
        tables.append(grid("Classes", ["class", "precision", "recall", "F1", "rows"], rows, DECIMALS))
        labels = list(scores["classes"])
        counts = [[label, *row] for label, row in zip(labels, scores["confusion"], strict=True)]
        tables.append(grid("Confusion matrix", ["true \\ predicted", *labels], counts))
    return tables


def _roc_auc(truth: NDArray[np.integer[Any]], f: NDArray[np.float64]) -> float | None:
    """Return the area under the ROC curve; for several classes the mean of one against the rest."""
    from sklearn.metrics import roc_auc_score

    if f.shape[1] == 1:
        return float(roc_auc_score(truth, f[:, 0])) if len(np.unique(truth)) == 2 else None
    judged = [code for code in range(f.shape[1]) if 0 < (truth == code).sum() < len(truth)]
    return float(np.mean([roc_auc_score(truth == code, f[:, code]) for code in judged])) if judged else None
