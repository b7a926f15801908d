"""Block dual ascent: the exact kernel machine, with a certificate.

For a convex loss and the norm of the kernel's space, the dual is ``min over coef of 1/2 coef' K coef + sum_i
conjugate(y_i, coef_i, C_i)``: separable but for K. With the predictions ``F = K coef`` kept for every row, a step is::

    block <- some rows whose own best step would move them
    K[block, block] <- kernel values
    coordinate descent on the block
    F <- F + K[:, block] (change of coef[block])

It is doubly stochastic in the paper's sense (a random block of rows, and the cols that the kernel can reach) and has no
step size. F gives each row's violation of its optimality condition for free, so settled rows cost nothing, and at the
end of each epoch the duality gap: a bound on how far the objective is from the optimum that no sampled method has.

No work is done that the answer does not need. The run starts on a random sixteenth of the rows and doubles it; the
rows that come later enter with their predictions. Rows whose coefficient would stay where it is even if their
prediction were noticeably wrong leave the play: F is not kept up for them. When the rows in play are solved, the others
are predicted anew; only then is the gap a certificate, and those that turn out wrong play on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.base import BaseEstimator

from dsekl.gram import spread
from dsekl.losses import Squared
from dsekl.sampling import draw_blocks

from .acceleration import accelerate
from .certificate import feasible, indefinite, relative_gap
from .contract import Floats, Problem, State, require
from .coordinate import descend, solve_squared, violations
from .shrinking import Standing, confirmed_slack

COARSE, FINE = 0.05, 1e-5
"""Violations that are left alone, as a share of a row's first step: at first, halved each epoch, down to the other."""

EARLY_LEAVERS = 0.05
"""Share of the rows that leave the play each epoch that may be wrong to do so; a tenth when they are found too many."""

WIDEST_GAP = 0.3
"""No run ends of itself further from the optimum than this."""

OPTIMISM = 1.25
"""What the gap turns out to be, over its estimate while rows were away: about 1.2 on MNIST."""

TRUST = 1 / 32
"""How far the estimate may fall below the last exact gap before the rows that are away are looked at again."""

FEWEST_ROWS = 4_000
"""Samples smaller than this are not worth a stage of their own."""


