"""True predictions: in float64 with nothing left out, from the terms of all parts, halo or not.

Predictions that a run keeps are rounded, and leave out kernel values below ``kernel_tol``. The certificate is to hold
for the real f. So before a run ends, some rows are predicted anew from the terms of every part, and what they say of
all rows is added to the gap, as on one machine; where that is too much, all rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.gram.affine import AffineGram
from dsekl.gram.dense import DenseGram
from dsekl.gram.points import DensePoints
from dsekl.gram.reference import COPIES, FEWEST_ROWS, NEGLIGIBLE
from dsekl.gram.tree import spatial_order
from dsekl.rows import ArrayRows
from dsekl.workers import ALONE, chunks

from .part import Objective, Part, Region
from .part_state import PartState

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Drawn:
    """What the share of some rows of a part in the certificate is made of; the rows themselves stay where they are."""

    targets: Floats
    weights: Floats
    coef: Floats
    F: Floats
    diagonal: Floats

    @staticmethod
    def joined(pieces: Sequence[Drawn]) -> Drawn:
        """Return the rows of all parts."""
        return Drawn(*(np.concatenate([vars(piece)[name] for piece in pieces]) for name in vars(pieces[0])))


def drawn(part: Part, state: PartState, rows: Places) -> Drawn:
    """Return some rows of a part."""
    own, of = state.own, part.region.rows
    return Drawn(of.targets[rows], of.weights[rows], own.coef[rows], own.F[rows], part.own_diagonal[rows])


def raw_rows(part: Part, rows: Places) -> NDArray[Any]:
    """Return some rows of a part as they came."""
    return part.region.rows.X[rows]


def true_terms(part: Part, state: PartState, X: NDArray[Any]) -> Floats:
    """Return what the terms of a part add to f at some raw rows, with what is beside the kernel."""
    support, objective = np.flatnonzero(state.own.coef.any(axis=1)), part.objective
    f = np.zeros((len(X), state.own.coef.shape[1]))
    size = max(FEWEST_ROWS, objective.budget // (8 * COPIES * max(1, X.shape[1])))
    for some in chunks(len(support), size):
        terms, order = _exact(objective, part.region.rows.X[support[some]])
        coef = state.own.coef[support[some]][order]
        for piece in chunks(len(X), size):
            f[piece] += terms.at(ArrayRows(X[piece])).product(slice(None), slice(None), coef)
    return f


def true_terms_at(part: Part, state: PartState, other: Region) -> Floats:
    """Return what the terms of a part add to f at all rows of a region."""
    return true_terms(part, state, other.rows.X)


def with_true_predictions(state: PartState, terms: Sequence[Floats]) -> PartState:
    """Return a state whose predictions are the sums of all parts' terms; they are directions of nothing before."""
    F = np.zeros_like(state.own.F)
    for part in terms:
        F += part
    return replace(state, own=replace(state.own, F=F, active=np.ones_like(state.own.active)), past=())


def _exact(objective: Objective, X: NDArray[Any]) -> tuple[DenseGram | AffineGram, Places]:
    """Return the gram of raw rows in float64, and the order in which it has them."""
    placement = replace(objective.placement, dtype="float64")
    data = placement.dense(X)
    order, leaf = spatial_order(data)
    points = DensePoints.of(data[order], leaf)
    made = DenseGram(
        objective.kernel, placement, points, points, objective.budget, ALONE, objective.kernel.reach(NEGLIGIBLE)
    )
    return (made if objective.plane is None else AffineGram(made, objective.plane)), order
