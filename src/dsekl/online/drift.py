"""Has the stream changed? The errors of the last rows, beside those of the rows before them.

Errors are summed up in blocks of rows. Two blocks whose mean is above that of the blocks before by several standard
errors are a change: what was learned from rows before them is out of date.
"""

from __future__ import annotations

import math

import numpy as np

from .buffer import Floats

BLOCK = 64
"""Rows in a block."""

LATE = 2
"""Blocks that are compared with those before them."""

FIRST = 4
"""Blocks at the start that are not compared with, since a machine errs more before it has learned."""

FEWEST = 4
"""Blocks that there must be to compare with."""

KEPT = 0.98
"""Share that the blocks to compare with keep with each further one."""

ERRORS = 4.0
"""Standard errors by which a mean must be larger."""

MANY = 64
"""Blocks from which on more errors are asked for: the more often one looks, the further off chance comes."""

LEAST_VARIANCE = 0.01
N_SUMS = 5
BLOCKS, NOW, BEFORE, ROWS, SUM = range(N_SUMS)
"""Places of the sums, of errors in the first line, of their squares in the second: blocks so far, this block, the one
before, and the rows and the sum that they are compared with."""


def nothing() -> Floats:
    """Return the sums of no rows."""
    return np.zeros((2, N_SUMS))


def changed(sums: Floats) -> bool:
    """Tell whether the last blocks are worse than those before; called when a block is full, which it ends."""
    (blocks, now, before, rows, total), squares = sums[0].tolist(), sums[1].tolist()
    found = False
    if rows >= (FEWEST - 1) * BLOCK:
        mean = total / rows
        variance = max(LEAST_VARIANCE, squares[SUM] / rows - mean * mean)
        n = LATE * BLOCK
        allowed = math.sqrt(ERRORS**2 + 2.0 * math.log(max(1.0, blocks / MANY)))
        found = (now + before) / n > mean + allowed * math.sqrt(variance / n)
    if blocks > FIRST:
        sums[0, ROWS] = KEPT * rows + BLOCK
        sums[:, SUM] = KEPT * sums[:, SUM] + sums[:, BEFORE]
    sums[:, BEFORE], sums[:, NOW] = sums[:, NOW], 0.0
    sums[0, BLOCKS] += 1.0
    if found:
        sums[...] = 0.0
    return found
