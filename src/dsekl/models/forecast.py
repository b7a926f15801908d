"""What a fit will cost, in pairs of rows that are compared, so that a bar can tell how far it is.

The figures were read off fits of 1,800 to 60,000 rows. They need not be right: a time left that is wrong by less than
half serves.
"""

from __future__ import annotations

from dsekl import metric
from dsekl.runs import Work
from dsekl.solvers import DualAscent

from .examples import Examples
from .machine import Machine

RIDGE_PASSES, PASSES, SWEEPS = 20, 1, 6
"""How often a solver's whole run compares all pairs, for a quadratic loss and for others. These also sweep over blocks,
for each output: that takes as long as so many comparisons of all pairs if one block holds all rows."""


def foretold(machine: Machine, examples: Examples) -> Work:
    """Return the work of the search and of the solver."""
    if not isinstance(machine.solver, DualAscent):
        return Work()
    n, n_outputs = examples.targets.shape
    quadratic = machine.usual_loss.quadratic
    swept = min(1.0, machine.solver.block_size / n)
    solver = float(n) ** 2 * (RIDGE_PASSES if quadratic else PASSES + SWEEPS * n_outputs * swept)
    search = metric.pairs(n, max(1, examples.rows.n_features), n_outputs, machine.usual_loss)
    return Work(search, solver, slowing=2.0 if quadratic else 1.0)
