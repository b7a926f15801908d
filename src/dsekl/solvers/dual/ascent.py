"""Block dual ascent: the exact kernel machine to a stated gap, with a certificate.

For a convex loss and the norm of the kernel's space, the dual is ``min over coef of 1/2 coef' K coef + sum_i
conjugate(y_i, coef_i, C_i)``: separable but for K. With the predictions ``F = K coef`` kept for every row, a step is::

    block <- some rows whose own best step would move them
    K[block, block] <- kernel values
    coordinate descent on the block
    F <- F + K[:, block] (change of coef[block])

It is doubly stochastic in the paper's sense (a random block of rows, and the centres that the kernel can reach) and has
no step size. F gives each row's violation of its optimality condition for free, so settled rows cost nothing, and at
the end of each epoch the duality gap: a bound on how far the objective is from the optimum that no sampled method has.

No work is done that the answer does not need. The run starts on a random sixteenth of the rows and doubles it; the
rows that come later enter with their predictions. Rows whose coefficient would stay where it is even if their
prediction were noticeably wrong leave the active set: F is not kept up for them. When the active rows are solved, the
others are predicted anew; only then is the gap a certificate, and violators are reactivated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.gram.gram import LARGEST, without_square

from ..solver import Problem, Verdict, require
from ..state import Floats
from . import conjugate
from .acceleration import accelerate
from .active_rows import ActiveRows
from .block import violations
from .certificate import Certificate, audited, certify, certify_sample, feasible
from .definite import require_definite
from .dual_state import DualState

COARSE, FINE = 0.05, 1e-5
"""Violations that are left alone, as a share of a row's first step: at first, halved each epoch, down to the other."""

TOLERATED_SHARE = 0.05
"""Share of the rows leaving the active set in an epoch that may be wrong to do so; a tenth when they are too many."""

WIDEST_GAP = 0.3
"""No run ends of itself further from the optimum than this."""

OPTIMISM = 1.25
"""What the gap turns out to be, over its estimate while rows were inactive: about 1.2 on MNIST."""

TRUST = 1 / 32
"""How far the estimate may fall below the last exact gap before the inactive rows are looked at again."""

FEWEST_ROWS = 4_000
"""Samples smaller than this are not worth a stage of their own."""

MOST_WAITED = 8
"""Further epochs that the last sample may take before it is doubled; each costs a quarter of one on all rows."""

MOST_KEPT, FEWEST_KEPT = 2**16, 2**13
"""Predictions of the last newcomers that are kept, and the rows that are kept however many outputs there are."""

FACTORS = 1e-100, 1e100
"""What C times a weight may be."""

