"""What is told of a part between rounds: its share of the certificate, and the rows that join the sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsekl.solvers.dual.certificate import Certificate, parts_of

from .part import Part
from .part_state import PartState

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Measured:
    """What a part adds to the figures of a round: some are sums over its sample, or over all of its rows."""

    certificate: Certificate
    evaluations: int
    square_of_change: float
    n_inactive: int
    n_support: int
    received: int

    def __add__(self, other: Measured) -> Measured:
        return Measured(*(vars(self)[name] + vars(other)[name] for name in vars(self)))


def measured(part: Part, before: PartState, state: PartState, size: int) -> Measured:
    """Measure a state of a part: the rows in a sample of a ``size``, with the predictions that it keeps."""
    own = state.own
    rows = np.flatnonzero(own.rank < size)
    return Measured(
        parts_of(part.own_problem, own.coef, part.own_diagonal, rows, own.F[rows]).summed(),
        state.evaluations,
        float(np.square(own.coef - before.own.coef).sum()),
        int(np.count_nonzero(~own.active[rows])),
        int(np.count_nonzero(own.coef.any(axis=1))),
        state.received - before.received,
    )


def sums_of_coef(part: Part, state: PartState) -> Floats:
    """Return what the part's coefficients are to the part of f beside the kernel."""
    return part.sums_beside(state.own.coef)


def predicted(part: Part, state: PartState, size: int, sums: Floats) -> PartState:
    """Predict the rows of a sample anew that are not active, and make them so; ``sums`` are beside the kernel."""
    own = state.own
    rows = np.flatnonzero((own.rank < size) & ~own.active)
    if not len(rows):
        return state
    support, held = np.flatnonzero(own.coef.any(axis=1)), np.flatnonzero(state.copies.any(axis=1))
    f = np.zeros((len(rows), own.coef.shape[1]))
    evaluations = part.gram.with_rows(rows).add_product(support, own.coef[support], f)
    evaluations += part.outside.with_rows(rows).add_product(held, state.copies[held], f)
    f += part.beside(rows, sums - sums_of_coef(part, state))
    F, active = own.F.copy(), own.active.copy()
    F[rows], active[rows] = f, True
    return replace(state, own=replace(own, F=F, active=active), evaluations=state.evaluations + evaluations)


@dataclass(frozen=True)
class Newcomers:
    """Rows that joined a sample, as the model before it predicted them: their sum of losses, and some of them."""

    loss: float
    weight: float
    f: Floats
    targets: Floats
    weights: Floats
    places: Places


def newcomers(part: Part, state: PartState, sizes: tuple[int, int], most: int) -> Newcomers:
    """Return the rows that joined between two sizes of the sample; ``most`` of them are kept."""
    own, rows = state.own, part.region.rows
    joined = np.flatnonzero((own.rank >= sizes[0]) & (own.rank < sizes[1]))
    loss = part.objective.loss.value(rows.targets[joined], own.F[joined]).sum(axis=1)
    weights = rows.weights[joined]
    kept = joined[own.rank[joined] < sizes[0] + most]
    return Newcomers(
        float((weights * loss).sum()), float(weights.sum()), own.F[kept], rows.targets[kept], rows.weights[kept],
        rows.places[kept],
    )  # fmt: skip
