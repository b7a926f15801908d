"""What is read of blocks: first a look at all of them, then their rows, each sent to its part.

A look checks every number, counts rows and labels, and draws candidates for the sample. What is wrong is told as a
value and not raised, so that the first block in order is named, whoever was first to find something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.estimators import inputs
from dsekl.estimators.classifier import targets_of
from dsekl.estimators.misleading import refuse_misleading
from dsekl.estimators.targets import given_labels, real_targets
from dsekl.parts import Objective, Planes, Rows
from dsekl.rows import digest

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Look:
    """What a look at one block has found: rows, labels and their numbers, weights, candidates, a digest of each."""

    n_rows: int
    wrong: str | None = None
    labels: NDArray[Any] | None = None
    counts: Places | None = None
    heaviest: float = 0.0
    digests: tuple[str, str, str] = ("", "", "")
    candidates: tuple[Places, NDArray[Any], NDArray[Any], Floats] | None = None
    has_gaps: bool = False


@dataclass(frozen=True)
class Asked:
    """What a look is to find: whether y is labels, how many candidates to draw, by which seed, and digests.

    Where ``gaps`` are no error, NaN in a block of X is all that a look tells of it.
    """

    labels: bool
    n_candidates: int
    seed: int
    columns: list[str] | None
    n_features: int
    with_digests: bool
    gaps: bool = False


def looked(X: Sequence[Any], y: Sequence[Any], weights: Sequence[Any] | None, first: int, asked: Asked) -> list[Look]:
    """Look at some blocks, the first of which has a number."""
    given = [None] * len(X) if weights is None else weights
    return [_look(*block, first + k, asked) for k, block in enumerate(zip(X, y, given, strict=True))]


SPARSE_WORDS = "X is a sparse matrix, and rows on Dask are dense; give e.g. X.map_blocks(lambda block: block.toarray())"


def is_sparse(X: Any) -> bool:
    """Tell whether a block is a sparse matrix, of SciPy or of others like it."""
    return hasattr(X, "toarray") or hasattr(X, "todense")


def numbers(X: Any, n_features: int) -> NDArray[Any]:
    """Return a block of X as an array of float32 or float64."""
    if is_sparse(X):
        raise ValueError(SPARSE_WORDS)
    refuse_misleading(X=X)
    values = _array(X)
    if not len(values):
        return np.zeros((0, n_features))
    if values.ndim != 2 or values.shape[1] != n_features:
        raise ValueError(f"X is of shape {values.shape} here, and has {n_features} columns; give all blocks as many")
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _array(X: Any) -> NDArray[Any]:
    """Return a block as an array; pandas' own types of numbers have NaN in the place of NA."""
    if not hasattr(X, "to_numpy"):
        return np.asarray(X)
    kinds = list(X.dtypes) if X.ndim == 2 else [X.dtype]
    if all(isinstance(kind, np.dtype) for kind in kinds) or any(kind.kind not in "biuf" for kind in kinds):
        return np.asarray(X.to_numpy())
    return np.asarray(X.to_numpy(np.float64, na_value=np.nan))


def column(y: Any) -> NDArray[Any]:
    """Return a block of y or of weights as an array, one number a row where it has one column."""
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _weights(given: Any) -> Floats:
    """Return a block of weights, one number a row."""
    refuse_misleading(sample_weight=given)
    values = column(given)
    if values.ndim != 1 or values.dtype.kind not in "biufO":
        raise ValueError(f"sample_weight is of type {values.dtype} and shape {values.shape}; give one number a row")
    return np.asarray(values, dtype=np.float64)


