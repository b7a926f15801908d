"""A fitted model as a plain value: what f is expanded in, the coefficients, and the intercept and trend beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.gram import Gram
from dsekl.gram.affine import AffineGram, trend_at_terms
from dsekl.gram.dense import DenseGram
from dsekl.gram.sparse import SparseGram
from dsekl.rows import ArrayRows, CsrRows, Reshaping, Rows, StoredRows
from dsekl.rows.array import chunks_of
from dsekl.workers import ALONE, Workers, chunks

Floats = NDArray[np.float64]

QUERY_ROWS = 2**16
"""Rows that a prediction places at a time; fewer of wide rows."""

FEWEST_QUERY_ROWS = 1024


MODERATE = 2.0**64
"""Coefficients up to this, and down to 1 over it, are left as they are."""


def of_moderate_size(coef: Floats) -> tuple[Floats, Floats]:
    """Return coefficients that fit float32, in which products may be made, and what each output is to be multiplied by.

    Those of targets of extreme size do not. The sizes are powers of two, so that no bit is lost.
    """
    largest = np.abs(coef).max(axis=0, initial=0.0)
    extreme = (largest > MODERATE) | ((largest < 1.0 / MODERATE) & (largest > 0.0))
    size = np.where(extreme, np.exp2(np.frexp(largest)[1] - 1.0), 1.0)
    return coef / size, size


@dataclass(frozen=True)
class Model:
    """``f(x) = sum_j term_j(x) coef_j + intercept + <trend, x>``.

    Coefficients are (n_terms, n_outputs), the intercept (n_outputs,) and the trend (n_features, n_outputs), None for
    none. Where columns are reshaped, x is the reshaped row.
    """

    gram: Gram
    coef: Floats
    intercept: Floats | float = 0.0
    trend: Floats | None = None

    @staticmethod
    def of(gram: Gram, coef: Floats) -> tuple[Model, NDArray[np.intp]]:
        """Return the model of the terms whose coefficients are not 0, and which terms they are."""
        kept = np.flatnonzero(coef.any(axis=1))
        terms, coef = gram.restricted(kept), coef[kept]
        intercept, trend = np.zeros(coef.shape[1]), None
        if isinstance(terms, AffineGram):
            intercept, trend = terms.intercept_and_trend(coef)
            terms = terms.inner
        return Model(terms.detached().with_workers(ALONE), coef, intercept, trend), kept

    @property
    def n_terms(self) -> int:
        return len(self.coef)

    def evaluate(self, rows: Rows, workers: Workers = ALONE, budget: int = 2**28) -> Floats:
        """Return f (n_queries, n_outputs) at some rows, a bounded number of them at a time."""
        return self.evaluate_terms(rows, workers, budget) + self.beside(rows)

    @one_blas_thread()
    def beside(self, rows: Rows) -> Floats:
        """Return the intercept and the trend of some rows: one line for all where there is no trend."""
        if self.trend is None:
            return np.asarray(self.intercept)
        assert isinstance(rows, ArrayRows | CsrRows | StoredRows)
        if isinstance(rows, CsrRows) and self._reshaping is None:
            return np.asarray(rows.values.astype(np.float64) @ self.trend + self.intercept)
        parts = [self.columns(rows.dense(part)) @ self.trend for part in chunks_of((len(rows), rows.n_features))]
        return np.concatenate([np.zeros((0, self.trend.shape[1])), *parts]) + self.intercept

    @one_blas_thread()
    def beside_terms(self) -> Floats:
        """Return the intercept and the trend at the model's own points: one line for all where there is no trend."""
        if self.trend is None:
            return np.asarray(self.intercept)
        assert isinstance(self.gram, DenseGram | SparseGram)
        return trend_at_terms(self.gram, self.trend) + self.intercept

    @one_blas_thread()
    def evaluate_terms(self, rows: Rows, workers: Workers = ALONE, budget: int = 2**28) -> Floats:
        """Return the sum over the terms (n_queries, n_outputs), without what stands beside it."""
        gram, everything = self.gram.with_workers(workers), slice(None)
        # Raw, as points and in spatial order, each entry takes up to 16 bytes: half the budget for all of them.
        size = min(QUERY_ROWS, max(FEWEST_QUERY_ROWS, budget // (32 * rows.n_features)))
        parts = chunks(len(rows), size)
        coef, unit = of_moderate_size(self.coef)
        found = [gram.at(rows.take(part)).product(everything, everything, coef) for part in parts]
        return np.asarray(np.concatenate(found) * unit)

    def restricted(self, coef: Floats) -> tuple[Model, NDArray[np.intp]]:
        """Return the model with other coefficients of the same terms, without those that are 0, and which it keeps."""
        kept = np.flatnonzero(coef.any(axis=1))
        return replace(self, gram=self.gram.restricted(kept), coef=coef[kept]), kept

    def divided_by(self, size: float) -> Model:
        """Return the model of f over some number."""
        trend = None if self.trend is None else self.trend / size
        return replace(self, coef=self.coef / size, intercept=self.intercept / size, trend=trend)

    def columns(self, X: NDArray[Any]) -> Floats:
        """Return raw rows on the scale that the trend has its columns on."""
        return np.asarray(X if self._reshaping is None else self._reshaping(X), dtype=np.float64)

    @property
    def _reshaping(self) -> Reshaping | None:
        return self.gram.placement.reshaping if isinstance(self.gram, DenseGram) else None
