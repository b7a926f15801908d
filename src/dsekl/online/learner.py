"""A machine that learns one row at a time: its buffer, the scales of columns and targets, and what it has seen.

Everything happens at row numbers that do not depend on the batches in which rows come, so that batches and single rows
give one model to the bit. Between two such numbers, rows go through compiled code.

The scales of columns and targets are those of the rows so far, taken anew whenever the number of rows doubles. With
``gamma="auto"`` the weights of the features are learned from the last rows (``relearning``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Pairwise

from . import drift, dual_steps, new_units, odds, relearning, rescaling
from .beside import Beside
from .buffer import FACTOR, REGRET, Buffer, Floats
from .dual_steps import Rows
from .early import EarlyRows
from .mixture import Mixture
from .moments import Moments
from .prepared import Prepared
from .row_steps import Known, Scales
from .stream_settings import OVERFLOW, Settings

SWEEPS = 3
"""Passes over the buffer after the kernel has changed, and at the end of a fit."""


@dataclass
class Learner:
    """Where a machine stands. ``outputs`` and ``features`` may grow."""

    settings: Settings
    seed: int
    buffer: Buffer
    features: Moments
    targets: Moments
    center: Floats
    gamma: Floats
    learned: NDArray[np.bool_]
    """Features whose weights were learned."""
    intercept: Floats
    unit: Floats
    odds: Floats
    """The calibration of probabilities."""
    n_seen: int = 0
    weight: float = 0.0
    loss_sum: float = 0.0
    unjudged: list[tuple[Floats, Floats, Floats]] = field(default_factory=list)
    """Targets, predictions and weights of the last rows, whose losses are not in the sum yet."""
    early: EarlyRows | None = None
    """The last rows since the stream changed, from which weights are learned."""
    since: int = 0
    """The row number from which on rows count for that."""
    errors: Floats = field(default_factory=drift.nothing)
    """The recent errors, by which a change is detected."""
    mixture: Mixture | None = None
    """The simple models beside the kernel machine."""
    beside: Beside | None = None
    """Of a batch model that went online: then all scales stay as they were there."""

    @staticmethod
    def start(settings: Settings, n_features: int, n_outputs: int, seed: int, mixes: bool = True) -> Learner:
        """Return a machine that has seen nothing; ``mixes`` tells whether simple models stand beside it."""
        settings = settings.for_outputs(n_outputs)
        machines = len(settings.machines)
        learner = Learner(
            settings, seed, Buffer.empty(n_features, n_outputs, machines, settings.budget, seed),
            Moments.of(n_features), Moments.of(n_outputs), np.zeros(n_features), np.ones(n_features),
            np.zeros(n_features, dtype=bool), np.zeros(n_outputs), np.ones(n_outputs), odds.at_first(settings.loss),
        )  # fmt: skip
        learner.gamma = rescaling.gamma_now(learner)
        if learner._learns_weights:
            learner.early = relearning.no_rows(n_features, n_outputs)
        if mixes and settings.supervised:
            steepness = odds.steepness(settings.loss) if settings.classes else 1.0
            learner.mixture = Mixture.start(n_features, n_outputs, settings.classes, steepness)
        return learner

    def stand_alone(self) -> None:
        """Be the kernel machine with the weights that it has, and nothing else."""
        self.early = self.mixture = None

    @cached_property
    def _prepare(self) -> Callable[[], Prepared]:
        """Give what is compiled. It is the process's, so it stands behind a function: walks over memory end there."""
        prepared = Prepared(self.settings)
        return lambda: prepared

    @property
    def prepared(self) -> Prepared:
        return self._prepare()

    def __getstate__(self) -> dict[str, Any]:
        """Return what there is to pickle: addresses of compiled functions are those of one process."""
        self.tally()
        return {name: value for name, value in vars(self).items() if name not in ("_prepare", "column_scale")}

    @property
    def n_features(self) -> int:
        return len(self.gamma)

    @property
    def n_outputs(self) -> int:
        return len(self.unit)

    @property
    def n_points(self) -> int:
        return self.buffer.n_points

    @property
    def progressive_loss(self) -> float:
        """The mean loss of all rows, each predicted before it was learned from."""
        self.tally()
        return self.loss_sum / self.weight if self.weight else float("nan")

    @cached_property
    def column_scale(self) -> Floats:
        """What columns are multiplied by."""
        return np.asarray(self.gamma**self.settings.kernel.gamma_power)

    @property
    def _scales(self) -> Scales:
        return Scales(self.center, self.column_scale, self.intercept, self.unit)

    def choose_loss(self) -> None:
        """Have the loss of as many classes as there are now."""
        self.settings = self.settings.for_outputs(self.n_outputs)
        vars(self).pop("_prepare", None)

    def forget_scale(self) -> None:
        """Have the scale of points computed anew, since gamma has changed."""
        vars(self).pop("column_scale", None)

    def columns(self, X: Floats) -> Floats:
        """Return rows on the scale on which the kernel sees their columns."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        return X if self.beside is None else self.beside.columns(X)

    def beside_at(self, rows: Floats) -> Floats:
        """Return what stands beside the sum over points at some rows, in units of the spread."""
        if self.beside is None:
            return np.zeros((len(rows), self.n_outputs))
        return self.beside.at(rows) / self.unit

    def points_of(self, X: Floats) -> Floats:
        """Return rows as points; a column that a row does not have is as it is on average."""
        points = (X - self.center) * self.column_scale
        return np.where(np.isnan(points), 0.0, points)

    def learn(self, X: Floats, Y: Floats, sample_weight: Floats, labels: NDArray[np.int64]) -> Floats:
        """Learn from rows in order; return what each was predicted to be before, (n, n_outputs)."""
        X = self.columns(X)
        Y, sample_weight = (np.ascontiguousarray(part, dtype=np.float64) for part in (Y, sample_weight))
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        out = np.empty((len(X), self.n_outputs))
        first = 0
        while first < len(X):
            last = min(len(X), first + self._next_event() - self.n_seen)
            part = slice(first, last)
            self._learn_part(X[part], Y[part], sample_weight[part], labels[part], out[part])
            if self.beside is None:
                self._at_row_number()
            first = last
        if len(X) > 1:
            self.tally()  # a loss that overflows is told of with the rows that it is of
        return out

    def _next_event(self) -> int:
        """Return the next number of rows that is a power of two, at least 2, or ends a block."""
        return min(1 << max(1, self.n_seen.bit_length()), (self.n_seen // drift.BLOCK + 1) * drift.BLOCK)

    def _at_row_number(self) -> None:
        """Do what is due after so many rows: take scales anew, look for a change, learn weights."""
        n, moved = self.n_seen, False
        if n & (n - 1) == 0 and n > 1:
            rescaling.move_targets(self)
            moved = rescaling.move_points(self, rescaling.gamma_now(self))
            if self.mixture is not None:
                self.mixture.place(self.features, self.targets)
        if n % drift.BLOCK == 0 and self._learns_weights:
            if self.early is not None and new_units.take(self, self.early.rows):
                moved = True
            elif drift.changed(self.errors):
                relearning.start_anew(self)
            if self.early is not None:
                if relearning.due(n - self.since):
                    moved = relearning.relearn(self, self.early) or moved
                self.early.make_room(drift.BLOCK)
        if moved:
            self.settle()

    def _learn_part(self, X: Floats, Y: Floats, weights: Floats, labels: NDArray[np.int64], out: Floats) -> None:
        y, f = np.empty_like(Y), np.empty_like(Y)
        rows = Rows(X, Y, weights, labels, self.beside_at(X))
        known = Known(self.features, self.targets, self.odds, self.errors, self.mixture)
        self.prepared.learn(self.buffer, known, self._scales, X, rows, self.n_seen, y, f, out)
        self.unjudged.append((y, f, weights.copy()))  # the array may be the user's
        if self.early is not None:
            self.early.add(X, Y, weights)
        self.n_seen += len(X)
        if self.n_seen % drift.BLOCK == 0:
            self.tally()

    def tally(self) -> None:
        """Add the losses of the last rows up: those of many cost as much as those of one."""
        if not self.unjudged:
            return
        y, f, weights = (np.concatenate(parts) for parts in zip(*self.unjudged, strict=True))
        self.unjudged.clear()
        degree = getattr(self.settings.loss, "degree", 0)
        with np.errstate(over="ignore", invalid="ignore"):  # which ends in OVERFLOW
            losses = (self.settings.loss.value(y, f) * self.unit**degree).mean(axis=1)
        for lost, weight in zip(losses.tolist(), weights.tolist(), strict=True):
            self.loss_sum += weight * lost
            self.weight += weight
        if not math.isfinite(self.loss_sum):
            raise ValueError(OVERFLOW)

    @property
    def _learns_weights(self) -> bool:
        settings = self.settings
        named = isinstance(settings.gamma, str) and settings.gamma == "auto"
        return (
            named
            and settings.supervised
            and self.beside is None
            and settings.kernel.pairwise is Pairwise.SQUARED_DISTANCE
        )

    def settled(self) -> Learner:
        """Return the machine after all rows so far: none of them waits."""
        return self

    def settle(self) -> None:
        """Let all points take their steps: the last sweep, after which the model does not depend on the last row."""
        dual_steps.sweep(self.buffer, self.prepared.steps, SWEEPS)

    def evaluate(self, X: Floats) -> Floats:
        """Return the predictions of rows, (n, n_outputs)."""
        rows, out = self.columns(X), np.empty((len(X), self.n_outputs))
        self.prepared.evaluate(self.buffer, self.mixture, self._scales, rows, self.beside_at(rows), out)
        return out

    def sum_over_points(self, rows: Floats) -> Floats:
        """Return the sum over the points alone at rows on the scale of the kernel, in the user's units."""
        out = np.empty((len(rows), self.n_outputs))
        scales = self._scales._replace(intercept=np.zeros(self.n_outputs))
        self.prepared.evaluate(self.buffer, None, scales, rows, np.zeros_like(out), out)
        return out

    @property
    def kernel_share(self) -> float:
        """The weight of the sum over points in what is predicted."""
        return 1.0 if self.mixture is None else float(self.mixture.shares()[0])

    def affine(self) -> tuple[Floats, Floats]:
        """Return what is predicted beside the points: slopes (n_features, n_outputs) and intercept, in user's units."""
        trend, intercept = np.zeros((self.n_features, self.n_outputs)), self.kernel_share * self.intercept
        if self.beside is not None:
            return self.beside.trend, self.beside.intercept + intercept
        if self.mixture is not None:
            slopes, more = self.mixture.affine()
            trend[: len(slopes)] += slopes
            intercept = intercept + more
        return trend, intercept

    def support_vectors(self) -> Floats:
        """Return the points of the buffer as rows, on the scale on which the kernel sees their columns."""
        scale, live = self.column_scale, self.buffer.points[:, : self.n_points].T
        return np.asarray(np.divide(live, scale, out=np.zeros_like(live), where=scale > 0) + self.center)

    def dual_coef(self) -> Floats:
        """Return the coefficients that predict, (n_points, n_outputs), in the user's units.

        They are those of the kernel machine by itself; ``kernel_share`` is its weight among all models.
        """
        b = self.buffer
        regrets = b.machines[REGRET:]
        trust = np.exp(regrets.min() - regrets)
        weights = trust / trust.sum() * b.machines[FACTOR]
        shape, parts = (len(weights.T), self.n_outputs, -1), b.parts
        both = zip(weights, (parts.coef, parts.average), strict=True)
        lines = sum(np.tensordot(w, part[:, : self.n_points].reshape(shape), 1) for w, part in both)
        return np.asarray(np.transpose(lines) * self.unit)
