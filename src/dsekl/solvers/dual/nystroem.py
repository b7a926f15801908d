"""A preconditioner for the squared loss on a wide kernel: the kernel matrix as a few of its columns know it.

The optimum of the squared loss solves ``(K + 1/C) coef = y``. With the columns ``B = K[:, landmarks]`` of some random
rows, Nyström's approximation of K is ``B K[landmarks, landmarks]^-1 B'``, and by Woodbury's formula::

    (B K[landmarks, landmarks]^-1 B' + 1/C)^-1 v  =  C v - C B (K[landmarks, landmarks] + B' C B)^-1 B' C v

A wide kernel has few large eigenvalues, which the landmarks know, so that conjugate gradients with this inverse need
few products with K. Of B, as much is held as half of the memory budget has room for: all or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dsekl.gram import Gram
from dsekl.workers import Workers, chunks

from ..state import Floats
from .block import ROUNDING

CHUNK = 2048
"""Rows of B at a time: sums are cut here, whatever the workers."""

PANELS = 8
"""Parts of the landmarks' own matrix, each of which one worker adds up."""


@dataclass(frozen=True)
class Nystroem:
    """The preconditioner of some rows of a gram (its lines), with factors C of their losses."""

    gram: Gram
    landmarks: NDArray[np.intp]
    """Terms of the gram."""
    C: Floats
    factor: tuple[Floats, bool]
    held: list[NDArray[Any]] | None
    evaluations: int
    """Kernel values that it took to make."""

    @staticmethod
    def of(gram: Gram, landmarks: NDArray[np.intp], own: NDArray[np.intp], C: Floats, workers: Workers) -> Nystroem:
        """Return the preconditioner; ``own`` are the lines of the landmarks in the gram."""
        n, m = len(C), len(landmarks)
        held: list[NDArray[Any]] | None = [] if gram.chunk_rows(m) >= 2 * n else None
        system = np.zeros((m, m))
        panels = [slice(part[0], part[-1] + 1) for part in np.array_split(np.arange(m), PANELS) if len(part)]
        for part, B in _blocks(gram, landmarks, n, None):
            if held is not None:
                held.append(B)
            A = B.astype(np.float64) * np.sqrt(C[part])[:, None]

            def add_up(panel: slice, A: Floats = A) -> None:
                # The factor reads the lower triangle alone.
                system[panel.start :, panel] += A[:, panel.start :].T @ A[:, panel]

            workers.map(add_up, panels)
        K = gram.block(own, landmarks)
        return Nystroem(gram, landmarks, C, _factor(system + K, K), held, n * m + m * m)

    def solve(self, right: Floats) -> tuple[Floats, int]:
        """Return what the preconditioner makes of right sides (n_rows, n_outputs), and kernel values made for it."""
        n, m = len(self.C), len(self.landmarks)
        found = self.C[:, None] * right
        known = np.zeros((m, right.shape[1]))
        for part, B in _blocks(self.gram, self.landmarks, n, self.held):
            known += B.T @ found[part]
        known = cho_solve(self.factor, known, check_finite=False)
        for part, B in _blocks(self.gram, self.landmarks, n, self.held):
            found[part] -= self.C[part, None] * (B @ known)
        return found, 0 if self.held is not None else 2 * n * m


def _blocks(
    gram: Gram, landmarks: NDArray[np.intp], n: int, held: list[NDArray[Any]] | None
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows of B a chunk at a time."""
    columns = None if held is not None else gram.columns(landmarks)
    for k, part in enumerate(chunks(n, min(CHUNK, gram.chunk_rows(len(landmarks))))):
        if held is not None:
            yield part, held[k]
        elif columns is not None:
            yield part, columns.block(np.arange(part.start, part.stop))


def _factor(system: Floats, K: NDArray[Any]) -> tuple[Floats, bool]:
    """Return the Cholesky factor of a system with as small a ridge as rounding asks for.

    That is rounding of the kernel values K, and where C is large of the system itself, whose values are far larger.
    """
    traces = float(np.trace(K)), float(np.trace(system))
    for trace, larger in product(traces, (1.0, 1e2, 1e4)):
        ridged = system.copy()
        ridged[np.diag_indices_from(ridged)] += larger * ROUNDING[K.dtype.name] * trace
        try:
            factor, lower = cho_factor(ridged, lower=True, overwrite_a=True, check_finite=False)
            return np.asarray(factor), bool(lower)
        except LinAlgError:
            continue
    raise LinAlgError("the landmarks' matrix is not positive definite")
