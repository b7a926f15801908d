"""The combination of all models of a mixture that is learned beside them: a step of its weights with each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .buffer import part
from .maintenance import solve

FARTHEST = 100.0
"""Spreads from the mean at which a column's value is cut off."""

STACK_RIDGE, STACK_VARIANCE = 5.0, 0.1
"""Curvature of the stacked weights before any row, for classes; their variance, for numbers."""

STACK_STEP, STACK_LEAST, STACK_MOST = 0.5, 1e-3, 20.0
"""A step of a stacked weight, and its bounds, for classes."""

MOST_LOSS = 3.0
TINY = 1e-12


@part()
def stack_classes(m: Any, targets: Any, f: Any) -> None:
    """A Newton step of the stacked weights on the log loss of a row."""
    n, outputs, keep = m.stacked.size, targets.size, m.keep[-1]
    step, chance = np.zeros(n), np.empty(outputs)
    each, mean = np.zeros((n, n)), np.zeros(n)
    if outputs == 1:
        p = 1.0 / (1.0 + np.exp(-f[n, 0]))
        for j in range(n):
            step[j] = ((1.0 if targets[0] > 0.0 else 0.0) - p) * f[j, 0]
            for k in range(n):
                each[j, k] = p * (1.0 - p) * f[j, 0] * f[k, 0]
    else:
        largest, below = f[n].max(), 0.0
        for o in range(outputs):
            chance[o] = np.exp(f[n, o] - largest)
            below += chance[o]
        for o in range(outputs):
            chance[o] /= below
            for j in range(n):
                step[j] += ((1.0 if targets[o] > 0.0 else 0.0) - chance[o]) * f[j, o]
                mean[j] += chance[o] * f[j, o]
        for o in range(outputs):
            for j in range(n):
                for k in range(n):
                    each[j, k] += chance[o] * (f[j, o] - mean[j]) * (f[k, o] - mean[k])
    for j in range(n):
        for k in range(n):
            m.curvature[j, k] = keep * m.curvature[j, k] + each[j, k]
        m.curvature[j, j] += (1.0 - keep) * STACK_RIDGE
    solve(m.curvature.copy(), step)
    for j in range(n):
        new = m.stacked[j] + min(STACK_STEP, max(-STACK_STEP, step[j]))
        m.stacked[j] = min(STACK_MOST, max(STACK_LEAST, new))


@part()
def stack_numbers(m: Any, targets: Any, f: Any) -> None:
    """Let the stacked weights learn from a row: least squares of distances from the mean of all models."""
    n, keep = m.stacked.size, m.keep[-1]
    x, gain = np.empty(n), np.empty(n)
    for o in range(targets.size):
        unit = m.distances[0, o] / m.distances[1, o]
        if unit <= 0.0:
            continue
        mean = f[:n, o].mean()
        size, trace = 0.0, 0.0
        for j in range(n):
            x[j] = min(FARTHEST, max(-FARTHEST, (f[j, o] - mean) / unit))
        for i in range(n):
            gain[i] = 0.0
            for j in range(n):
                gain[i] += m.curvature[i, j] * x[j]
            size += gain[i] * x[i]
        below = keep + max(0.0, size)
        error = min(MOST_LOSS, max(-MOST_LOSS, (targets[o] - f[n, o]) / unit)) / below
        for i in range(n):
            m.stacked[i] += error * gain[i]
            for j in range(n):
                m.curvature[i, j] = (m.curvature[i, j] - gain[i] * gain[j] / below) / keep
            m.curvature[i, i] = max(m.curvature[i, i], TINY)
            trace += m.curvature[i, i]
        times, rest = min(1.0, n * STACK_VARIANCE / trace), (1.0 - m.stacked.sum()) / n
        for i in range(n):
            m.stacked[i] += rest
            for j in range(n):
                m.curvature[i, j] *= times