SLOW = 0.6
"""Share of the gap that a slow epoch leaves."""


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
        Keep predictions up to date only for the active set: rows whose coefficients may still move.

    See Also
    --------
    DoublyStochastic : The paper's Algorithm 1.
    SharedMemory : The paper's Algorithm 2, on several cores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.solvers import DualAscent
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(gamma=0.5, C=10.0, solver=DualAscent(block_size=64), random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    """

    block_size: int = 2048
    most_sweeps: int = 20
    grow: bool = True
    shrink: bool = True

    state_type: ClassVar = DualState

    def validate(self) -> None:
        require(self.block_size >= 1, self, "block_size", "at least 1, e.g. 2048")
        require(self.most_sweeps >= 1, self, "most_sweeps", "at least 1, e.g. 20")

    def grows(self, n_rows: int) -> bool:
        """Tell whether a fit of so many rows starts on a sample of them."""
        return self.grow and n_rows > 2 * FEWEST_ROWS

    def first_size(self, n_rows: int) -> int:
        """Return how many of so many rows are in the first sample."""
        size = n_rows
        while self.grows(size) and size > n_rows // 16:
            size //= 2
        return size

    def start(self, problem: Problem, rng: np.random.Generator) -> DualState:
        if not problem.gram.symmetric:
            raise ValueError("solver='dual' needs expansion='empirical': it has one coefficient for each training row")
        _require_moderate(problem)
        shape = (problem.n_rows, problem.n_outputs)
        rank = rng.permutation(problem.n_rows)
        size = self.first_size(problem.n_rows)
        nothing, diagonal = np.zeros(shape), problem.gram.diagonal()
        if not diagonal.max() <= LARGEST:  # where there is an optimum, no value between two rows is larger
            raise without_square(float(diagonal.max()))
        first = violations(problem.targets, problem.C * problem.weights, nothing, nothing, diagonal, problem.loss)
        return DualState(
            np.zeros(shape),
            rng,
            evaluations=require_definite(problem, diagonal, rank),
            F=np.zeros(shape),
            C=problem.C,
            rank=rank,
            size=size,
            active=rank < size,
            diagonal=diagonal,
            scale=float(first.mean()),
            threshold=COARSE,
            tolerated_share=TOLERATED_SHARE,
        )

    def adapt(self, problem: Problem, state: DualState) -> DualState:
        adapted = replace(
            self.start(problem, state.rng),
            coef=feasible(problem, state.coef, state.C),
            size=problem.n_rows,
            epoch=state.epoch,
            step=state.step,
            evaluations=state.evaluations,
        )
        _predict(problem, adapted, np.arange(problem.n_rows))
        return adapted

    def epoch(self, problem: Problem, state: DualState) -> Iterator[float]:
        """Meet every active row that violates its optimality condition, once; then let rows in and out."""
        rows = ActiveRows(problem, state)
        if state.plan is None:
            wide = problem.loss.quadratic and conjugate.is_wide(rows, self.block_size)
            state.plan = conjugate.plan(rows, self.block_size) if wide else rows.plan(self)
        together = state.plan.image is not None
        yield from conjugate.run(rows, state.plan) if together else rows.run(self, state.plan)
        slack = rows.confirmed_slack(state.plan) if self.shrink and not together else np.inf
        if together or (problem.loss.quadratic and state.size == problem.n_rows):
            accelerate(problem, state)
        if state.size < problem.n_rows:
            if _may_grow(problem, state):
                _grow(problem, state)
        else:
            state.threshold = min(state.threshold, max(FINE, 0.5 * state.threshold))
        if np.isfinite(slack):
            now = ActiveRows(problem, state)
            state.active[now.rows[now.conditions().settled(slack)]] = False
        state.end_epoch()
        before = state.gap
        if state.size < problem.n_rows:
            state.gap = np.inf
        else:
            measure_gap(_AllRows(problem, state), state, lambda: _goal(problem, state))
        state.slow = slow_epochs(before, state)

    def judge(self, problem: Problem, state: DualState) -> Verdict:
        return Verdict("gap", state.gap, _goal(problem, state))

    def coefficients(self, problem: Problem, state: DualState) -> Floats:
        return state.coef.copy()


class Measurable(Protocol):
    """The rows of a run, as far as its gap is to be measured."""

    @property
    def n_inactive(self) -> int: ...

    def certify(self) -> Certificate:
        """Measure the gap with the predictions that are kept."""

    def predict_inactive(self) -> None:
        """Predict the rows anew that are not active, and make them so."""

    def audit(self, goal: float) -> Certificate | None:
        """Measure the gap in float64 with nothing left out; None where nobody can."""


def measure_gap(rows: Measurable, state: DualState, goal: Callable[[], float]) -> None:
    """Measure the gap: an estimate will do while it is far above the goal, else all rows become active first.

    ``goal`` may depend on the primal objective that is measured.
    """
    _take(rows.certify(), state)
    if rows.n_inactive:
        estimate = OPTIMISM * state.gap
        if state.change > 0 and estimate >= max(goal(), TRUST * state.exact_gap):
            state.gap = estimate
            return
        rows.predict_inactive()
        _take(rows.certify(), state)
        if state.gap > estimate:
            state.tolerated_share *= 0.1
    wanted = goal()
    found = rows.audit(wanted) if state.gap < wanted else None
    if found is not None:
        _take(found, state)
    state.exact_gap = state.gap
    if state.change == 0:
        # Nothing is left to do at this threshold, and the gap may still be above the goal.
        state.threshold *= 0.5


@dataclass(frozen=True)
class _AllRows:
    """The rows of a run in one process."""

    problem: Problem
    state: DualState

    @property
    def n_inactive(self) -> int:
        return int(np.count_nonzero(~self.state.active))

    def certify(self) -> Certificate:
        return certify(self.problem, self.state)

    def predict_inactive(self) -> None:
        _predict(self.problem, self.state, np.flatnonzero(~self.state.active))

    def audit(self, goal: float) -> Certificate | None:
        reference = self.problem.reference
        return None if reference is None else audited(self.problem, self.state, reference, goal)


def slow_epochs(before: float, state: DualState) -> int:
    """Return how many epochs in a row have lowered the gap by little, the last from what it was ``before``."""
    return state.slow + 1 if np.isfinite(before) and state.gap > SLOW * before else 0


def _goal(problem: Problem, state: DualState) -> float:
    """Return the gap that ends the run: the user's, or the one at which predictions have settled.

    The gap is relative to the objective on the training rows. Where that is far below the loss that rows had before
    they joined, because the model can fit all it sees, predictions settle at a wider gap.
    """
    if problem.tol is not None:
        return problem.tol
    if problem.hard:
        return problem.loss.settled_gap
    return settled_gap(problem, state, state.primal, float(problem.weights.sum()))


def settled_gap(problem: Problem, state: DualState, primal: float, weight: float) -> float:
    """Return the gap at which predictions have settled, of rows with a primal objective and a sum of weights."""
    unseen = problem.C * weight * state.unseen_loss
    widening = max(1.0, unseen / primal) if primal > 0 else 1.0
    return min(WIDEST_GAP, problem.loss.settled_gap * widening)


def _require_moderate(problem: Problem) -> None:
    """Raise ValueError for factors of the loss whose squares, or those of 1 over them, have no float64 numbers."""
    if problem.hard:
        return
    least, most = problem.C * float(problem.weights.min()), problem.C * float(problem.weights.max())
    if not (FACTORS[0] <= least and most <= FACTORS[1]):
        raise ValueError(
            f"C={problem.C!r} times sample weights from {least / problem.C:.3g} to {most / problem.C:.3g} must "
            f"stay between {FACTORS[0]} and {FACTORS[1]}; choose a C nearer to 1, or scale sample_weight"
        )


def _take(found: Certificate, state: DualState) -> None:
    state.gap, state.primal, state.loss_sum, state.loss_weight = found.gap, found.primal, found.loss, found.weight


def next_size(n_rows: int, size: int) -> int:
    """Return how many of so many rows are in the sample after one of a ``size``."""
    return n_rows if 2 * size > n_rows - FEWEST_ROWS else 2 * size


def _may_grow(problem: Problem, state: DualState) -> bool:
    """Tell whether the sample is ready to be doubled; if not, it goes on with smaller violations.

    The last sample is solved first: what it predicts for the other half of the rows, which it has not seen, is to tell
    how far predictions can be trusted.
    """
    if next_size(problem.n_rows, state.size) < problem.n_rows or state.waited == MOST_WAITED or problem.hard:
        return True
    found = certify_sample(problem, state)
    if found.gap < max(problem.tol or 0.0, settled_gap(problem, state, found.primal, found.weight)):
        return True
    state.waited += 1
    state.threshold = 0.5 * state.threshold
    return False


def _grow(problem: Problem, state: DualState) -> None:
    """Double the sample; the rows that join are predicted by the model that has not seen them."""
    larger = next_size(problem.n_rows, state.size)
    newcomers = np.flatnonzero((state.rank >= state.size) & (state.rank < larger))
    state.size, state.threshold = larger, COARSE
    state.preconditioner = state.past_coef = state.past_F = None
    state.conjugate_epochs = 0
    _predict(problem, state, newcomers)
    if larger == problem.n_rows:
        most = max(FEWEST_KEPT, MOST_KEPT // problem.n_outputs)
        kept = newcomers[state.rank[newcomers] < larger - len(newcomers) + most]
        state.newcomers, state.newcomers_F = kept, state.F[kept]
    losses = problem.loss.value(problem.targets[newcomers], state.F[newcomers]).sum(axis=1)
    state.unseen_loss = float(np.average(losses, weights=problem.weights[newcomers]))


def _predict(problem: Problem, state: DualState, rows: NDArray[np.intp]) -> None:
    """Compute F anew for some rows and make them active."""
    support = np.flatnonzero(state.coef.any(axis=1))
    f = np.zeros((len(rows), state.coef.shape[1]))
    state.evaluations += problem.gram.with_rows(rows).add_product(support, state.coef[support], f)
    state.F[rows] = f
    state.active[rows] = True
