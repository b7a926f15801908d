"""What may stand beside the kernel: nothing, an intercept, or an intercept and a trend.

Both are penalised as the kernel's own part is: the constant of the kernel ``k + a + <x~, z~>`` is a = k(x, x), and the
features x~, which are the columns in their own units, have about that length. So neither is free, and either is found
in a few epochs; the larger the constant, the longer coordinate steps take.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from dsekl.gram import Gram
from dsekl.gram.affine import AffineGram, Plane
from dsekl.gram.sparse import SparseGram
from dsekl.rows import CsrRows, DenseRows, ReshapedRows, Reshaping, Rows

from .scales import deviations


class Beside(NamedTuple):
    """What stands beside the kernel."""

    intercept: bool = False
    trend: bool = False

    @property
    def name(self) -> str:
        return " and ".join(name for name, there in self._asdict().items() if there) or "nothing"


NOTHING = Beside()


def plane_of(rows: Rows, beside: Beside, height: float, reshaping: Reshaping | None = None, full: bool = True) -> Plane:
    """Return the plane for rows whose k(x, x) is ``height`` on average.

    With an intercept the columns are centred, so that trends are penalised around the middle of the data; but not where
    points are not ``full``, since a centre would fill them. Sparse rows have one unit for all columns.
    """
    constant = height if beside.intercept else 0.0
    if not beside.trend:
        return Plane(constant)
    if isinstance(rows, CsrRows):
        squares = sparse.csr_array(rows.values, dtype=np.float64).power(2).sum() / max(1, len(rows))
        return Plane(constant, np.array([np.sqrt(height / squares) if squares > 0 else 0.0]))
    if not isinstance(rows, DenseRows):
        raise ValueError(f"trend=True needs rows of numbers, not {type(rows).__name__}; set trend=False")
    seen = rows if reshaping is None else ReshapedRows(rows, reshaping)
    deviation = deviations(seen)
    varying = deviation > 0
    length = np.sqrt(height / max(1, varying.sum()))
    scale = np.where(varying, length / np.where(varying, deviation, 1.0), 0.0)
    return Plane(constant, scale, seen.means() if beside.intercept and full else None)


def with_plane(gram: Gram, rows: Rows, beside: Beside, reshaping: Reshaping | None = None) -> Gram:
    """Return the gram of rows with themselves, and what stands beside its kernel."""
    if beside == NOTHING:
        return gram
    height = float(gram.diagonal().mean())
    full = not isinstance(gram, SparseGram)
    return AffineGram(gram, plane_of(rows, beside, height if height > 0 else 1.0, reshaping, full))
