"""What may stand beside the kernel: nothing, an intercept, or an intercept and a trend.

Both are penalised as the kernel's own part is. In ``k + a + <x~, z~>`` the constant is as large as a typical value of
the kernel, the root of their mean square, and so are the inner products of the features x~, which are the columns in
their own units. So a narrow kernel, whose values are nearly all 0, is not outvoted by an intercept that costs nothing;
and the largest eigenvalue of the matrix stays of the size that it has without them, so that coordinate steps are hardly
slower.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.gram import Gram
from dsekl.gram.affine import AffineGram, Plane
from dsekl.gram.gram import require_squares
from dsekl.gram.sparse import SparseGram
from dsekl.rows import CsrRows, DenseRows, ReshapedRows, Reshaping, Rows

from .scales import deviations

LOOKED_AT = 512
"""Rows whose kernel values with each other are looked at."""


class Beside(NamedTuple):
    """What stands beside the kernel."""

    intercept: bool = False
    trend: bool = False

    @property
    def name(self) -> str:
        return " and ".join(name for name, there in self._asdict().items() if there) or "nothing"


NOTHING = Beside()


def with_plane(gram: Gram, rows: Rows, beside: Beside, reshaping: Reshaping | None = None) -> Gram:
    """Return the gram of rows with themselves, and what stands beside its kernel."""
    if beside == NOTHING:
        return gram
    some, full = _evenly_spaced(gram.n_rows), not isinstance(gram, SparseGram)
    block = gram.block(some, some)
    require_squares(block)
    size = _root_mean_square(block, gram.n_rows)
    return AffineGram(gram, plane_of(rows, beside, size, reshaping, full))


def plane_of(
    rows: Rows, beside: Beside, size: float = 1.0, reshaping: Reshaping | None = None, full: bool = True
) -> Plane:
    """Return the plane whose constant, and whose inner products, are of a given ``size``.

    With an intercept the columns are centred, so that trends are penalised around the middle of the data; but not where
    points are not ``full``, since a centre would fill them. Sparse rows have one unit for all columns.
    """
    constant = size if beside.intercept else 0.0
    if not beside.trend:
        return Plane(constant)
    some = _evenly_spaced(len(rows))
    if isinstance(rows, CsrRows):
        X = sparse.csr_array(rows.values[some], dtype=np.float64)
        return Plane(constant, np.sqrt(size / _root_mean_square((X @ X.T).toarray(), len(rows))) * np.ones(1))
    if not isinstance(rows, DenseRows):
        raise ValueError(f"trend=True needs rows of numbers, not {type(rows).__name__}; set trend=False")
    seen = rows if reshaping is None else ReshapedRows(rows, reshaping)
    deviation = deviations(seen)
    varying = deviation > 0
    scale = np.where(varying, 1.0 / np.where(varying, deviation, 1.0), 0.0)
    plane = Plane(constant, scale, seen.means() if beside.intercept and full else None)
    Z = plane.features(seen[some])
    return replace(plane, scale=scale * np.sqrt(size / _root_mean_square(Z @ Z.T, len(rows))))


def _evenly_spaced(n: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n - 1, LOOKED_AT).astype(np.intp))


def _root_mean_square(block: NDArray[Any], n: int) -> float:
    """Return that of a matrix between n rows, from the block of some of them; 1 if all values are 0."""
    squares, n_seen = np.square(block.astype(np.float64)), len(block)
    own = float(np.trace(squares)) / n_seen
    others = (float(squares.sum()) / n_seen - own) / max(1, n_seen - 1)
    return float(np.sqrt(own / n + others * (1 - 1 / n))) or 1.0
