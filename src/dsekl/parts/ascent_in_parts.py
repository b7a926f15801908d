"""Dual ascent in parts: the rounds, from the first sample to the certificate.

The state that is kept here is that of dual ascent on one machine, for the rows of all parts one after the other. Its
few numbers are those of the last round. Its arrays are brought here every ``CUT`` rounds; between two cuts the parts
alone have them. What is lost since a cut is computed anew from it, to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from operator import add
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
    SLOW_EPOCHS,
    TOLERATED_SHARE,
    measure_gap,
    next_size,
    settled_gap,
    slow_epochs,
)
from dsekl.solvers.dual.certificate import (
    FEWEST_AUDITED,
    FREE_WORK,
    SHARE_OF_WORK,
    Certificate,
    extrapolated,
    overflow,
    parts_of,
)
from dsekl.solvers.dual.dual_state import MEMORY, DualState

from . import audit, rounds, turns
from .build import Parts
from .hands import Hands
from .rounds import Measured, Own, Pace

Floats = NDArray[np.float64]

CUT = MEMORY
"""Rounds between two cuts: the longest that the squared loss looks back."""


@dataclass
class PartsAscent:
    """Dual ascent whose rows are in parts. ``solver`` has the settings of the ascent within a part."""

    hands: Hands
    parts: Parts
    solver: DualAscent
    seed: int
    states: list[Any] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    """What the last round adds to the history."""
    unseen: Unseen | None = None
    last: Measured | None = None
    counted: int = 0
    """Kernel values up to the last cut."""

    state_type: ClassVar[type[State]] = DualState

    def validate(self) -> None:
        self.solver.validate()

    def start(self, problem: Problem, rng: np.random.Generator) -> DualState:
        """Return the state before the first round; ``problem`` is that of a sample, with the loss, C and tol."""
        n, n_outputs = self.parts.n_rows, problem.n_outputs
        size = self.solver.first_size(n)
        steps = reduce(add, self._gather("first-steps", rounds.first_steps, self.parts.parts))
        owns = [
            self.hands.submit(f"begin-{p}", rounds.begun, part, self._part_size(p, size), self.seed)
            for p, part in enumerate(self.parts.parts)
        ]
        nothing = np.zeros((n, n_outputs))
        state = DualState(
            nothing, rng, F=nothing, C=problem.C, rank=np.arange(n), size=size, active=np.ones(n, dtype=np.bool_),
            diagonal=np.zeros(n), scale=float(steps[0] / steps[1]), threshold=COARSE, tolerated_share=TOLERATED_SHARE,
        )  # fmt: skip
        self._take_up(owns)
        self._cut(state)
        return state

    def adapt(self, problem: Problem, state: DualState) -> DualState:
        raise NotImplementedError("a fit in parts is not gone on from with another problem")

    def resume(self, state: DualState) -> None:
        """Give the parts what a state that was kept has of them."""
        self.counted = state.evaluations
        owns = self._owns_of(state)
        self._take_up([self.hands.submit(f"own-{p}", _same, own) for p, own in enumerate(owns)])

    def epoch(self, problem: Problem, state: DualState) -> Iterator[float]:
        """Run one round: a local epoch in all parts, a common step, and what follows an epoch on one machine."""
        before, former = state.gap, self.states
        pace = Pace(state.epoch, self.seed, state.scale, state.threshold, state.tolerated_share, state.slow)
        steps = self._move(pace)
        found = self._measure(former, state.size)
        if state.size < self.parts.n_rows:
            if self._may_grow(problem, state, found):
                self._grow(problem, state)
        else:
            state.threshold = min(state.threshold, max(FINE, 0.5 * state.threshold))
        state.change, state.evaluations = float(np.sqrt(found.square_of_change)), found.evaluations
        state.epoch, state.step = state.epoch + 1, state.step + 1
        self._measure_gap(problem, state, former)
        state.slow = slow_epochs(before, state)
        self.figures = {
            "step_length": float(np.mean(steps)),
            "halo_ratio": self.parts.halo_ratio,
            "received": found.received,
            "wide": int(self.parts.wide),
        }
        if state.epoch % CUT == 0:
            self._cut(state)
        yield from ()

    def judge(self, problem: Problem, state: DualState) -> Verdict:
        return Verdict("gap", state.gap, self._goal(problem, state))

    def coefficients(self, problem: Problem, state: DualState) -> Floats:
        """Return the coefficients as of the last cut."""
        return state.coef

    def bring_home(self, state: DualState) -> None:
        """Bring the arrays of the state up to date."""
        owns: list[Own] = self._gather("own", _own_of, self.states)
        state.coef, state.F, state.active = (
            np.concatenate([vars(own)[name] for own in owns]) for name in ("coef", "F", "active")
        )
        state.rank = np.concatenate([own.rank for own in owns])

    def _move(self, pace: Pace) -> Floats:
        """Run a round and return its step lengths."""
        parts, states = self.parts.parts, self.states
        found = self._in_turns(pace) if self.parts.wide else self._at_once(pace)
        steps = reduce(add, self._gather("line", rounds.line_of, parts, states, found)).best_steps()
        shrink = self.solver.shrink
        self.states = self._submit("move-on", rounds.moved_on, parts, states, found, np.asarray(steps), pace, shrink)
        return np.asarray(steps[0] if steps.ndim == 2 else steps)

    def _at_once(self, pace: Pace) -> list[Any]:
        """Return the moves of all parts, each with the others held, and what each changes of the others."""
        parts, states = self.parts.parts, self.states
        moves = self._submit("ascend", rounds.ascended, parts, states, self.solver, pace)
        boxes = self._submit("outbox", rounds.outbox, parts, states, moves)
        changes = self._submit("sums", rounds.sums_of_change, parts, states, moves)
        sums = self.hands.submit("sum", _total, changes)
        near = [[boxes[q] for q in others] for others in self.parts.neighbours]
        return self._submit("couple", rounds.coupled, parts, states, moves, near, [sums] * len(parts))

    def _in_turns(self, pace: Pace) -> list[Any]:
        """Return the moves of all parts after blocks of rows from all of them were solved in turn."""
        parts, states = self.parts.parts, self.states
        found = self._submit("violators", turns.in_random_order, parts, states, pace)
        n_wrong, n_active = sum(self._gather("count", turns.n_violators, found))
        alone = bool(n_active <= self.solver.block_size)
        orders = self._submit("order", turns.order_of, states, found, alone)
        n_turns = min(1, int(n_wrong)) if alone else -(-int(n_wrong) // self.solver.block_size)
        for turn in range(n_turns):
            states = self._turn(states, orders, (turn, n_turns), pace, alone, alone)
        if n_turns > 1 and pace.slow >= SLOW_EPOCHS:
            # Blocks of random rows undo each other's work; the rows that are free now, all at once, do not.
            free = self._submit("free", turns.free_in_order, parts, states, pace)
            counts = self._gather("count", len, free)
            share = min(1.0, self.solver.block_size / max(1, sum(counts)))
            worst = self._submit("worst", turns.first_of, free, [int(share * count) for count in counts])
            states = self._turn(states, worst, (0, 1), pace, whole=True) if any(counts) else states
        return self._submit("met", turns.met, self.states, states)

    def _turn(
        self, states: list[Any], orders: list[Any], turn: tuple[int, int], pace: Pace, whole: bool, alone: bool = False
    ) -> list[Any]:
        """Return the states after one block, of a share of each part's rows in some order."""
        parts, name = self.parts.parts, "closing" if whole else str(turn[0])
        pieces = self._submit(f"piece-{name}", turns.piece_of, parts, states, orders, *turn)
        task, solver = self.parts.task, self.solver
        found = self.hands.submit(f"block-{name}", turns.solved, task, pieces, solver, pace, whole, alone)
        return self._submit(f"carry-{name}", turns.carried, parts, states, [found] * len(parts))

    def _measure(self, former: list[Any], size: int) -> Measured:
        """Measure the rows in a sample, and how far the coefficients have moved."""
        sizes = [self._part_size(p, size) for p in range(len(self.parts))]
        found: Measured = reduce(
            add, self._gather("measure", rounds.measured, self.parts.parts, former, self.states, sizes)
        )
        self.last = replace(found, evaluations=self.counted + found.evaluations)
        return self.last

    def _goal(self, problem: Problem, state: DualState) -> float:
        if problem.tol is not None:
            return problem.tol
        assert self.last is not None
        return settled_gap(problem, state, state.primal, self.last.certificate.weight)

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
        self._predict(state.size)
        whole = state.size == n
        most = max(FEWEST_KEPT, MOST_KEPT // problem.n_outputs) if whole else 0
        sizes = [(self._part_size(p, former), self._part_size(p, state.size)) for p in range(len(self.parts))]
        shares = [-(-most * size // n) for size in self.parts.sizes]
        joined = self._gather("newcomers", rounds.newcomers, self.parts.parts, self.states, sizes, shares)
        state.unseen_loss = sum(part.loss for part in joined) / sum(part.weight for part in joined)
        if whole:
            names = ("f", "targets", "weights", "places")
            self.unseen = Unseen(*(np.concatenate([vars(part)[name] for part in joined]) for name in names))

    def _predict(self, size: int) -> None:
        """Predict the rows of a sample anew that are not active."""
        parts, states = self.parts.parts, self.states
        sizes = [self._part_size(p, size) for p in range(len(parts))]
        if self.parts.wide:
            terms = self._terms(turns.terms_at)
            self.states = self._submit("predict", turns.predicted_by, parts, states, sizes, terms)
            return
        sums = self.hands.submit("sum", _total, self._submit("sums", rounds.sums_of_coef, parts, states))
        self.states = self._submit("predict", rounds.predicted, parts, states, sizes, [sums] * len(parts))

    def _terms(self, task: Any) -> list[list[Any]]:
        """Return for each part what the terms of every part add to the predictions of its rows."""
        parts, states = self.parts.parts, self.states
        return [
            [self.hands.submit(f"terms-{q}-{p}", task, part, states[q], region) for q, part in enumerate(parts)]
            for p, region in enumerate(self.parts.regions)
        ]

    def _measure_gap(self, problem: Problem, state: DualState, former: list[Any]) -> None:
        if state.size < self.parts.n_rows:
            state.gap = np.inf
            return
        measure_gap(_Rows(self, problem, state, former), state, lambda: self._goal(problem, state))

    def _cut(self, state: DualState) -> None:
        """Bring all numbers here, and let the parts go on from them: what led to them need not be known any more."""
        self.bring_home(state)
        self.resume(state)

    def _owns_of(self, state: DualState) -> list[Own]:
        """Return each part's rows of the state."""
        ends = np.cumsum(self.parts.sizes)[:-1]
        arrays = (np.split(array, ends) for array in (state.coef, state.F, state.active, state.rank))
        return [Own(*of) for of in zip(*arrays, strict=True)]

    def _take_up(self, owns: list[Any]) -> None:
        near = [[(q, owns[q]) for q in others] for others in self.parts.neighbours]
        self.states = self._submit("state", rounds.taken_up, self.parts.parts, owns, near)

    def _part_size(self, p: int, size: int) -> int:
        """Return how many rows of a part are in a sample of all."""
        n = self.parts.n_rows
        return self.parts.sizes[p] if size == n else max(1, self.parts.sizes[p] * size // n)

    def _submit(self, name: str, task: Any, *arguments: Any) -> list[Any]:
        """Submit a task for each part; lists that have one thing for each part are dealt out."""
        n = len(self.parts)
        dealt = [given if isinstance(given, list) else [given] * n for given in arguments]
        return [self.hands.submit(f"{name}-{p}", task, *of) for p, of in enumerate(zip(*dealt, strict=True))]

    def _gather(self, name: str, task: Any, *arguments: Any) -> list[Any]:
        return self.hands.gather(self._submit(name, task, *arguments))


@dataclass(frozen=True)
class _Rows:
    """The rows of all parts, as far as the gap is to be measured."""

    ascent: PartsAscent
    problem: Problem
    state: DualState
    former: list[Any]

    @property
    def n_inactive(self) -> int:
        assert self.ascent.last is not None
        return self.ascent.last.n_inactive

    def certify(self) -> Certificate:
        found = self.ascent._measure(self.former, self.ascent.parts.n_rows)
        self.state.evaluations = found.evaluations
        if not (np.isfinite(found.certificate.excess) and np.isfinite(found.certificate.primal)):
            raise overflow(self.problem)
        return found.certificate

    def predict_inactive(self) -> None:
        self.ascent._predict(self.ascent.parts.n_rows)

    def audit(self, goal: float) -> Certificate:
        """Measure with true predictions of some rows; where these do not meet the goal, of all."""
        ascent, n = self.ascent, self.ascent.parts.n_rows
        assert ascent.last is not None
        affordable = int(max(FREE_WORK, SHARE_OF_WORK * self.state.evaluations)) // max(1, ascent.last.n_support)
        n_audited = max(FEWEST_AUDITED, affordable)
        if n_audited < n:
            found = self._extrapolated(n_audited, ascent.last.certificate)
            if found.gap < goal:
                return found
        terms = ascent._terms(audit.true_terms_at)
        ascent.states = ascent._submit("true", audit.with_true_predictions, ascent.states, terms)
        return self.certify()

    def _extrapolated(self, n_audited: int, whole: Certificate) -> Certificate:
        ascent, sizes = self.ascent, self.ascent.parts.sizes
        n = sum(sizes)
        rows = np.sort(self.state.rng.choice(n, n_audited, replace=False, shuffle=False))
        starts = np.cumsum([0, *sizes])
        own = [rows[(rows >= a) & (rows < b)] - a for a, b in pairwise(starts)]
        found = audit.Drawn.joined(ascent._gather("draw", audit.drawn, ascent.parts.parts, ascent.states, own))
        terms = ascent._gather("true-of-drawn", audit.true_terms, ascent.parts.parts, ascent.states, found.X)
        drawn = replace(self.problem, targets=found.targets, weights=found.weights)
        everyone = np.arange(len(found.X))
        kept, true = (parts_of(drawn, found.coef, found.diagonal, everyone, f) for f in (found.F, reduce(add, terms)))
        return extrapolated(whole, kept, true, n)


def _total(sums: list[Floats]) -> Floats:
    """Add up in the order of the parts."""
    return reduce(add, sums)


def _same(own: Own) -> Own:
    return own


def _own_of(state: rounds.PartState) -> Own:
    return state.own