@dataclass
class DualAscent(BaseEstimator):
    """Block dual ascent.

    Parameters
    ----------
    block_size : int
        Rows in a block.
    most_sweeps : int
        Sweeps of coordinate descent over a block.
    grow : bool
        Start on a random sample of the rows and double it, instead of on all.
    shrink : bool
        Keep predictions up to date only for rows whose coefficients may still move.
    """

    block_size: int = 2048
    most_sweeps: int = 20
    grow: bool = True
    shrink: bool = True

    def default_tol(self, problem: Problem, state: State) -> float:
        """Return the gap at which predictions have settled, as a share of the loss that rows had before they joined.

        The gap is relative to the objective on the training rows. Where that is far below the loss of rows not yet
        seen, because the model can fit all it sees, they settle at a wider gap.
        """
        primal = float(state.memory["primal"])
        fresh = problem.C * float(problem.weights.sum()) * float(state.memory["fresh_loss"])
        return min(WIDEST_GAP, problem.loss.settled_gap * (max(1.0, fresh / primal) if primal > 0 else 1.0))

    def validate(self) -> None:
        require(self.block_size >= 1, self, "block_size", "at least 1, e.g. 2048")
        require(self.most_sweeps >= 1, self, "most_sweeps", "at least 1, e.g. 20")

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        gram: Any = problem.basis
        if gram.n_terms != problem.n_rows or not hasattr(gram, "diagonal"):
            raise ValueError("solver='dual' needs expansion='empirical': it has one coefficient for each training row")
        shape = (problem.n_rows, problem.targets.shape[1])
        rank = rng.permutation(problem.n_rows)
        size = problem.n_rows
        while self.grow and size > 2 * FEWEST_ROWS and size > problem.n_rows // 16:
            size //= 2
        nothing, diagonal = np.zeros(shape), gram.diagonal(slice(None))
        first = violations(problem.targets, problem.C * problem.weights, nothing, nothing, diagonal, problem.loss)
        return State(
            np.zeros(shape),
            rng,
            memory={
                "F": np.zeros(shape),
                "C": np.array(problem.C),
                "rank": rank,
                "size": np.array(size),
                "in_play": rank < size,
                "early": np.array(EARLY_LEAVERS),
                "checked": np.array(1.0),
                "primal": np.array(0.0),
                "fresh_loss": np.array(0.0),
                "small": np.array(COARSE),
                "diagonal": diagonal,
                "scale": np.array(first.mean()),
            },
        )

    def adapt(self, problem: Problem, state: State) -> None:
        state.coef = feasible(problem, state.coef, float(state.memory["C"]))
        state.memory = self.start(problem, state.rng).memory
        state.memory["size"] = np.array(problem.n_rows)
        state.plan.clear()
        _predict(problem, state, np.arange(problem.n_rows))

    def epoch(self, problem: Problem, state: State) -> Iterator[float]:
        """Meet every row in play that violates its optimality condition, once; then let rows in and out."""
        size = int(state.memory["size"])
        stage = _Stage(problem, state, np.flatnonzero(state.memory["in_play"]))
        if state.begin_epoch():
            stage.draw_plan(self)
        yield from stage.run(self)
        slack = stage.confirmed_slack() if self.shrink else np.inf
        if size == problem.n_rows:
            if isinstance(problem.loss, Squared):
                accelerate(problem, state)
            small = float(state.memory["small"])
            state.memory["small"] = np.array(min(small, max(FINE, 0.5 * small)))
        else:
            larger = problem.n_rows if 2 * size > problem.n_rows - FEWEST_ROWS else 2 * size
            state.memory["size"] = np.array(larger)
            rank = state.memory["rank"]
            newcomers = np.flatnonzero((rank >= size) & (rank < larger))
            _predict(problem, state, newcomers)
            losses = problem.loss.value(problem.targets[newcomers], state.memory["F"][newcomers]).sum(axis=1)
            state.memory["fresh_loss"] = np.array(np.average(losses, weights=problem.weights[newcomers]))
        if np.isfinite(slack):
            playing = _Stage(problem, state, np.flatnonzero(state.memory["in_play"]))
            state.memory["in_play"][playing.rows[playing.standing().settled(slack)]] = False
        state.end_epoch()

    def shortfall(self, problem: Problem, state: State, tol: float) -> tuple[str, float]:
        if state.memory["size"] < problem.n_rows:
            return "gap", np.inf
        gap = relative_gap(problem, state)
        away = np.flatnonzero(~state.memory["in_play"])
        if len(away):
            estimate = OPTIMISM * gap
            if state.change > 0 and estimate >= max(tol, TRUST * float(state.memory["checked"])):
                return "gap", estimate
            _predict(problem, state, away)
            gap = relative_gap(problem, state)
            if gap > estimate:
                state.memory["early"] = 0.1 * state.memory["early"]
        state.memory["checked"] = np.array(gap)
        if state.change == 0:
            # Nothing left to do at this fineness, and the caller wants more.
            state.memory["small"] = 0.5 * state.memory["small"]
        return "gap", gap

    def coefficients(self, problem: Problem, state: State) -> Floats:
        return state.coef.copy()


