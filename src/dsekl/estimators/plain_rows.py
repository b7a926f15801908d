"""Rows of a stream that need no look: scikit-learn's checks take ten times as long as learning from a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .inputs import LARGEST


def plain_rows(X: Any, n_features: int) -> NDArray[np.float64] | None:
    """Return X where it is a NumPy array of as many usable numbers as ever; None where that takes a closer look."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.size or X.shape[1] != n_features:
        return None
    return np.ascontiguousarray(X) if np.abs(X).max() <= LARGEST else None  # NaN is not


def plain_labels(y: Any) -> NDArray[Any] | None:
    """Return y where it is a NumPy array of whole numbers, truth values or texts; None for all else."""
    return y if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU" else None


def plain_targets(y: Any) -> NDArray[np.float64] | None:
    """Return y where it is a NumPy array of usable numbers, one or more for each row; None for all else."""
    if type(y) is not np.ndarray or y.dtype != np.float64 or y.ndim not in (1, 2) or not y.size:
        return None
    return y if np.abs(y).max() <= LARGEST else None
