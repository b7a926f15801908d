"""Decisions from f, which has one output for two classes and one per class for more, and which of them are wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def decisions(f: Floats) -> NDArray[np.intp]:
    """Return the code of the class that f (n_rows, n_outputs) decides for."""
    return (f[:, 0] > 0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)


def wrong(targets: Floats, f: Floats) -> Floats:
    """Return 1 for each row with the wrong label, 0 for the others."""
    return np.asarray(decisions(f) != decisions(targets), dtype=np.float64)
