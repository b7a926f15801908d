"""What the solvers share: the problem, the state of a run, and the verbs ``start``, ``epoch``, ``coefficients``.

A solver object holds the settings of one way to optimise and never changes. Everything that moves is in a
``State``, which is whole after every step: a run that goes on from a copy of it, in another process say, ends with the
same model to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsekl.expansions import Basis
from dsekl.losses import Loss

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Minimise ``sum_i weights_i loss(y_i, f(x_i)) + regularisation``, f expanded in the basis.

    ``targets`` is (n_rows, n_outputs), ``weights`` (n_rows,).
    """

    basis: Basis
    targets: Floats
    weights: Floats
    loss: Loss
    C: float
    n_threads: int

    @property
    def n_rows(self) -> int:
        return len(self.targets)

    @property
    def penalty(self) -> float:
        """The paper's lambda: the factor of the squared norm of the coefficients, ``1 / (C N)``."""
        return 1.0 / (self.C * self.n_rows)


@dataclass
class State:
    """Where a run stands.

    ``memory`` holds the arrays that one solver keeps beside the coefficients, ``plan`` those of the epoch that is under
    way: the coefficients at its start, and what is left of it. Between epochs the plan is empty.
    """

    coef: Floats
    rng: np.random.Generator
    epoch: int = 0
    step: int = 0
    evaluations: int = 0
    memory: dict[str, NDArray[Any]] = field(default_factory=dict)
    plan: dict[str, NDArray[Any]] = field(default_factory=dict)
    change: float = 0.0
    """How far the last epoch moved the coefficients, in the L2 norm."""
    loss_sum: float = 0.0
    loss_weight: float = 0.0

    def begin_epoch(self) -> bool:
        """Begin a new epoch and return True; or False, if one is under way and its plan stands."""
        if self.plan:
            return False
        self.plan["coef"] = self.coef.copy()
        return True

    def end_epoch(self) -> None:
        """Count the epoch and forget its plan."""
        self.change = float(np.linalg.norm(self.coef - self.plan["coef"]))
        self.plan.clear()
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


class Solver(Protocol):
    """One way to optimise."""

    def default_tol(self, problem: Problem, state: State) -> float:
        """Return what ``tol=None`` stands for by now; 0 where the solver has no stopping rule of its own."""

    def validate(self) -> None:
        """Raise ValueError for a setting that makes no sense."""

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        """Return the state before the first step."""

    def adapt(self, problem: Problem, state: State) -> None:
        """Make a state of this problem from one with the same basis but other targets, weights, loss, C or settings."""

    def epoch(self, problem: Problem, state: State) -> Iterator[float]:
        """Run one epoch, or what its plan has left; after each step yield the fraction of the epoch that is done."""

    def shortfall(self, problem: Problem, state: State, tol: float) -> tuple[str, float]:
        """Return the name and value of what ``tol`` bounds, after an epoch.

        A value under ``tol`` ends the run, so it must be exact; above it, an estimate will do.
        """

    def coefficients(self, problem: Problem, state: State) -> Floats:
        """Return the model's coefficients (n_terms, n_outputs)."""


def require(condition: bool, solver: Any, parameter: str, right: str) -> None:
    """Raise an error that names the solver's parameter, its value and what would be right."""
    if not condition:
        value = getattr(solver, parameter)
        raise ValueError(f"{parameter}={value!r} of {type(solver).__name__} must be {right}")
