"""Kernels that do not look at columns: a Python function of arbitrary objects, and a matrix made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .kernel import Pairwise


@dataclass
class ObjectKernel(BaseEstimator):
    """A Python function of two sequences of objects (strings, graphs, ...) that returns their kernel block.

    Parameters
    ----------
    function : callable
        ``function(a, b)`` must return an array of shape ``(len(a), len(b))``. It is called for blocks of bounded
        size, never for all pairs at once.
    """

    function: Callable[[Sequence[Any], Sequence[Any]], ArrayLike]

    pairwise: ClassVar = Pairwise.OBJECTS
    gamma_power: ClassVar = 0.0


@dataclass
class Precomputed(BaseEstimator):
    """``X`` itself holds the kernel: (n_samples, n_samples) to fit, (n_queries, n_samples) to predict.

    See Also
    --------
    Radial : A function of the distance, which needs no matrix.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from dsekl import DSEKLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> K = rbf_kernel(X, gamma=0.5)
    >>> model = DSEKLClassifier(kernel="precomputed", C=10.0, random_state=0).fit(K, y)
    >>> print(f"{model.score(K, y):.2f}")
    0.98
    """

    pairwise: ClassVar = Pairwise.PRECOMPUTED
    gamma_power: ClassVar = 0.0
