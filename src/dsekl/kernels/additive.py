"""The exponential chi-squared kernel for histograms: ``exp(-gamma sum_d (x_d - z_d)^2 / (x_d + z_d))``.

Its entries must not be negative; two zeros in the same place add nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from .kernel import Pairwise, VectorKernel
from .stationary import exponential


@dataclass
class Chi2(VectorKernel, BaseEstimator):
    """``exp(-gamma sum_d (x_d - z_d)^2 / (x_d + z_d))`` for entries that are not negative.

    See Also
    --------
    Laplacian : For entries of any sign.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.kernels import Chi2
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(kernel=Chi2(), gamma=1.0, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.97
    """

    pairwise: ClassVar = Pairwise.CHI_SQUARED
    gamma_power: ClassVar = 1.0
    positive_semidefinite: ClassVar = True

    def profile(self) -> Any:
        return exponential

    def reach(self, kernel_tol: float) -> float:
        # It does decay, but boxes do not bound its distance as simply as they bound sums of differences.
        return np.inf
