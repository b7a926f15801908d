"""Products with a block that is already in memory.

They add up in a fixed order on the calling thread alone, where BLAS may start threads of its own under
the solver's workers and round differently from one machine to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import inlined, njit
from dsekl.kernels.elementary import FAST


@inlined(fastmath=FAST)
def _dot(a: Any, b: Any) -> Any:
    total = a.dtype.type(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@inlined(fastmath=FAST)
def _add_scaled(out: Any, a: Any, weight: Any) -> None:
    for j in range(out.size):
        out[j] += weight * a[j]


@njit(cache=True, nogil=True)
def _times(block: Any, V: Any, out: Any) -> None:
    for i in range(block.shape[0]):
        for o in range(V.shape[0]):
            for start in range(0, block.shape[1], 1024):
                out[i, o] += _dot(block[i, start : start + 1024], V[o, start : start + 1024])


@njit(cache=True, nogil=True)
def _transposed_times(block: Any, V: Any, out: Any) -> None:
    for i in range(block.shape[0]):
        for o in range(V.shape[0]):
            if V[o, i] != 0:
                _add_scaled(out[o], block[i], V[o, i])


def times(block: NDArray[Any], V: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``block @ V``."""
    out = np.zeros((block.shape[0], V.shape[1]))
    _times(block, np.ascontiguousarray(V.T, dtype=block.dtype), out)
    return out


def transposed_times(block: NDArray[Any], V: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``block.T @ V``; rows of V that are 0, as a margin loss gives, cost nothing."""
    out = np.zeros((V.shape[1], block.shape[1]))
    _transposed_times(block, np.ascontiguousarray(V.T, dtype=np.float64), out)
    return np.ascontiguousarray(out.T)
