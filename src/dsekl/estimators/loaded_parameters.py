"""The parameters that a model file gives an estimator, checked as if a user were about to fit with them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from dsekl import expansions, losses, solvers
from dsekl.models.savable import is_ours
from dsekl.runs.fields import checked

GAMMA_RULES = ("auto", "learn", "scale", "median")


def check_parameters(estimator: BaseEstimator, n_features: int | None) -> None:
    """Raise ValueError or TypeError for a parameter with which nothing could be fitted."""
    estimator._validate_params()
    task = "classification" if "class_weight" in estimator.get_params(deep=False) else "regression"
    chosen = task == "classification" and isinstance(estimator.loss, str) and estimator.loss == "auto"
    for part in (
        None if chosen else losses.resolve(estimator.loss, task),
        solvers.resolve(estimator.solver),
        expansions.resolve(estimator.expansion),
    ):
        check_object(part)
    _check_gamma(estimator.gamma, n_features)
    if task == "classification" and isinstance(estimator.class_weight, dict):
        for label, weight in estimator.class_weight.items():
            if not checked(float, weight, {}, f"class_weight of {label!r}") < np.inf:
                raise ValueError(f"class_weight of {label!r} is infinite")


def check_object(part: object) -> None:
    """Raise ValueError where a field of a kernel, loss, solver or expansion of dsekl's is not of the type it says."""
    kind = type(part)
    if not is_ours(part) or not is_dataclass(part):
        return
    hints = get_type_hints(kind)
    for field in fields(part):
        value = checked(hints[field.name], vars(part)[field.name], {}, f"{field.name} of {kind.__name__}")
        if isinstance(value, float) and not np.isfinite(value):
            raise ValueError(f"{field.name} of {kind.__name__} is {value}")


def _check_gamma(gamma: Any, n_features: int | None) -> None:
    if isinstance(gamma, str):
        if gamma not in GAMMA_RULES:
            raise ValueError(f"gamma={gamma!r} is not known")
        return
    values = np.asarray(gamma)
    if (
        values.dtype.kind not in "iuf"
        or values.ndim > 1
        or (values.ndim == 1 and n_features not in (None, len(values)))
    ):
        raise ValueError(f"gamma={gamma!r:.60} is no number, and not one for each feature")
    if not (np.isfinite(values).all() and (values >= 0).all() and (values > 0).any()):
        raise ValueError(f"gamma={gamma!r:.60} is not positive and finite")
