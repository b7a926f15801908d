"""Dual ascent in parts: the rounds, from the first sample to the certificate.

The state that is kept here is that of dual ascent on one machine, for the rows of all parts one after the other. Its
few numbers are those of the last round. Its arrays are brought here every ``SNAPSHOT`` rounds; between two snapshots
the parts alone have them. What is lost since a snapshot is computed anew from it, to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add, attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsekl.calibration import Unseen
from dsekl.solvers import DualAscent, Problem, State, Verdict
from dsekl.solvers.dual.ascent import (
    COARSE,
    FEWEST_KEPT,
    FINE,
    MOST_KEPT,
    MOST_WAITED,
    TOLERATED_SHARE,
    measure_gap,
    next_size,
    settled_gap,
    slow_epochs,
)
from dsekl.solvers.dual.dual_state import MEMORY, DualState

from . import measures, part_state, rounds
from .build import Parts
from .executor import Executor
from .gap_of_parts import GapOfParts, Standing
from .measures import Measured
from .one_round import run_round
from .part import places_of
from .part_state import Own, Pace
from .part_tasks import PartTasks

Floats = NDArray[np.float64]

SNAPSHOT = MEMORY
"""Rounds between two snapshots: the longest that the squared loss looks back."""


@dataclass
class PartsAscent:
    """Dual ascent whose rows are in parts. ``solver`` has the settings of the ascent within a part."""

    executor: Executor
    parts: Parts
    solver: DualAscent
    seed: int
    coef_each_round: bool = False
    """Whether coefficients come here after every round, for somebody who wants those of the best."""
    figures: dict[str, float] = field(default_factory=dict)
    """What the last round adds to the history."""
    unseen: Unseen | None = None

    state_type: ClassVar[type[State]] = DualState

    def __post_init__(self) -> None:
        self.tasks = PartTasks(self.executor, self.parts)
        self.standing = Standing(self.tasks)

    @property
    def states(self) -> list[Any]:
        """Where the parts stand."""
        return self.standing.states

    def validate(self) -> None:
        self.solver.validate()

    def start(self, problem: Problem, rng: np.random.Generator) -> DualState:
        """Return the state before the first round; ``problem`` is that of a sample, with the loss, C and tol."""
        size = self.solver.first_size(self.parts.n_rows)
        state = self._new(problem, rng, size)
        sizes = self.standing.part_sizes(size)
        self._take_up(self.tasks.submit("begin", part_state.begun, self.parts.parts, sizes, self.seed))
        self._snapshot(state)
        return state

    def start_from(self, problem: Problem, rng: np.random.Generator, coef: Floats, former_C: float) -> DualState:
        """Return a state on all rows that begins with coefficients of another problem, by the rows' places in X."""
        state = self._new(problem, rng, self.parts.n_rows)
        known = [coef[places] for places in self.tasks.gather("places", places_of, self.parts.parts)]
        self._take_up(self.tasks.submit("adapt", part_state.adapted, self.parts.parts, known, former_C, self.seed))
        self.standing.predict(self.parts.n_rows)
        self._snapshot(state)
        return state

    def adapt(self, problem: Problem, state: DualState) -> DualState:
        raise NotImplementedError("rows may be in other parts for another problem; see start_from")

    def resume(self, state: DualState) -> None:
        """Give the parts what a state that was kept has of them."""
        self.standing.counted = state.evaluations
        self._take_up([self.executor.submit(f"own-{p}", _same, own) for p, own in enumerate(self.owns_of(state))])

    def epoch(self, problem: Problem, state: DualState) -> Iterator[float]:
        """Run one round: a local epoch in all parts, a common step, and what follows an epoch on one machine."""
        before, former = state.gap, self.states
        pace = Pace(state.epoch, self.seed, state.scale, state.threshold, state.tolerated_share, state.slow)
        steps = self._move(pace)
        found = self.standing.measure(former, state.size)
        if state.size < self.parts.n_rows:
            if self._may_grow(problem, state, found):
                self._grow(problem, state)
        else:
            state.threshold = min(state.threshold, max(FINE, 0.5 * state.threshold))
        state.change, state.evaluations = float(np.sqrt(found.square_of_change)), found.evaluations
        state.epoch, state.step = state.epoch + 1, state.step + 1
        if state.size < self.parts.n_rows:
            state.gap = np.inf
        else:
            measure_gap(GapOfParts(self.standing, problem, state, former), state, lambda: self._goal(problem, state))
        state.slow = slow_epochs(before, state)
        self.figures = {
            "step_length": float(np.mean(steps)),
            "halo_ratio": self.parts.halo_ratio,
            "received": found.received,
            "wide": int(self.parts.wide),
        }
        if state.epoch % SNAPSHOT == 0:
            self._snapshot(state)
        elif self.coef_each_round:
            state.coef = np.concatenate(self.tasks.gather("coef", attrgetter("own.coef"), self.states))
        yield from ()

    def judge(self, problem: Problem, state: DualState) -> Verdict:
        return Verdict("gap", state.gap, self._goal(problem, state))

    def coefficients(self, problem: Problem, state: DualState) -> Floats:
        """Return the coefficients as of the last snapshot, or of the last round where they come here after each."""
        return state.coef

    def bring_home(self, state: DualState) -> None:
        """Bring the arrays of the state up to date."""
        owns: list[Own] = self.tasks.gather("own", attrgetter("own"), self.states)
        state.coef, state.F, state.active = (
            np.concatenate([vars(own)[name] for own in owns]) for name in ("coef", "F", "active")
        )
        state.rank = np.concatenate([own.rank for own in owns])

    def states_with(self, state: DualState, coef: Floats) -> list[Any]:
        """Return states of the parts with other coefficients, for their terms; the run goes on from its own."""
        owns = self.owns_of(replace(state, coef=coef))
        return self._taken_up([self.executor.submit(f"best-{p}", _same, own) for p, own in enumerate(owns)])

    def owns_of(self, state: DualState) -> list[Own]:
        """Return each part's rows of the state."""
        ends = np.cumsum(self.parts.sizes)[:-1]
        arrays = (np.split(array, ends) for array in (state.coef, state.F, state.active, state.rank))
        return [Own(*of) for of in zip(*arrays, strict=True)]

    def _new(self, problem: Problem, rng: np.random.Generator, size: int) -> DualState:
        """Return a state without coefficients, with a sample of a size."""
        n, nothing = self.parts.n_rows, np.zeros((self.parts.n_rows, problem.n_outputs))
        steps = reduce(add, self.tasks.gather("first-steps", part_state.first_steps, self.parts.parts))
        return DualState(
            nothing, rng, F=nothing, C=problem.C, rank=np.arange(n), size=size, active=np.ones(n, dtype=np.bool_),
            diagonal=np.zeros(n), scale=float(steps[0] / steps[1]), threshold=COARSE, tolerated_share=TOLERATED_SHARE,
        )  # fmt: skip

    def _move(self, pace: Pace) -> Floats:
        """Run a round and return its step lengths."""
        parts, states = self.parts.parts, self.states
        found = run_round(self.tasks, states, self.solver, pace)
        steps = reduce(add, self.tasks.gather("line", attrgetter("line"), found)).best_steps()
        arguments = (parts, states, found, np.asarray(steps), pace, self.solver.shrink)
        self.standing.states = self.tasks.submit("move-on", rounds.moved_on, *arguments)
        return np.asarray(steps[0] if steps.ndim == 2 else steps)

    def _goal(self, problem: Problem, state: DualState) -> float:
        if problem.tol is not None:
            return problem.tol
        assert self.standing.last is not None
        return settled_gap(problem, state, state.primal, self.standing.last.certificate.weight)

    def _may_grow(self, problem: Problem, state: DualState, found: Measured) -> bool:
        """Tell whether the sample is ready to be doubled, by the rule of one machine."""
        if next_size(self.parts.n_rows, state.size) < self.parts.n_rows or state.waited == MOST_WAITED:
            return True
        sample = found.certificate
        if sample.gap < max(problem.tol or 0.0, settled_gap(problem, state, sample.primal, sample.weight)):
            return True
        state.waited += 1
        state.threshold = 0.5 * state.threshold
        return False

    def _grow(self, problem: Problem, state: DualState) -> None:
        """Double the sample; the rows that join are predicted by the model that has not seen them."""
        n, former = self.parts.n_rows, state.size
        state.size, state.threshold = next_size(n, former), COARSE
        self.standing.predict(state.size)
        whole = state.size == n
        most = max(FEWEST_KEPT, MOST_KEPT // problem.n_outputs) if whole else 0
        sizes = list(zip(self.standing.part_sizes(former), self.standing.part_sizes(state.size), strict=True))
        shares = [-(-most * size // n) for size in self.parts.sizes]
        joined = self.tasks.gather("newcomers", measures.newcomers, self.parts.parts, self.states, sizes, shares)
        state.unseen_loss = sum(part.loss for part in joined) / sum(part.weight for part in joined)
        if whole:
            names = ("f", "targets", "weights", "places")
            self.unseen = Unseen(*(np.concatenate([vars(part)[name] for part in joined]) for name in names))

    def _snapshot(self, state: DualState) -> None:
        """Bring all numbers here, and let the parts go on from them: what led to them need not be known any more.

        How much work a part is, its rows do not tell; what it has been since the last snapshot does.
        """
        self.bring_home(state)
        self.tasks.spread(self.tasks.gather("load", attrgetter("evaluations"), self.states))
        self.resume(state)

    def _take_up(self, owns: list[Any]) -> None:
        self.standing.states = self._taken_up(owns)

    def _taken_up(self, owns: list[Any]) -> list[Any]:
        near = [[(q, owns[q]) for q in others] for others in self.parts.neighbours]
        return self.tasks.submit("state", part_state.taken_up, self.parts.parts, owns, near)


def _same(own: Own) -> Own:
    return own
