"""The one-coordinate dual steps, compiled; each solves its problem exactly.

All but the logistic one share a form: ``conjugate(c) = -y c + margin |c| + ridge/2 c^2`` on an interval. The
minimum is a soft threshold, a division and a clip.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

from dsekl.compiled import njit

TINY = 1e-300
"""Stands for 0 where a step divides: a row that moves no prediction goes to the end of its interval."""
NEWTON_STEPS = 60


@njit(cache=True, nogil=True)
def _clipped(
    y: float, coef: float, f: float, diagonal: float, margin: float, ridge: float, lo: float, hi: float
) -> Any:
    pull = diagonal * coef + y - f
    if pull > margin:
        pull -= margin
    elif pull < -margin:
        pull += margin
    else:
        pull = 0.0
    return min(max(pull / max(diagonal + ridge, TINY), lo), hi)


@njit(cache=True, nogil=True)
def hinge(y: float, coef: float, f: float, diagonal: float, C: float, shape: float) -> Any:
    return _clipped(y, coef, f, diagonal, 0.0, 0.0, min(0.0, C * y), max(0.0, C * y))


@njit(cache=True, nogil=True)
def squared_hinge(y: float, coef: float, f: float, diagonal: float, C: float, shape: float) -> Any:
    lo, hi = (0.0, 1e300) if y > 0 else (-1e300, 0.0)
    return _clipped(y, coef, f, diagonal, 0.0, 0.5 / C, lo, hi) if C > 0 else 0.0


@njit(cache=True, nogil=True)
def squared(y: float, coef: float, f: float, diagonal: float, C: float, shape: float) -> Any:
    return _clipped(y, coef, f, diagonal, 0.0, 1.0 / C, -1e300, 1e300) if C > 0 else 0.0


@njit(cache=True, nogil=True)
def epsilon_insensitive(y: float, coef: float, f: float, diagonal: float, C: float, shape: float) -> Any:
    return _clipped(y, coef, f, diagonal, shape, 0.0, -C, C)


@njit(cache=True, nogil=True)
def huber(y: float, coef: float, f: float, diagonal: float, C: float, shape: float) -> Any:
    return _clipped(y, coef, f, diagonal, 0.0, 1.0 / C, -C * shape, C * shape) if C > 0 else 0.0


@njit(cache=True, nogil=True)
def quantile(y: float, coef: float, f: float, diagonal: float, C: float, shape: float) -> Any:
    return _clipped(y, coef, f, diagonal, 0.0, 0.0, C * (shape - 1.0), C * shape)


@njit(cache=True, nogil=True)
def logistic(y: float, coef: float, f: float, diagonal: float, C: float, shape: float) -> Any:
    """Newton's method on the log-odds u of ``y c / C``, kept inside a bracket that always holds the root.

    It begins at those of ``coef``, which after a few sweeps is nearly there.

    With ``a = C sigmoid(u)`` the optimality condition is ``u + diagonal (a - y coef) + y f = 0``, whose left side
    rises in u at least as fast as u itself.
    """
    start = y * coef
    offset = y * f - diagonal * start
    lo, hi = -offset - diagonal * C, -offset
    share = start / C if C > 0 else 0.0
    u = min(max(log(share / (1.0 - share)), lo), hi) if 0.0 < share < 1.0 else 0.5 * (lo + hi)
    last = hi - lo
    for _ in range(NEWTON_STEPS):
        p = 1.0 / (1.0 + exp(-u)) if u >= 0 else exp(u) / (1.0 + exp(u))
        residual = u + offset + diagonal * C * p
        if residual > 0:
            hi = u
        else:
            lo = u
        step = residual / (1.0 + diagonal * C * p * (1.0 - p))
        new = u - step
        # A step that is no half of the last one may be jumping from end to end; bisecting cannot.
        bisected = not lo <= new <= hi or abs(step) > 0.5 * last
        if bisected:
            new = 0.5 * (lo + hi)
        last, u = abs(new - u), new
        # What is left after a step of Newton is no more than half its square.
        if last <= 1e-13 * (1.0 + abs(u)) or (last <= 1e-7 and not bisected):
            break
    p = 1.0 / (1.0 + exp(-u)) if u >= 0 else exp(u) / (1.0 + exp(u))
    return y * C * p
