"""A state that was read from a file, checked against the rows that the parts have."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from dsekl.sampling import is_permutation
from dsekl.solvers import Problem
from dsekl.solvers.dual.dual_state import NEAR, DualState

from .ascent_in_parts import PartsAscent
from .part import Part
from .part_state import Own

Floats = NDArray[np.float64]


def check(ascent: PartsAscent, problem: Problem, state: DualState) -> None:
    """Raise ValueError for a state that no fit of these parts can have come to."""
    n = ascent.parts.n_rows
    if state.C != problem.C:
        raise ValueError(f"the state's C is {state.C!r}, and the problem's is {problem.C!r}")
    if not 1 <= state.size <= n:
        raise ValueError(f"the state's size {state.size} is no sample of {n} rows")
    if any(part is not None for part in (state.plan, state.newcomers, state.past_coef, state.past_F)):
        raise ValueError("the state is one of a fit on one machine")
    owns = ascent.owns_of(state)
    sizes = ascent.standing.part_sizes(state.size)
    reach = reduce(add, ascent.tasks.gather("reach", reach_of, ascent.parts.parts, owns))
    for words in ascent.tasks.gather("check", what_is_wrong, ascent.parts.parts, owns, sizes, reach):
        if words is not None:
            raise ValueError(words)


def reach_of(part: Part, own: Own) -> Floats:
    """Return the largest prediction that a part's coefficients can give a row x with k(x, x) = 1, for each output."""
    return np.asarray((np.sqrt(np.abs(part.own_diagonal))[:, None] * np.abs(own.coef)).sum(axis=0))


def what_is_wrong(part: Part, own: Own, size: int, reach: Floats) -> str | None:
    """Return what a part's rows cannot be, in words; None if all is well."""
    rows = part.region.rows
    if not is_permutation(own.rank, len(rows)) or (own.active & (own.rank >= size)).any():
        return f"the state's rank and active rows are no sample of part {part.number}"
    allowed = part.objective.loss.conjugate(rows.targets, (1.0 - 1e-6) * own.coef, part.C[:, None])
    if not np.isfinite(allowed).all():
        return "the state's coef holds numbers that the dual of this problem does not allow"
    # Cauchy and Schwarz: k(x, z)^2 is at most k(x, x) k(z, z).
    largest = (1.0 + NEAR) * np.sqrt(np.abs(part.own_diagonal))[:, None] * reach
    if (np.abs(own.F) > largest + NEAR)[own.active].any():
        return "the state's F holds predictions that its coefficients cannot give"
    return None
