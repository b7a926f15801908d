"""Which columns share a table, so that tables stay within the memory budget.

A table has a line of 256 bytes for each feature. Where all features have one within a table's share of the budget, all
columns use that numbering. Where they do not, the columns are cut into parts of few enough features, and for each part
the features that it has are numbered anew, from 1 on; line 0 is empty, and stands for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .gram import Array
from .loops.microtile import LINE_BYTES
from .loops.walk import TABLE_LINES, table_ends, table_width

TABLES = 8
"""Tables that the budget holds at the least."""

FEWEST_LINES = 4096
"""Lines that a table may have whatever the budget: 1 MB."""


@dataclass(frozen=True)
class Part:
    """Columns ``begin`` to ``end``, the lines of all rows' and all columns' entries, and the lines of a table."""

    begin: int
    end: int
    row_lines: NDArray[np.int32]
    col_lines: NDArray[np.int32]
    n_lines: int

    def tables_within(self, budget: int) -> int:
        """Return how many tables fit the budget, one at the least."""
        return max(1, budget // (TABLE_LINES * LINE_BYTES * self.n_lines))


def parts(
    row_features: NDArray[np.int32], col_starts: Array, col_features: NDArray[np.int32], n_features: int, dtype: str,
    budget: int,
) -> Iterator[Part]:  # fmt: skip
    """Yield the columns in parts; where the budget allows it, as whole tables, so that sums do not depend on it."""
    most = max(FEWEST_LINES, budget // (TABLES * TABLE_LINES * LINE_BYTES))
    if n_features <= most:
        yield Part(0, len(col_starts), row_features, col_features, n_features)
        return
    begin = 0
    for end in table_ends(col_starts, col_features, n_features, table_width(dtype), most - 1):
        found = np.unique(col_features[col_starts[begin, 0] : col_starts[end - 1, -1]])
        lines = np.zeros(n_features, dtype=np.int32)
        lines[found] = np.arange(1, len(found) + 1, dtype=np.int32)
        yield Part(begin, int(end), lines[row_features], lines[col_features], len(found) + 1)
        begin = int(end)
