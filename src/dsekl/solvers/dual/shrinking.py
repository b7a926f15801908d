"""Which rows may leave the active set: those that would not move even if their predictions were noticeably wrong.

How wrong is "noticeably" depends on how much predictions still move, and that on the data: with a wide kernel they
drift together, with a narrow one each neighbourhood on its own. So each epoch is also a test of the rule: of the rows
that could have left before it under some slack, how many moved in it?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..solver import Problem
from ..state import Floats
from .block import violations

SLACKS = (0.1, 0.2, 0.4, 0.8)
"""Errors of a prediction, as shares of the targets' size, that a row may have to bear unmoved."""


@dataclass(frozen=True)
class Conditions:
    """The optimality conditions of some rows: targets, C, coefficients, predictions, k(x, x)."""

    problem: Problem
    y: Floats
    C: Floats
    coef: Floats
    f: Floats
    diagonal: Floats

    @staticmethod
    def of(problem: Problem, rows: NDArray[np.intp], coef: Floats, f: Floats, diagonal: Floats) -> Conditions:
        """Return the conditions of ``rows``, with coefficients and predictions as they are now."""
        return Conditions(problem, problem.targets[rows], problem.C * problem.weights[rows], coef, f, diagonal)

    def violations(self, error: float = 0.0) -> Floats:
        """Return how far each row's best own step would move its prediction, if that were wrong by ``error``."""
        f = self.f + error if error else self.f
        return violations(self.y, self.C, self.coef, f, self.diagonal, self.problem.loss)

    def settled(self, slack: float) -> NDArray[np.bool_]:
        """Tell which rows would not move at all if their predictions were wrong by ``slack``, up or down."""
        slack *= float(np.sqrt(np.square(self.problem.targets).mean()))
        return np.asarray((self.violations(-slack) == 0) & (self.violations(slack) == 0))


def confirmed_slack(before: Conditions, moved: NDArray[np.bool_], share: float) -> float:
    """Return the least slack under which at most a ``share`` of the rows that could leave moved; infinity for none."""
    for slack in SLACKS:
        could_leave = before.settled(slack)
        if could_leave.any() and np.count_nonzero(moved & could_leave) <= share * np.count_nonzero(could_leave):
            return slack
    return np.inf
