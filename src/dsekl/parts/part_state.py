"""Where a part stands: coefficients, predictions and what it holds of others; and the numbers that all parts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.solvers.dual.block import violations
from dsekl.solvers.dual.certificate import feasible
from dsekl.solvers.dual.dual_state import DualState

from .memory_use import CountsMemory
from .part import Part

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Own(CountsMemory):
    """Where the rows of a part stand: coefficients, predictions, and whether these are kept up."""

    coef: Floats
    F: Floats
    active: NDArray[np.bool_]
    rank: Places
    """In which order the part's rows join the sample."""


@dataclass(frozen=True)
class Past:
    """Where a part stood after an earlier round."""

    coef: Floats
    F: Floats
    copies: Floats


@dataclass(frozen=True)
class PartState(CountsMemory):
    """Where a part stands; ``copies`` are the coefficients of its halo. The squared loss looks back at past rounds."""

    own: Own
    copies: Floats
    past: tuple[Past, ...] = ()
    evaluations: int = 0
    received: int = 0
    """Bytes from other parts, since the last snapshot."""


@dataclass(frozen=True)
class Pace:
    """The few numbers that all parts share in a round."""

    round: int
    seed: int
    scale: float
    threshold: float
    tolerated_share: float
    slow: int = 0


def first_steps(part: Part) -> Floats:
    """Return the sum of the sizes of all rows' first steps, and how many rows there are."""
    rows = part.region.rows
    nothing = np.zeros_like(rows.targets)
    steps = violations(rows.targets, part.C, nothing, nothing, part.own_diagonal, part.objective.loss)
    return np.array([steps.sum(), len(steps)])


def begun(part: Part, size: int, seed: int) -> Own:
    """Return where a part stands before the first round, with a sample of its rows."""
    shape = part.region.rows.targets.shape
    rank = np.random.default_rng([seed, 17, part.number]).permutation(shape[0])
    return Own(np.zeros(shape), np.zeros(shape), rank < size, rank)


def adapted(part: Part, coef: Floats, former_C: float, seed: int) -> Own:
    """Return where a part stands with coefficients of another problem; nothing is predicted by them yet."""
    n, nobody = len(coef), np.zeros(len(coef), dtype=np.bool_)
    rank = np.random.default_rng([seed, 17, part.number]).permutation(n)
    return Own(feasible(part.own_problem, coef, former_C), np.zeros_like(coef), nobody, rank)


def taken_up(part: Part, own: Own, others: Sequence[tuple[int, Own]]) -> PartState:
    """Return the state of a part, with the coefficients of its copies as their owners have them."""
    copies = np.zeros((len(part.halo), own.coef.shape[1]))
    for number, other in others:
        mine = part.halo.owner == number
        copies[mine] = other.coef[part.halo.row[mine]]
    return PartState(own, copies)


def dual_state(own: Own, C: float, diagonal: Floats, pace: Pace, rng: np.random.Generator) -> DualState:
    """Return the state of dual ascent on some rows alone, free to be moved."""
    return DualState(
        own.coef.copy(), rng, pace.round, F=own.F.copy(), C=C, rank=own.rank, size=len(own.rank), active=own.active,
        diagonal=diagonal, scale=pace.scale, threshold=pace.threshold, tolerated_share=pace.tolerated_share,
        slow=pace.slow,
    )  # fmt: skip
