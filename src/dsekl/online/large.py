"""Large budgets: tens of thousands of points, and no matrix of their kernel values.

Rows are learned from in mini-batches of ``BATCH``, at row numbers that do not depend on how rows come in. For each
batch, with the pruned products of ``dsekl.gram``, whose spatial order is made anew as points come and go:

1. the points of the buffer predict the rows of the batch;
2. dual ascent on the batch's own block gives its rows their coefficients; those with none are not kept;
3. as many points of the buffer, a random stretch of neighbours, take their exact steps, given all others;
4. over the budget, the points of the smallest coefficients go, and the nearest point of their label in the spatial
   order takes over what they add to f.

With ``half_life="auto"`` all points go when the stream changes and they are worse than none (``large_drift``).

The weights of the features are learned by ``dsekl.metric`` from the first ``EARLY`` rows. Until then, every batch
learns from all rows so far anew.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import gram
from dsekl.blas import one_blas_thread
from dsekl.gram import Gram
from dsekl.rows import ArrayRows
from dsekl.workers import ALONE

from . import large_drift, large_steps, odds
from .batch import Batch
from .beside import Beside
from .buffer import Floats
from .large_scales import KERNEL_TOL, MEMORY, by_spread, scales_of
from .large_steps import BATCH
from .large_view import View, whole_parts
from .moments import Moments, observe_and_fill
from .stream_settings import OVERFLOW, Settings

EARLY = 4 * BATCH
"""Rows from which gamma is learned."""


@dataclass
class LargeLearner:
    """Where a machine with a large budget stands; ``points`` are rows with their masses as weights."""

    settings: Settings
    seed: int
    points: Batch
    coef: Floats
    waiting: Batch
    """Rows that are yet to be learned from, fewer than a mini-batch."""
    early: Batch | None
    features: Moments
    gamma: Floats
    intercept: Floats
    unit: Floats
    odds: Floats
    """The calibration of probabilities."""
    n_seen: int = 0
    weight: float = 0.0
    loss_sum: float = 0.0
    beside: Beside | None = None
    """Of a batch model that went online: then all scales stay as they were there."""
    lowest: float | None = None
    """The lowest mean loss of a mini-batch since the stream changed, for ``half_life="auto"``."""
    n_scaled: int = 0
    """Features whose gamma was set; those behind them have come up since."""
    _shown: View | None = field(default=None, repr=False)
    _model: tuple[Gram, Floats] | None = field(default=None, repr=False)
    """The points made ready for predictions, with their coefficients."""

    @staticmethod
    def start(settings: Settings, n_features: int, n_outputs: int, seed: int) -> LargeLearner:
        """Return a machine that has seen nothing."""
        none = Batch.none(n_features, n_outputs)
        return LargeLearner(
            settings, seed, none, np.empty((0, n_outputs)), none, none, Moments.of(n_features), np.ones(n_features),
            np.zeros(n_outputs), np.ones(n_outputs), odds.at_first(settings.loss),
        )  # fmt: skip

    @property
    def n_features(self) -> int:
        return len(self.gamma)

    @property
    def n_outputs(self) -> int:
        return len(self.unit)

    @property
    def n_points(self) -> int:
        return len(self._view().points()[1])

    @property
    def progressive_loss(self) -> float:
        """The mean loss of all rows of whole mini-batches, each predicted before its batch was learned from."""
        return self.loss_sum / self.weight if self.weight else float("nan")

    def learn(self, X: Floats, Y: Floats, sample_weight: Floats, labels: NDArray[np.int64]) -> None:
        """Learn from rows in order, a whole mini-batch at a time; the others wait."""
        self.n_seen += len(X)
        rows = Batch(self.columns(X), Y, sample_weight, labels.astype(np.int64))
        coming = rows.at(sample_weight > 0)
        while len(coming):
            room = slice(BATCH - len(self.waiting))
            self.waiting = self.waiting.with_more(coming.at(room))
            coming = coming.at(slice(room.stop, None))
            if len(self.waiting) == BATCH:
                self.settle()

    def columns(self, X: Floats) -> Floats:
        """Return rows on the scale on which the kernel sees their columns."""
        return X if self.beside is None else self.beside.columns(X)

    def stand_alone(self) -> None:
        """Be the machine with the weights that it has."""
        self.early = None

    def forget_model(self) -> None:
        """Have what predicts made anew, since points have changed."""
        self._model = self._shown = None

    def take_over(self, points: Batch, coef: Floats) -> None:
        """Begin with points and their coefficients, in units of the spread."""
        order = self.gram_of(points.rows).order
        places = np.arange(len(coef)) if order is None else order
        self.points, self.coef, self.n_scaled = points.at(places), coef[places], self.n_features
        large_steps.shrink(self)
        self._model = None

    def settle(self) -> None:
        """Learn from the rows that wait."""
        if len(self.waiting):
            self._learn_batch(self.waiting)
            self.waiting, self._shown = self.waiting.at(slice(0)), None

    def settled(self) -> LargeLearner:
        """Return a machine without rows that wait, and with the same predictions."""
        if not len(self.waiting):
            return self
        view = self._view()
        points, coef = view.points()
        nothing = self.waiting.at(slice(0))
        return replace(view.machine, points=points, coef=coef, waiting=nothing, _shown=None, _model=None)

    def _view(self) -> View:
        """Return what predicts, with all rows that wait."""
        n = whole_parts(len(self.waiting))
        if self._shown is None or self._shown.n_whole != n:
            machine = self
            if n:
                machine = copy.copy(self)
                machine.waiting, machine._shown = self.waiting.at(slice(n)), None
                machine.settle()
            self._shown = View.of(n, machine)
        self._shown.catch_up(self.waiting)
        return self._shown

    @one_blas_thread()
    def _learn_batch(self, batch: Batch) -> None:
        # A copy, since machines that go ahead share what they do not change.
        features, rows = Moments(*map(np.copy, self.features)), batch.rows.copy()
        observe_and_fill(features, rows, batch.weights)
        self.features, batch = features, replace(batch, rows=rows)
        self._scale_new_features()
        f = self.predicted(batch.rows)
        lost = self.losses_of(batch, f)
        self.loss_sum += float(batch.weights @ lost)
        self.weight += float(batch.weights.sum())
        if not math.isfinite(self.loss_sum):
            raise ValueError(OVERFLOW)
        if self.settings.classes:
            self.odds = self.odds.copy()
            odds.observe(self.odds, f, batch.targets, batch.weights)
        if self.early is None:
            if self._out_of_date(batch, lost):
                self.drop_points()
                f = self.predicted(batch.rows)
            large_steps.take(self, batch, f)
            return
        self.early = self.early.with_more(batch)
        self._set_scales(self.early)
        self.drop_points()
        for first in range(0, len(self.early), BATCH):
            part = self.early.at(slice(first, first + BATCH))
            large_steps.take(self, part, self.predicted(part.rows))
        if len(self.early) >= EARLY:
            self.early = None

    def losses_of(self, batch: Batch, f: Floats) -> Floats:
        """Return the loss of each row in the user's units; ``f`` are predictions in units of the spread."""
        loss, y = self.settings.loss, (batch.targets - self.intercept) / self.unit
        with np.errstate(over="ignore", invalid="ignore"):  # which ends in OVERFLOW
            return np.asarray((loss.value(y, f) * self.unit ** getattr(loss, "degree", 0)).mean(axis=1))

    def drop_points(self) -> None:
        """Forget all points; the scales stay."""
        self.points, self.coef, self._model = self.points.at(slice(0)), self.coef[:0], None

    def _out_of_date(self, batch: Batch, lost: Floats) -> bool:
        """Tell whether ``half_life="auto"`` forgets all points; whole mini-batches alone decide on it."""
        if not isinstance(self.settings.half_life, str) or len(batch) < BATCH:
            return False
        changed = large_drift.rises(self.lowest, lost)
        level = float(lost.mean())
        self.lowest = level if changed or self.lowest is None else min(level, self.lowest)
        return changed and large_drift.better_anew(self, batch)

    def _set_scales(self, early: Batch) -> None:
        self.gamma, self.intercept, self.unit = scales_of(
            self.settings, early, self.features.variance, EARLY, self.seed
        )
        self.n_scaled = self.n_features

    def _scale_new_features(self) -> None:
        """Give features that came up after gamma was learned one by their spread; no point differs in them yet."""
        new = slice(self.n_scaled, None)
        if self.early is None and self.n_scaled < self.n_features and isinstance(self.settings.gamma, str):
            self.gamma = np.concatenate([self.gamma[: self.n_scaled], by_spread(self.features.variance)[new]])
            self.n_scaled, self._model = self.n_features, None

    def gram_of(self, rows: Floats) -> Gram:
        """Return rows made ready for products."""
        return gram.build(
            self.settings.kernel,
            ArrayRows(np.ascontiguousarray(rows)),
            self.gamma,
            "float32",
            MEMORY,
            ALONE,
            KERNEL_TOL,
        )

    def predicted(self, rows: Floats) -> Floats:
        """Return f in units of the spread."""
        if not len(self.coef):
            return self.beside_at(rows)
        if self._model is None:
            built = self.gram_of(self.points.rows)
            coef = self.coef if built.order is None else self.coef[built.order]
            self._model = built.detached(), coef
        built, coef = self._model
        f = built.at(ArrayRows(np.ascontiguousarray(rows))).product(slice(None), slice(None), coef)
        return f + self.beside_at(rows)

    def beside_at(self, rows: Floats) -> Floats:
        """Return what stands beside the sum over points, in units of the spread."""
        if self.beside is None:
            return np.zeros((len(rows), self.n_outputs))
        return self.beside.at(rows) / self.unit

    def evaluate(self, X: Floats) -> Floats:
        """Return the predictions of rows, (n, n_outputs)."""
        return self._view().evaluate(self.columns(X))

    @property
    def kernel_share(self) -> float:
        """The weight of the sum over points in what is predicted."""
        return 1.0

    def affine(self) -> tuple[Floats, Floats]:
        """Return what is predicted beside the points: slopes (n_features, n_outputs) and intercept, in user's units."""
        machine = self.settled()
        if machine.beside is not None:
            return machine.beside.trend, machine.beside.intercept + machine.intercept
        return np.zeros((machine.n_features, machine.n_outputs)), machine.intercept

    def support_vectors(self) -> Floats:
        """Return the points of the buffer as rows."""
        return self._view().points()[0].rows

    def dual_coef(self) -> Floats:
        """Return the coefficients that predict, (n_points, n_outputs), in the user's units."""
        view = self._view()
        return np.asarray(view.points()[1] * view.machine.unit)

    def __getstate__(self) -> dict[str, Any]:
        """Return what there is to pickle; the rest is made of it anew."""
        return {**vars(self), "_shown": None, "_model": None}
