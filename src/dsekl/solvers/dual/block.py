"""A block of the dual: coordinate descent, compiled, and for the squared loss its exact solution.

The block's kernel values are in memory; each step solves one coordinate exactly through the loss's ``dual_step`` and
carries the change to the block's predictions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import float64, types
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dsekl.compiled import NUMBER, compiled, inlined, matrix, njit, pointer, vector
from dsekl.losses import Loss

Floats = NDArray[np.float64]

ROUNDING = {"float32": 1e-6, "float64": 1e-15}

STEP = float64(float64, float64, float64, float64, float64, float64)


@inlined(fastmath={"contract", "reassoc"})
def _carry(f: Any, K_row: Any, change: Any) -> None:
    for j in range(f.size):
        f[j] += K_row[j] * change


@njit(cache=True, nogil=True)
def _descend(K: Any, y: Any, C: Any, coef: Any, f: Any, step: Any, shape: Any, most_sweeps: Any, small: Any) -> Any:
    """Sweep over coordinates until none moves its prediction by more than ``small``; return the last sweep's most.

    Lines are outputs, one after the other: each has its own number of sweeps, and the most of all is returned.
    """
    most = 0.0
    for o in range(coef.shape[0]):
        largest = 0.0
        for _ in range(most_sweeps):
            largest = 0.0
            for i in range(coef.shape[1]):
                new = step(y[o, i], coef[o, i], float(f[o, i]), float(K[i, i]), C[i], shape)
                change = new - coef[o, i]
                if change != 0.0:
                    coef[o, i] = new
                    _carry(f[o], K[i], K.dtype.type(change))
                    largest = max(largest, abs(change) * K[i, i])
            if largest <= small:
                break
        most = max(most, largest)
    return most


@njit(cache=True, nogil=True)
def _violations(y: Any, C: Any, coef: Any, f: Any, diagonal: Any, step: Any, shape: Any, out: Any) -> None:
    for i in range(coef.shape[0]):
        worst = 0.0
        for o in range(coef.shape[1]):
            new = step(y[i, o], coef[i, o], f[i, o], diagonal[i], C[i], shape)
            worst = max(worst, abs(new - coef[i, o]) * diagonal[i])
        out[i] = worst


@lru_cache(maxsize=4)
def _descend_for(dtype: str) -> Any:
    number, floats = NUMBER[dtype], vector(float64)
    block = (matrix(number), matrix(float64), floats, matrix(float64), matrix(number))
    return compiled(_descend, float64(*block, types.FunctionType(STEP), float64, types.intp, float64))


@lru_cache(maxsize=1)
def _violations_compiled() -> Any:
    floats, table = vector(float64), matrix(float64)
    rows = (table, floats, table, table, floats)
    return compiled(_violations, types.void(*rows, types.FunctionType(STEP), float64, floats))


def descend(
    K: NDArray[Any], y: Floats, C: Floats, coef: Floats, f: NDArray[Any], loss: Loss, most_sweeps: int, small: float
) -> float:
    """Descend on a block; ``coef`` and f, in the type of K, move in place. All have a line for each output.

    A vector is one line. Return the farthest that a last sweep moved a row's prediction by that row's own coefficient.
    """
    step, lines = pointer(loss.dual_step(), STEP), (np.atleast_2d(y), C, np.atleast_2d(coef), np.atleast_2d(f))
    return float(_descend_for(K.dtype.name)(K, *lines, step, loss.shape, most_sweeps, small))


def violations(y: Floats, C: Floats, coef: Floats, f: Floats, diagonal: Floats, loss: Loss) -> Floats:
    """Return how far each row's best own step would move its prediction, the most over outputs."""
    out = np.empty(len(coef))
    _violations_compiled()(y, C, coef, f, diagonal, pointer(loss.dual_step(), STEP), loss.shape, out)
    return out


def solve_squared(K: NDArray[Any], y: Floats, C: Floats, coef: Floats, f: Floats, semidefinite: bool = False) -> None:
    """Squared loss: the block's optimum in one Cholesky solve, ``(K + 1/C) change = y - f - coef / C``.

    It is solved as ``(sqrt(C) K sqrt(C) + 1) z = sqrt(C) right side``, which has numbers for every C. A trace of a
    ridge keeps rounded kernel values positive definite; where the right side is 0 nothing changes, with it or without
    it. Of a kernel that is known to be positive ``semidefinite``, what a trace does not mend is rounding too, and a
    larger one does; of others it raises LinAlgError.
    """
    root = np.sqrt(C)
    scaled = K * root.astype(K.dtype) * root.astype(K.dtype)[:, None]
    trace = float(np.trace(K))
    for larger in (1.0, 1e2, 1e4) if semidefinite else (1.0,):
        system = scaled.copy()
        system[np.diag_indices_from(system)] += 1.0 + C * (larger * ROUNDING[K.dtype.name] * trace)
        try:
            factor = cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        coef += root[:, None] * cho_solve(factor, root[:, None] * (y - f - coef / C[:, None]), check_finite=False)
        return
    raise LinAlgError("the block is not positive definite")
