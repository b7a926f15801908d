"""What a search chooses from: kernels and losses, factors of the width, and C."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH_STEP, WIDTH_STEPS = 2.0, 3
C_STEP, C_STEPS = 4.0, 3
"""The grid: so many steps of these factors either way from what the data themselves suggest."""


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


def grid(arm: int, base: Base, has_width: bool) -> list[Candidate]:
    """Return an estimator's candidates, those nearest to its own choice first, so that they win where errors tie."""
    widths = range(-WIDTH_STEPS, WIDTH_STEPS + 1) if has_width else [0]
    steps = sorted(product(widths, range(-C_STEPS, C_STEPS + 1)), key=lambda step: (abs(step[0]) + abs(step[1]), step))
    return [Candidate(arm, WIDTH_STEP**width, base.C * C_STEP**C) for width, C in steps]
