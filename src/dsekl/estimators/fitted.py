"""What a file may say of a fitted estimator: a closed table of attributes, with the type, shape and range of each.

``save`` writes these attributes and no others; ``load`` sets what has passed the table, and refuses any other name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsekl.calibration import Calibration, Intervals
from dsekl.runs.fields import checked
from dsekl.runs.monitor import Figure, Reason
from dsekl.runs.run import Weights
from dsekl.solvers.state import (
    Count,
    Finite,
    Floats,
    Form,
    PerTerm,
    Positive,
    PositiveOrInfinite,
    Range,
    can_be_added,
    can_be_squared,
)

Places = NDArray[np.intp]

LABELS, CALIBRATION, INTERVALS = "classes_", "calibration_", "intervals_"

ATTRIBUTES: dict[str, Any] = {
    "n_features_in_": Annotated[int, Range(1, most=2**62)],
    LABELS: np.ndarray,
    "intercept_": Finite | Annotated[Floats, Form(("outputs",))],
    "trend_": Annotated[Floats, Form(("features", "outputs"))],
    "dual_coef_": PerTerm,
    "C_": PositiveOrInfinite,
    "gamma_": Positive | Weights,
    "metric_": str,
    "kernel_": Literal["matern32", "laplacian", "rbf"],
    "loss_": Literal["hinge", "squared_hinge", "logistic"],
    "scale_": Literal["raw", "squashed", "ranked"],
    "feature_importances_": Weights,
    "medians_": Annotated[Floats, Form(("features",))],
    "support_": Annotated[Places, Form(("terms",), "intp", least=0)],
    "n_support_": Annotated[Places, Form(("classes",), "intp", least=0)],
    "validation_rows_": Annotated[Places, Form(("any",), "intp", least=0)],
    "history_": list[dict[str, Figure]],
    "n_iter_": Count,
    "stop_reason_": Reason | None,
    "compaction_": dict[str, Figure],
    CALIBRATION: Calibration,
    INTERVALS: Intervals,
}
"""Sizes are those of the model; "classes" is 1 for a regressor."""

ALWAYS = ("dual_coef_", "C_", "history_", "n_iter_", "stop_reason_")
"""Attributes that every fit has."""


def checked_attributes(values: Mapping[str, Any], n_features: int | None, n_terms: int) -> dict[str, Any]:
    """Return fitted attributes that can be those of a model with so many features and terms; ValueError names others.

    ``n_features`` is None for a kernel on objects.
    """
    for name in values:
        if name not in ATTRIBUTES:
            raise ValueError(f"{name!r} is no fitted attribute")
    for name in (*ALWAYS, *(["n_features_in_"] if n_features is not None else [])):
        if name not in values:
            raise ValueError(f"the fitted attribute {name!r} is missing")
    coef = values["dual_coef_"]
    if not isinstance(coef, np.ndarray) or coef.ndim != 2 or coef.shape[1] == 0:
        raise ValueError("dual_coef_ is no array of terms and outputs")
    sizes = {"terms": n_terms, "outputs": coef.shape[1], "classes": 1}
    if n_features is not None:
        sizes["features"] = n_features
    if LABELS in values:
        sizes["classes"] = len(checked_labels(values[LABELS], coef.shape[1]))
    found = {
        name: value if name == LABELS else checked(ATTRIBUTES[name], value, sizes, name)
        for name, value in values.items()
    }
    _check_relations(found, n_features)
    return found


def checked_labels(classes: Any, n_outputs: int) -> NDArray[Any]:
    """Return the classes, if they are what ``np.unique`` gives and suit the outputs."""
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.dtype.kind not in "biufUO":
        raise ValueError("classes_ is no list of labels")
    if len(classes) < 2 or n_outputs != (1 if len(classes) == 2 else len(classes)):
        raise ValueError(f"{n_outputs} outputs do not fit {len(classes)} classes")
    if (classes.dtype.kind == "f" and not (np.isfinite(classes) & (classes == np.rint(classes))).all()) or not (
        classes[1:] > classes[:-1]
    ).all():
        raise ValueError("classes_ is not ascending, or holds numbers that are no labels")
    return classes


def _check_relations(found: Mapping[str, Any], n_features: int | None) -> None:
    """Raise ValueError where attributes that are right by themselves do not fit each other."""
    coef = found["dual_coef_"]
    # Those of a regressor are in the user's units, which may be of any size.
    if not (can_be_squared(coef) if LABELS in found else can_be_added(coef)):
        raise ValueError("dual_coef_ is too large to be added up")
    if n_features is not None and found["n_features_in_"] != n_features:
        raise ValueError(f"n_features_in_ is {found['n_features_in_']}, and the points have {n_features}")
    if CALIBRATION in found:
        found[CALIBRATION].check(coef.shape[1])
    if INTERVALS in found:
        found[INTERVALS].check()
    if (CALIBRATION in found and LABELS not in found) or (INTERVALS in found and LABELS in found):
        raise ValueError("calibration_ is for classifiers and intervals_ for regressors")
    intercept = found.get("intercept_")
    if intercept is None and LABELS not in found:
        raise ValueError("intercept_ is missing, and only a classifier of an older version has none")
    if isinstance(intercept, float) and (coef.shape[1] != 1 or LABELS in found):
        raise ValueError(f"intercept_ is one number, and there are {coef.shape[1]} outputs or classes")
    if "n_support_" in found and found["n_support_"].sum() != len(coef):
        raise ValueError(f"n_support_ does not add up to {len(coef)} terms")
    if isinstance(found.get("gamma_"), np.ndarray) and not found["gamma_"].any():
        raise ValueError("gamma_ is 0 for every feature")
