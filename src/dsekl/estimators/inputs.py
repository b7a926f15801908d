"""What comes through the estimator's door, checked once; inside, code trusts its input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
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

from .parameters import needs_nonnegative, unequal_scales

FLOATS = (np.float64, np.float32)


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
        accept_sparse = False if isinstance(kernel, Precomputed) else "csr"
        X = validate_data(estimator, X, accept_sparse=accept_sparse, dtype=FLOATS, ensure_min_samples=2)
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
    accept_sparse = False if isinstance(kernel, Precomputed) else "csr"
    X = validate_data(estimator, X, accept_sparse=accept_sparse, dtype=FLOATS, reset=False)
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


def _check_signs(kernel: Any, X: Any) -> None:
    if needs_nonnegative(kernel) and X.min() < 0:
        raise ValueError(
            f"X holds the negative value {X.min():.3g}; kernel='chi2' is for histograms and needs entries of at least "
            "0. Put sklearn.preprocessing.MinMaxScaler(clip=True) before the estimator, or choose another kernel."
        )
