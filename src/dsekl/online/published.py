"""What the published algorithms have in common: points, coefficients, and a step for each row.

Each is a few lines in a file of its own, for labels -1 and 1, in the words of its paper. They are here to be read and
to be compared with; ``ascent`` is what the estimators use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import njit, pointer, profile_signature
from dsekl.kernels import RBF, VectorKernel

from .buffer import Floats, part
from .buffer_points import PAIRWISE, dot, kernel_row
from .callbacks import address_of
from .dual_steps import Compared


class Kept(NamedTuple):
    """The points of a published algorithm, in the order in which they came."""

    points: Floats
    """(n_features, capacity)."""
    coef: Floats
    """(capacity,)."""
    kernel: Floats
    """(capacity, capacity): kernel values of the points, or their inverse, where an algorithm needs them."""
    counts: NDArray[np.int64]
    """(3,): points, rows seen, mistakes."""
    random: NDArray[np.uint64]
    """(2,); the second is the state, as in a buffer's counts."""
    sums: Floats
    """(1,): what an algorithm adds up."""


@dataclass
class Published:
    """An algorithm with its settings; ``gamma`` scales all columns alike."""

    budget: int = 100
    gamma: float = 1.0
    kernel: VectorKernel = field(default_factory=RBF)
    seed: int = 0

    _step: ClassVar[Any]

    def __post_init__(self) -> None:
        self.kept: Kept | None = None
        self._profile = pointer(self.kernel.profile(), profile_signature("float64"))

    def numbers(self) -> Floats:
        """Return the settings that the compiled step needs."""
        return np.zeros(1)

    @property
    def _compared(self) -> Compared:
        return Compared(PAIRWISE[self.kernel.pairwise], address_of(self._profile), self.kernel.params())

    def _points(self, X: Floats) -> Floats:
        return np.ascontiguousarray(X * self.gamma**self.kernel.gamma_power)

    def learn(self, X: Floats, y: Floats) -> Floats:
        """Learn from rows in order, ``y`` being -1 and 1; return what f was at each before."""
        points = self._points(X)
        if self.kept is None:
            room = self.budget + 1
            self.kept = Kept(
                np.zeros((X.shape[1], room)), np.zeros(room), np.zeros((room, room)), np.zeros(3, dtype=np.int64),
                np.array([0, 2 * self.seed + 1], dtype=np.uint64), np.zeros(1),
            )  # fmt: skip
        out = np.empty(len(points))
        type(self)._step(
            self.kept, points, np.ascontiguousarray(y, dtype=np.float64), self._compared, self.numbers(), out
        )
        return out

    def evaluate(self, X: Floats) -> Floats:
        """Return f at rows."""
        out = np.zeros(len(X))
        if self.kept is not None:
            values(self.kept, self._points(X), self._compared, out)
        return out


@part()
def drop(k: Any, n: int, i: int) -> None:
    """Take point i out; those after it move up, so that the order stays."""
    for j in range(i, n - 1):
        k.coef[j] = k.coef[j + 1]
        for d in range(k.points.shape[0]):
            k.points[d, j] = k.points[d, j + 1]
    for j in range(n):
        for m in range(i, n - 1):
            k.kernel[j, m] = k.kernel[j, m + 1]
    for j in range(i, n - 1):
        for m in range(n - 1):
            k.kernel[j, m] = k.kernel[j + 1, m]
    k.counts[0] = n - 1


@part()
def append(k: Any, x: Any, coef: float) -> None:
    """Put a point behind the others."""
    n = k.counts[0]
    for d in range(x.size):
        k.points[d, n] = x[d]
    k.coef[n] = coef
    k.counts[0] = n + 1


@njit(cache=True, nogil=True, error_model="numpy")
def values(k: Any, points: Any, compared: Any, out: Any) -> None:
    """Put f at points into ``out``."""
    row = np.empty(k.coef.size)
    for r in range(points.shape[0]):
        kernel_row(k.points, k.counts[0], points[r], compared.pairwise, compared.profile, compared.params, row)
        out[r] = dot(k.coef, row, k.counts[0])
