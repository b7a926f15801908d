"""Features and classes that come up while a machine is learning: its arrays make room for them."""

from __future__ import annotations

import numpy as np

from . import relearning
from .buffer import Buffer
from .large import LargeLearner
from .learner import Learner
from .moments import Moments
from .odds import for_one_class_more
from .rescaling import gamma_now, move_points


def widen(learner: Learner | LargeLearner, n_features: int) -> None:
    """Make room for further features; rows so far did not have them."""
    more = n_features - learner.n_features
    if more > 0:
        learner.features = learner.features.widened(n_features)
        if isinstance(learner, LargeLearner):
            _widen_large(learner, n_features)
        else:
            _widen_small(learner, more)


def _widen_large(learner: LargeLearner, n_features: int) -> None:
    given, more = learner.settings.gamma, np.zeros(n_features - learner.n_features)
    if not isinstance(given, str):
        more[:] = given
    learner.gamma = np.concatenate([learner.gamma, more])
    learner.points, learner.waiting = learner.points.widened(n_features), learner.waiting.widened(n_features)
    if learner.early is not None:
        learner.early = learner.early.widened(n_features)
    learner.forget_model()


def _widen_small(learner: Learner, more: int) -> None:
    n_features = learner.n_features + more
    b = learner.buffer
    learner.buffer = b._replace(points=np.concatenate([b.points, np.zeros((more, b.points.shape[1]))]))
    learner.center = np.concatenate([learner.center, np.zeros(more)])
    learner.learned = np.concatenate([learner.learned, np.zeros(more, dtype=bool)])
    learner.gamma = np.concatenate([learner.gamma, np.ones(more)])
    learner.forget_scale()
    if learner.early is not None:
        learner.early.widen(n_features)
        learner.early.limit(relearning.most_rows(n_features))
    move_points(learner, gamma_now(learner))
    if learner.mixture is not None:
        learner.mixture = learner.mixture.widened(n_features)


def add_output(learner: Learner | LargeLearner) -> None:
    """Make room for one class more: from one output for two classes to three, or from one per class on."""
    if isinstance(learner, Learner):
        learner.tally()
    outputs = learner.n_outputs
    signs = [-1.0, 1.0] if outputs == 1 else [1.0] * outputs
    places = [0, 0] if outputs == 1 else list(range(outputs))
    learner.intercept, learner.unit = np.zeros(len(signs) + 1), np.ones(len(signs) + 1)
    mixes = isinstance(learner, Learner) and learner.mixture is not None
    learner.odds = for_one_class_more(learner.odds, outputs, halved=mixes)
    if isinstance(learner, LargeLearner):
        _add_output_large(learner, places, signs)
    else:
        _add_output_small(learner, outputs, places, signs)
        learner.choose_loss()


def _add_output_large(learner: LargeLearner, places: list[int], signs: list[float]) -> None:
    new = np.zeros((len(learner.coef), 1))
    learner.coef = np.concatenate([learner.coef[:, places] * signs, new], axis=1)
    learner.points = learner.points.with_class(places, signs)
    learner.waiting = learner.waiting.with_class(places, signs)
    if learner.early is not None:
        learner.early = learner.early.with_class(places, signs)
    learner.forget_model()


def _add_output_small(learner: Learner, outputs: int, places: list[int], signs: list[float]) -> None:
    old = learner.buffer
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
    if learner.early is not None:
        learner.early.add_class(places, signs)
    if learner.mixture is not None:
        learner.mixture = learner.mixture.with_class(places, signs)
