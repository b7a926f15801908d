"""A fitted model as a plain value: what f is expanded in, and the coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.gram import Gram
from dsekl.rows import Rows
from dsekl.workers import ALONE, Workers, chunks

Floats = NDArray[np.float64]

QUERY_ROWS = 2**16
"""Rows that a prediction places at a time; fewer of wide rows."""

FEWEST_QUERY_ROWS = 1024


@dataclass(frozen=True)
class Model:
    """``f(x) = sum_j term_j(x) coef_j``, with coefficients (n_terms, n_outputs)."""

    gram: Gram
    coef: Floats

    @staticmethod
    def of(gram: Gram, coef: Floats) -> tuple[Model, NDArray[np.intp]]:
        """Return the model of the terms whose coefficients are not 0, and which terms they are."""
        kept = np.flatnonzero(coef.any(axis=1))
        return Model(gram.restricted(kept).detached().with_workers(ALONE), coef[kept]), kept

    @property
    def n_terms(self) -> int:
        return len(self.coef)

    @one_blas_thread()
    def evaluate(self, rows: Rows, workers: Workers = ALONE, budget: int = 2**28) -> Floats:
        """Return f (n_queries, n_outputs) at some rows, a bounded number of them at a time."""
        gram, everything = self.gram.with_workers(workers), slice(None)
        # Raw, as points and in spatial order, each entry takes up to 16 bytes: half the budget for all of them.
        size = min(QUERY_ROWS, max(FEWEST_QUERY_ROWS, budget // (32 * rows.n_features)))
        parts = chunks(len(rows), size)
        return np.concatenate([gram.at(rows.take(part)).product(everything, everything, self.coef) for part in parts])

    def restricted(self, coef: Floats) -> tuple[Model, NDArray[np.intp]]:
        """Return the model with other coefficients of the same terms, without those that are 0, and which it keeps."""
        kept = np.flatnonzero(coef.any(axis=1))
        return Model(self.gram.restricted(kept), coef[kept]), kept
