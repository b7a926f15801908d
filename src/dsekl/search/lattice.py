"""Candidates for the width of the kernel and for C: steps of fixed factors from where the data themselves suggest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

WIDTH_STEP, C_STEP = 2.0, 4.0
"""Factors of gamma and of C in one step."""

Setting = tuple[int, int]
"""Steps of the width and of C."""


@dataclass(frozen=True)
class Lattice:
    """All settings within bounds: a range of one step where the width or C is given."""

    first_C: float
    widths: range
    C_steps: range

    def width_and_C(self, setting: Setting) -> tuple[float, float]:
        """Return what a setting stands for: the factor of gamma, and C."""
        return WIDTH_STEP ** setting[0], self.first_C * C_STEP ** setting[1]

    def __contains__(self, setting: Setting) -> bool:
        return setting[0] in self.widths and setting[1] in self.C_steps

    def require(self, setting: Setting) -> None:
        """Raise ValueError for a setting that is out of bounds."""
        if setting not in self:
            raise ValueError(f"{setting} is no setting of widths {self.widths} and steps of C {self.C_steps}")

    def nearest(self, setting: Setting) -> Setting:
        """Return the setting itself, or the one within bounds that is nearest."""
        (width, C), (widths, C_steps) = setting, (self.widths, self.C_steps)
        return min(max(width, widths[0]), widths[-1]), min(max(C, C_steps[0]), C_steps[-1])

    def near(self, setting: Setting) -> list[Setting]:
        """Return the settings one step away."""
        width, C = setting
        steps = [(width + 1, C), (width - 1, C), (width, C + 1), (width, C - 1)]
        return [step for step in steps if step in self]

    def nearest_first(self) -> Iterable[Setting]:
        """Return all settings, those nearest to the suggestion first, so that they win where errors tie."""
        return sorted(product(self.widths, self.C_steps), key=lambda step: (abs(step[0]) + abs(step[1]), step))
