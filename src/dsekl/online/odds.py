"""Probabilities of a stream's classes: margins times a slope, learned from rows that the machine had not learned from.

Two classes: ``p = sigmoid(a f)``, with one slope for positive f and one for negative f, so that a rare class may have
its own; the likelier class is always that of f. More classes: ``p = softmax(a f)``. The logarithm of a slope takes a
Newton step on the log loss of each row, with the curvature of recent rows: about ``1 / (1 - KEPT)`` of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from dsekl.calibration.increasing_maps import with_decisions
from dsekl.compiled import njit
from dsekl.losses import Logistic, Loss

from .buffer import Floats, part

LOG_SLOPE, CURVATURE = 0, 1
"""Lines of what is known: for negative f and for positive f; with many classes the first column alone."""

STEEPNESS = 2.0
"""The slope before any row, for losses whose f are no odds."""

KEPT = 0.999
LEAST_CURVATURE = 4.0
MOST_STEP = 0.25
MOST_LOG_SLOPE = float(np.log(1000.0))


def steepness(loss: Loss) -> float:
    """Return the slope before any row."""
    return 1.0 if isinstance(loss, Logistic) else STEEPNESS


def at_first(loss: Loss) -> Floats:
    """Return what is known before any row."""
    return np.array([[np.log(steepness(loss))] * 2, [LEAST_CURVATURE] * 2])


def for_one_class_more(odds: Floats, outputs: int, halved: bool) -> Floats:
    """Return what is known once there is one class more: two classes with f and -f are half as steep.

    ``halved`` tells that f itself will be half as large.
    """
    if outputs > 1:
        return odds
    return np.stack([np.full(2, odds[LOG_SLOPE].mean() - (0.0 if halved else np.log(2.0))), odds[CURVATURE]])


def check_odds(odds: Floats) -> None:
    """Raise ValueError where this can be known of no stream."""
    if (np.abs(odds[LOG_SLOPE]) > MOST_LOG_SLOPE).any() or (odds[CURVATURE] < LEAST_CURVATURE).any():
        raise ValueError("the learner's odds cannot be")


def probabilities(odds: Floats, f: Floats) -> Floats:
    """Return the probability of each class, (n, n_classes), for f (n, n_outputs): none is 0, f decides the largest."""
    slopes, tiny = np.exp(odds[LOG_SLOPE]), np.finfo(np.float64).tiny
    if f.shape[1] == 1:
        margin = np.where(f[:, 0] > 0, slopes[1], slopes[0]) * f[:, 0]
        found = np.column_stack([expit(-margin), expit(margin)])
    else:
        found = softmax(slopes[0] * f, axis=1)
    return with_decisions(np.maximum(found, tiny), f)


@part()
def wrong_class(f: Any, targets: Any) -> Any:
    """Tell whether the largest of f is another class than that of the targets."""
    if targets.size == 1:
        return f[0] * targets[0] <= 0.0
    best = 0
    for o in range(targets.size):
        if f[o] > f[best]:
            best = o
    return targets[best] < 0.0


@part()
def uphill(log_slope: float, f: Any, targets: Any) -> Any:
    """Return derivative and curvature, by the logarithm of the slope, of the log likelihood of a row's class."""
    slope = np.exp(log_slope)
    if f.size == 1:
        margin = slope * f[0]
        p = 1.0 / (1.0 + np.exp(-margin))
        return ((1.0 if targets[0] > 0.0 else 0.0) - p) * margin, p * (1.0 - p) * margin * margin
    total, mean, square, right, largest = 0.0, 0.0, 0.0, 0.0, f[0]
    for o in range(f.size):
        largest = max(largest, f[o])
    for o in range(f.size):
        margin = slope * (f[o] - largest)
        share = np.exp(margin)
        total += share
        mean += share * margin
        square += share * margin * margin
        if targets[o] > 0.0:
            right = margin
    mean /= total
    return right - mean, max(0.0, square / total - mean * mean)


@part()
def follow(odds: Any, place: int, gradient: float, curvature: float, weight: float) -> None:
    """Let a slope take its step."""
    odds[CURVATURE, place] = max(LEAST_CURVATURE, KEPT * odds[CURVATURE, place] + weight * curvature)
    step = min(MOST_STEP, max(-MOST_STEP, weight * gradient / odds[CURVATURE, place]))
    odds[LOG_SLOPE, place] = min(MOST_LOG_SLOPE, max(-MOST_LOG_SLOPE, odds[LOG_SLOPE, place] + step))


@njit(cache=True, nogil=True, error_model="numpy")
def observe(odds: Any, f: Any, targets: Any, weights: Any) -> None:
    """Take in predictions (n, n_outputs) of rows that were not learned from, and their targets of -1 and 1."""
    for r in range(f.shape[0]):
        if weights[r] == 0.0:
            continue
        place = 1 if f.shape[1] == 1 and f[r, 0] > 0.0 else 0
        gradient, curvature = uphill(odds[LOG_SLOPE, place], f[r], targets[r])
        follow(odds, place, gradient, curvature, weights[r])
