"""Algorithm 1 of the paper: doubly stochastic kernel learning, serial.

Each step draws random rows, at which the loss is evaluated, and random cols, which expand the kernel map and
whose coefficients move::

    t <- t + 1
    rows ~ unif(1, N),  cols ~ unif(1, N)
    g <- K[rows, cols].T loss'(y[rows], K[rows, cols] coef[cols]) + 2 lambda coef[cols]
    coef[cols] <- coef[cols] - step_size / t * g

The steps fit expansions in ``n_cols`` random terms, so the model that they train is the *average* expansion over
the draw of cols: the coefficients times ``n_cols / n_terms``. The paper looks at the sign of f only, which that
factor leaves alone; margins, probabilities and regression need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.sampling import draw_distinct, draw_with_replacement

from .contract import Floats, Problem, State, require
from .gradient import data_gradient, safe_step, steepness

SCHEDULES: dict[str, Callable[[int], float]] = {
    "inverse": lambda t: 1.0 / t,
    "inverse_sqrt": lambda t: 1.0 / sqrt(t),
    "constant": lambda t: 1.0,
}


@dataclass
class DoublyStochastic(BaseEstimator):
    """Algorithm 1.

    Parameters
    ----------
    n_rows : int
        Rows a step, the paper's I.
    n_cols : int
        Cols a step, the paper's J; clipped to the number of terms that there are.
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

    def default_tol(self, problem: Problem, state: State) -> float:
        return 0.0

    def validate(self) -> None:
        require(self.n_rows >= 1, self, "n_rows", "at least 1, e.g. 100")
        require(self.n_cols >= 1, self, "n_cols", "at least 1, e.g. 100")
        number = not isinstance(self.step_size, str) and self.step_size > 0
        require(number or self.step_size == "auto", self, "step_size", "'auto' or greater than 0, e.g. 1.0")
        require(self.schedule in SCHEDULES, self, "schedule", f"one of {', '.join(sorted(SCHEDULES))}")

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        coef = np.zeros((problem.basis.n_terms, problem.targets.shape[1]))
        state = State(coef, rng, memory={"late": np.zeros_like(coef)} if self.average else {})
        if self.step_size == "auto":
            state.memory["unit"] = np.array(1.0 / steepness(problem))
            state.memory["cap"] = np.array(safe_step(problem, *self._draw(problem, rng)))
        return state

    def adapt(self, problem: Problem, state: State) -> None:
        fresh = self.start(problem, state.rng)
        state.memory = {**fresh.memory, **{name: state.memory[name] for name in ("late",) if name in state.memory}}
        state.plan.clear()

    def epoch(self, problem: Problem, state: State) -> Iterator[float]:
        """Run the steps in which each row and each col is expected once at least."""
        n_steps = max(ceil(problem.n_rows / self.n_rows), ceil(problem.basis.n_terms / self.n_cols))
        if state.begin_epoch():
            state.plan["done"] = np.array(0)
        for done in range(int(state.plan["done"]) + 1, n_steps + 1):
            state.step += 1
            rows, cols = self._draw(problem, state.rng)
            columns = problem.basis.columns(cols)
            gradient, loss = data_gradient(problem, columns, rows, state.coef[cols])
            gradient += 2.0 * problem.penalty * state.coef[cols]
            change = -self._step(state) * gradient
            if not np.isfinite(change).all():
                raise FloatingPointError(self._divergence(problem, rows, cols))
            state.coef[cols] += change
            if self.average:
                state.memory["late"][cols] += (state.step - 1) * change
            state.evaluations += len(rows) * len(cols)
            state.add_loss(loss, problem.weights[rows].sum())
            state.plan["done"] = np.array(done)
            yield done / n_steps
        state.end_epoch()

    def shortfall(self, problem: Problem, state: State, tol: float) -> tuple[str, float]:
        return "change", state.change

    def coefficients(self, problem: Problem, state: State) -> Floats:
        coef = state.coef
        if self.average and state.step:
            # sum_s coef_s / t, kept without touching all coefficients each step: the change of step s has been
            # there for t - s + 1 of t steps.
            coef = coef - state.memory["late"] / state.step
        return coef * (min(self.n_cols, problem.basis.n_terms) / problem.basis.n_terms)

    def _draw(self, problem: Problem, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = draw_with_replacement(rng, problem.n_rows, self.n_rows)
        return rows, draw_distinct(rng, problem.basis.n_terms, self.n_cols)

    def _step(self, state: State) -> float:
        shrinking = SCHEDULES[self.schedule](state.step)
        if self.step_size == "auto":
            return min(float(state.memory["unit"]) * shrinking, float(state.memory["cap"]))
        return float(self.step_size) * shrinking

    def _divergence(self, problem: Problem, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> str:
        K = problem.basis.columns(cols).block(rows)
        if not np.isfinite(K).all():
            return (
                f"kernel values are not finite; scale the columns of X, or lower gamma (step_size={self.step_size!r})"
            )
        return (
            f"the coefficients are not finite: step_size={self.step_size!r} of {type(self).__name__} is too large "
            f"for this data; try step_size={safe_step(problem, rows, cols):.1g}, or 'auto'"
        )
