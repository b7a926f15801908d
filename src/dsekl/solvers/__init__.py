"""Optimisers, one a file. ``resolve`` turns a name or an object into a solver."""

from __future__ import annotations

from typing import Any

from .contract import Problem, Solver, State
from .doubly_stochastic import DoublyStochastic
from .dual_ascent import DualAscent
from .loop import Hooks, optimise
from .monitor import Monitor, Validation
from .progress import Progress
from .shared_memory import SharedMemory

__all__ = [
    "DoublyStochastic",
    "DualAscent",
    "Hooks",
    "Monitor",
    "Problem",
    "Progress",
    "SharedMemory",
    "Solver",
    "State",
    "Validation",
    "optimise",
    "resolve",
]

_BY_NAME: dict[str, Any] = {
    "doubly_stochastic": DoublyStochastic(),
    "shared_memory": SharedMemory(),
    "dual": DualAscent(),
}


def resolve(solver: Any) -> Any:
    """Return the solver that a name or object stands for, its settings checked."""
    if isinstance(solver, str):
        if solver not in _BY_NAME:
            raise ValueError(f"solver={solver!r} is not known; choose one of {', '.join(sorted(_BY_NAME))}")
        return _BY_NAME[solver]
    if not hasattr(solver, "epoch"):
        raise ValueError(
            f"solver={solver!r} must be one of {', '.join(sorted(_BY_NAME))}, or an object of dsekl.solvers"
        )
    solver.validate()
    return solver
