"""The points that an online machine keeps, with all that is known of them: a few arrays, of one size for ever.

``f(x) = sum_j k(x, x_j) coef_j`` over the points of the buffer. Memory is taken when the buffer is made, and never
after: ``capacity`` is the budget and one more, the row that has just come in. Points lie feature by feature, so that
the loop over points is the inner one.

There may be several machines on one buffer, that forget at different rates. ``coef``, ``f`` and ``average`` then have
a line for each output of the first, then for each of the second, and so on; ``mass`` has one for each machine. What is
stored of a machine is to be multiplied by its factor: forgetting is one multiplication.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

part = partial(numba.njit, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")
"""Compile a part of the few functions that Python calls."""

N_SCRATCH = 4

SIZE, RANDOM = 0, 1
"""Places among the counts: how many points there are, and the state of the random numbers."""

FACTOR, REGRET, AVERAGE_REGRET = 0, 1, 2
"""Lines of the machines: what is stored is to be multiplied by it; the recent losses, of f and of its average."""

LABEL, ARRIVAL, SCRATCH = 0, 1, 2
"""The last lines. Points of one label may be merged; arrival is the number of the last row that a point stands for."""


class Buffer(NamedTuple):
    """Few arrays for many things, since compiled functions pass each of them on; ``split`` names the parts."""

    points: Floats
    """(n_features, capacity), scaled by gamma."""
    kernel: Floats
    """(capacity, capacity): the kernel values of the points with each other."""
    lines: Floats
    """(n_lines, capacity): all that a point has beside its features."""
    machines: Floats
    """(3, n_machines)."""
    counts: NDArray[np.uint64]
    """(2,)."""
    outputs: int

    @staticmethod
    def empty(n_features: int, n_outputs: int, n_machines: int, budget: int, seed: int) -> Buffer:
        """Return a buffer without points."""
        capacity = budget + 1
        machines = np.zeros((3, n_machines))
        machines[FACTOR] = 1.0
        return Buffer(
            np.zeros((n_features, capacity)),
            np.zeros((capacity, capacity)),
            np.zeros((n_lines(n_outputs, n_machines) + N_SCRATCH, capacity)),
            machines,
            np.array([0, seed * 2 + 1], dtype=np.uint64),
            n_outputs,
        )

    @property
    def n_points(self) -> int:
        return int(self.counts[SIZE])

    @property
    def parts(self) -> Parts:
        """Views of the lines by name."""
        return Parts(*split.py_func(self))


def n_lines(n_outputs: int, n_machines: int) -> int:
    """Return how many lines say something of a point, those for intermediate results left out."""
    return 3 * n_outputs * n_machines + 2 * n_outputs + n_machines + SCRATCH


class Parts(NamedTuple):
    """Lines of a buffer, each with a column for each point."""

    coef: Floats
    f: Floats
    """The predictions at the points, kept up to date."""
    average: Floats
    """The mean of recent coefficients, which predicts beside them."""
    targets: Floats
    mass: Floats
    """The weight of all rows that a point stands for, which bounds its coefficients."""
    rest: Floats
    beside: Floats
    """What a batch model that went online adds to f at the points, beside the sum over them; else 0."""


@part()
def split(b: Any) -> Any:
    """Return the lines of a buffer by their meaning."""
    outputs, machines = b.outputs, b.machines.shape[1]
    each = outputs * machines
    own, masses = 3 * each + outputs, 3 * each + 2 * outputs
    return (
        b.lines[:each], b.lines[each : 2 * each], b.lines[2 * each : 3 * each], b.lines[3 * each : own],
        b.lines[masses : masses + machines], b.lines[masses + machines :], b.lines[own:masses],
    )  # fmt: skip
