"""Missing values in new rows of numbers, where the training rows had none: the medians of the columns stand in.

Tables with an encoder do the same, column by column.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.rows import ArrayRows

Floats = NDArray[np.float64]

MOST_CELLS = 2**20
"""Numbers of which medians are taken: of larger tables, those of rows at equal distances."""


def medians(rows: ArrayRows) -> Floats:
    """Return the median of each column."""
    some = rows[:: max(1, len(rows) * rows.n_features // MOST_CELLS)]
    return np.asarray(np.median(some, axis=0), dtype=np.float64)


def filled(values: Any, stand_ins: Floats, names: Callable[[], NDArray[Any]]) -> Any:
    """Return rows with numbers in the place of missing ones, and warn of them; CSR rows have none."""
    if not isinstance(values, np.ndarray):
        if np.isnan(values.data).any():
            raise ValueError("X is a sparse matrix that holds NaN; put numbers in their place")
        return values
    if not np.isnan(values.sum()):
        return values
    absent = np.isnan(values)
    counts = absent.sum(axis=0)
    listed = [f"{names()[place]!r} ({counts[place]} rows)" for place in np.flatnonzero(counts)]
    shown = ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
    if listed:
        warnings.warn(
            f"X has missing values in the columns {shown}, where training rows had none: imputed by the median",
            UserWarning,
            stacklevel=5,
        )
    return np.where(absent, stand_ins.astype(values.dtype), values)
