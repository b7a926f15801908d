"""The active set in one epoch: which of its rows are wrong, and the steps over their blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from dsekl.kernels import known_definite
from dsekl.losses import BoxedLoss
from dsekl.sampling import draw_blocks

from ..solver import Problem
from ..state import Floats
from .block import descend, solve_squared, violations
from .certificate import overflow
from .definite import indefinite
from .dual_state import DualPlan, DualState
from .free import free_rows
from .interior import solve_boxed
from .shrinking import Conditions, confirmed_slack

if TYPE_CHECKING:
    from .ascent import DualAscent

SWEEPS_OF_ONE_BLOCK = 25
"""Factor of the sweeps where all rows are in one block: nothing outside waits for them, so they may go on."""

SLOW_EPOCHS = 3
"""Slow epochs in a row before the next also solves for all free rows."""

FREE_BLOCKS = 4
"""Blocks of free rows beyond which none of them is solved for as one."""

INNER_PRECISION = 0.1
"""Violations that a block leaves alone, over those that put a row into it."""


class ActiveRows:
    """One epoch's view of the active set: its points gathered once, its predictions in one array."""

    def __init__(self, problem: Problem, state: DualState) -> None:
        self.problem, self.state, self.rows = problem, state, np.flatnonzero(state.active)
        everything = len(self.rows) == problem.n_rows
        self.gram = problem.gram if everything else problem.gram.with_rows(self.rows)
        self.f = state.F if everything else state.F[self.rows]
        self.y = problem.targets[self.rows]
        self.C = problem.C * problem.weights[self.rows]
        self.diagonal = state.diagonal[self.rows]
        self.small = state.threshold * state.scale

    def violators(self, among: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return which of the rows (numbers within the active set) would move their prediction noticeably."""
        coef = self.state.coef[self.rows[among]]
        sides = self.y[among], self.C[among], coef, self.f[among], self.diagonal[among]
        return among[violations(*sides, self.problem.loss) > self.small]

    def plan(self, solver: DualAscent) -> DualPlan:
        """Draw the epoch's blocks, of the rows that are wrong now; note how the rows stand before it."""
        everyone = np.arange(len(self.rows))
        wrong = self.violators(everyone)
        if len(wrong) and len(everyone) <= solver.block_size:
            # One block holds all active rows, and solves their problem whole.
            blocks = [everyone]
        else:
            blocks = draw_blocks(self.state.rng, wrong, solver.block_size, in_order=np.isfinite(self.gram.reach))
            if blocks and self.state.slow >= SLOW_EPOCHS and isinstance(self.problem.loss, BoxedLoss):
                # It is filled at its turn, with the rows that are free then.
                blocks.append(wrong[:0])
        ends = np.cumsum([len(block) for block in blocks], dtype=np.intp)
        joined = np.concatenate([*blocks, wrong[:0]])
        return DualPlan(self.state.coef.copy(), f=self.f.copy(), blocks=joined, ends=ends)

    def run(self, solver: DualAscent, plan: DualPlan) -> Iterator[float]:
        """Take the steps that the plan has left."""
        blocks = np.split(plan.blocks, plan.ends[:-1])
        while plan.done < len(plan.ends):
            block = blocks[plan.done]
            closing = not len(block)
            if closing:
                most = FREE_BLOCKS * solver.block_size
                block = free_rows(self.conditions(), self.small, most)[: solver.block_size]
            elif len(self.rows) > solver.block_size:
                block = self.violators(block)
            if len(block):
                alone = len(self.rows) <= solver.block_size
                # The first sweeps over one block often are enough for the gap, though they have not settled.
                whole = closing or (alone and self.state.epoch > 0)
                most_sweeps = solver.most_sweeps * (SWEEPS_OF_ONE_BLOCK if alone else 1)
                self.step(solver, block, whole, most_sweeps)
                self.state.step += 1
                self.keep()
            plan.done += 1
            yield plan.done / len(blocks)

    def step(self, solver: DualAscent, block: NDArray[np.intp], whole: bool, most_sweeps: int) -> None:
        """Solve one block, and carry its change to the predictions of all active rows.

        A block that is to be solved as a ``whole`` is, where its sweeps do not settle it.
        """
        cols = self.rows[block]
        K = self.gram.block(block, cols)
        before = self.state.coef[cols]
        after = before.copy()
        if self.problem.loss.quadratic:
            self.solve(K, block, after)
        else:
            loss, small = self.problem.loss, INNER_PRECISION * self.small

            def one_output(o: int) -> None:
                coef, f = np.ascontiguousarray(after[:, o]), self.f[block, o].astype(K.dtype)
                sides = K, np.ascontiguousarray(self.y[block, o]), self.C[block], coef, f
                unsettled = descend(*sides, loss, most_sweeps, small) > small
                if unsettled and whole and isinstance(loss, BoxedLoss) and solve_boxed(*sides, loss):
                    descend(*sides, loss, solver.most_sweeps, small)
                after[:, o] = coef

            self.problem.workers.map(one_output, range(after.shape[1]))
        change = after - before
        moved = np.flatnonzero(change.any(axis=1))
        self.state.coef[cols] = after
        self.state.evaluations += K.size
        self.state.evaluations += self.gram.add_product(cols[moved], change[moved], self.f)

    def solve(self, K: NDArray[Any], block: NDArray[np.intp], coef: Floats) -> None:
        """Move the block's coefficients to their optimum, for a quadratic loss."""
        kernel = self.problem.gram.kernel
        known = known_definite(kernel)
        try:
            solve_squared(K, self.y[block], self.C[block], coef, self.f[block], known)
        except LinAlgError as error:
            raise overflow(self.problem) if known else indefinite(kernel, "a block without Cholesky factor") from error

    def keep(self) -> None:
        """Put the predictions of the active rows back among all."""
        if self.f is not self.state.F:
            self.state.F[self.rows] = self.f

    def conditions(self) -> Conditions:
        """Return the optimality conditions of the rows as they are now."""
        coef, f = self.state.coef[self.rows], self.f.copy()
        return Conditions.of(self.problem, self.rows, coef, f, self.diagonal)

    def confirmed_slack(self, plan: DualPlan) -> float:
        """Return the slack by which the right rows could have left the active set before the epoch."""
        before = Conditions.of(self.problem, self.rows, plan.coef[self.rows], plan.f, self.diagonal)
        now = self.conditions()
        moved = (now.coef != before.coef).any(axis=1) | (now.violations() > self.small)
        return confirmed_slack(before, moved, self.state.tolerated_share)