class _Stage:
    """One epoch's view of the rows in play: their points gathered once, their predictions in one array."""

    def __init__(self, problem: Problem, state: State, rows: NDArray[np.intp]) -> None:
        self.problem, self.state, self.rows = problem, state, rows
        everything = len(rows) == problem.n_rows
        gram: Any = problem.basis
        self.gram = gram if everything else gram.with_rows(rows)
        self.f = state.memory["F"] if everything else state.memory["F"][rows]
        self.y = problem.targets[rows]
        self.C = problem.C * problem.weights[rows]
        self.diagonal = state.memory["diagonal"][rows]
        self.small = float(state.memory["small"]) * float(state.memory["scale"])

    def violators(self, among: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return which of the rows (numbers within the stage) would move their prediction noticeably."""
        coef = self.state.coef[self.rows[among]]
        sides = self.y[among], self.C[among], coef, self.f[among], self.diagonal[among]
        return among[violations(*sides, self.problem.loss) > self.small]

    def draw_plan(self, solver: DualAscent) -> None:
        """Draw the epoch's blocks, of the rows that are wrong now; note how the rows stand before it."""
        everyone = np.arange(len(self.rows))
        wrong = self.violators(everyone)
        if len(wrong) and len(everyone) <= solver.block_size:
            # One block holds all rows in play, and solves their problem whole.
            blocks = [everyone]
        else:
            in_order = np.isfinite(getattr(self.gram, "reach", np.inf))
            blocks = draw_blocks(self.state.rng, wrong, solver.block_size, in_order)
        self.state.plan["f"] = self.f.copy()
        self.state.plan["blocks"] = np.concatenate([*blocks, wrong[:0]])
        self.state.plan["ends"] = np.cumsum([len(block) for block in blocks], dtype=np.intp)
        self.state.plan["done"] = np.array(0)

    def run(self, solver: DualAscent) -> Iterator[float]:
        """Take the steps that the plan has left."""
        plan = self.state.plan
        blocks = np.split(plan["blocks"], plan["ends"][:-1])
        for done in range(int(plan["done"]), len(plan["ends"])):
            block = blocks[done] if len(self.rows) <= solver.block_size else self.violators(blocks[done])
            if len(block):
                self.step(solver, block)
                self.state.step += 1
                self.keep()
            plan["done"] = np.array(done + 1)
            yield (done + 1) / len(blocks)

    def step(self, solver: DualAscent, block: NDArray[np.intp]) -> None:
        cols = self.rows[block]
        K = self.gram.block(block, cols)
        before = self.state.coef[cols]
        after = before.copy()
        if isinstance(self.problem.loss, Squared):
            try:
                solve_squared(K, self.y[block], self.C[block], after, self.f[block])
            except LinAlgError as error:
                raise indefinite(self.problem, "a negative eigenvalue of a block") from error
        else:
            # With all rows in one block nothing outside waits for the sweeps, so they may go on.
            most_sweeps = solver.most_sweeps * (25 if len(self.rows) <= solver.block_size else 1)

            def one_output(o: int) -> None:
                coef, f = np.ascontiguousarray(after[:, o]), self.f[block, o].astype(K.dtype)
                y = np.ascontiguousarray(self.y[block, o])
                descend(K, y, self.C[block], coef, f, self.problem.loss, most_sweeps, 0.1 * self.small)
                after[:, o] = coef

            spread(one_output, range(after.shape[1]), self.problem.n_threads)
        change = after - before
        moved = np.flatnonzero(change.any(axis=1))
        self.state.coef[cols] = after
        self.state.evaluations += K.size
        self.state.evaluations += self.gram.add_product(cols[moved], change[moved], self.f)

    def keep(self) -> None:
        """Put the stage's predictions back among all."""
        if self.f is not self.state.memory["F"]:
            self.state.memory["F"][self.rows] = self.f

    def standing(self) -> Standing:
        """Return how the rows stand now."""
        coef, f = self.state.coef[self.rows], self.f.copy()
        return Standing.of(self.problem, self.rows, coef, f, self.diagonal)

    def confirmed_slack(self) -> float:
        """Return the slack by which the right rows could have left the play before the epoch."""
        plan = self.state.plan
        before = Standing.of(self.problem, self.rows, plan["coef"][self.rows], plan["f"], self.diagonal)
        now = self.standing()
        moved = (now.coef != before.coef).any(axis=1) | (now.violations() > self.small)
        return confirmed_slack(before, moved, float(self.state.memory["early"]))


def _predict(problem: Problem, state: State, rows: NDArray[np.intp]) -> None:
    """Compute F anew for some rows and let them play."""
    support = np.flatnonzero(state.coef.any(axis=1))
    f = np.zeros((len(rows), state.coef.shape[1]))
    basis: Any = problem.basis
    state.evaluations += basis.with_rows(rows).add_product(support, state.coef[support], f)
    state.memory["F"][rows] = f
    state.memory["in_play"][rows] = True
