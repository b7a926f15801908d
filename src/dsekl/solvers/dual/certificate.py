"""The certificate of dual ascent: the duality gap, a bound on how far the objective is from its optimum.

It holds for coefficients that the dual allows, which ``feasible`` makes of others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solver import Problem
from ..state import Floats
from .dual_state import DualState

NEGATIVE = 1e-3
"""How far below 0 what cannot be negative may be found, as a share of the objective."""

ROUNDING = 1e-6
"""Error of a kernel value in float32, which large coefficients multiply."""


@dataclass(frozen=True)
class Certificate:
    """The relative gap, the primal objective, and the summed loss of the rows with its weight."""

    gap: float
    primal: float
    loss: float
    weight: float


def certify(problem: Problem, state: DualState) -> Certificate:
    """Measure (primal - dual) / primal, which no optimum can be further away than.

    Every row adds a part that is not negative, and 0 where the row is settled; so predictions that are out of date for
    settled rows give a fair estimate, and those of today the bound.

    A row with k(x, x) = 0, such as an empty one under the linear kernel, moves no prediction: whatever its coefficient
    should be, it adds the same to both sides, and is left out.
    """
    counted = state.diagonal > 0
    F, coef, y = state.F[counted], state.coef[counted], problem.targets[counted]
    weights = problem.weights[counted, None]
    C = problem.C * weights
    quadratic = 0.5 * float((coef * F).sum())
    loss = problem.loss.value(y, F)
    primal = quadratic + float((C * loss).sum())
    dual = -quadratic - float(problem.loss.conjugate(y, coef, C).sum())
    gap = (primal - dual) / max(abs(primal), np.finfo(np.float64).tiny)
    rounding = ROUNDING * float(np.square(np.abs(coef).sum(axis=0)).sum()) * float(state.diagonal.max())
    lowest = -NEGATIVE * abs(primal) - rounding
    if state.active.all() and not (gap >= -NEGATIVE and quadratic >= lowest):
        negative = f"coef' K coef = {2 * quadratic:.3g}" if quadratic < lowest else f"a duality gap of {gap:.3g}"
        raise indefinite(problem, negative)
    return Certificate(gap, primal, float((weights * loss).sum()), float(weights.sum()))


def feasible(problem: Problem, coef: Floats, former_C: float) -> Floats:
    """Return coefficients of a problem with ``former_C`` as ones that the dual of this problem allows.

    Bounds grow and shrink with C, so what is out of bounds shrinks as C did; what still is starts again from 0.
    """
    C = problem.C * problem.weights[:, None]
    for otherwise in (coef * min(1.0, problem.C / former_C), np.zeros_like(coef)):
        coef = np.where(np.isfinite(problem.loss.conjugate(problem.targets, coef, C)), coef, otherwise)
    return coef


def indefinite(problem: Problem, sign: str) -> ValueError:
    """Return the error for a kernel that is no kernel: with one, neither the gap nor coef' K coef can be negative."""
    return ValueError(
        f"kernel={problem.gram.kernel!r} is not positive semi-definite on this data (found by {sign}), so "
        "solver='dual' has no optimum to find. Choose another kernel or other parameters for it, or "
        "solver='doubly_stochastic'."
    )
