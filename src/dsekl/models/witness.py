"""What tells two runs apart that a name cannot: a user's own function by its code, and by its values at some places.

A function has a name, and another function may have the same; objects have a type, and it need not say what they hold.
So functions count as the same if their code is (``own_code`` has what that is), and if they agree at some places, to a
few digits (the last ones may differ between machines). The values tell what code cannot, such as a table that a
function reads. Objects of other than plain types count as the same if the kernel tells them apart in no way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dsekl.gram.blockwise import MOST_PAIRS_A_CALL, ObjectBlocks
from dsekl.kernels import Kernel, ObjectKernel, Pairwise, VectorKernel
from dsekl.losses import Loss
from dsekl.rows import ObjectRows, Rows
from dsekl.rows.digest import is_plain
from dsekl.workers import chunks

from .own_code import LETTERS, code_text
from .savable import is_ours

WITNESSES = 8
"""Objects, evenly spaced among the rows, whose kernel values are looked at."""

DIGITS = 5

PLACES = np.concatenate([[0.0], np.geomspace(1e-3, 300.0, 96)])[None, :]
"""Squared distances, sums of differences or dot products, and predictions, at which a function is asked: 17 in each
power of ten."""


def kernel_values(kernel: Kernel, rows: Rows) -> str:
    """Return code and values of a user's own kernel as a text; nothing for dsekl's own, which its name tells."""
    if isinstance(kernel, ObjectKernel) and isinstance(rows, ObjectRows):
        chosen = _witnesses(rows)
        values = ObjectBlocks(kernel.function, rows, rows).block(chosen, chosen)
        return code_text(kernel.function) + _digest(values.flat)
    if is_ours(kernel) or not isinstance(kernel, VectorKernel):
        return ""
    places = np.concatenate([PLACES, -PLACES], axis=1) if kernel.pairwise is Pairwise.DOT else PLACES.copy()
    kernel.profile()(places, kernel.params())
    return code_text(kernel) + _digest(places.flat)


def loss_values(loss: object) -> str:
    """Return code and values of a user's own loss as a text; nothing for a loss of dsekl's."""
    if is_ours(loss) or not isinstance(loss, Loss):
        return ""
    f = np.concatenate([PLACES, -PLACES], axis=1)
    values = (value for y in (-1.0, 1.0) for value in np.asarray(loss.value(np.full_like(f, y), f)).flat)
    return code_text(loss) + _digest(values)


def rows_digest(kernel: Kernel, rows: Rows) -> str:
    """Return the digest of the rows; with that of kernel values, for objects whose content no digest knows."""
    found = rows.digest()
    if not (isinstance(kernel, ObjectKernel) and isinstance(rows, ObjectRows)) or all(map(is_plain, rows.values)):
        return found
    chosen, blocks = _witnesses(rows), ObjectBlocks(kernel.function, rows, rows)
    seen = hashlib.sha256(found.encode())
    for part in chunks(len(rows), max(1, MOST_PAIRS_A_CALL // len(chosen))):
        seen.update(_text(blocks.block(np.arange(len(rows))[part], chosen).flat).encode())
    return seen.hexdigest()


def _witnesses(rows: Rows) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, len(rows) - 1, WITNESSES).astype(np.intp))


def _digest(values: Iterable[float]) -> str:
    return f", values {hashlib.sha256(_text(values).encode()).hexdigest()[:LETTERS]}"


def _text(values: Iterable[float]) -> str:
    return "".join(f" {value + 0.0:.{DIGITS}g}" for value in values)
