"""Arrays that say other than they hold: NumPy and SciPy would read them without a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def refuse_misleading(**arguments: Any) -> None:
    """Raise ValueError for masked entries, and for damaged sparse matrices."""
    for name, values in arguments.items():
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            count = int(np.ma.getmaskarray(values).sum())
            raise ValueError(
                f"{name} is a masked array, and {count} of its entries are masked; leave such rows out, or put numbers "
                "in their place with .filled(...)"
            )
        if sparse.issparse(values) and values.format in ("csr", "csc", "bsr"):
            _refuse_damaged(values, name)


def _refuse_damaged(matrix: Any, name: str) -> None:
    """Refuse indices that point outside: compiled code follows them."""
    try:
        # A second matrix around the same arrays: the check may replace them.
        parts = (matrix.data, matrix.indices, matrix.indptr)
        type(matrix)(parts, shape=matrix.shape, copy=False).check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{name} is a damaged sparse matrix ({error}); make it again from its entries") from error
