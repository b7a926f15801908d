"""The rows of X, as what they are: an array, CSR, a mapped file, objects, or kernel values made elsewhere.

That is decided once, where the rows come in (``estimators/inputs.py``, or ``as_rows`` for whoever has no estimator in
hand). All else takes ``Rows`` and asks them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .array import ArrayRows, InformedRows
from .csr import CsrRows
from .digest import digest
from .given import CrossRows, ObjectRows, SquareRows
from .reshaping import ReshapedRows, Reshaping
from .rows import Indices, NumberRows, Rows
from .stored import RowFile, StoredRows, mapping_of, store

__all__ = [
    "ArrayRows",
    "CrossRows",
    "CsrRows",
    "DenseRows",
    "Indices",
    "InformedRows",
    "NumberRows",
    "ObjectRows",
    "ReshapedRows",
    "Reshaping",
    "RowFile",
    "Rows",
    "SquareRows",
    "StoredRows",
    "as_rows",
    "digest",
    "mapping_of",
    "store",
]

DenseRows = ArrayRows | StoredRows
"""Rows of numbers that have all their entries, in memory or in a file."""


def as_rows(X: ArrayLike | sparse.sparray | NumberRows) -> NumberRows:
    """Return numbers as rows: an array of shape (n, n_features), or a sparse matrix. Rows are themselves."""
    if isinstance(X, ArrayRows | CsrRows | StoredRows):
        return X
    return CsrRows(sparse.csr_array(X)) if sparse.issparse(X) else ArrayRows(np.asarray(X))
