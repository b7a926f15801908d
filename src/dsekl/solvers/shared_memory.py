"""Algorithm 2 of the paper: parallel, on one shared vector of coefficients.

Each epoch cuts a permutation of the rows and one of the centres (cols) into batches. For each batch of rows, the
workers take the batches of centres in parallel; every coefficient belongs to one batch, so no two workers ever write to
the same place::

    G <- 1
    while not converged:
        for each batch of rows:
            for each batch of cols, in parallel on worker k:
                g[cols] <- gradient as in Algorithm 1
                G[cols] <- G[cols] + g[cols]^2
            coef <- coef - learning_rate / epoch * G^(-1/2) g

That is the paper's step. The default, preconditioned one divides the gradient by the curvature of each block of centres
in place of the root of G (``preconditioner``).

"As in Algorithm 1" can be read in two ways. ``gradient="local"`` takes f from the worker's own centres;
``gradient="global"`` sums f over all centres first, at the price of one barrier between workers, and steps along the
true gradient. It does not matter to the global reading which centres share a batch; where the kernel decays, batches
are neighbours in space and most pairs are never evaluated.

The result does not depend on the number of workers or on their timing, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.gram import Columns, times, transposed_times
from dsekl.gram.gram import Array
from dsekl.sampling import cut, draw_distinct, is_permutation
from dsekl.workers import ALONE, Threads, Workers, chunks

from . import preconditioner
from .averaging import AveragedState, power_of, schedule_of
from .block_gradient import data_gradient, diverged, sizes
from .doubly_stochastic import SCHEDULES, STEPS
from .preconditioner import MOST_COLS, MOST_ROWS
from .solver import Problem, Solver, Verdict, require
from .state import Floats, Form, PerTerm, Plan, Positive

MOST_PAIRS_LEFT = 0.4
"""Share of the pairs within reach below which two pruned products beat one whole block and its way through memory."""

PAPERS_RULE = 1.0
"""Change of the coefficients in an epoch, in the L2 norm, under which the paper stops."""

PROBED_ROWS = 100
PROBED_COLS = 1000

Indices = NDArray[np.intp]
Batches = list[Indices]


@dataclass(kw_only=True)
class BatchPlan(Plan):
    """An epoch's order of the rows and of the centres, which batches are cut from."""

    rows: Annotated[Indices, Form(("rows",), "intp", below="rows")]
    cols: Annotated[Indices, Form(("terms",), "intp", below="terms")]


