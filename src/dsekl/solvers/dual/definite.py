"""Whether the kernel is one: dual ascent has an optimum to find only if the kernel matrix is positive semi-definite.

A kernel that is not known to be (``positive_semidefinite``) is looked at before the run, on one block of random rows:
a block of a positive semi-definite matrix is one. The test is one-sided. An eigenvalue below 0 proves that the kernel
is none; its absence proves nothing about the rows that were not looked at. The gap itself cannot tell: it is a sum of
parts that are not negative for any symmetric matrix, and 0 at any stationary point.
"""

from __future__ import annotations

import numpy as np

from dsekl.kernels import Kernel, known_definite, name_of

from ..solver import Problem
from ..state import Floats

LOOKED_AT = 1024
"""Rows of the block."""

ROUNDING = 1e-6
"""Eigenvalues and differences down to this share of the trace or of the greatest value may be rounding."""


def require_definite(problem: Problem, diagonal: Floats, rank: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> int:
    """Raise ValueError where the kernel is seen not to be positive semi-definite; return the kernel values taken.

    ``rank`` is a random order of the rows, whose first are looked at.
    """
    kernel = problem.gram.kernel
    if known_definite(kernel):
        return 0
    rows = np.sort(np.flatnonzero(rank < LOOKED_AT))
    K = problem.gram.block(rows, rows).astype(np.float64)
    largest = float(np.abs(K).max(initial=0.0))
    nothing = ROUNDING * largest
    if diagonal.min() < -nothing:
        raise indefinite(kernel, f"k(x, x) = {diagonal.min():.3g} of a row")
    if largest > 0 and diagonal.max() <= nothing:
        raise indefinite(
            kernel,
            f"k(x, x) = 0 of all rows, with values of up to {largest:.3g} between them, as distances have. For a "
            "matrix D of distances give np.exp(-gamma * D**2)",
        )
    skew = float(np.abs(K - K.T).max(initial=0.0))
    if skew > nothing:
        raise ValueError(
            f"kernel={name_of(kernel)} is not symmetric: k(x, z) and k(z, x) differ by {skew:.3g}. Make it symmetric, "
            "e.g. by (K + K.T) / 2."
        )
    lowest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    if lowest < -ROUNDING * float(np.trace(K)):
        raise indefinite(kernel, f"the eigenvalue {lowest:.3g} of a block of {len(rows)} rows")
    return int(K.size)


def indefinite(kernel: Kernel, sign: str) -> ValueError:
    """Return the error for a kernel that is none."""
    return ValueError(
        f"kernel={kernel!r} is not positive semi-definite on this data (found by {sign}), so solver='dual' has no "
        "optimum to find. Choose another kernel or other parameters for it, or solver='doubly_stochastic'."
    )
