"""What an expansion is to the library."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from dsekl.gram import Gram


@runtime_checkable
class Expansion(Protocol):
    """A choice of terms."""

    def expand(self, gram: Gram, rng: np.random.Generator) -> Gram:
        """Return the matrix of the chosen terms, made from the gram of all training rows with themselves."""