def _look(X: Any, y: Any, weights: Any, number: int, asked: Asked) -> Look:
    if is_sparse(X):
        return Look(0, f"partition {number}: {SPARSE_WORDS}")
    n = len(X)
    for name, given in (("y", y), ("sample_weight", weights)):
        if given is not None and len(given) != n:
            return Look(n, f"partition {number} has {n} rows of X and {len(given)} of {name}; cut both alike")
    if n == 0:
        return Look(0)
    try:
        values = numbers(X, asked.n_features)
        if asked.gaps and np.isnan(values).any() and not np.isinf(values).any():
            return Look(n, has_gaps=True)
        wrong = _not_finite(values, asked.columns)
        if wrong is not None:
            return Look(
                n, f"X holds {wrong} of partition {number}; leave such rows out, or put a number in their place"
            )
        refuse_misleading(y=y)
        targets = column(y)
        targets = given_labels(targets) if asked.labels else real_targets(targets)
        w = np.ones(n) if weights is None else _weights(weights)
    except (TypeError, ValueError) as error:
        return Look(n, f"partition {number}: {error}")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        return Look(n, f"sample_weight of partition {number} holds a negative number, or one that is not finite")
    labels, counts = np.unique(targets[w > 0], return_counts=True) if asked.labels else (None, None)
    digests = (digest(values), digest(targets), digest(w)) if asked.with_digests else ("", "", "")
    rng = np.random.default_rng([asked.seed, 29, number])
    drawn = np.sort(rng.permutation(n)[: asked.n_candidates])
    return Look(n, None, labels, counts, float(w.max()), digests, (drawn, values[drawn], targets[drawn], w[drawn]))


def _not_finite(values: NDArray[Any], columns: list[str] | None) -> str | None:
    finite = np.isfinite(values)
    if finite.all():
        largest = np.abs(values).max(axis=0, initial=0.0)
        column = int(largest.argmax())
        if float(largest[column]) <= inputs.LARGEST:
            return None
        row, found = int(np.abs(values[:, column]).argmax()), f"{largest[column]:.3g}, too large for squares,"
    else:
        row, column = (int(place) for place in np.argwhere(~finite)[0])
        found = str(values[row, column])
    return f"{found} in column {columns[column] if columns else column!r}, row {row}"


@dataclass(frozen=True)
class Encoding:
    """How y and weights become targets and weights of rows: of classes, or of numbers in a unit."""

    classes: NDArray[Any] | None
    class_weights: Floats | None
    constants: Floats
    unit: Floats

    def encoded(self, y: NDArray[Any], weights: Floats) -> tuple[Floats, Floats]:
        """Return targets (n_rows, n_outputs) and weights."""
        if self.classes is None:
            return y.reshape(len(y), -1) / self.unit - self.constants, weights
        codes = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        if self.class_weights is not None:
            weights = weights * self.class_weights[codes]
        return targets_of(codes, len(self.classes)), weights


def split_by_part(
    X: Sequence[Any], y: Sequence[Any], weights: Sequence[Any] | None, starts: Sequence[int], objective: Objective,
    planes: Planes, encoding: Encoding, held_out: Places,
) -> list[Rows]:  # fmt: skip
    """Return the rows of some blocks for each of the parts; those of weight 0, and held-out places, are in none."""
    given = [None] * len(X) if weights is None else weights
    pieces = []
    for x, of, w, start in zip(X, y, given, starts, strict=True):
        values = numbers(x, objective.placement.n_features)
        if not len(values):
            continue
        plain = np.ones(len(values)) if w is None else np.asarray(column(w), dtype=np.float64)
        targets, own = encoding.encoded(column(of), plain)
        kept = np.flatnonzero((own > 0) & ~np.isin(start + np.arange(len(own)), held_out))
        pieces.append(Rows(values[kept], targets[kept], own[kept], start + kept))
    if not pieces:
        nothing = np.zeros((0, objective.placement.n_features))
        n_outputs = len(np.atleast_1d(encoding.constants))
        pieces = [Rows(nothing, np.zeros((0, n_outputs)), np.zeros(0), np.arange(0))]
    rows = Rows.joined(pieces)
    number = planes.part_of(objective.placement.dense(rows.X))
    return [rows.take(np.flatnonzero(number == part)) for part in range(planes.n_parts)]
