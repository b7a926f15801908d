"""A kernel with a constant and a plane beside it: ``k(x, z) + a + <x~, z~>``, with ``x~ = (x - center) * scale``.

A machine of this kernel is ``f(x) = sum_j k(x, x_j) coef_j + intercept + <trend, x>``: the sums over the two further
parts are few numbers, ``a sum_j coef_j`` and ``sum_j x~_j coef_j``. So a product costs O(N D) beside the kernel's own,
whatever that leaves out, and every solver, loss and certificate of a kernel matrix is one of this matrix.

The features x~ are made from the points of the gram inside, so that nothing is held twice: with a point
``p = (x - center') * scale'``, ``x~ = p * ratio - shift``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.kernels import Kernel
from dsekl.rows import Rows
from dsekl.rows.array import chunks_of
from dsekl.workers import Workers

from .dense import DenseGram, Points
from .gram import Array, Columns, Floats, Gram, Indices, Values
from .sparse import SparseGram
from .sparse_points import SparsePoints


@dataclass(frozen=True)
class Plane:
    """What is beside a kernel: the constant a, and the features of the plane.

    ``scale`` is one number for each column of X or one for all, None for no plane; ``center`` is one for each column,
    None for the origin.
    """

    constant: float
    scale: Floats | None = None
    center: Floats | None = None

    def features(self, X: Array) -> Floats:
        """Return x~ of raw rows (n, n_features), which may be reshaped; no columns where there is no plane."""
        if self.scale is None:
            return np.zeros((len(X), 0))
        return np.asarray((X if self.center is None else X - self.center) * self.scale, dtype=np.float64)


@dataclass(frozen=True)
class _Features:
    """The features of some points of a gram."""

    points: Points | SparsePoints
    ratio: Floats
    shift: Floats

    def times(self, W: Floats) -> Floats:
        """Return ``x~ W`` for all points."""
        scaled, constant = self.ratio[:, None] * W, self.shift @ W
        parts = [points @ scaled - constant for points in self._parts()]
        return np.concatenate([np.zeros((0, W.shape[1])), *parts])

    def sums(self, V: Array) -> Floats:
        """Return ``sum_j x~_j V_j``."""
        total, start = np.zeros((len(self.ratio), V.shape[1])), 0
        for points in self._parts():
            total += points.T @ np.asarray(V[start : start + points.shape[0]], dtype=np.float64)
            start += points.shape[0]
        return np.asarray(self.ratio[:, None] * total - self.shift[:, None] * V.sum(axis=0, dtype=np.float64))

    def squares(self) -> Floats:
        """Return ``<x~, x~>``."""
        cross = (self.ratio * self.shift)[:, None]
        parts = [
            ((points * points) @ (self.ratio**2)[:, None] - 2.0 * (points @ cross))[:, 0] for points in self._parts()
        ]
        return np.concatenate([np.zeros(0), *parts]) + self.shift @ self.shift

    def cross(self, other: _Features, dtype: np.dtype[Any]) -> Array:
        """Return ``<x~, z~>`` for all pairs of few points, in a type of numbers."""
        if isinstance(self.points, SparsePoints) and isinstance(other.points, SparsePoints):
            few, others = self.points.data.astype(np.float64), other.points.data.astype(np.float64)
            dots = (few.multiply(self.ratio**2).tocsr() @ others.T).toarray()
            of_few, of_others = few @ (self.ratio * self.shift), others @ (self.ratio * self.shift)
            return np.asarray(dots - of_few[:, None] - of_others + self.shift @ self.shift, dtype=dtype)
        return np.asarray(self._dense(dtype) @ other._dense(dtype).T)

    def _parts(self) -> Iterator[Any]:
        """Yield the points in float64, as many at a time as a pass over rows holds."""
        if isinstance(self.points, SparsePoints):
            yield self.points.data.astype(np.float64)
            return
        for part in chunks_of((len(self.points), len(self.ratio))):
            yield np.asarray(self.points.data[part], dtype=np.float64)

    def _dense(self, dtype: np.dtype[Any]) -> Array:
        """Return the features of few dense points."""
        return np.asarray(np.asarray(self.points.data[:], dtype=np.float64) * self.ratio - self.shift, dtype=dtype)


@dataclass(frozen=True)
class AffineGram:
    """The matrix of a gram with a constant added, and for rows of numbers a plane's inner products."""

    inner: Gram
    plane: Plane

    def __post_init__(self) -> None:
        if self.plane.scale is not None and not isinstance(self.inner, DenseGram | SparseGram):
            raise TypeError(f"trend=True needs rows of numbers, which kernel={self.inner.kernel!r} does not have")

    @property
    def kernel(self) -> Kernel:
        return self.inner.kernel

    @property
    def n_rows(self) -> int:
        return self.inner.n_rows

    @property
    def n_terms(self) -> int:
        return self.inner.n_terms

    @property
    def symmetric(self) -> bool:
        return self.inner.symmetric

    @property
    def order(self) -> NDArray[np.intp] | None:
        return self.inner.order

    @property
    def reach(self) -> float:
        return self.inner.reach

    def columns(self, cols: Indices) -> AffineColumns:
        return AffineColumns(self, self.inner.columns(cols), self.features_of_terms(cols))

    def product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        beside = self._beside(self.features_of_terms(cols), V, self.features_of_rows(rows))
        return np.asarray(self.inner.product(rows, cols, V) + beside)

    def transposed_product(self, rows: Indices, cols: Indices, V: Array) -> Floats:
        beside = self._beside(self.features_of_rows(rows), V, self.features_of_terms(cols))
        return np.asarray(self.inner.transposed_product(rows, cols, V) + beside)

    def add_product(self, cols: Indices, V: Array, out: Floats) -> int:
        evaluations = self.inner.add_product(cols, V, out)
        out += self._beside(self.features_of_terms(cols), V, self.features_of_rows(slice(None)))
        return evaluations

    def block(self, rows: Indices, cols: Indices) -> Array:
        return self.columns(cols).block(rows)

    def diagonal(self) -> Floats:
        features = self.features_of_rows(slice(None))
        return self.inner.diagonal() + self.plane.constant + (0.0 if features is None else features.squares())

    def chunk_rows(self, n_cols: int) -> int:
        return self.inner.chunk_rows(n_cols)

    def at(self, rows: Rows) -> AffineGram:
        return replace(self, inner=self.inner.at(rows))

    def with_rows(self, rows: Indices) -> AffineGram:
        return replace(self, inner=self.inner.with_rows(rows))

    def restricted(self, cols: Indices) -> AffineGram:
        return replace(self, inner=self.inner.restricted(cols))

    def square(self) -> AffineGram | None:
        square = self.inner.square()
        return None if square is None else replace(self, inner=square)

    def detached(self) -> AffineGram:
        return replace(self, inner=self.inner.detached())

    def with_workers(self, workers: Workers) -> AffineGram:
        return replace(self, inner=self.inner.with_workers(workers))

    def to_values(self) -> Values:
        raise TypeError("a model keeps the gram inside, an intercept and a trend")

    def intercept_and_trend(self, coef: Floats) -> tuple[Floats, Floats | None]:
        """Return what coefficients of all terms add up to beside the kernel: numbers for f as ``b + <w, x>``."""
        intercept, plane = self.plane.constant * coef.sum(axis=0), self.plane
        features = self.features_of_terms(slice(None))
        if features is None or plane.scale is None:
            return np.asarray(intercept), None
        gram = self._with_points
        sums, known = features.sums(coef), _known(gram)
        trend = np.zeros((gram.placement.n_features, coef.shape[1]))
        trend[slice(None) if known is None else known] = sums if known is None else sums[:-1]
        trend *= np.broadcast_to(plane.scale, len(trend))[:, None]
        return np.asarray(intercept if plane.center is None else intercept - plane.center @ trend), trend

    def sums(self, V: Array) -> Floats:
        """Return what is beside the kernel of all terms with coefficients V: few numbers (any, n_outputs)."""
        features = self.features_of_terms(slice(None))
        total = V.sum(axis=0, dtype=np.float64)[None]
        return total if features is None else np.concatenate([total, features.sums(V)])

    def of_sums(self, rows: Indices, sums: Floats) -> Floats:
        """Return what such ``sums`` add to the predictions of some rows: one line for all where there is no plane."""
        features, constant = self.features_of_rows(rows), np.asarray(self.plane.constant * sums[0])
        return constant if features is None else features.times(sums[1:]) + constant

    def features_of_rows(self, rows: Indices) -> _Features | None:
        """Return the features of some rows, None where there is no plane."""
        if self.plane.scale is None:
            return None
        gram = self._with_points
        places = gram.row_places(rows) if isinstance(gram, DenseGram) else rows
        return _Features(gram.row_points.take(places), *self._gauge)

    def features_of_terms(self, cols: Indices) -> _Features | None:
        """Return the features of some terms' points, None where there is no plane."""
        if self.plane.scale is None:
            return None
        return _Features(self._with_points.col_points.take(cols), *self._gauge)

    def _beside(self, of: _Features | None, V: Array, to: _Features | None) -> Floats:
        """Return the product beside the kernel's: one line for all rows, or with a plane a line for each."""
        constant = np.asarray(self.plane.constant * V.sum(axis=0, dtype=np.float64))
        return constant if of is None or to is None else to.times(of.sums(V)) + constant

    @property
    def _with_points(self) -> DenseGram | SparseGram:
        """The gram inside, where there is a plane."""
        assert isinstance(self.inner, DenseGram | SparseGram)
        return self.inner

    @cached_property
    def _gauge(self) -> tuple[Floats, Floats]:
        """The ratio and the shift that make features of points."""
        gram, plane = self._with_points, self.plane
        known, n_features = _known(gram), gram.placement.n_features

        def numbered(values: Floats | None) -> Floats:
            """Return one number for each feature of the points; 0 for all that share the last place."""
            given = np.zeros(1) if values is None else values
            if known is None:
                return np.broadcast_to(given, n_features)
            return np.append(given[known] if len(given) > 1 else np.full(len(known), given[0]), 0.0)

        own = numbered(gram.placement.scale)
        scale = np.where(own > 0, numbered(plane.scale), 0.0)
        ratio = scale / np.where(own > 0, own, 1.0)
        return ratio, (numbered(plane.center) - numbered(gram.placement.center)) * scale


