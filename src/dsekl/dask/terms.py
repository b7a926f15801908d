"""The model of a fit in parts: its terms in groups, each a model of its own that a worker holds.

f is a sum over terms, so that the groups' sums add up to it. Parts are joined into a group as long as the memory budget
holds it: a small model is one group, which every worker that predicts gets a copy of; of a large one, blocks of queries
travel to the groups.
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
from dsekl.models import Model
from dsekl.models.importances import Exchange, exchanged_rows, rows_a_tile, rows_for, shares
from dsekl.parts import Executor, Objective, Part
from dsekl.parts.memory_use import CountsMemory
from dsekl.parts.part_state import PartState
from dsekl.rows import ArrayRows
from dsekl.workers import chunks

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Terms(CountsMemory):
    """The points of some parts whose coefficients are not 0."""

    data: NDArray[Any]
    norms: NDArray[Any]
    leaf: NDArray[np.int64]
    coef: Floats


@dataclass(frozen=True)
class Support:
    """What the client keeps of a part: the places in X of its terms, their targets, and what is beside them."""

    places: NDArray[np.intp]
    targets: Floats
    intercept: Floats
    trend: Floats | None


def terms_of(part: Part, state: PartState) -> Terms:
    """Return the terms of a part."""
    kept = np.flatnonzero(state.own.coef.any(axis=1))
    points = part.region.points.take(kept)
    return Terms(points.data, points.norms, points.leaf, state.own.coef[kept])


def support_of(part: Part, state: PartState) -> Support:
    """Return what is told of the terms of a part."""
    coef, rows = state.own.coef, part.region.rows
    kept = np.flatnonzero(coef.any(axis=1))
    intercept, trend = np.zeros(coef.shape[1]), None
    if isinstance(part.gram, AffineGram):
        intercept, trend = part.gram.intercept_and_trend(coef)
    return Support(rows.places[kept], rows.targets[kept], intercept, trend)


def gram_of(objective: Objective, points: DensePoints) -> DenseGram:
    """Return the gram of a model with these points."""
    return objective.gram(points.take(slice(0)), points)


def without_points(objective: Objective) -> DenseGram:
    """Return the gram of a model whose terms are elsewhere."""
    place = objective.placement
    return gram_of(objective, DensePoints.of(np.zeros((0, place.n_features), dtype=place.dtype)))


def model_of(objective: Objective, pieces: Sequence[Terms]) -> Model:
    """Return the model of some parts' terms, with nothing beside them."""
    first, leaves = 0, []
    for piece in pieces:
        leaves.append(piece.leaf - (piece.leaf.min() if len(piece.leaf) else 0) + first)
        first = int(leaves[-1].max(initial=first)) + 1
    names = ("data", "norms", "coef")
    data, norms, coef = (np.concatenate([vars(piece)[name] for piece in pieces]) for name in names)
    return Model(gram_of(objective, DensePoints(data, norms, np.concatenate(leaves))), coef)


def joined(models: Sequence[Model]) -> DenseGram:
    """Return the gram of the terms of all groups."""
    grams = [model.gram for model in models]
    points: list[Any] = [gram.col_points for gram in grams if isinstance(gram, DenseGram)]
    ends = np.cumsum([0, *(int(of.leaf.max(initial=0)) + 1 for of in points)])
    leaf = np.concatenate([of.leaf + end for of, end in zip(points, ends[:-1], strict=True)])
    data, norms = (np.concatenate([vars(of)[name] for of in points]) for name in ("data", "norms"))
    assert isinstance(grams[0], DenseGram)
    return replace(grams[0], row_points=DensePoints.of(data[:0]), col_points=DensePoints(data, norms, leaf))


def changes_of(part: Part, state: PartState, X: NDArray[Any], others: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return how much of the change of f is due to a part's terms when rows get one feature of others.

    The shape is (n_rows, n_features, n_outputs). ``others`` are the rows' numbers among them.
    """
    support = np.flatnonzero(state.own.coef.any(axis=1))
    points, coef = part.objective.placement.dense(X), state.own.coef[support]
    gram = gram_of(part.objective, part.region.points.take(support))
    moves = np.flatnonzero((points != points[0]).any(axis=0))
    changes = np.zeros((*points.shape, coef.shape[1]), dtype=np.float32)
    for piece in chunks(len(points) if len(support) else 0, rows_a_tile(len(support))):
        exchange = Exchange(gram, coef, points[piece], points[others[piece]])
        for d in moves.tolist():
            changes[piece, d] = exchange.change(d)
    return changes


def importances_of(
    executor: Executor, parts: list[Any], states: list[Any], model: Model, rows: ArrayRows, n_terms: int, seed: int
) -> Floats | None:
    """Return how much each feature moves f: every part tells what its own terms change of it.

    ``model`` has what is beside the terms.
    """
    if not n_terms:
        return None
    n_rows = rows_for(len(rows), n_terms * rows.n_features)
    chosen, others = exchanged_rows(len(rows), n_rows, seed)
    raw = rows.dense(chosen)
    asked = [executor.submit(f"change-{p}", changes_of, part, states[p], raw, others) for p, part in enumerate(parts)]
    change = np.zeros((n_rows, rows.n_features, model.coef.shape[1]))
    for found in executor.gather(asked):
        change += found
    if model.trend is not None:
        columns = model.columns(raw)
        change += (columns[others] - columns)[:, :, None] * model.trend
    return shares(np.square(change).sum(axis=(0, 2)))


def grouped(
    executor: Executor, objective: Objective, parts: list[Any], states: list[Any], sizes: Sequence[int]
) -> list[Any]:
    """Return the models of groups of parts, as many terms in each as the memory budget holds."""
    each = np.dtype(objective.placement.dtype).itemsize * objective.placement.n_features
    terms = [executor.submit(f"terms-{p}", terms_of, part, states[p]) for p, part in enumerate(parts)]
    groups: list[list[Any]] = [[]]
    held = 0
    for of, size in zip(terms, sizes, strict=True):
        if groups[-1] and (held + size) * each > objective.budget:
            groups.append([])
            held = 0
        groups[-1].append(of)
        held += size
    return [executor.submit(f"model-{number}", model_of, objective, group) for number, group in enumerate(groups)]
