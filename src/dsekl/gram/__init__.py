"""Products with the kernel matrix, made block by block and never held whole.

``build`` chooses the fused products for dense or sparse rows, or the plain ones for objects and precomputed matrices;
solvers see the same ``Gram`` either way. The words of this package, from the large to the small:

========= ================================================================================================
point     a raw row, scaled by gamma and centred (``placement``)
block     kernel values of some rows with some columns, in memory
run       neighbouring points, at most 96, with a bounding box; runs that the kernel cannot reach are skipped
group     16 columns (8 in float64) side by side, packed feature by feature in lines of 64 bytes
strip     kernel values of 6 rows with some groups; it never leaves the first-level cache
tile      the part of a strip with one group; it is summed up in registers
table     sparse columns spread out over the features that they have, which sparse rows walk over
slab      features that they walk over at a time
========= ================================================================================================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Kernel, ObjectKernel, Precomputed
from dsekl.rows import ArrayRows, CrossRows, CsrRows, ObjectRows, Reshaping, Rows, StoredRows
from dsekl.workers import ALONE, Workers

from .blockwise import BlockwiseGram, ObjectBlocks, PrecomputedBlocks
from .dense import DenseGram
from .gram import Columns, Gram, Indices, row_blocks
from .loops.block_products import times, transposed_times
from .reference import Reference
from .sparse import SparseGram, mostly_empty

__all__ = ["Columns", "Gram", "Indices", "Reference", "build", "row_blocks", "times", "transposed_times"]


def build(
    kernel: Kernel,
    rows: Rows,
    gamma: float | NDArray[np.float64] = 1.0,
    dtype: str = "float32",
    budget: int = 2**28,
    workers: Workers = ALONE,
    kernel_tol: float = 0.0,
    reshaping: Reshaping | None = None,
) -> Gram:
    """Return the gram of the rows with themselves.

    Parameters
    ----------
    kernel : kernel object from ``dsekl.kernels``
    rows : the rows; ``dsekl.rows.as_rows`` makes them of an array or a sparse matrix
    gamma : number, or array (n_features,)
    dtype : "float32" or "float64", the type of kernel values
    budget : bytes that blocks and packed columns may take
    workers : who shares each product
    kernel_tol : kernel values below it may be left out, where the kernel decays with distance; 0 for none
    reshaping : what dense columns go through before they are scaled; None leaves them as they are
    """
    match kernel, rows:
        case ObjectKernel(), ObjectRows():
            return BlockwiseGram(kernel, ObjectBlocks(kernel.function, rows, rows), budget)
        case Precomputed(), CrossRows():
            return BlockwiseGram(
                kernel, PrecomputedBlocks(rows.values, np.arange(rows.n_features), symmetric=True), budget
            )
        case ObjectKernel() | Precomputed(), _:
            pass
        case _, CsrRows():
            return SparseGram.of(kernel, rows, gamma, dtype, budget, workers)
        case _, ArrayRows():
            # Mostly empty rows in a file stay there, as dense ones: as CSR they would be in memory.
            if reshaping is None and mostly_empty(kernel, rows):
                return SparseGram.of(kernel, rows, gamma, dtype, budget, workers)
            return DenseGram.of(kernel, rows, gamma, dtype, budget, workers, kernel_tol, reshaping)
        case _, StoredRows():
            return DenseGram.of(kernel, rows, gamma, dtype, budget, workers, kernel_tol, reshaping)
    raise TypeError(f"kernel={kernel!r} cannot compare rows of type {type(rows).__name__}")
