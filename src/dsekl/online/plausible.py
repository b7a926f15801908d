"""What the numbers in a learner's file must be to each other, so that it can be computed with.

Every number alone may be right, and sums and products of them still overflow; kernel values may be those of no points.
What cannot have come from a stream is refused before anything is learned from it.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import numpy as np

from . import dual_steps
from .buffer import Floats
from .learner import Learner

MOST = 1e152
"""No number of a learner is further from 0: those of rows and targets end at 1e150, and squares of these are finite."""

SAME = 1e-6
"""Share of the largest kernel value by which one may differ from that of its points."""


def require_sizes(saved: Any, moments: tuple[str, ...] = ()) -> None:
    """Raise ValueError for arrays with numbers beyond ``MOST``; the last line of ``moments`` has squares."""
    for name, value in vars(saved).items():
        if is_dataclass(value):
            require_sizes(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            held = value[:2] if name in moments else value
            if held.size and np.abs(held).max() > MOST:
                raise ValueError(f"the learner's {name} are too large to be computed with")


def require_kernel(learner: Learner, kernel: Floats) -> None:
    """Raise ValueError where kernel values are not those of the points."""
    n = learner.n_points
    dual_steps.gram(learner.buffer, learner.prepared.compared)
    found = learner.buffer.kernel[:n, :n]
    largest = np.abs(found).max(initial=0.0)
    if not (np.isfinite(largest) and (np.abs(found - kernel) <= SAME * largest).all()):
        raise ValueError("the learner's kernel values are not those of its points")


def require_finite(learner: Learner) -> None:
    """Raise ValueError where typical rows have predictions that are not finite."""
    mean = learner.features.mean
    with np.errstate(over="ignore"):
        spread = np.sqrt(learner.features.variance)
    if not np.isfinite(learner.evaluate(np.stack([mean, mean - spread, mean + spread]))).all():
        raise ValueError("the learner's numbers are too large to be computed with")
