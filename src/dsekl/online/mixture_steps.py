"""Compiled steps of a mixture: what each model predicts of a row, how they are weighed, and how they learn from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsekl.compiled import njit

from .buffer import part
from .odds import LOG_SLOPE, follow, uphill, wrong_class
from .stacking import FARTHEST, MOST_LOSS, TINY, stack_classes, stack_numbers

PRIOR = 10.0
"""Variance of a slope before any row, with columns of spread 1 and targets of noise 1."""

INTERCEPT_PRIOR = 1000.0
RECENT = 0.99
"""Share that the recent losses keep with each row."""

RATE = 0.5
"""Of the weights: a model with one loss more counts by ``exp(-RATE)`` less."""

SWITCH = 0.003
"""Share of the weight that all models share out evenly with each row, since another one may be best from now on."""

TABLE_KEPT = 0.995


@part()
def fill(m: Any, row: Any, lags: int, x: Any) -> None:
    """Put 1, the placed columns of a row and the last targets into ``x``."""
    x[0] = 1.0
    d = m.placement.shape[1] - lags
    for k in range(d + lags):
        value = 0.0
        if k < d:
            value = (row[k] - m.placement[0, k]) * m.placement[1, k]
        elif m.last[0] >= 0.0:
            value = (m.last[1 + k - d] - m.placement[0, k]) * m.placement[1, k]
        x[1 + k] = 0.0 if np.isnan(value) else min(FARTHEST, max(-FARTHEST, value))


@part()
def last_alone(m: Any) -> Any:
    """Return what the last target alone makes expect, (n_outputs,)."""
    found, outputs = np.zeros(m.slopes.shape[1]), m.slopes.shape[1]
    code = int(m.last[0])
    if code < 0:
        return found
    if m.table.shape[0] == 0:
        for o in range(outputs):
            found[o] = m.last[1 + o]
        return found
    total = m.table[code].sum()
    for o in range(outputs):
        place = 1 if outputs == 1 else o
        found[o] = 2.0 * m.table[code, place] / total - 1.0
    return found


@part()
def each_model(m: Any, x: Any, lags: int, f: Any) -> None:
    """Put what each simple model predicts into ``f`` (n_models + 1, n_outputs), whose first line is the kernel's."""
    linear, outputs = m.slopes.shape[0], m.slopes.shape[1]
    found = last_alone(m)
    for o in range(outputs):
        for e in range(linear):
            n = x.size if e == linear - 1 else x.size - lags
            value = 0.0
            for k in range(n):
                value += m.slopes[e, o, k] * x[k]
            f[1 + e, o] = value
        f[1 + linear, o] = found[o]
        value = 0.0
        for j in range(linear + 2):
            value += m.stacked[j] * f[j, o]
        f[linear + 2, o] = value


@part()
def weigh(m: Any, f: Any, out: Any) -> None:
    """Put the weighted sum of all models, each with the slope of its own odds, into ``out``."""
    for o in range(out.size):
        out[o] = 0.0
    for j in range(m.regret.size):
        weight = np.exp(m.odds[LOG_SLOPE, j] - m.regret[j])
        for o in range(out.size):
            out[o] += weight * f[j, o]


@part()
def regress(m: Any, e: int, x: Any, n: int, weight: float, targets: Any, f: Any) -> None:
    """Let linear model ``e`` learn from a row: recursive least squares that forget."""
    P, gain = m.variance[e], np.empty(n)
    size, trace, keep = 0.0, 0.0, m.keep[e]
    for i in range(n):
        value = 0.0
        for j in range(n):
            value += P[i, j] * x[j]
        gain[i] = value
        size += value * x[i]
        trace += P[i, i]
    if trace > PRIOR * n + INTERCEPT_PRIOR:
        keep = 1.0  # columns that no row tells apart would be forgotten without end
    below = keep / weight + max(0.0, size)
    for o in range(targets.size):
        error = (targets[o] - f[1 + e, o]) / below
        for k in range(n):
            m.slopes[e, o, k] += error * gain[k]
    for i in range(n):
        for j in range(n):
            P[i, j] = (P[i, j] - gain[i] * gain[j] / below) / keep
        P[i, i] = max(P[i, i], TINY)


