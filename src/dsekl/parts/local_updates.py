"""The paper's last paragraph, literally: Algorithm 2 whose workers update their parameters locally, and exchange them
from time to time.

Every share of the work has copies of all rows, which is the redundant distribution, and of all coefficients. In a round
the centres are dealt out among the shares. A share takes some batches of rows; f is that of its own copy of all
coefficients, up to date for its own centres, as of the last round for all others::

    for some batches, on share k:
        rows <- some rows at random
        g[cols of k] <- gradient as in Algorithm 2
        G[cols of k] <- G[cols of k] + g^2
        coef[cols of k] <- coef[cols of k] - learning_rate / epoch * G^(-1/2) g

Then all shares get what the others have changed. With one batch a round it is the naive scheme. The number of shares is
part of the question, and the number of workers is not: results are the same, to the last bit, on any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dsekl.blas import one_blas_thread
from dsekl.solvers import Problem, State, Verdict
from dsekl.solvers.shared_memory import PAPERS_RULE, BatchPlan, SharedState
from dsekl.solvers.solver import require

from .build import Parts
from .executor import Executor
from .memory_use import CountsMemory
from .part import Part, places_of
from .part_state import Own, PartState

Floats = NDArray[np.float64]
Places = NDArray[np.int32]


@dataclass
class LocalUpdates(BaseEstimator):
    """Algorithm 2 with local updates, and a global model from time to time.

    Parameters
    ----------
    n_rows : int
        Rows of a batch, clipped to what there is.
    n_shares : int
        Shares of the work, each with copies of all rows: as many workers as can work at once.
    local_batches : int
        Batches that a share takes between two exchanges; 1 is the naive scheme.
    learning_rate : float
        Factor of every step, which is divided by the number of the epoch, as in the paper.
    """

    n_rows: int = 1_000
    n_shares: int = 2
    local_batches: int = 50
    learning_rate: float = 1.0

    def validate(self) -> None:
        """Raise an error that names a setting that is wrong."""
        require(self.n_rows >= 1, self, "n_rows", "at least 1, e.g. 1000")
        require(self.n_shares >= 1, self, "n_shares", "at least 1, e.g. 2")
        require(self.local_batches >= 1, self, "local_batches", "at least 1, e.g. 50")
        require(self.learning_rate > 0, self, "learning_rate", "greater than 0, e.g. 1.0")


@dataclass(frozen=True)
class Copy(CountsMemory):
    """A share's copy of all coefficients, and of the sums of squares that divide their steps."""

    coef: Floats
    G: Floats


@dataclass(frozen=True)
class Changes(CountsMemory):
    """What a share has changed, and what its batches have shown: their loss, weight and kernel values."""

    cols: Places
    coef: Floats
    G: Floats
    loss: float
    weight: float
    evaluations: int

    @property
    def nbytes(self) -> int:
        return self.cols.nbytes + self.coef.nbytes + self.G.nbytes


@dataclass(frozen=True)
class RoundPlan:
    """A round of an epoch, and how many batches each share takes in it."""

    round: int
    epoch: int
    n_batches: int
    seed: int


def first_copy(part: Part) -> Copy:
    """Return the copy of a share before the first round."""
    shape = part.region.rows.targets.shape
    return Copy(np.zeros(shape), np.ones(shape))


