"""Batch models that go online: the same kernel, gamma, loss, C, points and coefficients, and rows that come after."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dsekl import losses
from dsekl.losses import HomogeneousLoss
from dsekl.models.online_terms import terms_of
from dsekl.online.taking_over import started_from

from .kernel_estimator import KernelEstimator
from .units import spreads

if TYPE_CHECKING:
    from .online import OnlineEstimator

Floats = NDArray[np.float64]
Online = TypeVar("Online", bound="OnlineEstimator")


def went_online(
    kind: type[Online], model: Any, batch: type[KernelEstimator], budget: int, given: dict[str, Any]
) -> Online:
    """Return an online estimator that starts as a fitted batch model."""
    if not isinstance(model, batch):
        raise TypeError(f"model is a {type(model).__name__}; {kind.__name__}.from_model takes a {batch.__name__}")
    check_is_fitted(model)
    kernel, loss, C = (getattr(model, f"{name}_", getattr(model, name)) for name in ("kernel", "loss", "C"))
    if not np.isfinite(C):
        raise ValueError("the model has C=inf, a hard margin, which no stream keeps; fit it with a finite C")
    terms = terms_of(model.model_)
    if kind._task == "regression":
        unit, loss, C = _in_units(model, loss, C)
        terms = replace(terms, unit=unit)
    same = terms.gamma.min() == terms.gamma.max()
    gamma = float(terms.gamma[0]) if same else terms.gamma
    estimator = kind(kernel=kernel, gamma=gamma, loss=loss, C=float(C), budget=budget, **given)
    estimator._validate_params()
    for name in ("n_features_in_", "feature_names_in_", "encoder_", "classes_"):
        if name in vars(model):
            setattr(estimator, name, vars(model)[name])
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    estimator.learner_ = started_from(estimator._settings(), terms, seed)
    return estimator


def _in_units(model: KernelEstimator, loss: Any, C: float) -> tuple[Floats, Any, float]:
    """Return the spread of the targets, and the loss and C for targets in units of it."""
    square = model.model_.gram.square()
    assert square is not None
    f = square.product(slice(None), slice(None), model.model_.coef) + model.model_.beside_terms()
    size = spreads(f, np.ones(len(f)))
    known = losses.resolve(loss, "regression")
    if not isinstance(known, HomogeneousLoss):
        return np.ones(len(size)), loss, C
    if known.degree == 2 and known.shape == 0:
        return size, loss, C
    widest = float(size.max())
    own = loss if isinstance(loss, str) else known.in_unit(widest)
    return np.full(len(size), widest), own, C if known.degree == 2 else C / widest
