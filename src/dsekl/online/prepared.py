"""Compiled functions made ready for a learner, so that a single row costs little.

Numba finds out the types of all arguments at each call. A learner's arguments have the
same types at every call, so the version for them is looked up once, and called.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from . import row_steps
from .buffer import Buffer, Floats
from .dual_steps import Rows
from .mixture import Mixture
from .row_steps import Known, Scales
from .stream_settings import Settings


class Prepared:
    """The compiled functions of a learner, and those of their arguments that stay."""

    def __init__(self, settings: Settings) -> None:
        self.functions = settings.functions
        """What owns the machine code that ``compared`` and ``steps`` have the addresses of."""
        self.compared, self.steps = settings.compared, settings.ascent
        self.keep = np.exp2(-1.0 / np.array([life for life, _ in settings.machines]))
        self.no_mixture = Mixture.start(0, 1, classes=True)
        """Stands for one where there is none, since the types of arguments are always the same."""
        self._entries: dict[Any, Any] = {}

    def learn(
        self, b: Buffer, known: Known, scales: Scales, X: Floats, rows: Rows, n_seen: int, y: Floats, f: Floats,
        out: Floats,
    ) -> None:  # fmt: skip
        mixes = known.mixture is not None
        known = known if mixes else known._replace(mixture=self.no_mixture)
        arguments = (self.compared, self.steps, self.keep, n_seen, y, f, out)
        self._call(row_steps.take, b, known, mixes, scales, X, rows, *arguments)

    def evaluate(
        self, b: Buffer, mixture: Mixture | None, scales: Scales, X: Floats, beside: Floats, out: Floats
    ) -> None:
        mixes = mixture is not None
        some = mixture if mixes else self.no_mixture
        self._call(row_steps.evaluate, b, some, mixes, scales, X, beside, self.compared, out)

    def _call(self, function: Any, *arguments: Any) -> None:
        """Call a compiled function; its arrays are contiguous and of one type, whatever the user's were."""
        entry = self._entries.get(function)
        if entry is None:
            types = tuple(map(numba.typeof, arguments))
            if types not in function.overloads:
                function.compile(types)
            entry = self._entries[function] = function.overloads[types].entry_point
        entry(*arguments)
