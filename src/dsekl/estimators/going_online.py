"""Batch models that go online: the same kernel, gamma, loss, C, points and coefficients, and rows that come after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dsekl import losses
from dsekl.gram.dense import DenseGram
from dsekl.gram.sparse import SparseGram
from dsekl.kernels import VectorKernel
from dsekl.losses import HomogeneousLoss
from dsekl.models import Model
from dsekl.online.beside import Beside
from dsekl.online.terms import Terms, started_from

from .kernel_estimator import KernelEstimator
from .units import spreads

if TYPE_CHECKING:
    from .online import OnlineEstimator

Floats = NDArray[np.float64]
Online = TypeVar("Online", bound="OnlineEstimator")

MOST_ENTRIES = 2**27
"""Of the points of a model in memory: a gigabyte."""


def went_online(
    kind: type[Online], model: Any, batch: type[KernelEstimator], budget: int, given: dict[str, Any]
) -> Online:
    """Return an online estimator that starts as a fitted batch model."""
    if not isinstance(model, batch):
        raise TypeError(f"model is a {type(model).__name__}; {kind.__name__}.from_model takes a {batch.__name__}")
    check_is_fitted(model)
    rows = rows_of(model.model_)
    kernel, loss, C = (getattr(model, f"{name}_", getattr(model, name)) for name in ("kernel", "loss", "C"))
    if not np.isfinite(C):
        raise ValueError("the model has C=inf, a hard margin, which no stream keeps; fit it with a finite C")
    unit = np.ones(model.dual_coef_.shape[1])
    if kind._task == "regression":
        unit, loss, C = _in_units(model, loss, C)
    gamma = _gamma(model.model_, rows.shape[1])
    same = gamma.min() == gamma.max()
    estimator = kind(
        kernel=kernel, gamma=float(gamma[0]) if same else gamma, loss=loss, C=float(C), budget=budget, **given
    )
    estimator._validate_params()
    for name in ("n_features_in_", "feature_names_in_", "encoder_", "classes_"):
        if name in vars(model):
            setattr(estimator, name, vars(model)[name])
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    terms = Terms(rows, model.dual_coef_, gamma, _beside(model.model_, rows.shape[1]), unit)
    estimator.learner_ = started_from(estimator._settings(), terms, seed)
    return estimator


def rows_of(model: Model) -> Floats:
    """Return the points of a model as rows, on the scale on which its kernel sees their columns."""
    gram = model.gram
    if not isinstance(gram, DenseGram | SparseGram) or not isinstance(gram.kernel, VectorKernel):
        raise ValueError(
            f"the model's kernel or expansion has no points that are rows of numbers ({type(gram).__name__}); fit it "
            "with a kernel of columns, e.g. 'rbf', and expansion='empirical'"
        )
    placement = gram.placement
    if gram.n_terms * placement.n_features > MOST_ENTRIES:
        raise ValueError(
            f"the model has {gram.n_terms:,} points of {placement.n_features:,} features, more than a stream's dense "
            "rows allow; compact it, or choose fewer features"
        )
    if isinstance(gram, SparseGram):
        points = gram.features.original(gram.col_points.data).toarray().astype(np.float64)
    else:
        points = np.asarray(gram.col_points.data, dtype=np.float64)
    scale = np.broadcast_to(placement.scale, points.shape[1])
    raw = np.divide(points, scale, out=np.zeros_like(points), where=scale > 0)
    return np.asarray(raw if placement.center is None else raw + placement.center)


def _gamma(model: Model, n_features: int) -> Floats:
    gram = model.gram
    assert isinstance(gram, DenseGram | SparseGram)
    gamma = gram.placement.scale ** (1.0 / gram.kernel.gamma_power)
    return np.broadcast_to(gamma, n_features).copy()


def _beside(model: Model, n_features: int) -> Beside:
    n_outputs = model.coef.shape[1]
    trend = np.zeros((n_features, n_outputs)) if model.trend is None else model.trend
    reshaping = model.gram.placement.reshaping if isinstance(model.gram, DenseGram) else None
    return Beside(np.broadcast_to(model.intercept, n_outputs).astype(np.float64), trend, reshaping)


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
