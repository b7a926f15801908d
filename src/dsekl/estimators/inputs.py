"""What comes through the estimator's door, checked once; inside, code trusts its input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _num_samples,
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from dsekl.kernels import ObjectKernel, Precomputed
from dsekl.stored import mapping_of, row_parts, store

from .parameters import MEGABYTE, needs_nonnegative, unequal_scales

FLOATS = (np.float64, np.float32)

HELD_SHARE = 4
"""A mapped file that takes less than one part in so many of the memory budget is treated like any other array."""


def training_data(
    estimator: Any, kernel: Any, X: Any, y: Any, as_targets: Callable[[Any], NDArray[Any]]
) -> tuple[Any, NDArray[Any]]:
    """Return X as the kernel can use it (numbers, CSR, a square matrix, or objects) and y as targets."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__}.fit requires y to be passed, but the target y is None")
    if isinstance(kernel, ObjectKernel):
        _check_feature_names(estimator, X, reset=True)
        if _num_samples(X) == 0:
            raise ValueError("X holds no objects; give at least two")
        X = X.to_numpy() if hasattr(X, "to_numpy") else X
    else:
        X = _numbers(estimator, kernel, X, ensure_min_samples=2)
        if isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
            raise ValueError(f"X has shape {X.shape}; kernel='precomputed' needs the square kernel matrix to fit")
        _check_signs(kernel, X)
    targets = as_targets(y)
    check_consistent_length(X, targets)
    return X, targets


def labels(y: Any) -> NDArray[Any]:
    """Return y as one label per row."""
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return np.asarray(y)


def real_targets(y: Any) -> NDArray[np.float64]:
    """Return y as finite numbers, one or more per row."""
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if y.ndim > 2:
        raise ValueError(f"y has shape {y.shape}; give (n_samples,) or (n_samples, n_targets)")
    return np.asarray(y)


def with_input_tags(estimator: Any, tags: Any) -> Any:
    """Tell scikit-learn which inputs the estimator's kernel takes."""
    tags.input_tags.sparse = True
    tags.input_tags.pairwise = estimator.kernel == "precomputed" or isinstance(estimator.kernel, Precomputed)
    tags.input_tags.positive_only = estimator.kernel == "chi2" or needs_nonnegative(estimator.kernel)
    return tags


def query_rows(estimator: Any, kernel: Any, X: Any) -> Any:
    """Return X for a prediction, checked against what the estimator was fitted on."""
    if isinstance(kernel, ObjectKernel):
        if _num_samples(X) == 0:
            raise ValueError("X holds no objects; give at least one")
        return X.to_numpy() if hasattr(X, "to_numpy") else X
    X = _numbers(estimator, kernel, X, reset=False)
    _check_signs(kernel, X)
    return X


def row_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Return one weight per row, 1 where none is given."""
    check_consistent_length(X, sample_weight)
    if not hasattr(X, "shape"):
        X = np.empty((len(X), 1))
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def warn_of_unequal_scales(estimator: Any, X: Any) -> None:
    """Suggest a scaler where one column would drown the others."""
    found = unequal_scales(X)
    if found is None:
        return
    names = getattr(estimator, "feature_names_in_", None)
    large, small = (names[i] if names is not None else i for i in found[:2])
    warnings.warn(
        f"column {large!r} varies {found[2]:.0f} times as much as column {small!r}, so the kernel hardly sees the "
        "latter. Set gamma='learn', put sklearn.preprocessing.StandardScaler before the estimator, or give gamma one "
        "value per feature.",
        UserWarning,
        stacklevel=3,
    )


def _numbers(estimator: Any, kernel: Any, X: Any, **checks: Any) -> Any:
    """Return X as checked numbers: an array, CSR, or the rows of a mapped file that is large for the memory budget."""
    square = isinstance(kernel, Precomputed)
    large = not square and mapping_of(X) is not None and X.nbytes > estimator.memory_budget * MEGABYTE // HELD_SHARE
    if not large:
        return validate_data(estimator, X, accept_sparse=False if square else "csr", dtype=FLOATS, **checks)
    # Two rows show shape, type and columns; whether numbers are finite, the parts do.
    validate_data(estimator, X[:2], dtype=FLOATS, ensure_all_finite=False, **checks)
    rows = store(np.asarray(X))
    for part, values in row_parts(rows):
        finite = np.isfinite(values)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise ValueError(
                f"X holds {values[row, column]} in row {part.start + row}, column {column} (counted from 0); leave "
                "such rows out, or put a number in their place"
            )
    return rows


def _check_signs(kernel: Any, X: Any) -> None:
    if not needs_nonnegative(kernel):
        return
    lowest = X.min() if sparse.issparse(X) else min(rows.min() for _, rows in row_parts(X))
    if lowest < 0:
        raise ValueError(
            f"X holds the negative value {lowest:.3g}; kernel='chi2' is for histograms and needs entries of at least "
            "0. Put sklearn.preprocessing.MinMaxScaler(clip=True) before the estimator, or choose another kernel."
        )
