"""A learner as plain values for a file, and back, with every type, shape and range checked on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dsekl.runs.fields import from_values, to_values
from dsekl.solvers.state import Count, Finite, Floats, Form, NotNegative, PerFeature, can_be_squared

from .beside_state import SavedBeside, beside_of, saved_beside
from .buffer import FACTOR, N_SCRATCH, SCRATCH, SIZE, n_lines
from .drift import N_SUMS
from .early import EarlyRows
from .learner import Learner
from .mixture import mixture_sizes
from .mixture_state import SavedMixture, mixture_of, saved_mixture
from .moments import Moments
from .odds import check_odds
from .plausible import MOST, require_finite, require_kernel, require_sizes
from .stream_settings import MOST_BUDGET, Settings

MOST_MASS = 1e60
"""Of the rows that a point stands for; those of one row end at 1e30."""

PerOutput = Annotated[Floats, Form(("outputs",))]


@dataclass
class SavedEarly:
    """The last rows; ``known`` is 0 where a row does not have a feature."""

    rows: Annotated[Floats, Form(("early", "features"))]
    known: Annotated[NDArray[np.bool_], Form(("early", "features"), "bool")]
    targets: Annotated[Floats, Form(("early", "outputs"))]
    weights: Annotated[Floats, Form(("early",), least=0.0)]
    most: Count


@dataclass
class SavedLearner:
    """All that a learner is, beside its settings; of the buffer, the points that it has."""

    seed: Count
    points: Annotated[Floats, Form(("features", "points"))]
    kernel: Annotated[Floats, Form(("held", "held"))]
    lines: Annotated[Floats, Form(("lines", "points"))]
    machines: Annotated[Floats, Form(("three", "machines"), least=0.0)]
    counts: Annotated[NDArray[np.uint64], Form(("two",), "uint64")]
    features: Annotated[Floats, Form(("three", "features"))]
    targets: Annotated[Floats, Form(("three", "outputs"))]
    center: PerFeature
    gamma: Annotated[Floats, Form(("features",), least=0.0)]
    learned: Annotated[NDArray[np.bool_], Form(("features",), "bool")]
    intercept: PerOutput
    unit: PerOutput
    odds: Annotated[Floats, Form(("two", "two"))]
    n_seen: Count
    weight: NotNegative
    loss_sum: Finite
    early: SavedEarly | None
    beside: SavedBeside | None
    since: Count
    errors: Annotated[Floats, Form(("two", "sums"), least=0.0)]
    mixture: SavedMixture | None


def learner_values(learner: Learner) -> dict[str, Any]:
    """Return a learner as plain values."""
    learner.tally()
    b, n = learner.buffer, learner.n_points
    early = None
    if learner.early is not None:
        known = ~np.isnan(learner.early.rows)
        rows = np.where(known, learner.early.rows, 0.0)
        early = SavedEarly(rows, known, learner.early.targets, learner.early.weights, learner.early.most)
    held = min(n, len(b.kernel))
    return to_values(
        SavedLearner(
            learner.seed, b.points[:, :n], b.kernel[:held, :held], b.lines[:-N_SCRATCH, :n], b.machines, b.counts,
            np.stack(learner.features), np.stack(learner.targets), learner.center, learner.gamma, learner.learned,
            learner.intercept, learner.unit, learner.odds, learner.n_seen, learner.weight, learner.loss_sum, early,
            saved_beside(learner.beside), learner.since, learner.errors, saved_mixture(learner.mixture),
        )
    )  # fmt: skip


def learner_of(settings: Settings, n_features: int, n_outputs: int, values: Any) -> Learner:
    """Return the learner that ``learner_values`` described; ValueError if it never did."""
    machines = len(settings.machines)
    counts = values.get("counts") if isinstance(values, dict) else None
    n = int(counts[SIZE]) if isinstance(counts, np.ndarray) and counts.shape == (2,) else 0
    if n > settings.budget:
        raise ValueError(f"{n} points are more than budget={settings.budget}")
    sizes = {
        "features": n_features, "outputs": n_outputs, "points": n, "machines": machines, "two": 2, "three": 3,
        "held": n if settings.budget <= MOST_BUDGET else 0, "lines": n_lines(n_outputs, machines), "sums": N_SUMS,
        **mixture_sizes(n_features, n_outputs, settings.classes),
    }  # fmt: skip
    early = values.get("early") if isinstance(values, dict) else None
    if isinstance(early, dict) and isinstance(early.get("weights"), np.ndarray):
        sizes["early"] = len(early["weights"])
    # All sizes are those of arrays in the file before room is made for a learner of these sizes.
    saved = from_values(SavedLearner, values, sizes, "the learner")
    new = Learner.start(settings, n_features, n_outputs, 0, mixes=saved.mixture is not None)
    _check(saved, new)
    b = new.buffer
    b.points[:, :n], b.lines[:-N_SCRATCH, :n] = saved.points, saved.lines
    b.machines[...], b.counts[...] = saved.machines, saved.counts
    if saved.early is not None:
        rows = np.where(saved.early.known, saved.early.rows, np.nan)
        new.early = EarlyRows(rows, saved.early.targets, saved.early.weights, len(rows), saved.early.most)
    else:
        new.early = None
    new.mixture = mixture_of(saved.mixture, new.mixture)
    new.beside = beside_of(saved.beside, n_features)
    new.features, new.targets = Moments(*saved.features.copy()), Moments(*saved.targets.copy())
    same = ("seed", "center", "gamma", "learned", "intercept", "unit", "odds", "n_seen", "weight", "loss_sum")
    for name in (*same, "since", "errors"):
        setattr(new, name, getattr(saved, name))
    require_kernel(new, saved.kernel)
    b.kernel[: sizes["held"], : sizes["held"]] = saved.kernel
    require_finite(new)
    return new


def _check(saved: SavedLearner, new: Learner) -> None:
    """Raise ValueError where fields that are right by themselves do not fit each other."""
    require_sizes(saved, moments=("features", "targets"))
    masses = 3 * new.n_outputs * new.buffer.machines.shape[1] + 2 * new.n_outputs
    if (saved.lines[masses : len(saved.lines) - SCRATCH] < 0).any():
        raise ValueError("the learner's masses are negative")
    if np.abs(saved.lines[masses : len(saved.lines) - SCRATCH]).max(initial=0.0) > MOST_MASS:
        raise ValueError(f"the learner's masses are beyond {MOST_MASS:g}")
    if not (can_be_squared(saved.lines) and can_be_squared(saved.points) and can_be_squared(saved.kernel)):
        raise ValueError("the learner's points or coefficients are too large to be computed with")
    if not ((saved.machines[FACTOR] > 0) & (saved.machines[FACTOR] <= 1)).all() or not (saved.unit > 1.0 / MOST).all():
        raise ValueError("the learner's factors or units are not positive, or too small")
    if saved.counts[1] == 0 or (saved.features[[0, 2]] < 0).any() or (saved.targets[[0, 2]] < 0).any():
        raise ValueError("the learner's random numbers or its moments cannot be")
    room = 0 if new.early is None else new.early.most
    if saved.early is not None and not len(saved.early.weights) <= saved.early.most <= room:
        raise ValueError("the learner's first rows are more than there can be")
    check_odds(saved.odds)
    if saved.since > saved.n_seen:
        raise ValueError(f"the learner's since={saved.since} is more than the rows it has seen, {saved.n_seen}")
    if not (saved.gamma > 0).any():
        raise ValueError("the learner's gamma is 0 for every feature")
