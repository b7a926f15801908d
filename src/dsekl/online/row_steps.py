"""All that happens to rows, in one compiled function: each call from Python costs as much as learning from a row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dsekl.compiled import njit

from . import dual_steps, mixture_steps, odds
from .buffer import Floats, part
from .drift import NOW
from .dual_steps import Rows
from .moments import observe

MOST_ERROR = 1.0


class Scales(NamedTuple):
    """Where the kernel sees columns, and the units of targets."""

    center: Floats
    scale: Floats
    intercept: Floats
    unit: Floats


class Known(NamedTuple):
    """What is counted beside the buffer, row by row."""

    features: Any
    targets: Any
    odds: Floats
    errors: Floats
    mixture: Any


@part()
def placed(X: Any, scales: Any) -> Any:
    """Return rows as points; a column that a row does not have is as it is on average."""
    points = np.empty(X.shape)
    for r in range(X.shape[0]):
        for k in range(X.shape[1]):
            value = (X[r, k] - scales.center[k]) * scales.scale[k]
            points[r, k] = 0.0 if np.isnan(value) else value
    return points


@part()
def in_units(Y: Any, scales: Any, out: Any) -> None:
    """Put targets in units of their spread into ``out``."""
    for r in range(Y.shape[0]):
        for o in range(Y.shape[1]):
            out[r, o] = (Y[r, o] - scales.intercept[o]) / scales.unit[o]


@part()
def in_users_units(out: Any, scales: Any) -> None:
    for r in range(out.shape[0]):
        for o in range(out.shape[1]):
            out[r, o] = out[r, o] * scales.unit[o] + scales.intercept[o]


@part()
def count_errors(errors: Any, y: Any, f: Any, tilt: float) -> None:
    """Count how wrong each row was, from 0 to 1, for ``drift``."""
    for r in range(y.shape[0]):
        error = 0.0
        if tilt == 0.0:
            error = 1.0 if odds.wrong_class(f[r], y[r]) else 0.0
        else:
            for o in range(y.shape[1]):
                error += 0.5 * abs(y[r, o] - f[r, o]) / y.shape[1]
            error = min(MOST_ERROR, error)
        errors[0, NOW] += error
        errors[1, NOW] += error * error


@njit(cache=True, nogil=True, error_model="numpy")
def take(
    b: Any, known: Any, mixes: bool, scales: Any, X: Any, rows: Any, compared: Any, a: Any, keep: Any, n_seen: int,
    y: Any, f: Any, out: Any,
) -> None:  # fmt: skip
    """Learn from rows X in order; ``rows`` has what is known of them, their targets in the user's units.

    ``out`` is what each was predicted to be before, ``y`` and ``f`` the targets and that in units of the spread.
    """
    observe(known.features, X, rows.weights)
    if a.tilt > 0.0:
        observe(known.targets, rows.targets, rows.weights)
    in_units(rows.targets, scales, y)
    dual_steps.learn(
        b, Rows(placed(X, scales), y, rows.weights, rows.labels, rows.beside), compared, a, keep, n_seen, out
    )
    in_users_units(out, scales)
    if mixes:
        mixture_steps.learn(known.mixture, X, rows.targets, rows.weights, rows.labels, a.tilt, out)
    if a.tilt == 0.0:
        odds.observe(known.odds, out, rows.targets, rows.weights)
    in_units(out, scales, f)
    count_errors(known.errors, y, f, a.tilt)


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(b: Any, mixture: Any, mixes: bool, scales: Any, X: Any, beside: Any, compared: Any, out: Any) -> None:
    """Predict rows, in the user's units."""
    dual_steps.evaluate(b, placed(X, scales), beside, compared, out)
    in_users_units(out, scales)
    if mixes:
        mixture_steps.evaluate(mixture, X, out)
