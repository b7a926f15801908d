"""The state of a solver in a file, from which its run goes on to the same model to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from dsekl import persistence
from dsekl.persistence import decoded, encoded
from dsekl.runs.fields import from_values, to_values
from dsekl.solvers import Problem, State

StateOf = TypeVar("StateOf", bound=State)


def save_state(path: Path, state: State) -> None:
    """Keep a state."""
    arrays: dict[str, Any] = {}
    values = encoded(to_values(state), "state", arrays, {})
    persistence.write(path, {"kind": "state", "state": values}, arrays)


def load_state(path: Path, kind: type[StateOf], problem: Problem) -> StateOf:
    """Return the state that ``save_state`` kept, checked against its problem."""
    header, arrays = persistence.read(path)
    with persistence.checking(path):
        return from_values(kind, decoded(header["state"], arrays, {}), problem.sizes, "the state")
