"""Compiled parts of the descent on the weights of features: what the points predict of rows, and its derivative.

All is in single precision: the descent is noisy by its random rows, and half the bytes are half the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import njit

from .buffer import part
from .buffer_points import dot
from .callbacks import call_profile

Singles = NDArray[np.float32]

NUDGE = np.float32(1e-3)
"""For derivatives of the kernel's profile."""


@part()
def weighted_distances(points: Any, row: Any, weights: Any, out: Any) -> None:
    """Put the squared distances of a row from the points (n_features, n), with weighted columns, into ``out``."""
    n = out.size
    for j in range(n):
        out[j] = 0.0
    for k in range(row.size):
        column, value, weight = points[k], row[k], weights[k]
        if weight > 0.0:
            for j in range(n):
                off = column[j] - value
                out[j] += weight * (off * off)


@njit(cache=True, nogil=True, error_model="numpy")
def forward(points: Any, coef: Any, rows: Any, weights: Any, profile: Any, params: Any, slopes: Any, f: Any) -> None:
    """Put what the points predict of rows into ``f`` (n_rows, n_outputs), and the profile's slopes into ``slopes``.

    ``coef`` is (n_outputs, n); ``slopes`` (n_rows, n) may have no rows where nobody asks for them.
    """
    n = points.shape[1]
    both = np.empty((2, n), dtype=np.float32)
    k, moved = both[0], both[1]
    for r in range(rows.shape[0]):
        weighted_distances(points, rows[r], weights, k)
        if slopes.shape[0] > 0:
            for j in range(n):
                slopes[r, j] = NUDGE * (np.float32(1.0) + k[j])
                moved[j] = k[j] + slopes[r, j]
            call_profile(profile, both, params)
            for j in range(n):
                slopes[r, j] = (moved[j] - k[j]) / slopes[r, j]
        else:
            call_profile(profile, both[:1], params)
        for o in range(coef.shape[0]):
            f[r, o] = dot(coef[o], k, n)


@njit(cache=True, nogil=True, error_model="numpy")
def backward(points: Any, coef: Any, rows: Any, slopes: Any, pull: Any, out: Any) -> None:
    """Put the derivative of the loss by each column's weight into ``out``, from that by f, ``pull``.

    Rows that nothing pulls at, those beyond their margin, cost nothing.
    """
    n = points.shape[1]
    pairs = np.empty(n, dtype=np.float32)
    sums = np.zeros(points.shape, dtype=np.float32)
    for r in range(rows.shape[0]):
        pulled = False
        for o in range(coef.shape[0]):
            if pull[r, o] != 0.0:
                if not pulled:
                    for j in range(n):
                        pairs[j] = 0.0
                pulled = True
                line, own = coef[o], pull[r, o]
                for j in range(n):
                    pairs[j] += own * line[j]
        if not pulled:
            continue
        for j in range(n):
            pairs[j] *= slopes[r, j]
        for k in range(points.shape[0]):
            column, value, line = points[k], rows[r, k], sums[k]
            for j in range(n):
                off = column[j] - value
                line[j] += pairs[j] * (off * off)
    for k in range(points.shape[0]):
        out[k] = 0.0
        for j in range(n):
            out[k] += sums[k, j]
