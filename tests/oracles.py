"""Plain NumPy references in float64, and the data that the tests of kernels and products share.

Nothing here imports the code under test but for the kernel objects that the references stand beside, and for ``build``,
which makes rows of arrays and lists so that tests need not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from dsekl import gram, kernels
from dsekl.rows import CrossRows, ObjectRows, SquareRows, as_rows
from dsekl.workers import Threads

Array = NDArray[np.float64]
EVERY = slice(None)
FORMATS = {"dense": np.asarray, "csr": sparse.csr_array}
PRECISIONS = ("float32", "float64")


def as_rows_of(kernel: Any, X: Any) -> Any:
    """Return queries of a kernel as rows: objects, kernel values, or numbers."""
    match kernel:
        case kernels.ObjectKernel():
            return ObjectRows(X)
        case kernels.Precomputed():
            return CrossRows(X)
    return as_rows(X)


def build(
    kernel: Any,
    X: Any,
    gamma: Any = 1.0,
    dtype: str = "float32",
    budget: int = 2**28,
    n_threads: int = 1,
    kernel_tol: float = 0.0,
) -> Any:
    """Return the gram of an array, a sparse matrix, a list of objects or a precomputed matrix."""
    rows = SquareRows(X) if isinstance(kernel, kernels.Precomputed) else as_rows_of(kernel, X)
    return gram.build(kernel, rows, gamma, dtype, budget, Threads(n_threads), kernel_tol)


def squared_distance(A: Array, B: Array, gamma: Any) -> Array:
    return ((A[:, None] - B[None]) ** 2 * gamma).sum(axis=-1)


def manhattan_distance(A: Array, B: Array, gamma: Any) -> Array:
    return (np.abs(A[:, None] - B[None]) * gamma).sum(axis=-1)


def chi_squared_distance(A: Array, B: Array, gamma: Any) -> Array:
    both = A[:, None] + B[None]
    ratio = np.divide((A[:, None] - B[None]) ** 2, both, out=np.zeros_like(both), where=both > 0)
    return (ratio * gamma).sum(axis=-1)


def dot_product(A: Array, B: Array, gamma: Any) -> Array:
    return (A * gamma) @ B.T


def rbf(A: Array, B: Array, gamma: Any) -> Array:
    return np.exp(-squared_distance(A, B, gamma))


def laplacian(A: Array, B: Array, gamma: Any) -> Array:
    return np.exp(-manhattan_distance(A, B, gamma))


def matern12(A: Array, B: Array, gamma: Any) -> Array:
    return np.exp(-np.sqrt(squared_distance(A, B, gamma)))


def matern32(A: Array, B: Array, gamma: Any) -> Array:
    r = np.sqrt(3 * squared_distance(A, B, gamma))
    return (1 + r) * np.exp(-r)


def matern52(A: Array, B: Array, gamma: Any) -> Array:
    r = np.sqrt(5 * squared_distance(A, B, gamma))
    return (1 + r + r**2 / 3) * np.exp(-r)


def rational_quadratic(shape: float) -> Callable[[Array, Array, Any], Array]:
    return lambda A, B, gamma: np.exp(-shape * np.log1p(squared_distance(A, B, gamma) / shape))


def linear(A: Array, B: Array, gamma: Any) -> Array:
    return A @ B.T


def polynomial(degree: int, coef0: float) -> Callable[[Array, Array, Any], Array]:
    return lambda A, B, gamma: (dot_product(A, B, gamma) + coef0) ** degree


def sigmoid(coef0: float) -> Callable[[Array, Array, Any], Array]:
    return lambda A, B, gamma: np.tanh(dot_product(A, B, gamma) + coef0)


def chi2(A: Array, B: Array, gamma: Any) -> Array:
    return np.exp(-chi_squared_distance(A, B, gamma))


def cauchy(A: Array, B: Array, gamma: Any) -> Array:
    return 1 / (1 + squared_distance(A, B, gamma))


def squared_dot(A: Array, B: Array, gamma: Any) -> Array:
    return dot_product(A, B, gamma) ** 2


@njit
def _cauchy(s: float) -> float:
    return 1 / (1 + s)


@njit
def _square(s: float) -> float:
    return s * s


@dataclass(frozen=True)
class KernelCase:
    """A kernel beside its reference block, ``reference(A, B, gamma)``."""

    name: str
    kernel: Any
    reference: Callable[[Array, Array, Any], Array]
    psd: bool = True

    def __str__(self) -> str:
        return self.name


KERNEL_CASES = (
    KernelCase("rbf", kernels.RBF(), rbf),
    KernelCase("laplacian", kernels.Laplacian(), laplacian),
    KernelCase("matern12", kernels.Matern(0.5), matern12),
    KernelCase("matern32", kernels.Matern(1.5), matern32),
    KernelCase("matern52", kernels.Matern(2.5), matern52),
    KernelCase("rational_quadratic", kernels.RationalQuadratic(2.0), rational_quadratic(2.0)),
    KernelCase("linear", kernels.Linear(), linear),
    KernelCase("polynomial", kernels.Polynomial(3, 1.0), polynomial(3, 1.0)),
    KernelCase("sigmoid", kernels.Sigmoid(0.25), sigmoid(0.25), psd=False),
    KernelCase("chi2", kernels.Chi2(), chi2),
    KernelCase("radial", kernels.Radial(_cauchy), cauchy),
    KernelCase("dot_product", kernels.DotProduct(_square), squared_dot),
)
CASE = {case.name: case for case in KERNEL_CASES}
SPECTRAL_CASES = tuple(case for case in KERNEL_CASES if hasattr(case.kernel, "sample_frequencies"))


def histograms(n: int, n_features: int = 7, seed: int = 0) -> Array:
    """Return rows that every kernel takes: not negative, and half of the entries 0."""
    rng = np.random.default_rng(seed)
    return np.abs(rng.standard_normal((n, n_features))) * (rng.random((n, n_features)) < 0.5)


def gammas(n_features: int = 7) -> Array:
    """Return a different gamma for each feature."""
    return np.linspace(0.1, 0.7, n_features)


def first_part(value: Any) -> str | None:
    """Name a case of bad input by the first thing that its error must say."""
    return value[0] if isinstance(value, list) else None


def assert_refused(wrong: Callable[[], Any], named: list[str]) -> None:
    """Hold the error that ``wrong`` raises to naming the parameter, its value and what would be right."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is examined below
        wrong()
    for part in named:
        assert part in str(caught.value)


def assert_close(found: Any, expected: Array, precision: str, terms: float = 1.0) -> None:
    """Hold ``found`` to the precision of its kernel values; ``terms`` is the size of what was added up."""
    digits = {"float32": 2e-5, "float64": 2e-13}[precision]
    size = max(1.0, float(np.abs(expected).max(initial=0.0)), terms)
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * size)
