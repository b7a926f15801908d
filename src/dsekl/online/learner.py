"""A machine that learns one row at a time: its buffer, the scales of columns and targets, and what it has seen.

Everything happens at row numbers that do not depend on the batches in which rows come, so that batches and single rows
give one model to the bit. Between two such numbers, rows go through compiled code.

The scales of columns and targets are those of the rows so far, taken anew whenever the number of rows doubles. With
``gamma="auto"`` the weights of the features are learned at ``LEARNED_AT`` rows, from the rows that came first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import pointer, profile_signature
from dsekl.kernels import RBF, Pairwise, VectorKernel
from dsekl.losses import Loss, Quantile

from . import dual_steps, odds, weights
from .beside import Beside
from .buffer import FACTOR, REGRET, Buffer, Floats
from .buffer_points import PAIRWISE
from .dual_steps import STEP, Ascent, Compared, Rows
from .early import EarlyRows
from .maintenance import shrinking
from .moments import Moments
from .prepared import Prepared

LEARNED_AT = (512, 2048, 8192)
"""Rows after which the weights of the features are learned."""

MOST_EARLY = 2**22
"""Entries of the rows that are kept for that."""

HALF_LIVES = (np.inf, 1000.0, 100.0)
"""In rows, of ``half_life="auto"``."""

C_VALUES = {True: (1.0, 0.2, 10.0), False: (10.0, 1.0, 100.0)}
"""Of ``C="auto"``, for classes and for numbers."""

SWEEPS = 3
"""Passes over the buffer after the kernel has changed, and at the end of a fit."""

MOST_BUDGET = 4096
"""Points up to which the kernel values of all pairs are held."""


@dataclass(frozen=True)
class Settings:
    """What a user decides on; ``classes`` tells whether targets are -1 and 1."""

    kernel: VectorKernel
    loss: Loss
    gamma: float | Floats | str = "auto"
    C: float | str = 1.0
    budget: int = 500
    maintenance: str = "merge"
    half_life: float | str | None = None
    n_cols: int = 32
    classes: bool = True
    learns_weights: bool = True

    def __post_init__(self) -> None:
        if self.budget > MOST_BUDGET and self.maintenance not in ("merge", "absorb"):
            raise ValueError(
                f"maintenance={self.maintenance!r} is for budgets up to {MOST_BUDGET:,}; with budget={self.budget} "
                "points are absorbed: set maintenance='absorb'"
            )

    @property
    def machines(self) -> tuple[tuple[float, float], ...]:
        """The half-life and the C of each machine: the first C forgets at all rates, the others at the first."""
        if self.half_life is None:
            lives: tuple[float, ...] = (np.inf,)
        else:
            lives = HALF_LIVES if isinstance(self.half_life, str) else (float(self.half_life),)
        first, *others = C_VALUES[self.classes] if isinstance(self.C, str) else (float(self.C),)
        return (*((life, first) for life in lives), *((lives[0], C) for C in others))

    @property
    def first_C(self) -> float:
        return self.machines[0][1]

    @property
    def way(self) -> str:
        """The maintenance that the kernel allows: points between two others are known for Gaussians alone."""
        return "absorb" if self.maintenance == "merge" and not isinstance(self.kernel, RBF) else self.maintenance

    @property
    def compared(self) -> Compared:
        profile = pointer(self.kernel.profile(), profile_signature("float64"))
        return Compared(PAIRWISE[self.kernel.pairwise], profile, self.kernel.params())

    @property
    def ascent(self) -> Ascent:
        tilt = 0.0 if self.classes else self.loss.shape if isinstance(self.loss, Quantile) else 0.5
        step = pointer(self.loss.dual_step(), STEP)
        return Ascent(
            step,
            float(self.loss.shape),
            np.array([C for _, C in self.machines]),
            self.n_cols,
            shrinking(self.way),
            tilt,
        )


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
    """How probabilities are made of f."""
    n_seen: int = 0
    weight: float = 0.0
    loss_sum: float = 0.0
    early: EarlyRows | None = None
    """The rows that came first, until weights have been learned from them for the last time."""
    beside: Beside | None = None
    """Of a batch model that went online: then all scales stay as they were there."""

    @staticmethod
    def start(settings: Settings, n_features: int, n_outputs: int, seed: int) -> Learner:
        """Return a machine that has seen nothing."""
        machines = len(settings.machines)
        learner = Learner(
            settings, seed, Buffer.empty(n_features, n_outputs, machines, settings.budget, seed),
            Moments.of(n_features), Moments.of(n_outputs), np.zeros(n_features), np.ones(n_features),
            np.zeros(n_features, dtype=bool), np.zeros(n_outputs), np.ones(n_outputs), odds.at_first(settings.loss),
        )  # fmt: skip
        learner.gamma = learner.gamma_now()
        if learner._learns_weights:
            most = min(LEARNED_AT[-1], max(LEARNED_AT[0], MOST_EARLY // n_features))
            learner.early = EarlyRows.none(n_features, n_outputs, most)
        return learner

    @cached_property
    def _prepare(self) -> Callable[[], Prepared]:
        """Give what is compiled. It is the process's, so it stands behind a function: walks over memory end there."""
        prepared = Prepared(self.settings.compared, self.settings.ascent, [life for life, _ in self.settings.machines])
        return lambda: prepared

    @property
    def prepared(self) -> Prepared:
        return self._prepare()

    def __getstate__(self) -> dict[str, Any]:
        """Return what there is to pickle: addresses of compiled functions are those of one process."""
        return {name: value for name, value in vars(self).items() if name not in ("_prepare", "_scale")}

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
        return self.loss_sum / self.weight if self.weight else float("nan")

    @cached_property
    def _scale(self) -> Floats:
        return np.asarray(self.gamma**self.settings.kernel.gamma_power)

    def forget_scale(self) -> None:
        """Have the scale of points computed anew, since gamma has changed."""
        vars(self).pop("_scale", None)

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
        points = (X - self.center) * self._scale
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
            if self.n_seen & (self.n_seen - 1) == 0 and self.n_seen > 1:
                self._rescale()
            first = last
        return out

    def _next_event(self) -> int:
        """Return the next number of rows that is a power of two, at least 2."""
        return 1 << max(1, self.n_seen.bit_length())

    def _learn_part(self, X: Floats, Y: Floats, weights: Floats, labels: NDArray[np.int64], out: Floats) -> None:
        prepared = self.prepared
        prepared.observe(self.features, X, weights)
        if not self.settings.classes:
            prepared.observe(self.targets, Y, weights)
        y = (Y - self.intercept) / self.unit
        rows = Rows(self.points_of(X), y, weights, labels, self.beside_at(X))
        prepared.learn(self.buffer, rows, self.n_seen, out)
        if self.settings.classes:
            prepared.observe_odds(self.odds, out, Y, weights)
        for lost, weight in zip(self._loss_of(y, out).tolist(), weights.tolist(), strict=True):
            self.loss_sum += weight * lost
            self.weight += weight
        out *= self.unit
        out += self.intercept
        if self.early is not None:
            self.early.add(X, Y, weights)
        self.n_seen += len(X)

    def _loss_of(self, y: Floats, f: Floats) -> Floats:
        """Return the loss of each row, in the user's units."""
        degree = getattr(self.settings.loss, "degree", 0)
        return np.asarray((self.settings.loss.value(y, f) * self.unit**degree).mean(axis=1))

    @property
    def _learns_weights(self) -> bool:
        settings = self.settings
        named = isinstance(settings.gamma, str) and settings.gamma == "auto"
        return named and settings.learns_weights and settings.kernel.pairwise is Pairwise.SQUARED_DISTANCE

    def gamma_now(self) -> Floats:
        """Return gamma from the rows so far; that of features whose weight was learned stays."""
        given, n = self.settings.gamma, self.n_features
        if not isinstance(given, str):
            return np.broadcast_to(np.asarray(given, dtype=np.float64), n).copy()
        variance = self.features.variance
        varying = variance > 0
        if not varying.any():
            return np.where(self.learned, self.gamma, 1.0 / n)
        if given == "scale" or not self.settings.kernel.pairwise.is_distance:
            seen = self.features.weight
            mean = np.average(self.features.mean, weights=seen)
            spread = np.average(variance + (self.features.mean - mean) ** 2, weights=seen)
            return np.full(n, 1.0 / (n * spread))
        power = 1.0 if self.settings.kernel.pairwise is Pairwise.SQUARED_DISTANCE else 0.5
        own = 1.0 / (varying.sum() * np.where(varying, variance, 1.0) ** power)
        return np.where(self.learned, self.gamma, np.where(varying, own, 0.0))

    def _rescale(self) -> None:
        """Take the scales of columns and targets anew, and carry the buffer over."""
        if self.beside is not None:
            return
        self._move_targets()
        moved = self.move_points(self.gamma_now())
        if self.early is not None and self.n_seen in LEARNED_AT:
            moved = self._learn_weights(self.early) or moved
            if self.n_seen == LEARNED_AT[-1]:
                self.early = None
        if moved:
            self.settle()

    def settled(self) -> Learner:
        """Return the machine after all rows so far: none of them waits."""
        return self

    def settle(self) -> None:
        """Let all points take their steps: the last sweep, after which the model does not depend on the last row."""
        dual_steps.sweep(self.buffer, self.prepared.steps, SWEEPS)

    def move_points(self, gamma: Floats) -> bool:
        """Give the points of the buffer the scale of another gamma; tell whether that changes anything."""
        center = self.features.mean.copy() if self.settings.kernel.pairwise.is_distance else self.center
        if np.array_equal(gamma, self.gamma) and np.array_equal(center, self.center):
            return False
        n, scale = self.n_points, self._scale
        live = self.buffer.points[:, :n].T
        raw = np.divide(live, scale, out=np.zeros_like(live), where=scale > 0) + self.center
        self.center, self.gamma = center, gamma
        self.forget_scale()
        self.buffer.points[:, :n] = self.points_of(raw).T
        dual_steps.gram(self.buffer, self.prepared.compared)
        return True

    def _move_targets(self) -> None:
        """Take mean and spread of real targets anew."""
        if self.settings.classes:
            return
        unit = np.sqrt(self.targets.variance)
        unit = np.where(unit > 0, unit, 1.0)
        b, n = self.buffer.parts, self.n_points
        raw = b.targets[:, :n] * self.unit[:, None] + self.intercept[:, None]
        times = np.tile(self.unit / unit, len(b.mass))[:, None]
        for lines in (b.coef, b.f, b.average):
            lines[:, :n] *= times
        self.intercept, self.unit = self.targets.mean.copy(), unit
        b.targets[:, :n] = (raw - self.intercept[:, None]) / unit[:, None]

    def _learn_weights(self, early: EarlyRows) -> bool:
        """Learn the weights of the features from the rows that came first; tell whether they have changed."""
        kernel, b, n = self.settings.kernel, self.buffer, self.n_points

        def profile(s: Floats) -> Floats:
            kernel.profile()(s, kernel.params())
            return s

        self.settle()
        best = int(b.machines[REGRET].argmin())
        lines = slice(best * self.n_outputs, (best + 1) * self.n_outputs)
        coef = b.machines[FACTOR, best] * b.parts.coef[lines, :n].T
        expansion = weights.Expansion(b.points[:, :n].T.copy(), coef, profile)
        y = (early.targets - self.intercept) / self.unit
        examples = weights.Examples(self.points_of(early.rows), y, early.weights, self.settings.loss)
        times = weights.descend(expansion, examples, np.random.default_rng([self.seed, self.n_seen]))
        if times is None:
            return False
        self.learned |= self.gamma > 0
        self.move_points(np.asarray(self.gamma * times ** (1.0 / kernel.gamma_power)))
        return True

    def evaluate(self, X: Floats) -> Floats:
        """Return the predictions of rows, (n, n_outputs)."""
        rows, out = self.columns(X), np.empty((len(X), self.n_outputs))
        self.prepared.evaluate(self.buffer, self.points_of(rows), self.beside_at(rows), out)
        return np.asarray(out * self.unit + self.intercept)

    def sum_over_points(self, rows: Floats) -> Floats:
        """Return the sum over the points alone at rows on the scale of the kernel, in the user's units."""
        out = np.empty((len(rows), self.n_outputs))
        self.prepared.evaluate(self.buffer, self.points_of(rows), np.zeros_like(out), out)
        return out * self.unit

    def support_vectors(self) -> Floats:
        """Return the points of the buffer as rows, on the scale on which the kernel sees their columns."""
        scale, live = self._scale, self.buffer.points[:, : self.n_points].T
        return np.asarray(np.divide(live, scale, out=np.zeros_like(live), where=scale > 0) + self.center)

    def dual_coef(self) -> Floats:
        """Return the coefficients that predict, (n_points, n_outputs), in the user's units."""
        b = self.buffer
        regrets = b.machines[REGRET:]
        trust = np.exp(regrets.min() - regrets)
        weights = trust / trust.sum() * b.machines[FACTOR]
        shape, parts = (len(weights.T), self.n_outputs, -1), b.parts
        both = zip(weights, (parts.coef, parts.average), strict=True)
        lines = sum(np.tensordot(w, part[:, : self.n_points].reshape(shape), 1) for w, part in both)
        return np.asarray(np.transpose(lines) * self.unit)
