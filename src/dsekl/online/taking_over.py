"""A fitted model that goes online: a machine on a budget takes over its points.

A model keeps coefficients, and a machine on a budget also needs the target that each point had. The coefficients say
what it was: at the optimum ``coef = -C loss'(y, f)``, so y is the label, or the number nearest to f, for which that
holds best. A coefficient beyond what a row of weight 1 may have is that of a row with a larger one.

Points over the budget go into the buffer as those of a stream do, the largest coefficients first, and are merged. Then
the coefficients of the points that are left are those of the projection of f on their span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dsekl import gram
from dsekl.blas import one_blas_thread
from dsekl.compiled import njit
from dsekl.losses import Loss
from dsekl.rows import ArrayRows
from dsekl.workers import ALONE

from .batch import Batch
from .beside import Beside
from .buffer import SCRATCH, SIZE, Floats, split
from .buffer_points import dot, kernel_row, own_value
from .callbacks import call_shrink
from .dual_steps import Rows, enter
from .large import LargeLearner
from .learner import Learner
from .stream_settings import MOST_BUDGET, Settings

FAR = 10.0
"""Margins, or spreads, from the target at which a loss is as steep as it gets, if there is a limit to that."""

HALVINGS = 60
RIDGE = 1e-6
"""Share of k(x, x) that is added to it where f is projected, since near points are nearly dependent."""


@dataclass(frozen=True)
class Terms:
    """A model: rows on the scale of the kernel, coefficients (n, n_outputs), gamma, and what stands beside the sum.

    Coefficients are in the user's units, in which ``unit`` is the spread of the targets.
    """

    rows: Floats
    coef: Floats
    gamma: Floats
    beside: Beside
    unit: Floats

    def values(self, settings: Settings) -> Floats:
        """Return the sum over the terms at their own rows, in the user's units."""
        built = gram.build(settings.kernel, ArrayRows(self.rows), self.gamma, "float64", workers=ALONE)
        order = np.arange(len(self.rows)) if built.order is None else built.order
        f = np.empty_like(self.coef)
        f[order] = built.product(slice(None), slice(None), self.coef[order])
        return f


@one_blas_thread()
def started_from(settings: Settings, terms: Terms, seed: int) -> Learner | LargeLearner:
    """Return a machine that predicts what a model does, as well as its budget allows, and learns on."""
    sums, coef = terms.values(settings) / terms.unit, terms.coef / terms.unit
    targets, masses, labels = implied(settings, coef, sums + terms.beside.at(terms.rows) / terms.unit)
    n_features, n_outputs = terms.rows.shape[1], coef.shape[1]
    kind = LargeLearner if settings.budget > MOST_BUDGET else Learner
    learner = kind.start(settings, n_features, n_outputs, seed)
    learner.stand_alone()
    learner.gamma, learner.unit, learner.beside = terms.gamma, terms.unit, terms.beside
    points = Batch(terms.rows, targets * terms.unit, masses, labels)
    if isinstance(learner, LargeLearner):
        learner.take_over(points, coef)
        return learner
    if settings.kernel.pairwise.is_distance:
        learner.center = terms.rows.mean(axis=0)
    learner.forget_scale()
    order = np.argsort(-np.square(coef).sum(axis=1), kind="stable")
    _fill(learner, points.at(order), coef[order])
    if len(coef) > settings.budget:
        _project(learner, terms)
    parts = learner.buffer.parts
    parts.average[...] = parts.coef
    return learner


def _fill(learner: Learner, points: Batch, coef: Floats) -> None:
    """Put points with their coefficients into a buffer."""
    prepared = learner.prepared
    rows = Rows(
        learner.points_of(points.rows), points.targets / learner.unit, points.weights, points.labels,
        learner.beside_at(points.rows),
    )  # fmt: skip
    every = np.tile(coef, len(learner.settings.machines))
    admit(learner.buffer, rows, every, prepared.compared, prepared.steps)


def _project(learner: Learner, terms: Terms) -> None:
    """Give the points of the buffer the coefficients with which they are nearest to f, in the kernel's space."""
    n, parts = learner.n_points, learner.buffer.parts
    built = gram.build(learner.settings.kernel, ArrayRows(terms.rows), terms.gamma, "float64", workers=ALONE)
    coef = terms.coef if built.order is None else terms.coef[built.order]
    f = built.at(ArrayRows(learner.support_vectors())).product(slice(None), slice(None), coef) / learner.unit
    K = learner.buffer.kernel[:n, :n].copy()
    K[np.diag_indices(n)] *= 1.0 + RIDGE
    found = linalg.solve(K, f, assume_a="pos").T
    times = len(learner.settings.machines)
    parts.coef[:, :n] = np.tile(found, (times, 1))
    parts.f[:, :n] = np.tile(found @ learner.buffer.kernel[:n, :n], (times, 1))


def implied(settings: Settings, coef: Floats, f: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return the targets, weights and labels that coefficients and predictions (n, n_outputs) speak of."""
    loss, C = settings.loss, settings.first_C
    one = np.ones(1)
    steepest = max(float(np.abs(loss.gradient(sign * one, -sign * FAR * one))[0]) for sign in (-1.0, 1.0))
    masses = np.maximum(1.0, np.abs(coef).max(axis=1, initial=0.0) / (C * steepest))
    share = coef / (C * masses[:, None])
    if not settings.classes:
        return f + _residuals(loss, share), masses, np.zeros(len(f), dtype=np.int64)
    off = [np.abs(share + loss.gradient(np.full_like(f, sign), f)) for sign in (-1.0, 1.0)]
    gain = off[0] - off[1]
    if f.shape[1] == 1:
        labels = (gain[:, 0] > 0).astype(np.int64)
        return np.where(labels == 1, 1.0, -1.0)[:, None], masses, labels
    labels = gain.argmax(axis=1).astype(np.int64)
    return np.where(labels[:, None] == np.arange(f.shape[1]), 1.0, -1.0), masses, labels


def _residuals(loss: Loss, share: Floats) -> Floats:
    """Return the smallest residuals y - f at which the loss is as steep as coefficients over C say."""
    sign, wanted = np.sign(share), np.abs(share)
    near, far = np.zeros_like(share), FAR + 2.0 * wanted
    nothing = np.zeros_like(share)
    wanted = np.minimum(wanted, np.abs(loss.gradient(sign * far, nothing)) * (1.0 - 1e-9))
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        reached = np.abs(loss.gradient(sign * middle, nothing)) >= wanted
        near, far = np.where(reached, near, middle), np.where(reached, middle, far)
    return np.asarray(sign * far)


@njit(cache=True, nogil=True, error_model="numpy")
def admit(b: Any, rows: Any, coef: Any, compared: Any, a: Any) -> None:
    """Put rows into a buffer with coefficients (n, n_lines); over the budget, it loses a point for each."""
    row, sums = split(b)[5][SCRATCH], np.empty(coef.shape[1])
    for r in range(rows.points.shape[0]):
        n = np.int64(b.counts[SIZE])
        kernel_row(b.points, n, rows.points[r], compared.pairwise, compared.profile, compared.params, row)
        row[n] = own_value(rows.points[r], compared.pairwise, compared.profile, compared.params)
        for g in range(sums.size):
            sums[g] = dot(split(b)[0][g], row, n)
        enter(b, row, sums, coef[r], rows, r, 0)
        if n + 1 == b.kernel.shape[0]:
            call_shrink(a.shrink, b.points, b.kernel, b.lines, b.machines, b.counts, b.outputs)
