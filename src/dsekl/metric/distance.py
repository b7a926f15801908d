"""The distance itself as a kernel: what is the same for every width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dsekl.kernels import VectorKernel
from dsekl.kernels.kernel import NO_PARAMS


@njit(cache=True, nogil=True)
def _identity(tile: Any, params: Any) -> None:
    pass


class Distance(VectorKernel):
    """The pairwise value that another kernel starts from."""

    def __init__(self, kernel: VectorKernel) -> None:
        self.pairwise, self.gamma_power = kernel.pairwise, kernel.gamma_power

    def profile(self) -> Any:
        return _identity

    def params(self) -> NDArray[np.float64]:
        return NO_PARAMS

    def reach(self, kernel_tol: float) -> float:
        return np.inf
