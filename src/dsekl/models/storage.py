"""A model's gram as plain values for a file, and back.

Each kind of gram checks what its compiled products take for granted, since a file could say anything: shapes that fit
each other, and indices that stay inside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsekl.expansions.fourier import FourierGram
from dsekl.gram import Gram
from dsekl.gram.blockwise import BlockwiseGram, ObjectBlocks, PrecomputedBlocks
from dsekl.gram.dense import DenseGram
from dsekl.gram.gram import Values, require
from dsekl.gram.sparse import SparseGram
from dsekl.kernels import Kernel, ObjectKernel, Precomputed, SpectralKernel, VectorKernel

WITNESSES = 3
"""Points whose kernel values tell whether a kernel that is given again is the same."""


def from_values(kernel: Kernel, values: Values) -> Gram:
    """Return the detached gram that ``to_values`` described."""
    budget = int(values["budget"])
    require(budget > 0, "a memory budget")
    match values["kind"], kernel:
        case "dense", VectorKernel():
            return DenseGram.from_values(kernel, values, budget)
        case "sparse", VectorKernel():
            return SparseGram.from_values(kernel, values, budget)
        case "fourier", SpectralKernel():
            return FourierGram.from_values(kernel, values, budget)
        case "precomputed", Precomputed():
            return BlockwiseGram(kernel, PrecomputedBlocks.from_values(values), budget)
        case "objects", ObjectKernel():
            return BlockwiseGram(kernel, ObjectBlocks.from_values(kernel, values), budget)
    raise ValueError(f"points of kind {values['kind']!r} do not suit kernel={kernel!r}")


def witness(gram: Gram) -> NDArray[np.float64]:
    """Return the kernel values of the first few points with each other; nothing where no kernel is needed."""
    square = gram.square()
    if square is None:
        return np.empty((0, 0))
    some = np.arange(min(WITNESSES, gram.n_terms))
    return np.asarray(square.block(some, some), dtype=np.float64)
