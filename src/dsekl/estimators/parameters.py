"""The parameters that both estimators share: their ranges, and what their values stand for."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from dsekl.kernels import Pairwise, median_gamma, scale_gamma

# Names and objects are resolved by their own packages, whose errors list the known names.
CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [object],
    "gamma": [object],
    "loss": [object],
    "solver": [object],
    "expansion": [object],
    "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    "max_epochs": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
    "random_state": ["random_state"],
    "verbose": ["verbose", StrOptions({"auto"})],
    "warm_start": ["boolean"],
    "dtype": [StrOptions({"auto", "float32", "float64"})],
    "kernel_tol": [Interval(Real, 0, 1, closed="left")],
    "memory_budget": [Interval(Integral, 1, None, closed="left")],
    "checkpoint": [str, PathLike, None],
    "checkpoint_interval": [Interval(Real, 0, None, closed="left")],
    "callbacks": [list, tuple, None],
}

MOST_DOUBLE_ROWS = 4096
"""Rows up to which kernel values are float64 unless the user says otherwise."""

MEGABYTE = 2**20
SCALE_ROWS = 10_000
"""Rows that are looked at for it."""

SCALE_RATIO = 1000.0


def seed_of(random_state: Any) -> int:
    """Return the one seed of all that is random in a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads: all cores for None and -1, as results do not depend on it."""
    return int(effective_n_jobs(-1 if n_jobs is None else n_jobs))


def resolve_gamma(gamma: Any, kernel: Any, X: Any, rng: np.random.Generator) -> float | NDArray[np.float64]:
    """Return gamma as a positive number or one positive number per feature."""
    if isinstance(gamma, str):
        if gamma == "scale":
            return scale_gamma(X)
        if gamma == "median":
            return median_gamma(X, kernel.pairwise, rng)
        raise ValueError(
            f"gamma={gamma!r} is not known; give 'auto', 'learn', 'scale', 'median', a number or one number per feature"
        )
    try:
        values = np.asarray(gamma, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.asarray(np.nan)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != X.shape[1]):
        raise ValueError(
            f"gamma has shape {values.shape}; give a number, or one number for each of {X.shape[1]} features"
        )
    if not (np.isfinite(values).all() and (values >= 0).all() and (values > 0).any()):
        raise ValueError(
            f"gamma={gamma!r} must be positive and finite, e.g. 1.0; 'learn' and 'scale' choose from the data"
        )
    return float(values) if values.ndim == 0 else values


def needs_nonnegative(kernel: Any) -> bool:
    """Tell whether the kernel is for histograms."""
    return getattr(kernel, "pairwise", None) is Pairwise.CHI_SQUARED


def unequal_scales(X: Any) -> tuple[int, int, float] | None:
    """Return the columns of the widest and narrowest range and their ratio, if it is over 1000.

    Ranges, not deviations: a rare one-hot code varies little, but is in the same unit as a frequent one.
    """
    some = X[:: -(-X.shape[0] // SCALE_ROWS)]
    lowest, highest = some.min(axis=0), some.max(axis=0)
    if sparse.issparse(X):
        lowest, highest = lowest.toarray().reshape(-1), highest.toarray().reshape(-1)
    scales = np.asarray(highest, dtype=np.float64) - lowest
    varying = np.flatnonzero(scales > 0)
    if len(varying) < 2:
        return None
    large, small = varying[scales[varying].argmax()], varying[scales[varying].argmin()]
    ratio = float(scales[large] / scales[small])
    return (int(large), int(small), ratio) if ratio > SCALE_RATIO else None


def resolve_dtype(dtype: str, n_rows: int) -> str:
    """Return the type of kernel values."""
    if dtype == "auto":
        return "float64" if n_rows <= MOST_DOUBLE_ROWS else "float32"
    return dtype
