"""A model's gram as plain values for a file, and back.

Each kind of gram checks what its compiled products take for granted, since a file could say anything: shapes that fit
each other, numbers that are finite, and indices that stay inside. What is left is whether the numbers, and the kernel's
parameters, are of a size that can be computed with (``check_sizes``).
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
from dsekl.kernels import Kernel, ObjectKernel, Pairwise, Precomputed, SpectralKernel, VectorKernel
from dsekl.kernels.kernel import NO_PARAMS

from .model import Model, of_moderate_size

WITNESSES = 24
"""Points whose kernel values tell whether a kernel that is given again is the same; files before 0.2.0 have 3."""


def from_values(kernel: Kernel, values: Values) -> Gram:
    """Return the detached gram that ``to_values`` described."""
    budget = values["budget"]
    require(type(budget) is int and 0 < budget < 2**63, "a memory budget")
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


def n_features(gram: Gram) -> int | None:
    """Return how many features the rows of a detached gram have; None where they are objects."""
    match gram:
        case DenseGram() | SparseGram() | FourierGram():
            return gram.placement.n_features
        case BlockwiseGram(source=PrecomputedBlocks() as source):
            return int(source.matrix.shape[1])
    return None


def check_sizes(model: Model, gamma: float | NDArray[np.float64] | None) -> None:
    """Raise ValueError for a model whose points are not those of its gamma, or whose f would not be finite."""
    gram = model.gram
    if model.trend is not None:
        if not isinstance(gram, DenseGram | SparseGram):
            raise ValueError("trend_ is for points that have columns")
        with np.errstate(all="ignore"):
            if not np.isfinite(model.beside_terms()).all():
                raise ValueError("trend_ is too large to be computed with")
    if not isinstance(gram, DenseGram | SparseGram | FourierGram):
        return
    scale = gram.placement.scale
    if gamma is not None and not np.allclose(scale, np.asarray(gamma) ** gram.kernel.gamma_power, atol=0.0):
        raise ValueError("gamma_ is not that of the file's points")
    with np.errstate(all="ignore"):
        coef, size = of_moderate_size(model.coef)
        values = np.abs(coef).sum(axis=0) * _largest_value(gram)
    # Products take the coefficients in the kernel's type.
    if not (values < np.finfo(gram.placement.dtype).max).all() or not np.isfinite(values * size).all():
        raise ValueError("its points, its kernel or its coefficients are too large to be computed with")


def _largest_value(gram: DenseGram | SparseGram | FourierGram) -> float:
    """Return what kernel values are at most, at the model's own points and at the row of zeros, in its type."""
    placement = gram.placement
    far = 0.0
    if placement.center is not None or placement.reshaping is not None:
        far = np.square(placement.dense(np.zeros((1, placement.n_features)))).sum()
    if isinstance(gram, FourierGram):
        return 1.0 if np.isfinite(far) and np.isfinite(np.square(gram.frequencies).sum()) else np.inf
    norms = gram.col_points.norms
    if gram.kernel.pairwise is Pairwise.DOT and isinstance(gram, SparseGram):
        norms = gram.col_points.data.multiply(gram.col_points.data).sum(axis=1)
    # Twice the squared norms bound a squared distance, and a dot product all the more.
    far = 2 * (far + np.max(norms, initial=0))
    tile = np.array([[0, 1, far, -far if gram.kernel.pairwise is Pairwise.DOT else 0]], dtype=placement.dtype)
    if not np.isfinite(tile).all():
        return np.inf
    if gram.kernel.params() is NO_PARAMS:
        return float(tile.max()) if gram.kernel.pairwise is Pairwise.DOT else 1.0
    gram.kernel.profile()(tile, gram.kernel.params())
    return float(np.abs(tile).max())


def witness(gram: Gram, most: int = WITNESSES) -> NDArray[np.float64]:
    """Return the kernel values of the first few points with each other; nothing where no kernel is needed."""
    square = gram.square()
    if square is None:
        return np.empty((0, 0))
    some = np.arange(min(most, WITNESSES, gram.n_terms))
    return np.asarray(square.block(some, some), dtype=np.float64)