def trend_at_terms(gram: DenseGram | SparseGram, trend: Floats) -> Floats:
    """Return ``<trend, x>`` at the rows that the terms of a gram are, from their points."""
    features, known = AffineGram(gram, Plane(0.0, np.ones(1))).features_of_terms(slice(None)), _known(gram)
    assert features is not None
    return features.times(trend if known is None else np.append(trend[known], np.zeros((1, trend.shape[1])), axis=0))


def _known(gram: DenseGram | SparseGram) -> NDArray[Any] | None:
    """Return the features that the points of a sparse gram have, where they are numbered anew."""
    return gram.features.known if isinstance(gram, SparseGram) else None


@dataclass(frozen=True)
class AffineColumns:
    """Some columns, and the features of their points."""

    gram: AffineGram
    inner: Columns
    features: _Features | None

    def __len__(self) -> int:
        return len(self.inner)

    def block(self, rows: Indices) -> Array:
        block = self.inner.block(rows)
        of_rows, constant = self.gram.features_of_rows(rows), block.dtype.type(self.gram.plane.constant)
        if of_rows is None or self.features is None:
            return np.asarray(block + constant)
        summed = of_rows.cross(self.features, block.dtype)
        summed += block
        summed += constant
        return summed

    def product(self, rows: Indices, V: Array) -> Floats:
        beside = self.gram._beside(self.features, V, self.gram.features_of_rows(rows))
        return np.asarray(self.inner.product(rows, V) + beside)
