"""Kernels that fall with distance: rbf, laplacian, Matérn, rational quadratic.

With ``s = gamma d^2`` the squared distance after scaling:

=================== ===============================================
rbf                 ``exp(-s)``
matern 1/2          ``exp(-sqrt(s))``
matern 3/2          ``(1 + sqrt(3 s)) exp(-sqrt(3 s))``
matern 5/2          ``(1 + sqrt(5 s) + 5 s / 3) exp(-sqrt(5 s))``
rational quadratic  ``(1 + s / shape) ** -shape``
laplacian           ``exp(-gamma |x - z|_1)``
=================== ===============================================

rbf, rational quadratic and laplacian have scikit-learn's gamma; a Matérn kernel of length scale l has
``gamma = 1 / l^2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.compiled import njit

from .elementary import FAST, decay
from .kernel import Pairwise, VectorKernel

SQRT3 = sqrt(3.0)
SQRT5 = sqrt(5.0)


@njit(fastmath=FAST, cache=True, nogil=True)
def exponential(tile: Any, params: Any) -> None:
    flat = tile.reshape(tile.size)
    for i in range(flat.size):
        flat[i] = decay(flat[i])


@njit(fastmath=FAST, cache=True, nogil=True)
def _matern12(tile: Any, params: Any) -> None:
    flat = tile.reshape(tile.size)
    for i in range(flat.size):
        flat[i] = decay(np.sqrt(flat[i]))


@njit(fastmath=FAST, cache=True, nogil=True)
def _matern32(tile: Any, params: Any) -> None:
    flat = tile.reshape(tile.size)
    scale, one = flat.dtype.type(SQRT3), flat.dtype.type(1.0)
    for i in range(flat.size):
        r = scale * np.sqrt(flat[i])
        flat[i] = (one + r) * decay(r)


@njit(fastmath=FAST, cache=True, nogil=True)
def _matern52(tile: Any, params: Any) -> None:
    flat = tile.reshape(tile.size)
    scale, one, third = flat.dtype.type(SQRT5), flat.dtype.type(1.0), flat.dtype.type(1.0 / 3.0)
    for i in range(flat.size):
        r = scale * np.sqrt(flat[i])
        flat[i] = (one + r + r * r * third) * decay(r)


@njit(fastmath=FAST, cache=True, nogil=True)
def _rational_quadratic(tile: Any, params: Any) -> None:
    flat = tile.reshape(tile.size)
    shape = flat.dtype.type(params[0])
    for i in range(flat.size):
        flat[i] = np.exp(-shape * np.log1p(flat[i] / shape))


SHAPES = 1e-10, 1e10
"""Shapes of the rational quadratic kernel: distances over them have numbers in float32."""

_MATERN = {0.5: _matern12, 1.5: _matern32, 2.5: _matern52}


@dataclass
class RBF(VectorKernel, BaseEstimator):
    """``exp(-gamma d^2)``.

    See Also
    --------
    Matern : Less smooth functions; the default tries 3/2 first.
    RationalQuadratic : A mixture of widths.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(kernel=RBF(), gamma=0.5, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    """

    pairwise: ClassVar = Pairwise.SQUARED_DISTANCE
    gamma_power: ClassVar = 0.5
    positive_semidefinite: ClassVar = True

    def profile(self) -> Any:
        return exponential

    def reach(self, kernel_tol: float) -> float:
        return -log(kernel_tol)

    def sample_frequencies(self, rng: np.random.Generator, n_features: int, n_terms: int) -> NDArray[np.float64]:
        return sqrt(2.0) * rng.standard_normal((n_features, n_terms))


@dataclass
class Laplacian(VectorKernel, BaseEstimator):
    """``exp(-gamma |x - z|_1)``.

    See Also
    --------
    RBF : The same of squared distances: smooth functions.
    Matern : Between the two.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import Laplacian
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(kernel=Laplacian(), gamma=0.5, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    1.00
    """

    pairwise: ClassVar = Pairwise.MANHATTAN
    gamma_power: ClassVar = 1.0
    positive_semidefinite: ClassVar = True

    def profile(self) -> Any:
        return exponential

    def reach(self, kernel_tol: float) -> float:
        return -log(kernel_tol)

    def sample_frequencies(self, rng: np.random.Generator, n_features: int, n_terms: int) -> NDArray[np.float64]:
        return rng.standard_cauchy((n_features, n_terms))


@dataclass
class Matern(VectorKernel, BaseEstimator):
    """The Matérn kernel: the larger ``nu``, the smoother the functions.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Functions have derivatives of orders below it.

    See Also
    --------
    RBF : The limit of a large ``nu``.
    Laplacian : A sum of distances of each feature, with kinks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import Matern
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(kernel=Matern(nu=2.5), gamma=0.5, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    """

    nu: float = 1.5

    pairwise: ClassVar = Pairwise.SQUARED_DISTANCE
    gamma_power: ClassVar = 0.5
    positive_semidefinite: ClassVar = True

    def profile(self) -> Any:
        if self.nu not in _MATERN:
            raise ValueError(f"nu={self.nu!r} of the Matern kernel is not available; choose one of 0.5, 1.5, 2.5")
        return _MATERN[self.nu]

    def reach(self, kernel_tol: float) -> float:
        # With r = sqrt(2 nu s) the kernel is polynomial(r) exp(-r), and r = log(polynomial(r)) - log(tol) is where it
        # meets the tolerance: a contraction for tolerances well below 1, so iterating settles on it.
        r = -log(kernel_tol)
        for _ in range(200):
            r = -log(kernel_tol) + log({0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r * r / 3.0}[self.nu])
        return r * r / (2.0 * self.nu)

    def sample_frequencies(self, rng: np.random.Generator, n_features: int, n_terms: int) -> NDArray[np.float64]:
        # The spectral density is a multivariate t distribution with 2 nu degrees of freedom.
        normal = rng.standard_normal((n_features, n_terms))
        return normal / np.sqrt(rng.chisquare(2 * self.nu, n_terms) / (2 * self.nu))


@dataclass
class RationalQuadratic(VectorKernel, BaseEstimator):
    """``(1 + gamma d^2 / shape) ** -shape``: a mixture of rbf widths, rbf itself as ``shape`` grows.

    Parameters
    ----------
    shape : float, default=1.0
        How quickly the tails fall.

    See Also
    --------
    RBF : One width.
    Matern : Rougher functions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import RationalQuadratic
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(kernel=RationalQuadratic(shape=1.0), gamma=0.5, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    shape: float = 1.0

    pairwise: ClassVar = Pairwise.SQUARED_DISTANCE
    gamma_power: ClassVar = 0.5
    positive_semidefinite: ClassVar = True

    def profile(self) -> Any:
        least, most = SHAPES
        if not least <= self.shape <= most:
            raise ValueError(
                f"shape={self.shape!r} of the RationalQuadratic kernel must be from {least:g} to {most:g}, e.g. 1.0"
            )
        return _rational_quadratic

    def params(self) -> NDArray[np.float64]:
        return np.array([self.shape], dtype=np.float64)

    def reach(self, kernel_tol: float) -> float:
        with np.errstate(all="ignore"):  # a tail may be so heavy that it reaches everywhere
            return float(self.shape * (np.float64(kernel_tol) ** (-1.0 / np.float64(self.shape)) - 1.0))