@dataclass(kw_only=True)
class SharedState(AveragedState):
    """The state of Algorithm 2."""

    G: PerTerm
    rate: Positive
    prune: bool
    """Whether pairs that the kernel cannot reach are skipped."""
    plan: BatchPlan | None = None

    def check(self, problem: Problem, solver: Solver[Any]) -> None:
        super().check(problem, solver)
        if self.G.min(initial=1.0) < 1.0:
            raise ValueError("the state's G, 1 and more squares, is below 1")
        if not isinstance(solver, SharedMemory):
            return
        if solver.learning_rate not in ("auto", self.rate):
            raise ValueError(f"the state's rate is {self.rate!r}, and learning_rate={solver.learning_rate!r}")
        self.check_mean(solver.average, solver.steps)
        if self.prune and not solver.may_prune(problem):
            raise ValueError("the state's prune skips pairs of a kernel that reaches all of them")
        if self.plan is None:
            return
        for name, order, n in (("rows", self.plan.rows, problem.n_rows), ("cols", self.plan.cols, len(self.coef))):
            if not is_permutation(order, n):
                raise ValueError(f"the plan's {name} do not hold each of {n} once")
        n_batches = -(-problem.n_rows // solver.n_rows)
        if self.plan.done > n_batches:
            raise ValueError(f"the plan's done is {self.plan.done}, of {n_batches} batches")


@dataclass(frozen=True)
class _Batch:
    """What a batch of rows says: their loss, and the gradient on each batch of centres."""

    rows: Indices
    loss: float
    col_batches: Batches
    gradients: list[Floats]


@dataclass
class SharedMemory(BaseEstimator):
    """Algorithm 2.

    Parameters
    ----------
    n_rows, n_cols : int
        Size of the batches of rows and of centres, clipped to what there is.
    n_workers : int or None
        Worker threads; None takes the estimator's ``n_jobs``.
    learning_rate : float or "auto"
        Factor of every step. "auto" is 1 for preconditioned steps, and half of that after each batch of rows that
        proves it too long. For the paper's steps it is 1 for labels, as in the paper; for real targets it is the rate
        at which the first step moves f by about their size. The paper's steps are divided by the number of the epoch,
        preconditioned ones by its root if they are not averaged.
    gradient : {"global", "local"}
        Whether f sums over all centres or over the worker's own.
    steps : {"preconditioned", "paper"}
        Newton's steps on blocks of centres, all at once, or the paper's AdaGrad.
    average : bool or "auto"
        Return a mean of the coefficients over all steps, as in Algorithm 1: with "auto" for preconditioned steps only.

    See Also
    --------
    DoublyStochastic : The paper's Algorithm 1.
    DualAscent : The default: exact, with a duality gap.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.solvers import SharedMemory
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(gamma=0.5, C=10.0, solver=SharedMemory(50, 50), random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.98
    """

    n_rows: int = 10_000
    n_cols: int = 10_000
    n_workers: int | None = None
    learning_rate: float | str = "auto"
    gradient: str = "global"
    steps: str = "preconditioned"
    average: bool | str = "auto"

    state_type: ClassVar = SharedState

    def validate(self) -> None:
        require(self.n_rows >= 1, self, "n_rows", "at least 1, e.g. 10000")
        require(self.n_cols >= 1, self, "n_cols", "at least 1, e.g. 10000")
        require(self.n_workers is None or self.n_workers >= 1, self, "n_workers", "None or at least 1, e.g. 2")
        number = not isinstance(self.learning_rate, str) and self.learning_rate > 0
        require(number or self.learning_rate == "auto", self, "learning_rate", "'auto' or greater than 0, e.g. 1.0")
        require(self.gradient in ("global", "local"), self, "gradient", "'global' or 'local'")
        require(self.steps in STEPS, self, "steps", f"one of {', '.join(STEPS)}")
        require(self.average in (True, False, "auto"), self, "average", "'auto', True or False")

    def start(self, problem: Problem, rng: np.random.Generator) -> SharedState:
        coef = np.zeros((problem.gram.n_terms, problem.n_outputs))
        rate = self._first_rate(problem, rng) if self.learning_rate == "auto" else float(self.learning_rate)
        prune = self.may_prune(problem) and _pairs_left(problem, self.n_rows, rng) < MOST_PAIRS_LEFT
        state = SharedState(coef, rng, G=np.ones_like(coef), rate=rate, prune=prune)
        state.start_mean(self.average, self.steps)
        return state

    def adapt(self, problem: Problem, state: SharedState) -> SharedState:
        fresh = self.start(problem, state.rng)
        adapted = replace(state, rate=fresh.rate, prune=fresh.prune, plan=None)
        adapted.start_mean(self.average, self.steps)
        return adapted

    def epoch(self, problem: Problem, state: SharedState) -> Iterator[float]:
        workers = problem.workers if self.n_workers is None else Threads(self.n_workers)
        gram = problem.gram.with_workers(ALONE)
        if state.plan is None:
            rows = state.rng.permutation(problem.n_rows)
            cols = np.arange(gram.n_terms) if state.prune else state.rng.permutation(gram.n_terms)
            state.plan = BatchPlan(state.mean(power_of(self.steps)), rows=rows, cols=cols)
        plan = state.plan
        row_batches, col_batches = cut(plan.rows, self.n_rows), cut(plan.cols, self.n_cols)
        whole = _global_gradients if self.gradient == "global" else _local_gradients
        gradients_of = _pruned_gradients if state.prune else whole
        columns = workers.map(gram.columns, col_batches)
        step = self._papers_step if self.steps == "paper" else self._preconditioned_step
        for rows in row_batches[plan.done :]:
            gradients, loss = gradients_of(problem, rows, col_batches, columns, state.coef, workers)
            if diverged(problem, loss, rows):
                raise FloatingPointError(self._divergence(problem, state))
            step(problem, state, _Batch(rows, loss, col_batches, gradients), workers)
            if not np.isfinite(state.coef).all():
                raise FloatingPointError(self._divergence(problem, state))
            state.step += 1
            state.count_step()
            state.evaluations += len(rows) * gram.n_terms
            state.add_loss(loss, float(problem.weights[rows].sum()))
            plan.done += 1
            yield plan.done / len(row_batches)
        state.end_epoch(state.mean(power_of(self.steps)))

    def may_prune(self, problem: Problem) -> bool:
        """Tell whether there can be pairs to skip: in the global reading, with rows in a spatial order."""
        return self.gradient == "global" and problem.gram.order is not None and problem.gram.symmetric

    def _papers_step(self, problem: Problem, state: SharedState, batch: _Batch, workers: Workers) -> None:
        rate = state.rate / (state.epoch + 1)
        for cols, gradient in zip(batch.col_batches, batch.gradients, strict=True):
            gradient += 2.0 * problem.penalty * state.coef[cols]
            state.G[cols] += gradient**2
            state.move(cols, -(rate * gradient / np.sqrt(state.G[cols])), power_of(self.steps))

    def _preconditioned_step(self, problem: Problem, state: SharedState, batch: _Batch, workers: Workers) -> None:
        y, weights = problem.targets[batch.rows], problem.weights[batch.rows, None]
        nothing = float((weights * problem.loss.value(y, np.zeros_like(y))).sum())
        if self.learning_rate == "auto" and batch.loss > preconditioner.WORSE_THAN_NOTHING * nothing:
            state.rate = max(0.5 * state.rate, preconditioner.SHORTEST)
        rate = state.rate * SCHEDULES[schedule_of(self.average, self.steps)](state.epoch + 1)
        blocks = [
            (cols[part], gradient[part] / len(batch.rows))
            for cols, gradient in zip(batch.col_batches, batch.gradients, strict=True)
            for part in chunks(len(cols), MOST_COLS)
        ]
        # With f of its own, a batch of centres steps alone; with the f of all, all step together.
        together = len(blocks) if self.gradient == "global" else -(-len(batch.col_batches[0]) // MOST_COLS)
        seen = batch.rows[:: -(-len(batch.rows) // MOST_ROWS)]
        gram = problem.gram.with_workers(ALONE)

        def move(block: tuple[Indices, Floats]) -> None:
            cols, gradient = block
            gradient += 2.0 * problem.penalty / problem.n_rows * state.coef[cols]
            direction = preconditioner.direction(problem, gram.block(seen, cols), seen, gradient, together)
            state.move(cols, -rate * direction, power_of(self.steps))

        workers.map(move, blocks)
        state.evaluations += len(seen) * gram.n_terms

    def judge(self, problem: Problem, state: SharedState) -> Verdict:
        if self.steps == "preconditioned":
            return Verdict("change", state.change, problem.tol or 0.0)
        # In units of the rate, so that the rule means the same for targets of any size; the paper's rate is 1.
        return Verdict("change", state.change / state.rate, PAPERS_RULE if problem.tol is None else problem.tol)

    def coefficients(self, problem: Problem, state: SharedState) -> Floats:
        coef = state.mean(power_of(self.steps))
        if self.gradient == "global":
            return coef
        # As in Algorithm 1: the local reading trains expansions in n_cols terms, and the model is their average.
        return coef * (min(self.n_cols, problem.gram.n_terms) / problem.gram.n_terms)

    def _divergence(self, problem: Problem, state: SharedState) -> str:
        smaller = preconditioner.FIRST_STEP if self.steps == "preconditioned" else state.rate / 10
        return (
            f"the steps diverge: learning_rate={self.learning_rate!r} of {type(self).__name__} is too large for "
            f"{sizes(problem)}, or kernel values overflow; try learning_rate={smaller:.1g}, or scale the columns of X"
        )

    def _first_rate(self, problem: Problem, rng: np.random.Generator) -> float:
        if self.steps == "preconditioned":
            return preconditioner.FIRST_STEP
        # The first step moves coefficients by up to the rate, up or down, so f by about the rate times the root of
        # the sum of a row's squares in K.
        if (np.abs(problem.targets) == 1.0).all():
            return 1.0
        rows = draw_distinct(rng, problem.n_rows, PROBED_ROWS)
        n_terms = problem.gram.n_terms if self.gradient == "global" else min(self.n_cols, problem.gram.n_terms)
        cols = draw_distinct(rng, problem.gram.n_terms, min(n_terms, PROBED_COLS))
        square = float((problem.gram.columns(cols).block(rows).astype(np.float64) ** 2).mean())
        size = float(np.abs(problem.targets).mean())
        return size / sqrt(square * n_terms) if square > 0 and size > 0 else 1.0


def _local_gradients(
    problem: Problem,
    rows: NDArray[np.intp],
    col_batches: Batches,
    columns: list[Columns],
    coef: Floats,
    workers: Workers,
) -> tuple[list[Floats], float]:
    """Each worker's own f: one pass, no barrier."""

    def work(k: int) -> tuple[Floats, float]:
        return data_gradient(problem, columns[k], rows, coef[col_batches[k]], workers.count)

    results = workers.map(work, range(len(columns)))
    return [gradient for gradient, _ in results], sum(loss for _, loss in results) / len(results)


def _global_gradients(
    problem: Problem,
    rows: NDArray[np.intp],
    col_batches: Batches,
    columns: list[Columns],
    coef: Floats,
    workers: Workers,
) -> tuple[list[Floats], float]:
    """f from all centres: workers keep their blocks of a few rows until f is summed, so nothing is computed twice."""
    gradients = [np.zeros((len(cols), coef.shape[1])) for cols in col_batches]
    size = problem.gram.chunk_rows(len(coef))
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]

    def add_gradients_of(part: NDArray[np.intp]) -> float:
        def forward(k: int) -> tuple[Array, Floats]:
            K = columns[k].block(part)
            return K, times(K, coef[col_batches[k]])

        results = workers.map(forward, range(len(columns)))
        f = np.sum([share for _, share in results], axis=0)
        y, weights = problem.targets[part], problem.weights[part, None]
        slope = weights * problem.loss.gradient(y, f)

        def backward(k: int) -> None:
            gradients[k] += transposed_times(results[k][0], slope)

        workers.map(backward, range(len(columns)))
        return float((weights * problem.loss.value(y, f)).sum())

    return gradients, sum(add_gradients_of(part) for part in parts)


def _pruned_gradients(
    problem: Problem,
    rows: NDArray[np.intp],
    col_batches: Batches,
    columns: list[Columns],
    coef: Floats,
    workers: Workers,
) -> tuple[list[Floats], float]:
    """f from all centres, then the gradient, by products that skip what is out of reach; the others are made twice.

    Rows whose loss is flat, as the hinge's is beyond its margin, have no part in the second.
    """
    shares = workers.map(lambda k: columns[k].product(rows, coef[col_batches[k]]), range(len(columns)))
    f = np.sum(shares, axis=0)
    y, weights = problem.targets[rows], problem.weights[rows, None]
    slope = weights * problem.loss.gradient(y, f)
    steep = np.flatnonzero(slope.any(axis=1))
    gram = problem.gram.with_workers(ALONE)

    def backward(cols: NDArray[np.intp]) -> Floats:
        return gram.transposed_product(rows[steep], cols, slope[steep])

    return workers.map(backward, col_batches), float((weights * problem.loss.value(y, f)).sum())


def _pairs_left(problem: Problem, n_rows: int, rng: np.random.Generator) -> float:
    """Return the share of the pairs of a batch of rows and all terms that pruning leaves."""
    gram = problem.gram
    rows = np.sort(draw_distinct(rng, gram.n_rows, n_rows))
    evaluations = gram.add_product(rows, np.zeros((len(rows), 1)), np.zeros((gram.n_rows, 1)))
    return float(evaluations / (len(rows) * gram.n_rows))
