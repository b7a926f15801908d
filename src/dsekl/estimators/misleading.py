"""Arrays that say other than they hold: NumPy and SciPy would read them without a word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse


def refuse_misleading(values: Any, name: str) -> None:
    """Raise ValueError for masked entries, and for damaged sparse matrices."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} is a masked array, and {count} of its entries are masked; leave such rows out, or put numbers in "
            "their place with .filled(...)"
        )
    if sparse.issparse(values) and values.format in ("csr", "csc", "bsr"):
        _refuse_damaged(values, name)


def refuse_times(values: Any, name: str) -> None:
    """Raise ValueError for times that would be read as numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        raise ValueError(
            f"{name} holds times ({values.dtype}), which have no unit as numbers; give numbers, such as days since "
            "some date"
        )


@contextmanager
def named(name: str) -> Iterator[None]:
    """Say which argument it was where Python's own words on what is no number do not."""
    try:
        yield
    except (TypeError, OverflowError, ValueError) as error:
        if type(error) is ValueError and "could not convert" not in str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        advice = "give numbers of 64 bits, and encode texts"
        raise kind(f"{name} cannot be read as numbers ({error}); {advice}") from error


def _refuse_damaged(matrix: Any, name: str) -> None:
    """Refuse indices that point outside: compiled code follows them."""
    try:
        # A second matrix around the same arrays: the check may replace them.
        parts = (matrix.data, matrix.indices, matrix.indptr)
        type(matrix)(parts, shape=matrix.shape, copy=False).check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{name} is a damaged sparse matrix ({error}); make it again from its entries") from error
