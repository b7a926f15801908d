"""Products in float64 with nothing left out: what a certificate is measured by.

The fast products round. Their points are float32 where there are many, squared distances come from dot products, and
kernel values out of reach are left out. Large coefficients multiply all of it. Here points are placed anew from the raw
rows, in float64, as many at a time as the budget holds; what the spatial order still leaves out is below the rounding
of a float64 number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.rows import ArrayRows, CsrRows, StoredRows
from dsekl.workers import chunks

from .gram import Floats, Gram

NEGLIGIBLE = 1e-15
"""The ``kernel_tol`` of a reference."""

COPIES = 4
"""Float64 numbers that each entry of a row takes while its point is made: raw, placed, in order, packed."""

FEWEST_ROWS = 1024

NumberRows = ArrayRows | CsrRows | StoredRows


@dataclass(frozen=True)
class Reference:
    """The kernel matrix of raw rows, product by product.

    ``build`` makes the float64 gram of some rows with themselves. ``order`` tells which raw row each row is, as the
    fast gram's does, so that both speak of rows by the same numbers.
    """

    build: Callable[[NumberRows], Gram]
    rows: NumberRows
    order: NDArray[np.intp] | None
    budget: int

    def product(self, rows: NDArray[np.intp], cols: NDArray[np.intp], V: Floats) -> Floats:
        """Return ``K[rows, cols] @ V``."""
        out = np.zeros((len(rows), V.shape[1]))
        for part in chunks(len(cols), self._chunk_rows):
            terms = self.build(self._raw(cols[part]))
            # The gram may have put its own terms into a spatial order.
            weights = V[part] if terms.order is None else V[part][terms.order]
            for some in chunks(len(rows), self._chunk_rows):
                out[some] += terms.at(self._raw(rows[some])).product(slice(None), slice(None), weights)
        return out

    def _raw(self, places: NDArray[np.intp]) -> ArrayRows | CsrRows:
        raw = places if self.order is None else self.order[places]
        return self.rows.take(raw) if isinstance(self.rows, CsrRows) else ArrayRows(self.rows.dense(raw))

    @property
    def _chunk_rows(self) -> int:
        entries = self.rows.n_features
        if isinstance(self.rows, CsrRows):
            entries = int(self.rows.values.nnz // max(1, len(self.rows)))
        return max(FEWEST_ROWS, self.budget // (8 * COPIES * max(1, entries)))
