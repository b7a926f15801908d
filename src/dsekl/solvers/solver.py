"""What the solvers share: the problem, and the verbs ``start``, ``adapt``, ``epoch``, ``judge`` and ``coefficients``.

A solver object holds the settings of one way to optimise and never changes. Everything that moves is in a ``State``,
which is whole after every step: a run that goes on from a copy of it, in another process say, ends with the same model
to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from numbers import Integral, Real
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from dsekl.gram import Gram, Reference
from dsekl.losses import Loss
from dsekl.workers import ALONE, Workers

from .state import Floats, State

StateOf = TypeVar("StateOf", bound=State)


@dataclass(frozen=True)
class Problem:
    """Minimise ``sum_i weights_i loss(y_i, f(x_i)) + regularisation``, with f expanded in the terms of the gram.

    ``targets`` is (n_rows, n_outputs), ``weights`` (n_rows,). ``tol`` says when to stop; None leaves it to the solver.
    ``reference`` has the same kernel matrix in float64 with nothing left out, for the certificate; without one, a
    certificate holds in the arithmetic of the gram.
    """

    gram: Gram
    targets: Floats
    weights: Floats
    loss: Loss
    C: float
    workers: Workers = ALONE
    tol: float | None = None
    reference: Reference | None = None

    @property
    def n_rows(self) -> int:
        return len(self.targets)

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    @property
    def hard(self) -> bool:
        """Whether C is infinite: no row may lose anything, and of such f the least is asked for."""
        return bool(np.isinf(self.C))

    @property
    def penalty(self) -> float:
        """The paper's lambda: the factor of the squared norm of the coefficients, ``1 / (C N)``."""
        return 1.0 / (self.C * self.n_rows)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes in which a state declares its arrays."""
        return {"rows": self.n_rows, "terms": self.gram.n_terms, "outputs": self.n_outputs}


@dataclass(frozen=True)
class Verdict:
    """How near a run is to its end: a figure, and the goal that ends the run when the figure is below it."""

    name: str
    value: float
    goal: float

    @property
    def met(self) -> bool:
        return self.value < self.goal


@runtime_checkable
class Solver(Protocol[StateOf]):
    """One way to optimise."""

    state_type: ClassVar[type[State]]
    """The dataclass of its state, which a checkpoint is read as."""

    def validate(self) -> None:
        """Raise ValueError for a setting that makes no sense."""

    def start(self, problem: Problem, rng: np.random.Generator) -> StateOf:
        """Return the state before the first step."""

    def adapt(self, problem: Problem, state: StateOf) -> StateOf:
        """Return a state of this problem, made from one of the same terms but another loss, C, y, weight or setting."""

    def epoch(self, problem: Problem, state: StateOf) -> Iterator[float]:
        """Run one epoch, or what its plan has left; after each step yield the fraction of the epoch that is done."""

    def judge(self, problem: Problem, state: StateOf) -> Verdict:
        """Tell after an epoch how near the end is; changes nothing."""

    def coefficients(self, problem: Problem, state: StateOf) -> Floats:
        """Return the model's coefficients (n_terms, n_outputs)."""


def require(condition: bool, solver: object, parameter: str, right: str) -> None:
    """Raise an error that names the solver's parameter, its value and what would be right."""
    if not condition:
        value = vars(solver)[parameter]
        raise ValueError(f"{parameter}={value!r} of {type(solver).__name__} must be {right}")


_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "int": (Integral, "an integer"),
    "float": (Real, "a number"),
    "bool": ((bool, np.bool_), "True or False"),
    "str": (str, "a name"),
    "None": (type(None), "None"),
}


def check_types(solver: object) -> None:
    """Raise an error for a setting that is not of the type in its annotation, where that is a plain one."""
    for setting in fields(solver) if is_dataclass(solver) else ():
        names = str(setting.type).split(" | ")
        if not all(name in _TYPES for name in names):
            continue
        value = vars(solver)[setting.name]
        truth = isinstance(value, bool | np.bool_)
        right = any(isinstance(value, _TYPES[name][0]) and (name == "bool" or not truth) for name in names)
        require(right, solver, setting.name, " or ".join(_TYPES[name][1] for name in names))
