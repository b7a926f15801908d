"""A learner with a large budget as plain values for a file, and back, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dsekl.runs.fields import from_values, to_values
from dsekl.solvers.state import Count, Finite, Floats, Form, NotNegative, can_be_squared

from .beside_state import SavedBeside, beside_of, saved_beside
from .large import BATCH, EARLY, Batch, LargeLearner
from .learner import Settings
from .moments import Moments

PerOutput = Annotated[Floats, Form(("outputs",))]


@dataclass
class SavedBatch:
    """Rows with all that they have."""

    rows: Annotated[Floats, Form(("any", "features"))]
    targets: Annotated[Floats, Form(("any", "outputs"))]
    weights: Annotated[Floats, Form(("any",), least=0.0)]
    labels: Annotated[NDArray[np.int64], Form(("any",), "int64", least=0)]

    def batch(self, most: int) -> Batch:
        """Return the rows; ValueError where they do not fit each other."""
        sizes = {len(self.rows), len(self.targets), len(self.weights), len(self.labels)}
        if len(sizes) > 1 or max(sizes) > most or not can_be_squared(self.rows):
            raise ValueError(f"rows, targets, weights and labels are {sorted(sizes)}, not of one size up to {most}")
        return Batch(self.rows, self.targets, self.weights, self.labels)


@dataclass
class SavedLarge:
    """All that a learner with a large budget is, beside its settings."""

    seed: Count
    points: SavedBatch
    coef: Annotated[Floats, Form(("any", "outputs"))]
    waiting: SavedBatch
    early: SavedBatch | None
    features: Annotated[Floats, Form(("three", "features"))]
    gamma: Annotated[Floats, Form(("features",), least=0.0)]
    intercept: PerOutput
    unit: PerOutput
    n_seen: Count
    weight: NotNegative
    loss_sum: Finite
    beside: SavedBeside | None


def large_values(learner: LargeLearner) -> dict[str, Any]:
    """Return a learner as plain values."""

    def saved(batch: Batch) -> SavedBatch:
        return SavedBatch(**vars(batch))

    early = None if learner.early is None else saved(learner.early)
    return to_values(
        SavedLarge(
            learner.seed, saved(learner.points), learner.coef, saved(learner.waiting), early,
            np.stack(learner.features), learner.gamma,
            learner.intercept, learner.unit, learner.n_seen, learner.weight, learner.loss_sum,
            saved_beside(learner.beside),
        )
    )  # fmt: skip


def large_of(settings: Settings, n_features: int, n_outputs: int, values: Mapping[str, Any]) -> LargeLearner:
    """Return the learner that ``large_values`` described; ValueError if it never did."""
    sizes = {"features": n_features, "outputs": n_outputs, "three": 3}
    saved = from_values(SavedLarge, values, sizes, "the learner")
    points = saved.points.batch(settings.budget)
    if len(saved.coef) != len(points) or not can_be_squared(saved.coef):
        raise ValueError("the learner's coefficients are not those of its points, or are too large")
    if not ((saved.unit > 0).all() and (saved.gamma > 0).any() and (saved.features[[0, 2]] >= 0).all()):
        raise ValueError("the learner's units, its gamma or its moments cannot be")
    return LargeLearner(
        settings, saved.seed, points, saved.coef, saved.waiting.batch(BATCH - 1),
        None if saved.early is None else saved.early.batch(EARLY), Moments(*saved.features.copy()), saved.gamma,
        saved.intercept, saved.unit, saved.n_seen, saved.weight, saved.loss_sum,
        beside_of(saved.beside, n_features),
    )  # fmt: skip
