"""Algorithm 1 of the paper: doubly stochastic kernel learning, serial.

Each step draws random rows, at which the loss is evaluated, and random centres (cols), whose coefficients move. The
paper's own steps take f from these centres alone::

    t <- t + 1
    rows ~ unif(1, N),  cols ~ unif(1, N)
    g <- K[rows, cols].T loss'(y[rows], K[rows, cols] coef[cols]) + 2 lambda coef[cols]
    coef[cols] <- coef[cols] - step_size / t * g

They fit expansions in ``n_cols`` random terms, so the model that they train is the *average* expansion over the draw of
centres: the coefficients times ``n_cols / n_terms``. The paper looks at the sign of f only, which that factor leaves
alone; margins, probabilities and regression need it.

The default, preconditioned steps draw the same, take f from all centres, and divide the gradient by the curvature of
the block (``preconditioner``). Their gradient is that of eq. 4, unbiased but for its scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.gram import transposed_times
from dsekl.sampling import draw_distinct, draw_with_replacement

from . import preconditioner
from .averaging import AveragedState, power_of, schedule_of
from .block_gradient import CurvatureBound, data_gradient, diverged, safe_step, sizes, steepness
from .solver import Problem, Solver, Verdict, require
from .state import Floats, Plan, Positive

SCHEDULES: dict[str, Callable[[int], float]] = {
    "inverse": lambda t: 1.0 / t,
    "inverse_sqrt": lambda t: 1.0 / sqrt(t),
    "constant": lambda t: 1.0,
}

LARGE_VALUES = 1e15
"""Kernel values beyond which they are to blame where steps diverge: their fourth powers may have no number."""

STEPS = ("preconditioned", "paper")


@dataclass(kw_only=True)
class StepState(AveragedState):
    """The state of Algorithm 1."""

    unit: Positive = 1.0
    """Factor of the steps with step_size="auto"."""

    def check(self, problem: Problem, solver: Solver[Any]) -> None:
        super().check(problem, solver)
        if not isinstance(solver, DoublyStochastic):
            return
        self.check_mean(solver.average, solver.steps)
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
        Factor of every step. "auto" is 1 for preconditioned steps, and half of that after each step that proves too
        long. For the paper's steps, whose factor is 1, it is one over the curvature of the loss (1 for the hinge, the
        targets' size for other losses with kinks), and each step is at most what the curvature of its own block allows.
        A number is taken as it is.
    schedule : {"auto", "inverse", "inverse_sqrt", "constant"}
        How steps shrink with their number t: 1/t as in the paper, 1/sqrt(t), or not at all. Preconditioned steps count
        epochs in place of steps. "auto" is the paper's for its steps; for preconditioned ones it is "constant" where
        they are averaged, and "inverse_sqrt" where they are not.
    average : bool or "auto"
        Return a mean of the coefficients over all steps instead of the last ones. All of the paper's steps count the
        same; preconditioned ones, which start further off, count more the later they are. "auto" is True for
        preconditioned steps, and False for the paper's.
    steps : {"preconditioned", "paper"}
        Newton's steps on the block with f from all centres, or the paper's gradient steps with f from its own.

    See Also
    --------
    SharedMemory : The paper's Algorithm 2, on several cores.
    DualAscent : The default: exact, with a duality gap.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.solvers import DoublyStochastic
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(gamma=0.5, C=10.0, solver=DoublyStochastic(50, 50), random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    n_rows: int = 100
    n_cols: int = 100
    step_size: float | str = "auto"
    schedule: str = "auto"
    average: bool | str = "auto"
    steps: str = "preconditioned"

    state_type: ClassVar = StepState

    def validate(self) -> None:
        require(self.n_rows >= 1, self, "n_rows", "at least 1, e.g. 100")
        require(self.n_cols >= 1, self, "n_cols", "at least 1, e.g. 100")
        number = not isinstance(self.step_size, str) and self.step_size > 0
        require(number or self.step_size == "auto", self, "step_size", "'auto' or greater than 0, e.g. 1.0")
        known = ", ".join(sorted(SCHEDULES))
        require(self.schedule == "auto" or self.schedule in SCHEDULES, self, "schedule", f"'auto' or one of {known}")
        require(self.average in (True, False, "auto"), self, "average", "'auto', True or False")
        require(self.steps in STEPS, self, "steps", f"one of {', '.join(STEPS)}")

    def start(self, problem: Problem, rng: np.random.Generator) -> StepState:
        coef = np.zeros((problem.gram.n_terms, problem.n_outputs))
        state = StepState(coef, rng)
        state.start_mean(self.average, self.steps)
        if self.step_size == "auto":
            state.unit = 1.0 / steepness(problem) if self.steps == "paper" else preconditioner.FIRST_STEP
        return state

    def adapt(self, problem: Problem, state: StepState) -> StepState:
        fresh = self.start(problem, state.rng)
        adapted = replace(state, unit=fresh.unit, plan=None)
        adapted.start_mean(self.average, self.steps)
        return adapted

    def epoch(self, problem: Problem, state: StepState) -> Iterator[float]:
        """Run the steps in which each row and each centre is expected once at least."""
        n_steps = self.steps_an_epoch(problem)
        plan = state.plan = state.plan or Plan(state.mean(power_of(self.steps)))
        change_of = self._papers_change if self.steps == "paper" else self._preconditioned_change
        while plan.done < n_steps:
            state.step += 1
            rows, cols = self._draw(problem, state.rng)
            change, loss = change_of(problem, state, rows, cols)
            if diverged(problem, loss, rows) or not np.isfinite(change).all():
                raise FloatingPointError(self._divergence(problem, rows, cols))
            state.move(cols, change, power_of(self.steps))
            state.count_step()
            state.add_loss(loss, float(problem.weights[rows].sum()))
            plan.done += 1
            yield plan.done / n_steps
        state.end_epoch(state.mean(power_of(self.steps)))

    def steps_an_epoch(self, problem: Problem) -> int:
        """Return the steps in which each row and each centre is expected once at least."""
        return max(ceil(problem.n_rows / self.n_rows), ceil(problem.gram.n_terms / self.n_cols))

    def _papers_change(
        self, problem: Problem, state: StepState, rows: NDArray[np.intp], cols: NDArray[np.intp]
    ) -> tuple[Floats, float]:
        """Return the change of the centres' coefficients, and the rows' loss."""
        bound = CurvatureBound(len(cols)) if self.step_size == "auto" else None
        gradient, loss = data_gradient(problem, problem.gram.columns(cols), rows, state.coef[cols], bound=bound)
        gradient += 2.0 * problem.penalty * state.coef[cols]
        step = self._step(state)
        if bound is not None:
            curvature = float(problem.weights[rows].max()) * steepness(problem) * bound.value
            step = min(step, 1.0 / (curvature + 2.0 * problem.penalty))
        state.evaluations += len(rows) * len(cols)
        return -step * gradient, loss

    def _preconditioned_change(
        self, problem: Problem, state: StepState, rows: NDArray[np.intp], cols: NDArray[np.intp]
    ) -> tuple[Floats, float]:
        """Return the change of the centres' coefficients, and the rows' loss."""
        rows = np.sort(rows)
        moved = np.flatnonzero(state.coef.any(axis=1))
        f = problem.gram.product(rows, moved, state.coef[moved])
        y, weights = problem.targets[rows], problem.weights[rows, None]
        loss = float((weights * problem.loss.value(y, f)).sum())
        nothing = float((weights * problem.loss.value(y, np.zeros_like(f))).sum())
        if self.step_size == "auto" and loss > preconditioner.WORSE_THAN_NOTHING * nothing:
            state.unit = max(0.5 * state.unit, preconditioner.SHORTEST)
        K = problem.gram.block(rows, cols)
        gradient = transposed_times(K, weights * problem.loss.gradient(y, f)) / len(rows)
        gradient += 2.0 * problem.penalty / problem.n_rows * state.coef[cols]
        state.evaluations += len(rows) * (len(moved) + len(cols))
        return -self._step(state) * preconditioner.direction(problem, K, rows, gradient), loss

    def judge(self, problem: Problem, state: StepState) -> Verdict:
        return Verdict("change", state.change, problem.tol or 0.0)

    def coefficients(self, problem: Problem, state: StepState) -> Floats:
        coef = state.mean(power_of(self.steps))
        if self.steps == "preconditioned":
            return coef
        return coef * (min(self.n_cols, problem.gram.n_terms) / problem.gram.n_terms)

    def _draw(self, problem: Problem, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = draw_with_replacement(rng, problem.n_rows, self.n_rows)
        return rows, draw_distinct(rng, problem.gram.n_terms, self.n_cols)

    def _step(self, state: StepState) -> float:
        """Return the factor of the step."""
        schedule = schedule_of(self.average, self.steps) if self.schedule == "auto" else self.schedule
        shrinking = SCHEDULES[schedule](state.step if self.steps == "paper" else state.epoch + 1)
        return (state.unit if self.step_size == "auto" else float(self.step_size)) * shrinking

    def _divergence(self, problem: Problem, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> str:
        K = problem.gram.columns(cols).block(rows)
        if not np.abs(K).max(initial=0.0) <= LARGE_VALUES:
            return (
                f"kernel values are not finite, or too large for such steps; scale the columns of X, or lower gamma "
                f"(step_size={self.step_size!r})"
            )
        smaller = safe_step(problem, rows, cols) if self.steps == "paper" else preconditioner.FIRST_STEP
        advice = "solver='dual'" if self.step_size == "auto" else f"step_size={smaller:.1g}, or 'auto'"
        return (
            f"the steps diverge: step_size={self.step_size!r} of {type(self).__name__} is too large for "
            f"{sizes(problem)}; try {advice}"
        )
