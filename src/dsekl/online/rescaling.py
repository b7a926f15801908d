"""Scales of columns and of targets, taken anew as more rows are known; points and coefficients move along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dsekl.kernels import Pairwise

from . import dual_steps
from .buffer import Floats

if TYPE_CHECKING:
    from .learner import Learner


def gamma_now(learner: Learner) -> Floats:
    """Return gamma from the rows so far; that of features whose weight was learned stays."""
    given, n = learner.settings.gamma, learner.n_features
    if not isinstance(given, str):
        return np.broadcast_to(np.asarray(given, dtype=np.float64), n).copy()
    variance = learner.features.variance
    varying = variance > 0
    if not varying.any():
        return np.where(learner.learned, learner.gamma, 1.0 / n)
    if given == "scale" or not learner.settings.kernel.pairwise.is_distance:
        seen = learner.features.weight
        mean = np.average(learner.features.mean, weights=seen)
        spread = np.average(variance + (learner.features.mean - mean) ** 2, weights=seen)
        return np.full(n, 1.0 / (n * spread))
    power = 1.0 if learner.settings.kernel.pairwise is Pairwise.SQUARED_DISTANCE else 0.5
    own = 1.0 / (varying.sum() * np.where(varying, variance, 1.0) ** power)
    return np.where(learner.learned, learner.gamma, np.where(varying, own, 0.0))


def move_points(learner: Learner, gamma: Floats) -> bool:
    """Give the points of the buffer the scale of another gamma; tell whether that changes anything."""
    center = learner.features.mean.copy() if learner.settings.kernel.pairwise.is_distance else learner.center
    if np.array_equal(gamma, learner.gamma) and np.array_equal(center, learner.center):
        return False
    raw, n = learner.support_vectors(), learner.n_points
    learner.center, learner.gamma = center, gamma
    learner.forget_scale()
    learner.buffer.points[:, :n] = learner.points_of(raw).T
    dual_steps.gram(learner.buffer, learner.prepared.compared)
    return True


def move_targets(learner: Learner) -> None:
    """Take mean and spread of real targets anew."""
    if learner.settings.classes:
        return
    learner.tally()
    unit = np.sqrt(learner.targets.variance)
    unit = np.where(unit > 0, unit, 1.0)
    b, n = learner.buffer.parts, learner.n_points
    raw = b.targets[:, :n] * learner.unit[:, None] + learner.intercept[:, None]
    times = np.tile(learner.unit / unit, len(b.mass))[:, None]
    for lines in (b.coef, b.f, b.average):
        lines[:, :n] *= times
    learner.intercept, learner.unit = learner.targets.mean.copy(), unit
    b.targets[:, :n] = (raw - learner.intercept[:, None]) / unit[:, None]
