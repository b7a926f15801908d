"""Where a run stands: one typed dataclass for each solver, whole after every step.

The type of a field that holds an array says which shape, type and range it has, in the sizes of its problem
(``Annotated[..., Form(...)]``). So a state can be written to a checkpoint field by field, and what comes back can be
checked before anything is computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """What an array must be: its shape in named sizes, its type, and for indices the size that they stay below.

    The sizes are "rows", "terms", "outputs" and "features" of the problem, or "any" where nothing else gives one.
    """

    shape: tuple[str, ...]
    dtype: str = "float64"
    below: str | None = None


PerRow = Annotated[Floats, Form(("rows", "outputs"))]
PerTerm = Annotated[Floats, Form(("terms", "outputs"))]
PerFeature = Annotated[Floats, Form(("features",))]


@dataclass
class Plan:
    """The epoch that is under way: the coefficients at its start, and how many of its steps are done."""

    coef: PerTerm
    done: int = 0


@dataclass
class State:
    """What every solver's state has. Between epochs there is no plan."""

    coef: PerTerm
    rng: np.random.Generator
    epoch: int = 0
    step: int = 0
    evaluations: int = 0
    change: float = 0.0
    """How far the last epoch moved the coefficients, in the L2 norm."""
    loss_sum: float = 0.0
    loss_weight: float = 0.0
    plan: Plan | None = None

    def check(self) -> None:
        """Raise ValueError where fields that are right by themselves do not fit each other."""
        if self.plan is not None and self.plan.done < 0:
            raise ValueError(f"the plan's done is {self.plan.done}")

    def end_epoch(self) -> None:
        """Count the epoch and forget its plan."""
        assert self.plan is not None
        self.change = float(np.linalg.norm(self.coef - self.plan.coef))
        self.plan = None
        self.epoch += 1

    def add_loss(self, total: float, weight: float) -> None:
        """Count the loss of some rows toward the epoch's training loss."""
        self.loss_sum += total
        self.loss_weight += weight

    def training_loss(self) -> float:
        """Return the mean loss over the rows seen since the last call."""
        mean = float(self.loss_sum / self.loss_weight) if self.loss_weight else float("nan")
        self.loss_sum = self.loss_weight = 0.0
        return mean
