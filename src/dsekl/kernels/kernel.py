"""What a kernel on vectors tells the products: how two points are compared, and the value that gives.

Every vector kernel here is ``k(x, z) = profile(pairwise(x', z'))``. The points ``x'`` are the raw rows with
each column multiplied by a power of its gamma (and centred where only differences matter), so no profile
ever sees gamma, and one gamma per feature costs what a single gamma costs.

The profile works in place on a tile of pairwise values. It is Numba code over a whole tile, so that its loop
is vectorised and one call through a pointer serves thousands of pairs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

NO_PARAMS: NDArray[np.float64] = np.zeros(1)


class Pairwise(StrEnum):
    """What a kernel needs to know of a pair of points; one number, for kernels on vectors."""

    SQUARED_DISTANCE = "squared distance"
    DOT = "dot product"
    MANHATTAN = "manhattan distance"
    CHI_SQUARED = "chi-squared distance"
    OBJECTS = "the objects themselves"
    PRECOMPUTED = "the kernel value"

    @property
    def is_distance(self) -> bool:
        """Tell whether it is a sum over features that gamma can weigh."""
        return self in (Pairwise.SQUARED_DISTANCE, Pairwise.MANHATTAN)


@runtime_checkable
class VectorKernel(Protocol):
    """A kernel on rows of numbers."""

    pairwise: ClassVar[Pairwise]
    gamma_power: ClassVar[float]
    """Columns are multiplied by ``gamma ** gamma_power``; 0 for a kernel without a width."""

    def profile(self) -> Any:
        """Return the Numba function ``(tile, params) -> None`` that turns pairwise values into kernel values."""

    def params(self) -> NDArray[np.float64]:
        """Return the numbers, gamma apart, that the profile needs; none unless a kernel says otherwise."""
        return NO_PARAMS

    def reach(self, kernel_tol: float) -> float:
        """Return the pairwise value from which on the kernel is below ``kernel_tol``; infinite if it never is."""
        return np.inf


@runtime_checkable
class Definite(Protocol):
    """A kernel that says whether every matrix of its values is positive semi-definite, as dual ascent needs."""

    @property
    def positive_semidefinite(self) -> bool: ...


def known_definite(kernel: object) -> bool:
    """Tell whether a kernel is known to be positive semi-definite; one that does not say so is not."""
    return isinstance(kernel, Definite) and kernel.positive_semidefinite


@runtime_checkable
class SpectralKernel(VectorKernel, Protocol):
    """A kernel whose Fourier transform can be sampled, as random kitchen sinks need."""

    def sample_frequencies(self, rng: np.random.Generator, n_features: int, n_terms: int) -> NDArray[np.float64]:
        """Return frequencies (n_features, n_terms) drawn from the kernel's spectral density at gamma 1."""
