"""Features and classes that come up while a machine is learning: its arrays make room for them."""

from __future__ import annotations

import numpy as np

from .buffer import Buffer
from .learner import Learner
from .moments import Moments


def widen(learner: Learner, n_features: int) -> None:
    """Make room for further features; rows so far did not have them."""
    more = n_features - learner.n_features
    if more <= 0:
        return
    b = learner.buffer
    learner.buffer = b._replace(points=np.concatenate([b.points, np.zeros((more, b.points.shape[1]))]))
    learner.features = learner.features.widened(n_features)
    learner.center = np.concatenate([learner.center, np.zeros(more)])
    learner.learned = np.concatenate([learner.learned, np.zeros(more, dtype=bool)])
    learner.gamma = np.concatenate([learner.gamma, np.ones(more)])
    learner.forget_scale()
    if learner.early is not None:
        learner.early.widen(n_features)
    learner.move_points(learner.gamma_now())


def add_output(learner: Learner) -> None:
    """Make room for one class more: from one output for two classes to three, or from one per class on."""
    old, outputs = learner.buffer, learner.n_outputs
    signs = [-1.0, 1.0] if outputs == 1 else [1.0] * outputs
    places = [0, 0] if outputs == 1 else list(range(outputs))
    new = Buffer.empty(len(old.points), len(signs) + 1, old.machines.shape[1], learner.settings.budget, 0)
    for name in ("points", "kernel", "machines", "counts"):
        getattr(new, name)[...] = getattr(old, name)
    mine, theirs = new.parts, old.parts
    for kind in (0, 1, 2):  # coef, f and average
        for m in range(old.machines.shape[1]):
            for o, (place, sign) in enumerate(zip(places, signs, strict=True)):
                mine[kind][m * new.outputs + o] = sign * theirs[kind][m * outputs + place]
    mine.mass[...], mine.rest[...] = theirs.mass, theirs.rest
    mine.targets[...] = -1.0
    for o, (place, sign) in enumerate(zip(places, signs, strict=True)):
        mine.targets[o] = sign * theirs.targets[place]
    learner.buffer = new
    learner.targets = Moments.of(new.outputs)
    learner.intercept, learner.unit = np.zeros(new.outputs), np.ones(new.outputs)
    if learner.early is not None:
        learner.early.add_class(places, signs)
