"""What a user decides on, for machines that learn one row at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dsekl import losses
from dsekl.compiled import FunctionPointer, pointer, profile_signature
from dsekl.kernels import RBF, VectorKernel
from dsekl.losses import Loss, Quantile

from .buffer import Floats
from .buffer_points import PAIRWISE
from .callbacks import SHRINK, STEP, address_of
from .dual_steps import Ascent, Compared
from .maintenance import WAYS

HALF_LIVES = (np.inf, 1000.0, 100.0)
"""In rows, of ``half_life="auto"``."""

C_VALUES = {True: (1.0, 0.1, 10.0), False: (10.0, 1.0, 100.0)}
"""Of ``C="auto"``, for classes and for numbers."""

MOST_BUDGET = 4096
"""Points up to which the kernel values of all pairs are held."""

MOST_COLS = 4096
"""Random points that may take a step with each row: a row must come to its end."""

LARGEST_C = 1e100
"""C, and 1 over it, must have products with weights and kernel values."""

OVERFLOW = (
    "the predictions of these rows are no finite numbers: their numbers, or those of the rows before, are too large "
    "for this kernel; scale the columns of X, and begin anew"
)
"""The error of a machine that cannot go on."""


@dataclass(frozen=True)
class Settings:
    """What a user decides on; ``classes`` tells whether targets are -1 and 1."""

    kernel: VectorKernel
    loss: Loss
    gamma: float | Floats | str = "auto"
    C: float | str = 1.0
    budget: int = 500
    maintenance: str = "merge"
    half_life: float | str | None = None
    n_cols: int = 32
    classes: bool = True
    supervised: bool = True
    beyond_two: Loss | None = None
    """The loss from three classes on, where it is another one."""

    def __post_init__(self) -> None:
        if not isinstance(self.C, str) and not 1.0 / LARGEST_C <= self.C <= LARGEST_C:
            raise ValueError(f"C={self.C!r} must be from {1.0 / LARGEST_C:g} to {LARGEST_C:g}, e.g. 1.0")
        if self.budget > MOST_BUDGET and self.maintenance not in ("merge", "absorb"):
            raise ValueError(
                f"maintenance={self.maintenance!r} is for budgets up to {MOST_BUDGET:,}; with budget={self.budget} "
                "points are absorbed: set maintenance='absorb'"
            )

    def for_outputs(self, n_outputs: int) -> Settings:
        """Return the settings with the loss of so many outputs: one for two classes, one for each of more."""
        if self.beyond_two is None or n_outputs < 3:
            return self
        return replace(self, loss=self.beyond_two, beyond_two=None)

    @property
    def machines(self) -> tuple[tuple[float, float], ...]:
        """The half-life and the C of each machine: the first C forgets at all rates, the others at the first."""
        if self.half_life is None:
            lives: tuple[float, ...] = (np.inf,)
        else:
            lives = HALF_LIVES if isinstance(self.half_life, str) else (float(self.half_life),)
        first, *others = C_VALUES[self.classes] if isinstance(self.C, str) else (float(self.C),)
        return (*((life, first) for life in lives), *((lives[0], C) for C in others))

    @property
    def first_C(self) -> float:
        return self.machines[0][1]

    @property
    def way(self) -> str:
        """The maintenance that the kernel allows: points between two others are known for Gaussians alone."""
        return "absorb" if self.maintenance == "merge" and not isinstance(self.kernel, RBF) else self.maintenance

    @property
    def functions(self) -> tuple[FunctionPointer, FunctionPointer, FunctionPointer]:
        """The compiled functions whose addresses ``compared`` and ``ascent`` have: to be kept as long as these."""
        return (
            pointer(self.kernel.profile(), profile_signature("float64")),
            pointer(self.loss.dual_step(), STEP),
            pointer(WAYS[self.way], SHRINK),
        )

    @property
    def compared(self) -> Compared:
        return Compared(PAIRWISE[self.kernel.pairwise], address_of(self.functions[0]), self.kernel.params())

    @property
    def ascent(self) -> Ascent:
        tilt = 0.0 if self.classes else self.loss.shape if isinstance(self.loss, Quantile) else 0.5
        _, step, shrink = map(address_of, self.functions)
        return Ascent(
            step,
            float(self.loss.shape),
            np.array([C for _, C in self.machines]),
            self.n_cols,
            shrink,
            tilt,
            self.classes and self.supervised,
        )


def stream_losses(loss: str | Loss, task: str) -> tuple[Loss, Loss | None]:
    """Return the loss that a name or object stands for, and that from three classes on, where it is another one.

    "auto": hinges of one class against the rest say the same of all classes where none is likelier than the others
    together; squared ones do not.
    """
    if task == "classification" and isinstance(loss, str) and loss == "auto":
        return losses.resolve("hinge", task), losses.resolve("squared_hinge", task)
    return losses.resolve(loss, task), None
