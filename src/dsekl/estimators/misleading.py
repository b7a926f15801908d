"""Arrays and frames that say other than they hold: NumPy and SciPy would read them without a word."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def refuse_misleading(**arguments: Any) -> None:
    """Raise ValueError for masked entries, integers that floats do not tell apart, and damaged sparse matrices.

    Warn of targets and weights in another order than the rows of X.
    """
    _warn_of_order(**arguments)
    for name, values in arguments.items():
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            count = int(np.ma.getmaskarray(values).sum())
            raise ValueError(
                f"{name} is a masked array, and {count} of its entries are masked; leave such rows out, or put numbers "
                "in their place with .filled(...)"
            )
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.ndim == 2:
            _refuse_merged(values, name)
        if hasattr(values, "collect_schema") and hasattr(values, "collect"):
            raise ValueError(f"{name} is a {type(values).__name__}, which holds no rows yet; give {name}.collect()")
        if sparse.issparse(values) and values.format in ("csr", "csc", "bsr"):
            _refuse_damaged(values, name)


def _warn_of_order(X: Any = None, **arguments: Any) -> None:
    """Warn of targets and weights whose index has the rows of X in another order: rows are taken by their places."""
    index: Any = getattr(X, "index", None)
    if not hasattr(index, "equals"):
        return
    for name, values in arguments.items():
        other: Any = getattr(values, "index", None)
        if not hasattr(other, "equals") or len(other) != len(index) or index.equals(other):
            continue
        if index.is_unique and other.isin(index).all() and other.is_unique:
            warnings.warn(
                f"the index of {name} has the rows of X in another order, and rows are taken by their places; give "
                f"{name}.loc[X.index], or {name}.to_numpy() if the places are right",
                UserWarning,
                stacklevel=6,
            )


def _refuse_damaged(matrix: Any, name: str) -> None:
    """Refuse indices that point outside: compiled code follows them."""
    try:
        # A second matrix around the same arrays: the check may replace them.
        parts = (matrix.data, matrix.indices, matrix.indptr)
        type(matrix)(parts, shape=matrix.shape, copy=False).check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{name} is a damaged sparse matrix ({error}); make it again from its entries") from error


def _refuse_merged(values: NDArray[Any], name: str) -> None:
    """Refuse columns of large integers, some of which would be one number as floats: those of ids."""
    exact = 2**53
    for column in np.flatnonzero((values > exact).any(axis=0) | (values < -exact).any(axis=0)):
        different = np.unique(values[:, column])
        merged = np.flatnonzero(np.diff(different.astype(np.float64)) == 0)
        if len(merged):
            first = merged[0]
            raise ValueError(
                f"column {column} of {name} has integers above 2^53 that are one number as floats, e.g. "
                f"{different[first]} and {different[first + 1]}; leave ids out, or subtract a constant"
            )
