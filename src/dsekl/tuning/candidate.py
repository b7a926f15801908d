"""What a search chooses from: estimators, factors of the width, and C."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.search import Lattice

WIDTH_STEPS, C_STEPS = 3, 3
"""The grid: so many steps either way from what the data themselves suggest."""


@dataclass(frozen=True)
class Candidate:
    """Estimator ``arm`` of those given, its own gamma times ``width``, and C."""

    arm: int
    width: float
    C: float

    @property
    def name(self) -> str:
        return f"arm {self.arm}, width {self.width:g}, C {self.C:g}"

    def settings(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Base:
    """What one estimator learns by itself from the rows of each split: gamma and C."""

    gammas: list[NDArray[np.float64]]
    C: float


def candidates_of(arm: int, base: Base, has_width: bool) -> list[Candidate]:
    """Return an estimator's candidates, those nearest to its own choice first, so that they win where errors tie."""
    widths = range(-WIDTH_STEPS, WIDTH_STEPS + 1) if has_width else range(1)
    lattice = Lattice(base.C, widths, range(-C_STEPS, C_STEPS + 1))
    return [Candidate(arm, *lattice.width_and_C(setting)) for setting in lattice.nearest_first()]
