"""Algorithm 1 of the paper: doubly stochastic kernel learning, serial.

Each step draws random rows, at which the loss is evaluated, and random centres (cols), which expand the kernel map and
whose coefficients move::

    t <- t + 1
    rows ~ unif(1, N),  cols ~ unif(1, N)
    g <- K[rows, cols].T loss'(y[rows], K[rows, cols] coef[cols]) + 2 lambda coef[cols]
    coef[cols] <- coef[cols] - step_size / t * g

The steps fit expansions in ``n_cols`` random terms, so the model that they train is the *average* expansion over
the draw of centres: the coefficients times ``n_cols / n_terms``. The paper looks at the sign of f only, which that
factor leaves alone; margins, probabilities and regression need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.sampling import draw_distinct, draw_with_replacement

from .block_gradient import data_gradient, safe_step, steepness
from .solver import Problem, Solver, Verdict, require
from .state import INFINITY, Floats, PerTerm, Plan, Positive, PositiveOrInfinite, State

SCHEDULES: dict[str, Callable[[int], float]] = {
    "inverse": lambda t: 1.0 / t,
    "inverse_sqrt": lambda t: 1.0 / sqrt(t),
    "constant": lambda t: 1.0,
}


@dataclass(kw_only=True)
class StepState(State):
    """The state of Algorithm 1."""

    late: PerTerm | None = None
    """For averages: each change times the number of steps before it."""
    unit: Positive = 1.0
    cap: PositiveOrInfinite = INFINITY
    """With step_size="auto": the first step, and the largest."""

    def check(self, problem: Problem, solver: Solver[Any]) -> None:
        super().check(problem, solver)
        if not isinstance(solver, DoublyStochastic):
            return
        if (self.late is not None) != solver.average:
            raise ValueError(f"the state's late does not suit average={solver.average!r}")
        n_steps = solver.steps_an_epoch(problem)
        if self.plan is not None and self.plan.done > n_steps:
            raise ValueError(f"the plan's done is {self.plan.done}, of {n_steps} steps")


@dataclass
class DoublyStochastic(BaseEstimator):
    """Algorithm 1.

    Parameters
    ----------
    n_rows : int
        Rows a step, the paper's I.
    n_cols : int
        Centres a step, the paper's J; clipped to the number of terms that there are.
    step_size : float or "auto"
        Factor of every step, 1 in the paper; a number is taken as it is. "auto" is one over the curvature of the loss
        (1 for the hinge, the targets' size for other losses with kinks), and caps each step at what the curvature of
        a random block allows, so that it cannot diverge.
    schedule : {"inverse", "inverse_sqrt", "constant"}
        How steps shrink with their number t: 1/t as in the paper, 1/sqrt(t), or not at all.
    average : bool
        Return the mean of the coefficients over all steps instead of the last ones.
    """

    n_rows: int = 100
    n_cols: int = 100
    step_size: float | str = "auto"
    schedule: str = "inverse"
    average: bool = False

    state_type: ClassVar = StepState

    def validate(self) -> None:
        require(self.n_rows >= 1, self, "n_rows", "at least 1, e.g. 100")
        require(self.n_cols >= 1, self, "n_cols", "at least 1, e.g. 100")
        number = not isinstance(self.step_size, str) and self.step_size > 0
        require(number or self.step_size == "auto", self, "step_size", "'auto' or greater than 0, e.g. 1.0")
        require(self.schedule in SCHEDULES, self, "schedule", f"one of {', '.join(sorted(SCHEDULES))}")

    def start(self, problem: Problem, rng: np.random.Generator) -> StepState:
        coef = np.zeros((problem.gram.n_terms, problem.n_outputs))
        state = StepState(coef, rng, late=np.zeros_like(coef) if self.average else None)
        if self.step_size == "auto":
            state.unit = 1.0 / steepness(problem)
            state.cap = safe_step(problem, *self._draw(problem, rng))
        return state

    def adapt(self, problem: Problem, state: StepState) -> StepState:
        fresh = self.start(problem, state.rng)
        late = state.late if self.average and state.late is not None else fresh.late
        return replace(state, unit=fresh.unit, cap=fresh.cap, late=late, plan=None)

    def epoch(self, problem: Problem, state: StepState) -> Iterator[float]:
        """Run the steps in which each row and each centre is expected once at least."""
        n_steps = self.steps_an_epoch(problem)
        plan = state.plan = state.plan or Plan(state.coef.copy())
        while plan.done < n_steps:
            state.step += 1
            rows, cols = self._draw(problem, state.rng)
            columns = problem.gram.columns(cols)
            gradient, loss = data_gradient(problem, columns, rows, state.coef[cols])
            gradient += 2.0 * problem.penalty * state.coef[cols]
            change = -self._step(state) * gradient
            if not np.isfinite(change).all():
                raise FloatingPointError(self._divergence(problem, rows, cols))
            state.coef[cols] += change
            if state.late is not None:
                state.late[cols] += (state.step - 1) * change
            state.evaluations += len(rows) * len(cols)
            state.add_loss(loss, float(problem.weights[rows].sum()))
            plan.done += 1
            yield plan.done / n_steps
        state.end_epoch()

    def steps_an_epoch(self, problem: Problem) -> int:
        """Return the steps in which each row and each centre is expected once at least."""
        return max(ceil(problem.n_rows / self.n_rows), ceil(problem.gram.n_terms / self.n_cols))

    def judge(self, problem: Problem, state: StepState) -> Verdict:
        return Verdict("change", state.change, problem.tol or 0.0)

    def coefficients(self, problem: Problem, state: StepState) -> Floats:
        coef = state.coef
        if state.late is not None and state.step:
            # sum_s coef_s / t, kept without touching all coefficients each step: the change of step s has been
            # there for t - s + 1 of t steps.
            coef = coef - state.late / state.step
        return coef * (min(self.n_cols, problem.gram.n_terms) / problem.gram.n_terms)

    def _draw(self, problem: Problem, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = draw_with_replacement(rng, problem.n_rows, self.n_rows)
        return rows, draw_distinct(rng, problem.gram.n_terms, self.n_cols)

    def _step(self, state: StepState) -> float:
        shrinking = SCHEDULES[self.schedule](state.step)
        if self.step_size == "auto":
            return min(state.unit * shrinking, state.cap)
        return float(self.step_size) * shrinking

    def _divergence(self, problem: Problem, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> str:
        K = problem.gram.columns(cols).block(rows)
        if not np.isfinite(K).all():
            return (
                f"kernel values are not finite; scale the columns of X, or lower gamma (step_size={self.step_size!r})"
            )
        return (
            f"the coefficients are not finite: step_size={self.step_size!r} of {type(self).__name__} is too large "
            f"for this data; try step_size={safe_step(problem, rows, cols):.1g}, or 'auto'"
        )
