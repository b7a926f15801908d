"""What a fit will cost, in pairs of rows that are compared, so that a bar can tell how far it is.

The figures were read off fits of 1,300 to 560,000 rows. They need not be right: a time left that is wrong by less than
half serves (``benchmarks/time_left.py`` measures it).
"""

from __future__ import annotations

from dsekl import metric
from dsekl.runs import Work
from dsekl.solvers import DualAscent

from .examples import Examples
from .machine import Machine

RIDGE_PASSES = 14
"""How often the whole run of a solver compares all pairs, for a quadratic loss."""

PAIRS_A_ROW, OUTPUTS_POWER = 3e4, 0.35
"""For the other losses, pairs that take as long as a row does, whose pairs are mostly out of reach or at rest; and how
that grows with the outputs."""


def foretold(machine: Machine, examples: Examples) -> Work:
    """Return the work of the search and of the solver."""
    if not isinstance(machine.solver, DualAscent):
        return Work()
    n, n_outputs = examples.targets.shape
    quadratic = machine.usual_loss.quadratic
    solver = RIDGE_PASSES * float(n) ** 2 if quadratic else PAIRS_A_ROW * n * n_outputs**OUTPUTS_POWER
    search = metric.pairs(n, max(1, examples.rows.n_features), n_outputs, machine.usual_loss)
    return Work(search, solver)
