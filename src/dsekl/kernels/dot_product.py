"""Kernels of the dot product: linear, polynomial, sigmoid.

With ``s = sum_d gamma_d x_d z_d``: linear is ``<x, z>`` and has no gamma, polynomial ``(s + coef0) ** degree``,
sigmoid ``tanh(s + coef0)``, as in scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.compiled import njit

from .elementary import FAST, decay
from .kernel import Pairwise, VectorKernel

MOST_DEGREE = 1000
"""Beyond, powers are 0, 1 or infinite in float64, but for numbers that differ from 1 by less than a hundredth."""


@njit(fastmath=FAST, cache=True, nogil=True)
def _identity(tile: Any, params: Any) -> None:
    return


@njit(fastmath=FAST, cache=True, nogil=True)
def _integer_power(tile: Any, params: Any) -> None:
    flat = tile.reshape(tile.size)
    shift, one, degree = flat.dtype.type(params[0]), flat.dtype.type(1.0), int(params[1])
    for i in range(flat.size):
        base = flat[i] + shift
        power = one
        for _ in range(degree):
            power *= base
        flat[i] = power


@njit(fastmath=FAST, cache=True, nogil=True)
def _tanh(tile: Any, params: Any) -> None:
    flat = tile.reshape(tile.size)
    shift, one, two = flat.dtype.type(params[0]), flat.dtype.type(1.0), flat.dtype.type(2.0)
    for i in range(flat.size):
        s = flat[i] + shift
        e = decay(two * abs(s))
        flat[i] = np.copysign((one - e) / (one + e), s)


@dataclass
class Linear(VectorKernel, BaseEstimator):
    """``<x, z>``; gamma is not used.

    See Also
    --------
    Polynomial : Products of features too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import Linear
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(kernel=Linear(), gamma=1.0, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.95
    """

    pairwise: ClassVar = Pairwise.DOT
    gamma_power: ClassVar = 0.0
    positive_semidefinite: ClassVar = True

    def profile(self) -> Any:
        return _identity


@dataclass
class Polynomial(VectorKernel, BaseEstimator):
    """``(gamma <x, z> + coef0) ** degree``.

    Parameters
    ----------
    degree : int, default=3
        A whole number from 1 to 1000; every kernel value takes so many multiplications.
    coef0 : float, default=1.0
        Weight of the lower powers; not negative, or it is no kernel.

    See Also
    --------
    Linear : Degree 1, without a constant.
    RBF : All degrees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import Polynomial
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(kernel=Polynomial(degree=2), gamma=0.1, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    """

    degree: int = 3
    coef0: float = 1.0

    pairwise: ClassVar = Pairwise.DOT
    gamma_power: ClassVar = 0.5

    @property
    def positive_semidefinite(self) -> bool:
        return self.coef0 >= 0

    def profile(self) -> Any:
        right = isinstance(self.degree, Real) and 1 <= self.degree <= MOST_DEGREE and int(self.degree) == self.degree
        if not right:
            raise ValueError(
                f"degree={self.degree!r} of the Polynomial kernel must be a whole number from 1 to {MOST_DEGREE}, "
                "e.g. 3"
            )
        return _integer_power

    def params(self) -> NDArray[np.float64]:
        return np.array([self.coef0, self.degree], dtype=np.float64)


@dataclass
class Sigmoid(VectorKernel, BaseEstimator):
    """``tanh(gamma <x, z> + coef0)``; not positive semi-definite for every gamma and coef0.

    Parameters
    ----------
    coef0 : float, default=0.0
        The shift.

    See Also
    --------
    Polynomial : A kernel of dot products that is positive semi-definite.
    RBF : The usual choice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import Sigmoid
    >>> from dsekl.solvers import DoublyStochastic
    >>> X, y = load_iris(return_X_y=True)
    >>> solver = DoublyStochastic(150, 150)  # dual ascent needs a positive semi-definite kernel
    >>> model = DSEKLClassifier(kernel=Sigmoid(coef0=-1.0), gamma=0.01, solver=solver, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.93
    """

    coef0: float = 0.0

    pairwise: ClassVar = Pairwise.DOT
    gamma_power: ClassVar = 0.5

    def profile(self) -> Any:
        return _tanh

    def params(self) -> NDArray[np.float64]:
        return np.array([self.coef0], dtype=np.float64)
