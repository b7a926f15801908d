"""The scales of a machine with a large budget, from the rows that came first: gamma, and the unit of real targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dsekl import metric
from dsekl.metric.data import KeptThing
from dsekl.rows import ArrayRows
from dsekl.workers import ALONE

from .batch import Batch
from .buffer import Floats
from .stream_settings import Settings

KERNEL_TOL = 1e-5
MEMORY = 2**28

NARROWER = 4.0
"""Gamma over that of small budgets, before it is learned: many points reach less far."""


class Scales(NamedTuple):
    """The gamma of each feature; the mean and the spread of each target."""

    gamma: Floats
    intercept: Floats
    unit: Floats


class _NothingKept:
    """A search that is not gone on with."""

    def take(self, name: str, kind: type[KeptThing], sizes: object) -> KeptThing | None:
        return None

    def put(self, name: str, thing: object) -> None: ...


def scales_of(settings: Settings, early: Batch, variance: Floats, learned_from: int, seed: int) -> Scales:
    """Return the scales of the rows so far; gamma is learned once there are ``learned_from`` of them."""
    n_features, n_outputs = early.rows.shape[1], early.targets.shape[1]
    intercept, unit = np.zeros(n_outputs), np.ones(n_outputs)
    if not settings.classes:
        spread = early.targets.std(axis=0)
        intercept, unit = early.targets.mean(axis=0), np.where(spread > 0, spread, 1.0)
    if not isinstance(settings.gamma, str):
        gamma = np.broadcast_to(np.asarray(settings.gamma, dtype=np.float64), n_features).copy()
        return Scales(gamma, intercept, unit)
    if settings.gamma == "scale" or not settings.kernel.pairwise.is_distance or not (variance > 0).any():
        gamma = np.full(n_features, 1.0 / max(1e-300, n_features * early.rows.var()))
        return Scales(gamma, intercept, unit)
    found = Scales(by_spread(variance), intercept, unit)
    if len(early) >= learned_from:
        found = found._replace(gamma=_learned_gamma(settings, early, found, seed))
    return found


def by_spread(variance: Floats) -> Floats:
    """Return the gamma of features in units of their spread."""
    varying = variance > 0
    return np.where(varying, NARROWER / (max(1, varying.sum()) * np.where(varying, variance, 1.0)), 0.0)


def _learned_gamma(settings: Settings, early: Batch, scales: Scales, seed: int) -> Floats:
    loss = settings.loss
    targets = (early.targets - scales.intercept) / scales.unit

    def errors(y: Floats, f: Floats) -> Floats:
        if not settings.classes:
            return np.asarray(loss.value(y, f).mean(axis=1))
        same = f.argmax(axis=1) == y.argmax(axis=1) if f.shape[1] > 1 else (f[:, 0] > 0) == (y[:, 0] > 0)
        return np.asarray(~same, dtype=np.float64)

    classes = early.labels.astype(np.intp) if settings.classes else None
    data = metric.Data(ArrayRows(early.rows), targets, early.weights, errors, classes, ALONE, KERNEL_TOL, MEMORY)
    options = metric.Options({"own": settings.kernel}, {"own": loss}, settings.first_C)
    return metric.learn(data, options, seed, _NothingKept(), lambda done: None).gamma
