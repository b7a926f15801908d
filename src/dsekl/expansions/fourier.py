"""Random kitchen sinks: ``sqrt(2 / n_terms) cos(<w_j, x> + b_j)`` with frequencies from the kernel's spectrum.

The mean of ``terms(x) . terms(z)`` over the draw of frequencies is ``k(x, z)``. A linear model in these features
approximates the kernel machine without looking at the data when it chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from dsekl.gram import Gram
from dsekl.gram.dense import DenseGram
from dsekl.gram.gram import Array, Floats, Indices, Unpruned, Values, require, require_array
from dsekl.gram.placement import Placement
from dsekl.gram.sparse import SparseGram
from dsekl.kernels import SpectralKernel
from dsekl.rows import ArrayRows, CsrRows, Rows, StoredRows
from dsekl.workers import Workers, chunks

Points: TypeAlias = "NDArray[Any] | StoredRows | sparse.csr_array"


@dataclass
class RandomFourier(BaseEstimator):
    """Random Fourier features, for the rbf, laplacian and Matérn kernels.

    Parameters
    ----------
    n_terms : int, default=100
        How many.

    See Also
    --------
    Empirical : All training points, the default.
    FixedSubset : Kernel functions on some of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.expansions import RandomFourier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(
    ...     gamma=0.5, C=10.0, expansion=RandomFourier(50), solver="doubly_stochastic", random_state=0
    ... ).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    n_terms: int = 100

    def expand(self, gram: Gram, rng: np.random.Generator) -> Gram:
        """Draw the frequencies; the gram lends its placed points."""
        if not self.n_terms >= 1:
            raise ValueError(f"n_terms={self.n_terms!r} of RandomFourier must be at least 1, e.g. 100")
        kernel = gram.kernel
        if not isinstance(kernel, SpectralKernel) or not isinstance(gram, DenseGram | SparseGram):
            raise ValueError(
                f"kernel={kernel!r} has no spectrum to sample; expansion RandomFourier needs rbf, laplacian or matern"
            )
        points: Points = gram.row_matrix() if isinstance(gram, SparseGram) else gram.row_points.data
        frequencies = self._frequencies(kernel, points.shape[1], rng)
        phases = rng.uniform(0.0, 2.0 * np.pi, self.n_terms)
        return FourierGram(kernel, points, frequencies, phases, self.n_terms, gram.placement, gram.budget)

    def _frequencies(self, kernel: SpectralKernel, n_features: int, rng: np.random.Generator) -> Floats:
        try:
            return kernel.sample_frequencies(rng, n_features, self.n_terms)
        except MemoryError as error:
            raise ValueError(
                f"n_terms={self.n_terms} of RandomFourier on {n_features:,} features are "
                f"{8e-9 * n_features * self.n_terms:,.0f} GB of frequencies, more than there is; set "
                "expansion='empirical', or hash the features to fewer columns"
            ) from error


@dataclass(frozen=True)
class FourierGram(Unpruned):
    """Cosines at fixed frequencies, evaluated at placed points."""

    kernel: SpectralKernel
    points: Points
    frequencies: Floats
    phases: Floats
    n_drawn: int
    placement: Placement
    budget: int

    @property
    def n_rows(self) -> int:
        return int(self.points.shape[0])

    @property
    def n_terms(self) -> int:
        return len(self.phases)

    @property
    def symmetric(self) -> bool:
        return False

    def columns(self, cols: Indices) -> FourierColumns:
        return FourierColumns(self, self.frequencies[:, cols], self.phases[cols])

    def product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        columns = self.columns(cols)
        wanted = np.arange(self.n_rows)[rows]
        parts = [wanted[part] for part in chunks(len(wanted), self.chunk_rows(max(1, len(columns))))]
        return np.concatenate([columns.product(part, V) for part in parts] or [np.empty((0, V.shape[1]))])

    def diagonal(self) -> Floats:
        raise TypeError("random Fourier features are no kernel matrix: their terms are not points")

    def chunk_rows(self, n_cols: int) -> int:
        return max(1, self.budget // (8 * max(n_cols, int(self.points.shape[1]))))

    def at(self, rows: Rows) -> FourierGram:
        match rows:
            case ArrayRows() | CsrRows() if sparse.issparse(self.points):
                return replace(self, points=self.placement.sparse(rows))
            case ArrayRows() | CsrRows():
                return replace(self, points=self.placement.in_memory(rows))
            case StoredRows():
                return replace(self, points=self.placement.stored(rows))
        raise TypeError(f"random Fourier features take rows of numbers, not {type(rows).__name__}")

    def with_rows(self, rows: Indices) -> FourierGram:
        return replace(self, points=self.points[rows])

    def restricted(self, cols: Indices) -> FourierGram:
        # The scale sqrt(2 / n_drawn) belongs to the draw, so dropping terms does not change the others.
        return replace(self, frequencies=self.frequencies[:, cols], phases=self.phases[cols])

    def square(self) -> None:
        """Return nothing: the terms are no points."""

    def detached(self) -> FourierGram:
        return replace(self, points=self.points[:0].copy())

    def with_workers(self, workers: Workers) -> FourierGram:
        # The work is a matrix product, which BLAS spreads by itself.
        return self

    def to_values(self) -> Values:
        drawn = {"frequencies": self.frequencies, "phases": self.phases, "n_drawn": self.n_drawn}
        own = {"kind": "fourier", **drawn, "sparse": sparse.issparse(self.points)}
        return {**own, **self.placement.to_values(), "budget": self.budget}

    @staticmethod
    def from_values(kernel: SpectralKernel, values: Values, budget: int) -> FourierGram:
        """Return what ``to_values`` described."""
        placement = Placement.from_values(values)
        frequencies, phases, n_drawn = values["frequencies"], values["phases"], values["n_drawn"]
        require_array(phases, "a phase per term", "float64")
        require_array(frequencies, "a frequency per feature and term", "float64", ndim=2)
        require(frequencies.shape == (placement.n_features, len(phases)), "a frequency per feature and term")
        require(type(n_drawn) is int and len(phases) <= n_drawn < 2**62, "as many terms as were drawn")
        require(type(values["sparse"]) is bool, "whether they are sparse")
        nothing = np.empty((0, placement.n_features), dtype=placement.dtype)
        points = sparse.csr_array(nothing) if values["sparse"] else nothing
        if values["sparse"]:  # files of format 1 have a centre that sparse points never had
            placement = replace(placement, center=None)
        return FourierGram(kernel, points, frequencies, phases, n_drawn, placement, budget)


@dataclass(frozen=True)
class FourierColumns:
    """Some of the cosines."""

    gram: FourierGram
    frequencies: Floats
    phases: Floats

    def __len__(self) -> int:
        return len(self.phases)

    def block(self, rows: Indices) -> Array:
        angles = self.gram.points[rows] @ self.frequencies + self.phases
        return np.asarray(np.sqrt(2.0 / self.gram.n_drawn) * np.cos(angles))

    def product(self, rows: Indices, V: Array) -> Floats:
        return np.asarray(self.block(rows) @ V, dtype=np.float64)
