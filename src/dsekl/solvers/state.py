"""Where a run stands: one typed dataclass for each solver, whole after every step.

The type of a field that holds an array says which shape, type and range it has, in the sizes of its problem
(``Annotated[..., Form(...)]``), and that of a number its range (``Annotated[..., Range(...)]``). So a state can be
written to a checkpoint field by field, and what comes back can be checked before anything is computed from it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .solver import Problem, Solver

Floats = NDArray[np.float64]

INFINITY = float("inf")

LARGEST_SUM = 1e305
"""Float64 ends at 1.8e308."""


@dataclass(frozen=True)
class Form:
    """What an array must be: its shape in named sizes, its type, and for indices the size that they stay below.

    Numbers are finite, and no less than ``least`` where there is one.

    The sizes are "rows", "terms", "outputs" and "features" of the problem, or "any" where nothing else gives one.
    """

    shape: tuple[str, ...]
    dtype: str = "float64"
    below: str | None = None
    least: float | None = None


@dataclass(frozen=True)
class Range:
    """What a number must be: at least ``least``, more than ``above``, at most ``most``; NaN only where it may be."""

    least: float = -sys.float_info.max
    above: float = -INFINITY
    most: float = sys.float_info.max
    nan: bool = False

    def holds(self, value: float) -> bool:
        """Tell whether a number is in the range."""
        return (self.nan and value != value) or (value > self.above and self.least <= value <= self.most)


Count = Annotated[int, Range(0, most=2**63)]
Finite = Annotated[float, Range()]
NotNegative = Annotated[float, Range(0.0)]
Positive = Annotated[float, Range(above=0.0)]
PositiveOrInfinite = Annotated[float, Range(above=0.0, most=INFINITY)]
Share = Annotated[float, Range(0.0, most=1.0)]

PerRow = Annotated[Floats, Form(("rows", "outputs"))]
PerTerm = Annotated[Floats, Form(("terms", "outputs"))]
PerFeature = Annotated[Floats, Form(("features",))]


def can_be_added(coef: Floats) -> bool:
    """Tell whether sums of coefficients, each times a kernel value, are finite."""
    with np.errstate(over="ignore"):
        return bool(np.abs(coef).sum() < LARGEST_SUM)


def can_be_squared(coef: Floats) -> bool:
    """Tell whether coefficients are small enough for their squares to be added up."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.square(coef).sum()))


@dataclass
class Plan:
    """The epoch that is under way: the model's coefficients at its start, and how many of its steps are done."""

    coef: PerTerm
    done: Count = 0


@dataclass
class State:
    """What every solver's state has. Between epochs there is no plan."""

    coef: PerTerm
    rng: np.random.Generator
    epoch: Count = 0
    step: Count = 0
    evaluations: Count = 0
    change: NotNegative = 0.0
    """How far the last epoch moved the model's coefficients, in the L2 norm."""
    loss_sum: Finite = 0.0
    loss_weight: NotNegative = 0.0
    plan: Plan | None = None

    def check(self, problem: Problem, solver: Solver[Any]) -> None:
        """Raise ValueError where fields that are right by themselves do not fit each other, or this problem."""
        if not can_be_squared(self.coef):
            raise ValueError("the state's coef is too large for its squares to be added up")

    def end_epoch(self, coef: Floats | None = None) -> None:
        """Count the epoch and forget its plan; ``coef`` are the model's coefficients where the state's are not."""
        assert self.plan is not None
        self.change = float(np.linalg.norm((self.coef if coef is None else coef) - self.plan.coef))
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
