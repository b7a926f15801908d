"""Between plain models and machines on a budget: the points, coefficients and scales of the one for the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsekl import gram
from dsekl.gram.dense import DenseGram
from dsekl.gram.sparse import SparseGram
from dsekl.kernels import VectorKernel
from dsekl.online.beside import Beside
from dsekl.online.large import LargeLearner
from dsekl.online.learner import Learner
from dsekl.online.taking_over import Terms
from dsekl.rows import ArrayRows

from .model import Model

Floats = NDArray[np.float64]

MOST_ENTRIES = 2**27
"""Of the points of a model in memory: a gigabyte."""


def terms_of(model: Model) -> Terms:
    """Return what a machine on a budget takes over, targets in units of 1."""
    rows = rows_of(model)
    n_features, n_outputs = rows.shape[1], model.coef.shape[1]
    assert isinstance(model.gram, DenseGram | SparseGram)
    placement = model.gram.placement
    gamma = np.broadcast_to(placement.scale ** (1.0 / model.gram.kernel.gamma_power), n_features).copy()
    trend = np.zeros((n_features, n_outputs)) if model.trend is None else model.trend
    intercept = np.broadcast_to(model.intercept, n_outputs).astype(np.float64)
    return Terms(rows, model.coef, gamma, Beside(intercept, trend, placement.reshaping), np.ones(n_outputs))


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


def model_of(learner: Learner | LargeLearner, kernel: VectorKernel) -> tuple[Model, NDArray[np.intp]]:
    """Return an online machine as a plain model, and which of its points each term is."""
    rows, coef = learner.support_vectors(), learner.kernel_share * learner.dual_coef()
    built = gram.build(kernel, ArrayRows(rows), learner.gamma, "float64")
    order = np.arange(len(coef)) if built.order is None else built.order
    trend, intercept = learner.affine()
    return Model(built.detached(), coef[order], intercept, trend if trend.any() else None), order
