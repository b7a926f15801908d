"""The exponential chi-squared kernel for histograms: ``exp(-gamma sum_d (x_d - z_d)^2 / (x_d + z_d))``.

Its entries must not be negative; two zeros in the same place add nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .kernel import NO_PARAMS, Pairwise
from .stationary import exponential


@dataclass
class Chi2(BaseEstimator):
    """``exp(-gamma sum_d (x_d - z_d)^2 / (x_d + z_d))`` for entries that are not negative."""

    pairwise: ClassVar = Pairwise.CHI_SQUARED
    gamma_power: ClassVar = 1.0

    def profile(self) -> Any:
        return exponential

    def params(self) -> NDArray[np.float64]:
        return NO_PARAMS

    def reach(self, kernel_tol: float) -> float:
        # It does decay, but boxes do not bound its distance as simply as they bound sums of differences.
        return np.inf
