"""Which map from f to probabilities: rows that it has not been fitted on decide, from the simplest to the richest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dsekl.solvers.state import Count, Floats, NotNegative

from . import increasing_maps
from .increasing_maps import Map
from .unseen import Unseen

FOLDS = 5
"""Parts of the unseen rows; each judges maps that were fitted on the others."""

ISOTONIC_ROWS = 1_000
"""Rows from which on a broken line may be tried, and a tenth of them that must be of each side."""

DOUBT = 1.0
"""Standard errors of the difference by which a richer map must win."""

Fit = Callable[[Floats, Floats, Floats], Map]


@dataclass(frozen=True)
class Calibration:
    """A map, the rows it was learned from, and the log loss of such rows under maps that were not fitted on them."""

    map: Map
    n_rows: Count
    log_loss: NotNegative

    @property
    def method(self) -> str:
        return self.map.method

    def probabilities(self, f: Floats) -> Floats:
        """Return the probability of each class, (n_rows, n_classes), for f (n_rows, n_outputs)."""
        return self.map.probabilities(f)

    def check(self, n_outputs: int) -> None:
        """Raise ValueError where this is no calibration of so many outputs."""
        self.map.check(n_outputs)


def natural() -> Calibration:
    """Return the map of the logistic loss, whose f is the logarithm of odds as it stands."""
    return Calibration(Map("sigmoid", 1.0, 1.0), 0, 0.0)


def calibrated(unseen: Unseen, has_odds: bool, by_less: bool = False) -> Calibration:
    """Return the map that unseen rows choose. ``has_odds`` says that f stands for odds: those are then the simplest.

    ``by_less`` says that a machine of far fewer rows has predicted them, whose f is of another size.
    """
    f, weights = unseen.f, unseen.weights
    positive = (unseen.targets > 0).astype(np.float64)
    candidates = _candidates(positive, has_odds, by_less)
    fold = np.arange(len(f)) % FOLDS
    share = weights / weights.sum()
    best: Floats | None = None
    chosen = candidates[0]
    for fit in candidates if len(f) >= 2 * FOLDS else candidates[:1]:
        losses = np.empty(len(f))
        for k in range(FOLDS):
            out = fold == k
            if out.any():
                kept = ~out if (~out).any() else out
                losses[out] = _log_losses(fit(f[kept], positive[kept], weights[kept]), f[out], positive[out])
        gain = np.inf if best is None else float(share @ (best - losses))
        error = 0.0 if best is None else float(np.sqrt(share**2 @ (best - losses - gain) ** 2))
        if best is None or gain > DOUBT * error:
            best, chosen = losses, fit
    found = 0.0 if best is None else max(0.0, float(share @ best))
    return Calibration(chosen(f, positive, weights), len(f), found)


def _candidates(positive: Floats, has_odds: bool, by_less: bool) -> list[Fit]:
    """Return the maps that may be tried, the simplest first."""
    two_classes = positive.shape[1] == 1
    if two_classes and has_odds and by_less:
        # What a richer map would correct is that other machine's.
        return [lambda f, positive, weights: natural().map, increasing_maps.fit_halfway]
    found: list[Fit] = [lambda f, positive, weights: natural().map] if has_odds else []
    found += (
        [increasing_maps.fit_sigmoid, increasing_maps.fit_two_sided]
        if two_classes
        else [increasing_maps.fit_softmax, increasing_maps.fit_sigmoid]
    )
    fewest = min(positive.sum(), positive.size - positive.sum())
    if len(positive) >= ISOTONIC_ROWS and fewest >= ISOTONIC_ROWS / 10:
        found.append(increasing_maps.fit_isotonic)
    return found


def _log_losses(made: Map, f: Floats, positive: Floats) -> Floats:
    p = made.probabilities(f)
    right = positive.argmax(axis=1) if positive.shape[1] > 1 else positive[:, 0].astype(np.intp)
    return np.asarray(-np.log(p[np.arange(len(p)), right]))
