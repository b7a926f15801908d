"""Probabilities of a stream's classes: margins times a slope, learned from rows that the machine had not learned from.

Two classes: ``p = sigmoid(a f)``, with one slope for positive f and one for negative f, so that a rare class may have
its own; the likelier class is always that of f. More classes: ``p = softmax(a f)``. The logarithm of a slope takes a
Newton step on the log loss of each row, with the curvature of the rows of late: about ``1 / (1 - KEPT)`` of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from dsekl.compiled import njit
from dsekl.losses import Logistic, Loss

from .buffer import Floats

LOG_SLOPE, CURVATURE = 0, 1
"""Lines of what is known: for negative f and for positive f; with many classes the first column alone."""

STEEPNESS = 2.0
"""The slope before any row, for losses whose f are no odds."""

KEPT = 0.999
LEAST_CURVATURE = 4.0
MOST_STEP = 0.25
MOST_LOG_SLOPE = float(np.log(1000.0))


def at_first(loss: Loss) -> Floats:
    """Return what is known before any row."""
    return np.array([[0.0 if isinstance(loss, Logistic) else np.log(STEEPNESS)] * 2, [LEAST_CURVATURE] * 2])


def for_one_class_more(odds: Floats, outputs: int) -> Floats:
    """Return what is known once there is one class more: two classes with f and -f are half as steep."""
    if outputs > 1:
        return odds
    return np.stack([np.full(2, odds[LOG_SLOPE].mean() - np.log(2.0)), odds[CURVATURE]])


def check_odds(odds: Floats) -> None:
    """Raise ValueError where this can be known of no stream."""
    if (np.abs(odds[LOG_SLOPE]) > MOST_LOG_SLOPE).any() or (odds[CURVATURE] < LEAST_CURVATURE).any():
        raise ValueError("the learner's odds cannot be")


def probabilities(odds: Floats, f: Floats) -> Floats:
    """Return the probability of each class, (n, n_classes), for f (n, n_outputs); none is 0."""
    slopes, tiny = np.exp(odds[LOG_SLOPE]), np.finfo(np.float64).tiny
    if f.shape[1] == 1:
        margin = np.where(f[:, 0] > 0, slopes[1], slopes[0]) * f[:, 0]
        found = np.column_stack([expit(-margin), expit(margin)])
    else:
        found = softmax(slopes[0] * f, axis=1)
    return np.asarray(np.maximum(found, tiny))


@njit(cache=True, nogil=True, error_model="numpy")
def observe(odds: Any, f: Any, targets: Any, weights: Any) -> None:
    """Take in predictions (n, n_outputs) of rows that were not learned from, and their targets of -1 and 1."""
    for r in range(f.shape[0]):
        if weights[r] == 0.0:
            continue
        place, gradient, curvature = 0, 0.0, 0.0
        if f.shape[1] == 1:
            place = 1 if f[r, 0] > 0.0 else 0
            margin = np.exp(odds[LOG_SLOPE, place]) * f[r, 0]
            p = 1.0 / (1.0 + np.exp(-margin))
            gradient = ((1.0 if targets[r, 0] > 0.0 else 0.0) - p) * margin
            curvature = p * (1.0 - p) * margin * margin
        else:
            slope, total, mean, square, right = np.exp(odds[LOG_SLOPE, 0]), 0.0, 0.0, 0.0, 0.0
            largest = f[r, 0]
            for o in range(f.shape[1]):
                largest = max(largest, f[r, o])
            for o in range(f.shape[1]):
                margin = slope * (f[r, o] - largest)
                share = np.exp(margin)
                total += share
                mean += share * margin
                square += share * margin * margin
                if targets[r, o] > 0.0:
                    right = margin
            mean /= total
            gradient, curvature = right - mean, square / total - mean * mean
        known = KEPT * odds[CURVATURE, place] + weights[r] * max(0.0, curvature)
        odds[CURVATURE, place] = max(LEAST_CURVATURE, known)
        step = weights[r] * gradient / odds[CURVATURE, place]
        step = min(MOST_STEP, max(-MOST_STEP, step))
        odds[LOG_SLOPE, place] = min(MOST_LOG_SLOPE, max(-MOST_LOG_SLOPE, odds[LOG_SLOPE, place] + step))
