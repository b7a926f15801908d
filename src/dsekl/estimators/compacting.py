"""Smaller models that say nearly the same, of batch and online estimators alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import gram
from dsekl.kernels import VectorKernel
from dsekl.models import Model
from dsekl.online.large import LargeLearner
from dsekl.online.learner import Learner
from dsekl.rows import ArrayRows


def check_tolerance(tolerance: Any) -> None:
    """Raise ValueError where a tolerance is no positive number."""
    if not (isinstance(tolerance, int | float) and 0 < tolerance < np.inf):
        raise ValueError(f"tolerance={tolerance!r} must be a positive number: the greatest change of f, e.g. 0.05")


def model_of(learner: Learner | LargeLearner, kernel: VectorKernel) -> tuple[Model, NDArray[np.intp]]:
    """Return an online machine as a plain model, and which of its points each term is."""
    rows, coef = learner.support_vectors(), learner.dual_coef()
    built = gram.build(kernel, ArrayRows(rows), learner.gamma, "float64")
    order = np.arange(len(coef)) if built.order is None else built.order
    intercept, trend = learner.intercept, None
    if learner.beside is not None:
        intercept, trend = learner.beside.intercept + intercept, learner.beside.trend
    return Model(built.detached(), coef[order], intercept, trend), order
