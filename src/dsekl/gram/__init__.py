"""Products with the kernel matrix, made block by block and never held whole.

``build`` chooses the fused products for dense or sparse rows, or the plain ones for objects and precomputed
matrices; solvers see the same ``Gram`` either way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.kernels import ObjectKernel, Precomputed
from dsekl.stored import StoredRows

from .blocks import times, transposed_times
from .contract import Columns, Gram, Indices, row_blocks
from .csr import SparseGram, mostly_empty
from .dense import DenseGram
from .structured import ObjectBlocks, PrecomputedBlocks, StructuredGram
from .threads import spread

__all__ = ["Columns", "Gram", "Indices", "build", "row_blocks", "spread", "times", "transposed_times"]


def build(
    kernel: Any, X: Any, gamma: float | NDArray[np.float64] = 1.0, dtype: str = "float32",
    budget: int = 2**28, n_threads: int = 1, kernel_tol: float = 0.0,
) -> Gram:  # fmt: skip
    """Return the gram of the rows of ``X`` with themselves.

    Parameters
    ----------
    kernel : kernel object from ``dsekl.kernels``
    X : array (n, n_features), ``StoredRows``, CSR, sequence of objects, or a precomputed matrix (n, n)
    gamma : number, or array (n_features,)
    dtype : "float32" or "float64", the type of kernel values
    budget : bytes that blocks and packed columns may take
    n_threads : threads that share each product
    kernel_tol : kernel values below it may be left out, where the kernel decays with distance; 0 for none
    """
    if isinstance(kernel, ObjectKernel):
        return StructuredGram(ObjectBlocks(kernel.function, X, X), budget)
    if isinstance(kernel, Precomputed):
        return StructuredGram(PrecomputedBlocks(X, np.arange(X.shape[1])), budget)
    # Mostly empty rows in a file stay there, as dense ones: as CSR they would be in memory.
    if sparse.issparse(X) or (not isinstance(X, StoredRows) and mostly_empty(kernel, X)):
        return SparseGram.of(kernel, X, gamma, dtype, budget, n_threads)
    return DenseGram.of(kernel, X, gamma, dtype, budget, n_threads, kernel_tol)
