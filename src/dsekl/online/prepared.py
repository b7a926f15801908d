"""Compiled functions made ready for a learner, so that a single row costs little.

Numba finds out the types of all arguments at each call, and of function pointers slowly. A learner's arguments have the
same types at every call, so the version for them is looked up once, and called.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from . import dual_steps, odds
from .buffer import Buffer, Floats
from .dual_steps import Ascent, Compared, Rows
from .moments import Moments, observe


class Prepared:
    """The compiled functions of a learner, and those of their arguments that stay."""

    def __init__(self, compared: Compared, steps: Ascent, half_lives: list[float]) -> None:
        self.compared, self.steps = compared, steps
        self.keep = np.exp2(-1.0 / np.array(half_lives))
        self._entries: dict[Any, Any] = {}

    def observe(self, moments: Moments, rows: Floats, weights: Floats) -> None:
        self._call(observe, moments, rows, weights)

    def observe_odds(self, known: Floats, f: Floats, targets: Floats, weights: Floats) -> None:
        self._call(odds.observe, known, f, targets, weights)

    def learn(self, b: Buffer, rows: Rows, n_seen: int, out: Floats) -> None:
        self._call(dual_steps.learn, b, rows, self.compared, self.steps, self.keep, n_seen, out)

    def evaluate(self, b: Buffer, points: Floats, beside: Floats, out: Floats) -> None:
        self._call(dual_steps.evaluate, b, points, beside, self.compared, out)

    def _call(self, function: Any, *arguments: Any) -> None:
        """Call a compiled function; its arrays are contiguous and of one type, whatever the user's were."""
        entry = self._entries.get(function)
        if entry is None:
            types = tuple(map(numba.typeof, arguments))
            if types not in function.overloads:
                function.compile(types)
            entry = self._entries[function] = function.overloads[types].entry_point
        entry(*arguments)
