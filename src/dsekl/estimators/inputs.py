"""What a user gives an estimator, checked once; inside, code trusts its input.

Here it is decided what X is: numbers in an array, in CSR or in a mapped file, objects, or kernel values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _num_samples,
    check_array,
    check_consistent_length,
    validate_data,
)

from dsekl.kernels import Kernel, Pairwise
from dsekl.models.machine import MEGABYTE
from dsekl.rows import (
    ArrayRows,
    CrossRows,
    CsrRows,
    NumberRows,
    ObjectRows,
    Rows,
    SquareRows,
    StoredRows,
    mapping_of,
    store,
)

from . import encoded_tables, gaps, seen_tables
from .misleading import refuse_misleading
from .places import explained, named

FLOATS = (np.float64, np.float32)

LARGEST = 1e150
"""Numbers up to this have squares; the smallest is 1 over it."""

HEAVIEST = 1e30
"""The largest weight of a row is at most this, and at least 1 over it."""

HELD_SHARE = 4
"""A mapped file that takes less than one part in so many of the memory budget is treated like any other array."""

MatrixLike: TypeAlias = "ArrayLike | sparse.sparray | Sequence[object]"
"""What a user may give as X: numbers, sparse or not, a mapped file, a frame, or a sequence of objects."""


def training_data(
    estimator: BaseEstimator,
    kernel: Kernel,
    X: MatrixLike,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    as_targets: Callable[[ArrayLike], NDArray[Any]],
) -> tuple[Rows, NDArray[Any], NDArray[np.float64]]:
    """Return X as the kernel can use it, y as targets, and one weight per row."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__}.fit requires y to be passed, but the target y is None")
    refuse_misleading(X=X, y=y, sample_weight=sample_weight)
    rows: Rows
    seen = None
    if kernel.pairwise is Pairwise.OBJECTS:
        _check_feature_names(estimator, X, reset=True)
        if _num_samples(X) == 0:
            raise ValueError("X holds no objects; give at least two")
        rows = ObjectRows(_objects(X))
    elif kernel.pairwise is Pairwise.PRECOMPUTED:
        square = validate_data(estimator, X, accept_sparse=False, dtype=FLOATS, ensure_min_samples=2)
        if square.shape[0] != square.shape[1]:
            raise ValueError(f"X has shape {square.shape}; kernel='precomputed' needs the square kernel matrix to fit")
        rows = SquareRows(square)
    else:
        seen = seen_tables.seen(estimator, X)
        if seen is None:
            rows = numbers = _numbers(estimator, kernel, X, ensure_min_samples=2)
            _refuse_tiny(numbers)
            if isinstance(numbers, ArrayRows) and not estimator.strict:
                estimator.medians_ = gaps.medians(numbers)
    targets = as_targets(y)
    counted = np.empty((len(rows) if seen is None else len(seen), 0))
    check_consistent_length(counted, targets)
    weights = _row_weights(sample_weight, counted)
    if seen is not None:
        rows = encoded = _encoded(kernel, seen.encoded(estimator, targets, weights))
        _refuse_tiny(encoded)
    elif isinstance(rows, ArrayRows) and estimator._file is not None:
        rows = seen_tables.from_file(estimator, rows, targets, weights)
    return rows, targets, weights


def query_rows(estimator: BaseEstimator, kernel: Kernel, X: MatrixLike) -> Rows:
    """Return X for a prediction, checked against what the estimator was fitted on."""
    refuse_misleading(X=X)
    if kernel.pairwise is Pairwise.OBJECTS:
        if _num_samples(X) == 0:
            raise ValueError("X holds no objects; give at least one")
        return ObjectRows(_objects(X))
    if kernel.pairwise is Pairwise.PRECOMPUTED:
        return CrossRows(validate_data(estimator, X, accept_sparse=False, dtype=FLOATS, reset=False))
    known = encoded_tables.encoded(estimator, X)
    return _numbers(estimator, kernel, X, reset=False) if known is None else _encoded(kernel, ArrayRows(known))


def _encoded(kernel: Kernel, rows: ArrayRows) -> ArrayRows:
    """Return encoded rows, checked as far as their encoder has not done it."""
    if kernel.pairwise is Pairwise.CHI_SQUARED:
        _refuse_negative(rows)
    return rows


def _row_weights(sample_weight: ArrayLike | None, counted: NDArray[Any]) -> NDArray[np.float64]:
    """Return one weight per row of an array that has nothing but as many rows, 1 where none is given."""
    if sample_weight is None:
        return np.ones(len(counted))
    with named("sample_weight"):
        check_consistent_length(counted, sample_weight)
        weights = np.asarray(_check_sample_weight(sample_weight, counted, dtype=np.float64, ensure_non_negative=True))
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    heaviest = float(weights.max())
    if not 1.0 / HEAVIEST <= heaviest <= HEAVIEST:
        raise ValueError(f"sample_weight holds {heaviest:.3g} as its largest; divide the weights by a constant")
    # What is nothing beside the others is nothing: it could not move a sum by its last bit.
    return np.where(weights < heaviest / HEAVIEST**2, 0.0, weights)


