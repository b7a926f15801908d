"""A kind of machine: all that is chosen but its width and C, and over what these are searched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Pairwise, VectorKernel
from dsekl.losses import Loss
from dsekl.rows import Reshaping
from dsekl.search import Lattice, Setting

from .planes import NOTHING, Beside

FIRST_C = 4.0
WIDEST, NARROWEST, MOST_C_STEPS, MOST_RIDGE_STEPS = -9, 4, 5, 12
"""How far from where the neighbours' mean would have it a search may go; ridge without noise may want a C of 1e8."""

WIDEST_OF_LAPLACIAN = -13
"""A very wide laplacian is a sum over the columns that bends at the points; smooth kernels become polynomials there,
which run away beyond the points."""

MANY_ROWS, C_STEPS_OF_MANY = 10_000, 2
VERY_MANY_ROWS, C_STEPS_OF_VERY_MANY = 100_000, 1
"""Rows from which on C goes no further than so many steps, but for ridge: with a large C a fit of many rows takes more
epochs than it is given, and a few thousand held-out rows do not see that."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """A machine but for its width and C; ``gammas`` weigh squared distances: one array a split, the model's last."""

    kernel_name: str
    kernel: VectorKernel
    loss_name: str
    loss: Loss
    reshaping: Reshaping | None
    gammas: list[Floats]
    beside: Beside = NOTHING

    @property
    def scale(self) -> str:
        """The name of the columns' scale."""
        return "raw" if self.reshaping is None else self.reshaping.name

    @property
    def name(self) -> str:
        own = f"{self.kernel_name}, {self.loss_name}, {self.scale}"
        return own if self.beside == NOTHING else f"{own}, {self.beside.name}"

    def lattice(self, C: float | None, n_rows: int = 0) -> Lattice:
        """Return the widths and C that are searched for so many rows; C alone where it is given."""
        most = MOST_C_STEPS
        if self.loss.quadratic:
            most = MOST_RIDGE_STEPS
        elif n_rows > MANY_ROWS:
            most = C_STEPS_OF_VERY_MANY if n_rows > VERY_MANY_ROWS else C_STEPS_OF_MANY
        C_steps = range(-MOST_C_STEPS, most + 1) if C is None else range(1)
        widest = WIDEST_OF_LAPLACIAN if self.kernel.pairwise is Pairwise.MANHATTAN else WIDEST
        return Lattice(FIRST_C if C is None else C, range(widest, NARROWEST + 1), C_steps)

    def gamma(self, squared: Floats, factor: float = 1.0) -> Floats:
        """Return the kernel's own gamma for points scaled as a squared distance of ``factor * squared`` asks."""
        return np.asarray((factor * squared) ** (0.5 / self.kernel.gamma_power))

    def gamma_and_C(self, squared: Floats, setting: Setting, C: float | None) -> tuple[Floats, float]:
        """Return what a setting of the lattice stands for; a given C stays."""
        factor, chosen_C = self.lattice(C).width_and_C(setting)
        return self.gamma(squared, factor), chosen_C
