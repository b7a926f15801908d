"""Random kitchen sinks: ``sqrt(2 / n_terms) cos(<w_j, x> + b_j)`` with frequencies from the kernel's spectrum.

The mean of ``basis(x) . basis(z)`` over the draw of frequencies is ``k(x, z)``. A linear model in these features
approximates the kernel machine without looking at the data when it chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from dsekl.stored import StoredRows

from .contract import Array, Basis, Indices, PlacedBasis


@dataclass
class RandomFourier(BaseEstimator):
    """Random Fourier features, for the rbf, laplacian and Matérn kernels.

    Parameters
    ----------
    n_terms : int, default=100
        How many.
    """

    n_terms: int = 100

    def expand(self, gram: PlacedBasis, rng: np.random.Generator) -> Basis:
        """Draw the frequencies; the gram lends its placed points."""
        if not self.n_terms >= 1:
            raise ValueError(f"n_terms={self.n_terms!r} of RandomFourier must be at least 1, e.g. 100")
        kernel: Any = getattr(gram, "kernel", None)
        if not hasattr(kernel, "sample_frequencies"):
            raise ValueError(
                f"kernel={kernel!r} has no spectrum to sample; expansion RandomFourier needs rbf, laplacian or matern"
            )
        n_features = gram.row_points.data.shape[1]
        frequencies = kernel.sample_frequencies(rng, n_features, self.n_terms)
        phases = rng.uniform(0.0, 2.0 * np.pi, self.n_terms)
        return FourierBasis(gram.row_points.data, frequencies, phases, self.n_terms, gram.placement, gram.budget)


@dataclass(frozen=True)
class FourierBasis:
    """Cosines at fixed frequencies, evaluated at placed points."""

    points: Any
    frequencies: NDArray[np.float64]
    phases: NDArray[np.float64]
    n_drawn: int
    placement: Any
    budget: int

    @property
    def n_rows(self) -> int:
        return int(self.points.shape[0])

    @property
    def n_terms(self) -> int:
        return len(self.phases)

    def columns(self, cols: Indices) -> FourierTerms:
        return FourierTerms(self, self.frequencies[:, cols], self.phases[cols])

    def product(self, rows: Indices, cols: Indices, V: Array) -> NDArray[np.float64]:
        terms = self.columns(cols)
        wanted = np.arange(self.n_rows)[rows]
        size = self.chunk_rows(max(1, len(terms.phases)))
        parts = [wanted[start : start + size] for start in range(0, len(wanted), size)]
        return np.concatenate([terms.product(part, V) for part in parts] or [np.empty((0, V.shape[1]))])

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, self.budget // (8 * max(n_cols, int(self.points.shape[1]))))

    def at(self, X: Any) -> FourierBasis:
        if sparse.issparse(self.points):
            return replace(self, points=self.placement.sparse(X))
        return replace(self, points=self.placement.stored(X) if isinstance(X, StoredRows) else self.placement.dense(X))

    def restricted(self, cols: Indices) -> FourierBasis:
        # The scale sqrt(2 / n_drawn) belongs to the draw, so dropping terms does not change the others.
        return replace(self, frequencies=self.frequencies[:, cols], phases=self.phases[cols])

    def detached(self) -> FourierBasis:
        return replace(self, points=self.points[:0].copy())

    def threaded(self, n_threads: int) -> FourierBasis:
        # The work is a matrix product, which BLAS spreads by itself.
        return self


@dataclass(frozen=True)
class FourierTerms:
    """Some of a Fourier basis's functions."""

    basis: FourierBasis
    frequencies: NDArray[np.float64]
    phases: NDArray[np.float64]

    def block(self, rows: Indices) -> Array:
        angles = self.basis.points[rows] @ self.frequencies + self.phases
        return np.asarray(np.sqrt(2.0 / self.basis.n_drawn) * np.cos(angles))

    def product(self, rows: Indices, V: Array) -> NDArray[np.float64]:
        return np.asarray(self.block(rows) @ V, dtype=np.float64)