@part()
def judge(m: Any, targets: Any, weight: float, tilt: float, f: Any, losses: Any) -> None:
    """Put the losses of all models on a row into ``losses``: errors of classes, distances of numbers."""
    outputs, n = targets.size, losses.size
    if tilt == 0.0:
        for j in range(n):
            losses[j] = 1.0 if wrong_class(f[j], targets) else 0.0
            gradient, curvature = uphill(m.odds[LOG_SLOPE, j] + np.log(m.steepness), f[j], targets)
            follow(m.odds, j, gradient, curvature, weight)
        return
    for j in range(n):
        losses[j] = 0.0
    for o in range(outputs):
        mean = 0.0
        for j in range(n):
            mean += abs(f[j, o] - targets[o]) / n
        m.distances[0, o] = RECENT * m.distances[0, o] + mean
        m.distances[1, o] = RECENT * m.distances[1, o] + 1.0
        unit = m.distances[0, o] / m.distances[1, o]
        for j in range(n):
            off = targets[o] - f[j, o]
            loss = 2.0 * (tilt * max(0.0, off) + (1.0 - tilt) * max(0.0, -off))
            if unit > 0.0:
                losses[j] += min(MOST_LOSS, loss / unit) / outputs


@part()
def share(m: Any, losses: Any) -> None:
    """Weigh models by their losses, and share a little of all weight out: any model may be best from now on."""
    n, total = losses.size, 0.0
    for j in range(n):
        m.regret[j] += RATE * losses[j]
    least = m.regret.min()
    for j in range(n):
        total += np.exp(least - m.regret[j])
    for j in range(n):
        m.regret[j] = -np.log((1.0 - SWITCH) * np.exp(least - m.regret[j]) / total + SWITCH / n)


@njit(cache=True, nogil=True, error_model="numpy")
def learn(m: Any, rows: Any, targets: Any, weights: Any, labels: Any, tilt: float, out: Any) -> None:
    """Learn from rows in order; ``out`` (n, n_outputs), what the kernel machine predicted, becomes what all did."""
    linear, outputs = m.slopes.shape[0], m.slopes.shape[1]
    lags = outputs if m.table.shape[0] == 0 else 0
    x, f, losses = np.empty(m.slopes.shape[2]), np.empty((linear + 3, outputs)), np.empty(linear + 3)
    for r in range(out.shape[0]):
        fill(m, rows[r], lags, x)
        f[0] = out[r]
        each_model(m, x, lags, f)
        weigh(m, f, out[r])
        if weights[r] == 0.0:
            continue
        judge(m, targets[r], weights[r], tilt, f, losses)
        share(m, losses)
        if tilt == 0.0:
            stack_classes(m, targets[r], f)
        else:
            stack_numbers(m, targets[r], f)
        for e in range(linear):
            n = x.size if e == linear - 1 else x.size - lags
            regress(m, e, x, n, weights[r], targets[r], f)
        if m.table.shape[0] > 0 and m.last[0] >= 0.0:
            before = int(m.last[0])
            for k in range(m.table.shape[0]):
                m.table[before, k] *= TABLE_KEPT
            m.table[before, labels[r]] += 1.0
        m.last[0] = labels[r]
        for o in range(outputs):
            m.last[1 + o] = targets[r, o]


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(m: Any, rows: Any, out: Any) -> None:
    """Make what the kernel machine predicts, ``out`` (n, n_outputs), what all models do."""
    linear, outputs = m.slopes.shape[0], m.slopes.shape[1]
    lags = outputs if m.table.shape[0] == 0 else 0
    x, f = np.empty(m.slopes.shape[2]), np.empty((linear + 3, outputs))
    for r in range(out.shape[0]):
        fill(m, rows[r], lags, x)
        f[0] = out[r]
        each_model(m, x, lags, f)
        weigh(m, f, out[r])
