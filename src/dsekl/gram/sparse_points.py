"""Sparse points (CSR), with their features numbered anew.

A product spreads columns into a table with a line for each feature, and an index may be 1e8 where there are a thousand
entries. So where a gram's columns have more features than entries, the features that occur in them are numbered from 0
on, and all others, which new rows may have, share one number more: its line in the table stays empty. The order of
features is kept, and with it every sum, to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dsekl.kernels import Pairwise

from .gram import Array, Indices
from .loops.walk import FEWEST_ENTRIES, SLAB_FEATURES, slab_starts
from .placement import refuse_overflow


@dataclass(frozen=True)
class Features:
    """Which features have numbers of their own: those ``known``, ascending, or for None all ``n_features``."""

    known: NDArray[Any] | None
    n_features: int

    @staticmethod
    def of(data: sparse.csr_array) -> Features:
        """Return the features of a gram's columns."""
        wide = data.shape[1] > data.nnz
        return Features(np.unique(data.indices) if wide else None, int(data.shape[1]))

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return self.n_features if self.known is None else len(self.known) + 1

    def numbered(self, data: sparse.csr_array) -> sparse.csr_array:
        """Return points with the new numbers; entries of unknown features may then share one."""
        if self.known is None:
            return data
        places = np.searchsorted(self.known, data.indices)
        unknown = np.append(self.known, -1)[places] != data.indices
        places[unknown] = len(self.known)
        return sparse.csr_array((data.data, places, data.indptr), shape=(data.shape[0], self.count))

    def original(self, data: sparse.csr_array) -> sparse.csr_array:
        """Return points of known features alone with the numbers that these have in X."""
        if self.known is None:
            return data
        features = self.known[data.indices]
        return sparse.csr_array((data.data, features, data.indptr), shape=(data.shape[0], self.n_features))


def norms_of(data: sparse.csr_array, pairwise: Pairwise) -> Array:
    """Return what each point gives against an empty one."""
    match pairwise:
        case Pairwise.SQUARED_DISTANCE:
            norms = data.multiply(data).sum(axis=1)
        case Pairwise.MANHATTAN | Pairwise.CHI_SQUARED:
            norms = abs(data).sum(axis=1)
        case _:
            norms = np.zeros(data.shape[0])
    return np.asarray(norms, dtype=data.dtype).reshape(-1)


@dataclass(frozen=True)
class SparsePoints:
    """Placed points as CSR of numbered features, with what each point gives against an empty one."""

    data: sparse.csr_array
    norms: Array

    @staticmethod
    def of(data: sparse.csr_array, pairwise: Pairwise, features: Features) -> SparsePoints:
        norms = norms_of(data, pairwise)  # of entries that have not yet been put together
        refuse_overflow(norms)
        return SparsePoints(features.numbered(data), norms)

    def take(self, indices: Indices) -> SparsePoints:
        if isinstance(indices, slice) and indices == slice(None):
            return self
        return SparsePoints(self.data[indices], np.ascontiguousarray(self.norms[indices]))

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Starts (n, n_slabs + 1) of the points' entries, slab by slab, the entries' features and values, the norms."""
        features = self.data.indices.astype(np.int32, copy=False)
        n_slabs = min(-(-self.data.shape[1] // SLAB_FEATURES), self.data.nnz // (FEWEST_ENTRIES * max(1, len(self))))
        first_features = np.linspace(0, self.data.shape[1], max(1, n_slabs), endpoint=False, dtype=np.int32)
        starts = slab_starts(self.data.indptr.astype(np.int64, copy=False), features, first_features)
        return starts, features, self.data.data, self.norms

    def __len__(self) -> int:
        return int(self.data.shape[0])
