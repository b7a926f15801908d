"""Optimisers, one a file. ``resolve`` turns a name or an object into a solver."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .doubly_stochastic import DoublyStochastic
from .dual import DualAscent
from .shared_memory import SharedMemory
from .solver import Problem, Solver, Verdict, check_types
from .state import Form, Plan, Range, State

__all__ = [
    "DoublyStochastic",
    "DualAscent",
    "Form",
    "Plan",
    "Problem",
    "Range",
    "SharedMemory",
    "Solver",
    "State",
    "Verdict",
    "resolve",
]

_MOVED = ("Hooks", "Monitor", "Progress", "Validation", "optimise")
"""Names that version 0.1 had here and that now live in ``dsekl.runs``."""

_BY_NAME: dict[str, Solver[Any]] = {
    "doubly_stochastic": DoublyStochastic(),
    "shared_memory": SharedMemory(),
    "dual": DualAscent(),
}


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        return vars(import_module("dsekl.runs"))[name]
    raise AttributeError(f"module 'dsekl.solvers' has no attribute {name!r}; it has {', '.join(__all__)}")


def resolve(solver: str | Solver[Any]) -> Solver[Any]:
    """Return the solver that a name or object stands for, its settings checked."""
    if isinstance(solver, str):
        if solver not in _BY_NAME:
            raise ValueError(f"solver={solver!r} is not known; choose one of {', '.join(sorted(_BY_NAME))}")
        return _BY_NAME[solver]
    if not isinstance(solver, Solver):
        raise ValueError(
            f"solver={solver!r} must be one of {', '.join(sorted(_BY_NAME))}, or an object of dsekl.solvers"
        )
    check_types(solver)
    solver.validate()
    return solver