def stream_weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return one weight per row of a batch of a stream; all of them may be 0."""
    if sample_weight is None:
        return np.ones(n_rows)
    given = np.full(n_rows, float(sample_weight)) if isinstance(sample_weight, Real) else sample_weight
    weights = np.asarray(check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight"))
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    if weights.min() < 0:
        raise ValueError(
            f"Negative values in data passed to sample_weight: {weights.min():.3g}; weights are at least 0"
        )
    if weights.max() > HEAVIEST:
        raise ValueError(f"sample_weight holds {weights.max():.3g} as its largest; divide the weights by a constant")
    return weights


def refuse_no_weight(weights: NDArray[np.float64]) -> None:
    """Refuse a fit to rows that all count nothing; in a stream, further ones may come."""
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")


def refuse_unusable(estimator: BaseEstimator, kernel: Kernel, X: NDArray[np.float64]) -> None:
    """Refuse checked numbers that the kernel cannot compare: too large, or negative for histograms."""
    rows = ArrayRows(X)
    if kernel.pairwise is Pairwise.CHI_SQUARED:
        _refuse_negative(rows)
    _refuse_huge(estimator, *rows.largest())


def class_weights(given: Mapping[Any, float] | str, classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of each class."""
    for label, weight in given.items() if isinstance(given, Mapping) else ():
        if not (isinstance(weight, Real) and 0 <= weight <= HEAVIEST):
            raise ValueError(
                f"class_weight={given!r} gives class {label!r} the weight {weight!r}; weights must be finite, at "
                "least 0, e.g. 2.0"
            )
    return np.asarray(compute_class_weight(given, classes=classes, y=labels), dtype=np.float64)


def _objects(X: Any) -> Sequence[Any] | NDArray[Any]:
    objects: Sequence[Any] | NDArray[Any] = X.to_numpy() if hasattr(X, "to_numpy") else X
    if sparse.issparse(X):
        objects = X.tocsr()
    return objects


def _numbers(estimator: BaseEstimator, kernel: Kernel, X: MatrixLike, **checks: Any) -> NumberRows:
    """Return X as checked numbers: an array, CSR, or the rows of a mapped file that is large for the memory budget."""
    rows: ArrayRows | CsrRows | StoredRows
    budget = estimator.memory_budget * MEGABYTE
    if isinstance(X, np.ndarray) and X.nbytes > budget // HELD_SHARE and mapping_of(X) is not None:
        rows = _stored(estimator, X, **checks)
    else:
        medians = vars(estimator).get("medians_")
        with explained(estimator, X):
            some_gaps = dict(ensure_all_finite="allow-nan") if medians is not None else {}
            values = validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, **checks, **some_gaps)
        if medians is not None:
            values = gaps.filled(values, medians, estimator.get_feature_names_out)
        rows = CsrRows(values) if sparse.issparse(values) else ArrayRows(values)
    if kernel.pairwise is Pairwise.CHI_SQUARED:
        _refuse_negative(rows)
    if not isinstance(rows, StoredRows):
        _refuse_huge(estimator, *rows.largest())
    return rows


def _stored(estimator: BaseEstimator, X: NDArray[Any], **checks: Any) -> StoredRows:
    # Two rows show shape, type and columns; whether numbers are finite, the chunks do.
    validate_data(estimator, X[:2], dtype=FLOATS, ensure_all_finite=False, **checks)
    rows = store(np.asarray(X))
    for part, values in rows.chunks():
        finite = np.isfinite(values)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise ValueError(
                f"X holds {values[row, column]} in row {part.start + row}, column {column} (counted from 0); leave "
                "such rows out, or put a number in their place"
            )
        _refuse_huge(estimator, *ArrayRows(values).largest())
    return rows


def _refuse_tiny(rows: NumberRows) -> None:
    """Refuse training rows whose squares are all 0: every two rows would be the same to a kernel."""
    _, largest = rows.largest()
    if 0 < largest < 1.0 / LARGEST:
        raise ValueError(
            f"X holds no number larger than {largest:.3g}, too small for squares in float64; multiply X by a constant, "
            "or put sklearn.preprocessing.StandardScaler before the estimator"
        )


def _refuse_huge(estimator: BaseEstimator, column: int, largest: float) -> None:
    """Refuse numbers whose squares are infinite, of which kernels are made; ``column`` has the largest of them."""
    if largest > LARGEST:
        names = vars(estimator).get("feature_names_in_")
        name = column if names is None else names[column]
        raise ValueError(
            f"column {name!r} of X holds {largest:.3g}, too large for squares in float64; divide the column by "
            "a constant, or put sklearn.preprocessing.StandardScaler before the estimator"
        )


def _refuse_negative(rows: NumberRows) -> None:
    lowest = rows.lowest()
    if lowest < 0:
        raise ValueError(
            f"X holds the negative value {lowest:.3g}; kernel='chi2' is for histograms and needs entries of at least "
            "0. Put sklearn.preprocessing.MinMaxScaler(clip=True) before the estimator, or choose another kernel."
        )
