"""A learner with a large budget as plain values for a file, and back, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import VectorKernel
from dsekl.runs.fields import from_values, to_values
from dsekl.solvers.state import Count, Finite, Floats, Form, NotNegative, can_be_squared

from .batch import Batch
from .beside_state import SavedBeside, beside_of, saved_beside
from .large import EARLY, LargeLearner
from .large_steps import BATCH
from .learner import Learner
from .moments import Moments
from .odds import check_odds
from .online_state import learner_of, learner_values
from .plausible import MOST, require_sizes
from .stream_settings import MOST_BUDGET, Settings

PerOutput = Annotated[Floats, Form(("outputs",))]

FARTHEST = 1e30
"""Coefficients, and squared distances from the origin as the kernel sees them; float32 ends at 3e38."""


@dataclass
class SavedBatch:
    """Rows with all that they have; ``known`` is 0 where a row does not have a feature."""

    rows: Annotated[Floats, Form(("any", "features"))]
    known: Annotated[NDArray[np.bool_], Form(("any", "features"), "bool")]
    targets: Annotated[Floats, Form(("any", "outputs"))]
    weights: Annotated[Floats, Form(("any",), least=0.0)]
    labels: Annotated[NDArray[np.int64], Form(("any",), "int64", least=0)]

    def batch(self, most: int, whole: bool = True) -> Batch:
        """Return the rows; ValueError where they do not fit each other. ``whole`` ones have all features."""
        if whole and not self.known.all():
            raise ValueError("rows that were learned from have no missing features")
        sizes = {len(part) for part in vars(self).values()}
        if len(sizes) > 1 or max(sizes) > most or not can_be_squared(self.rows):
            raise ValueError(f"rows, targets, weights and labels are {sorted(sizes)}, not of one size up to {most}")
        rows = np.where(self.known, self.rows, np.nan)
        return Batch(rows, self.targets, self.weights, self.labels)


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
    odds: Annotated[Floats, Form(("two", "two"))]
    n_seen: Count
    weight: NotNegative
    loss_sum: Finite
    beside: SavedBeside | None
    lowest: NotNegative | None
    n_scaled: Count


def large_values(learner: LargeLearner) -> dict[str, Any]:
    """Return a learner as plain values."""

    def saved(batch: Batch) -> SavedBatch:
        known = ~np.isnan(batch.rows)
        rows = np.where(known, batch.rows, 0.0)
        return SavedBatch(**{**vars(batch), "rows": rows}, known=known)

    early = None if learner.early is None else saved(learner.early)
    return to_values(
        SavedLarge(
            learner.seed, saved(learner.points), learner.coef, saved(learner.waiting), early,
            np.stack(learner.features), learner.gamma,
            learner.intercept, learner.unit, learner.odds, learner.n_seen, learner.weight, learner.loss_sum,
            saved_beside(learner.beside), learner.lowest, learner.n_scaled,
        )
    )  # fmt: skip


def large_of(settings: Settings, n_features: int, n_outputs: int, values: Mapping[str, Any]) -> LargeLearner:
    """Return the learner that ``large_values`` described; ValueError if it never did."""
    sizes = {"features": n_features, "outputs": n_outputs, "two": 2, "three": 3}
    saved = from_values(SavedLarge, values, sizes, "the learner")
    require_sizes(saved, moments=("features",))
    points = saved.points.batch(settings.budget)
    if len(saved.coef) != len(points) or np.abs(saved.coef).max(initial=0.0) > FARTHEST:
        raise ValueError("the learner's coefficients are not those of its points, or are too large")
    if not ((saved.unit > 1.0 / MOST).all() and (saved.gamma > 0).any() and (saved.features[[0, 2]] >= 0).all()):
        raise ValueError("the learner's units, its gamma or its moments cannot be")
    check_odds(saved.odds)
    moments = Moments(*saved.features.copy())
    waiting = saved.waiting.batch(BATCH - 1, whole=False)
    early = None if saved.early is None else saved.early.batch(EARLY)
    held = [batch.rows for batch in (points, waiting, early) if batch is not None]
    gammas = [saved.gamma] if isinstance(settings.gamma, str) else [saved.gamma, np.asarray(settings.gamma)]
    for gamma in gammas:
        _check_sizes(np.concatenate(held), moments, gamma, settings.kernel)
    return LargeLearner(
        settings, saved.seed, points, saved.coef, waiting, early, moments, saved.gamma,
        saved.intercept, saved.unit, saved.odds, saved.n_seen, saved.weight, saved.loss_sum,
        beside_of(saved.beside, n_features), saved.lowest, saved.n_scaled,
    )  # fmt: skip


def _check_sizes(rows: Floats, moments: Moments, gamma: Floats, kernel: VectorKernel) -> None:
    """Raise ValueError where rows like those so far would be too far apart for the products' float32."""
    with np.errstate(all="ignore"):
        farthest = np.abs(np.nan_to_num(rows)).max(axis=0, initial=0.0)
        usual = np.abs(moments.mean) + np.sqrt(moments.variance) + farthest
        square = np.square(usual * gamma**kernel.gamma_power).sum()
        values = np.array([[0.0, square, -square]])
        if not kernel.pairwise.is_distance:
            kernel.profile()(values, kernel.params())
    if not square < FARTHEST or not np.abs(values).max() < np.finfo(np.float32).max:
        raise ValueError("the learner's gamma, or its rows, are too large to be computed with")


def state_of(learner: Learner | LargeLearner) -> dict[str, Any]:
    """Return a learner of any budget as plain values."""
    return large_values(learner) if isinstance(learner, LargeLearner) else learner_values(learner)


def learner_from(settings: Settings, n_features: int, n_outputs: int, values: Any) -> Learner | LargeLearner:
    """Return the learner that ``state_of`` described; ValueError if it never did."""
    made = large_of if settings.budget > MOST_BUDGET else learner_of
    return made(settings, n_features, n_outputs, values)
