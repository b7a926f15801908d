"""A user's own kernel: one Numba-compiled scalar function, fused into the products like the built-in ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from numba import njit
from numba.core.registry import CPUDispatcher
from sklearn.base import BaseEstimator

from .elementary import FAST
from .kernel import Pairwise, VectorKernel


@lru_cache(maxsize=64)
def _over_a_tile(function: Any) -> Any:
    """Wrap a scalar function into a profile; the same function gives the same compiled profile.

    It is compiled anew with NumPy's rules for errors: a division by zero gives an infinity, which is noticed, where
    an exception could not leave the compiled product.
    """
    scalar = njit(function.py_func, fastmath=FAST, error_model="numpy")

    @njit(fastmath=FAST, nogil=True, error_model="numpy")
    def profile(tile: Any, params: Any) -> None:
        flat = tile.reshape(tile.size)
        for i in range(flat.size):
            flat[i] = scalar(flat[i])

    return profile


def _compiled(function: Any, kernel: str) -> Any:
    if not isinstance(function, CPUDispatcher):
        raise ValueError(
            f"function={function!r} of the {kernel} kernel must be compiled by Numba: decorate it with @numba.njit. "
            "A plain Python function of two lists of objects can be given as kernel=function instead."
        )
    return _over_a_tile(function)


@dataclass
class Radial(VectorKernel, BaseEstimator):
    """``function(gamma d^2)`` for a Numba-compiled scalar ``function`` of the scaled squared distance.

    Parameters
    ----------
    function : function decorated by ``numba.njit``
        Takes one number and returns one.

    See Also
    --------
    DotProduct : The same of the dot product.
    ObjectKernel : A function of strings, graphs or other objects.

    Examples
    --------
    >>> from numba import njit
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import Radial
    >>> X, y = load_iris(return_X_y=True)
    >>> cauchy = Radial(njit(lambda s: 1 / (1 + s)))
    >>> model = DSEKLClassifier(kernel=cauchy, gamma=0.5, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    function: Callable[[float], float]

    pairwise: ClassVar = Pairwise.SQUARED_DISTANCE
    gamma_power: ClassVar = 0.5

    def profile(self) -> Any:
        return _compiled(self.function, "Radial")


@dataclass
class DotProduct(VectorKernel, BaseEstimator):
    """``function(sum_d gamma_d x_d z_d)`` for a Numba-compiled scalar ``function`` of the scaled dot product.

    Parameters
    ----------
    function : function decorated by ``numba.njit``
        Takes one number and returns one.

    See Also
    --------
    Radial : The same of the squared distance.

    Examples
    --------
    >>> from numba import njit
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import DotProduct
    >>> X, y = load_iris(return_X_y=True)
    >>> quadratic = DotProduct(njit(lambda s: (1 + s) ** 2))
    >>> model = DSEKLClassifier(kernel=quadratic, gamma=0.1, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    """

    function: Callable[[float], float]

    pairwise: ClassVar = Pairwise.DOT
    gamma_power: ClassVar = 0.5

    def profile(self) -> Any:
        return _compiled(self.function, "DotProduct")
