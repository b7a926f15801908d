"""Rows that are no vectors: objects for a user's own kernel function, and kernel values made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .digest import digest
from .rows import Indices


@dataclass(frozen=True, eq=False)
class ObjectRows:
    """A sequence of objects: a list, an array of them, or the rows of a CSR matrix."""

    values: Any

    @property
    def n_features(self) -> int:
        return 1

    def __len__(self) -> int:
        return int(self.values.shape[0]) if sparse.issparse(self.values) else len(self.values)

    def take(self, places: Indices) -> ObjectRows:
        """Return some of the objects: an array from an array, CSR from CSR, a list from any other sequence."""
        if isinstance(self.values, np.ndarray) or sparse.issparse(self.values):
            return ObjectRows(self.values[places])
        return ObjectRows([self.values[i] for i in np.arange(len(self))[places]])

    def digest(self) -> str:
        return digest(self.values)


@dataclass(frozen=True, eq=False)
class CrossRows:
    """Kernel values of some examples (rows) with all training examples (columns)."""

    values: NDArray[Any]

    @property
    def n_features(self) -> int:
        return int(self.values.shape[1])

    def __len__(self) -> int:
        return len(self.values)

    def take(self, places: Indices) -> CrossRows:
        return CrossRows(self.values[places])

    def digest(self) -> str:
        return digest(self.values)


class SquareRows(CrossRows):
    """Kernel values of the training examples with each other; some of them take their columns along."""

    def take(self, places: Indices) -> SquareRows:
        chosen = np.arange(len(self))[places]
        return SquareRows(self.values[np.ix_(chosen, chosen)])
