"""A fit as something that can be put down and taken up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.solvers import Monitor, State

from .identity import Identity

FIXED = (
    "kernel", "gamma", "expansion", "dtype", "kernel_tol", "early_stopping", "validation_fraction", "X",
)  # fmt: skip
"""What the terms and rows of a run come from: a warm start that changed one of them would go on from another model."""


@dataclass(frozen=True)
class Ground:
    """What is settled before the first step: enough to lay the same ground again on the same data."""

    gamma: float | NDArray[np.float64] | None
    C: float
    attributes: dict[str, Any]
    """What learning gamma told beside it."""
    randomness: Mapping[str, Any]
    """State of the random numbers after all that."""
    whole: bool = True
    """False if Ctrl-C came while gamma was learned: good for a model now, and not to go on from."""


@dataclass
class Run:
    """One fit: what it is of, what it stands on, and how far it is."""

    identity: Identity | None
    seed: int
    ground: Ground | None = None
    state: State | None = None
    monitor: Monitor | None = None
    solver: type | None = None
    shape: tuple[int, ...] = ()
    """Rows and outputs."""
    changed: bool = False
    """Whether the state is one of another problem on the same rows."""

    @property
    def finished(self) -> bool:
        """True for a run that came to its end, for good or for want of epochs."""
        return self.monitor is not None and self.monitor.reason in ("tol", "validation", "max_epochs")