@one_blas_thread()
def updated(part: Part, held: Copy, solver: LocalUpdates, plan: RoundPlan, share: int) -> Changes:
    """Take the batches of a share in a round, with the coefficients of all other shares held."""
    problem, n = part.own_problem, len(part.region)
    dealt = np.random.default_rng([plan.seed, 61, plan.round]).permutation(n)
    cols = np.sort(dealt[n * share // solver.n_shares : n * (share + 1) // solver.n_shares])
    rng = np.random.default_rng([plan.seed, 67, plan.round, share])
    coef, G, rate = held.coef.copy(), held.G.copy(), solver.learning_rate / (plan.epoch + 1)
    loss = weight = 0.0
    evaluations = 0
    for _ in range(plan.n_batches):
        rows = np.sort(rng.choice(n, min(n, solver.n_rows), replace=False, shuffle=False))
        support, f = np.flatnonzero(coef.any(axis=1)), np.zeros((len(rows), coef.shape[1]))
        evaluations += problem.gram.with_rows(rows).add_product(support, coef[support], f)
        y, weights = problem.targets[rows], problem.weights[rows, None]
        loss, weight = loss + float((weights * problem.loss.value(y, f)).sum()), weight + float(weights.sum())
        slope = weights * problem.loss.gradient(y, f)
        steep = np.flatnonzero(slope.any(axis=1))
        gradient = problem.gram.transposed_product(rows[steep], cols, slope[steep]) + 2.0 * problem.penalty * coef[cols]
        G[cols] += gradient**2
        coef[cols] -= rate * gradient / np.sqrt(G[cols])
    moved = cols[(coef[cols] != held.coef[cols]).any(axis=1)]
    return Changes(moved.astype(np.int32), coef[moved], G[moved], loss, weight, evaluations)


def exchanged(held: Copy, changes: Sequence[Changes]) -> Copy:
    """Return a share's copy with what all shares have changed; no two have changed the same coefficient."""
    coef, G = held.coef.copy(), held.G.copy()
    for of in changes:
        coef[of.cols], G[of.cols] = of.coef, of.G
    return Copy(coef, G)


def counted(changes: Changes) -> NDArray[np.float64]:
    """Return bytes, loss, weight and kernel values of a share's batches."""
    return np.array([changes.nbytes, changes.loss, changes.weight, changes.evaluations])


def state_of(part: Part, held: Copy) -> PartState:
    """Return a copy as the state of the one part that has all rows."""
    n = len(held.coef)
    own = Own(held.coef, np.zeros_like(held.coef), np.ones(n, dtype=np.bool_), np.arange(n))
    return PartState(own, np.zeros((len(part.halo), held.coef.shape[1])))


def copy_of(coef: Floats, G: Floats) -> Copy:
    """Return a copy of coefficients that were kept."""
    return Copy(coef, G)


@dataclass
class SharedUpdates:
    """Algorithm 2 among shares, as a solver that the loop of runs drives; ``parts`` has all rows in one part."""

    executor: Executor
    parts: Parts
    solver: LocalUpdates
    seed: int
    copies: list[Any] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    unseen: None = None

    state_type: ClassVar[type[State]] = SharedState

    def validate(self) -> None:
        self.solver.validate()

    def start(self, problem: Problem, rng: np.random.Generator) -> SharedState:
        """Return the state before the first round."""
        (part,) = self.parts.parts
        self.copies = [self.executor.submit(f"copy-{k}", first_copy, part) for k in range(self.solver.n_shares)]
        shape = (self.parts.n_rows, problem.n_outputs)
        rate = float(self.solver.learning_rate)
        return SharedState(np.zeros(shape), rng, G=np.ones(shape), rate=rate, prune=False)

    def start_from(self, problem: Problem, rng: np.random.Generator, coef: Floats, former_C: float) -> SharedState:
        """Return a state that begins with coefficients of another problem, by the rows' places in X."""
        state = self.start(problem, rng)
        (places,) = self.executor.gather([self.executor.submit("places", places_of, self.parts.parts[0])])
        state.coef = coef[places]
        self.resume(state)
        return state

    def adapt(self, problem: Problem, state: SharedState) -> SharedState:
        raise NotImplementedError("rows may be in another order for another problem; see start_from")

    def resume(self, state: SharedState) -> None:
        """Give the shares what a state that was kept has."""
        self.copies = [
            self.executor.submit(f"copy-{k}", copy_of, state.coef, state.G) for k in range(self.solver.n_shares)
        ]

    def epoch(self, problem: Problem, state: SharedState) -> Iterator[float]:
        """Let all shares together meet as many rows as there are, in rounds of some batches each."""
        solver = self.solver
        state.plan = BatchPlan(state.coef.copy(), rows=np.arange(0), cols=np.arange(0))
        n_batches = -(-self.parts.n_rows // (solver.n_rows * solver.n_shares))
        n_rounds = -(-n_batches // solver.local_batches)
        received = 0.0
        for k in range(n_rounds):
            some = min(solver.local_batches, n_batches - k * solver.local_batches)
            received += self._round(state, RoundPlan(state.step, state.epoch, some, self.seed))
            state.step += 1
            yield (k + 1) / n_rounds
        self.bring_home(state)
        state.end_epoch()
        self.figures = {"received": received, "exchanges": n_rounds}

    def judge(self, problem: Problem, state: SharedState) -> Verdict:
        goal = PAPERS_RULE if problem.tol is None else problem.tol
        return Verdict("change", state.change / self.solver.learning_rate, goal)

    def coefficients(self, problem: Problem, state: SharedState) -> Floats:
        """Return the coefficients after the last epoch."""
        return state.coef

    def bring_home(self, state: SharedState) -> None:
        """Bring the coefficients up to date, and let the shares go on from them."""
        (held,) = self.executor.gather(self.copies[:1])
        state.coef, state.G = held.coef, held.G
        self.resume(state)
        (part,) = self.parts.parts
        self.states = [self.executor.submit("state", state_of, part, self.copies[0])]

    def states_with(self, state: SharedState, coef: Floats) -> list[Any]:
        """Return the state of the one part with other coefficients, for its terms."""
        (part,) = self.parts.parts
        held = self.executor.submit("copy-best", copy_of, coef, state.G)
        return [self.executor.submit("best", state_of, part, held)]

    def _round(self, state: SharedState, plan: RoundPlan) -> float:
        """Let each share take its batches, and all exchange what has changed; return the bytes that travelled."""
        (part,) = self.parts.parts
        executor, shares = self.executor, range(self.solver.n_shares)
        changes = [executor.submit(f"update-{k}", updated, part, self.copies[k], self.solver, plan, k) for k in shares]
        self.copies = [executor.submit(f"exchange-{k}", exchanged, self.copies[k], changes) for k in shares]
        told = np.array(executor.gather([executor.submit("count", counted, of) for of in changes]))
        nbytes, loss, weight, evaluations = told.sum(axis=0)
        state.add_loss(float(loss), float(weight))
        state.evaluations += int(evaluations)
        return float(nbytes) * (self.solver.n_shares - 1)
