"""Distances within regions: made once for all widths, C, losses and kernels that see the rows in the same metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import gram
from dsekl.gram.placement import Placement, refuse_overflow
from dsekl.kernels.kernel import Pairwise
from dsekl.rows import ArrayRows
from dsekl.search import Region

from .data import Data
from .distance import Distance
from .kind import Kind

KEPT_BYTES = 2**27
"""Distances up to which they are kept from one step of the search to the next."""

Blocks = tuple[NDArray[Any], NDArray[Any]]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Kept:
    """Distances of a region, and what they were made of: as long as it is there, nothing else has its identity."""

    blocks: Blocks
    made_of: tuple[Any, ...]


class RegionDistances:
    """Distances within the fitted rows of regions, and between those held out and them."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._kept: dict[Key, Kept] = {}

    def prepare(self, kind: Kind, wanted: list[tuple[Region, str]]) -> None:
        """Make what is wanted and not there; what is wanted least recently goes, as room asks for it."""
        keys = {self._key(kind, *each): each for each in wanted}
        new = [key for key in keys if key not in self._kept]
        made = self._data.workers.map(lambda key: self._made(kind, *keys[key]), new)
        blocks = dict(zip(new, made, strict=True))
        for key, (region, _) in keys.items():
            known = self._kept.pop(key, None)
            made_of = region, kind.gammas[region.split], kind.reshaping
            self._kept[key] = Kept(blocks[key], made_of) if known is None else known
        while self._n_bytes() > KEPT_BYTES and len(self._kept) > len(keys):
            del self._kept[next(iter(self._kept))]

    def of(self, kind: Kind, region: Region, dtype: str) -> Blocks:
        """Return the distances of a region; those that were not prepared are made and not kept."""
        kept = self._kept.get(self._key(kind, region, dtype))
        return self._made(kind, region, dtype) if kept is None else kept.blocks

    def _n_bytes(self) -> int:
        return sum(block.nbytes for kept in self._kept.values() for block in kept.blocks)

    @staticmethod
    def _key(kind: Kind, region: Region, dtype: str) -> Key:
        kernel = kind.kernel
        metric = kernel.pairwise, kernel.gamma_power, id(kind.gammas[region.split]), id(kind.reshaping)
        return (id(region), dtype, *metric)

    def _made(self, kind: Kind, region: Region, dtype: str) -> Blocks:
        places = np.concatenate([region.fitted, region.held_out])
        gamma = kind.gamma(kind.gammas[region.split])
        rows = ArrayRows(self._data.rows.without(region.held_out)[places])
        if kind.kernel.pairwise is Pairwise.SQUARED_DISTANCE:
            placement = Placement.of(kind.kernel, gamma, rows, dtype, kind.reshaping)
            return _squared_distances(placement.in_memory(rows), len(region.fitted))
        fitted, held_out = np.arange(len(region.fitted)), np.arange(len(region.fitted), len(places))
        distances = gram.build(Distance(kind.kernel), rows, gamma, dtype, reshaping=kind.reshaping)
        return distances.block(fitted, fitted), distances.block(held_out, fitted)


def _squared_distances(points: NDArray[Any], n_fitted: int) -> Blocks:
    """Return the squared distances between the first points, and from the others to them, by one matrix product.

    Two more features of each point, its norm and a 1, make ``|x|^2 - 2 <x, z> + |z|^2`` of a product of rows.
    """
    norms, ones = np.einsum("ij,ij->i", points, points), np.ones(len(points), points.dtype)
    refuse_overflow(norms)
    left = np.column_stack([-2 * points, norms, ones])
    right = np.column_stack([points[:n_fitted], ones[:n_fitted], norms[:n_fitted]])
    distances = left @ right.T
    np.maximum(distances, 0, out=distances)
    np.fill_diagonal(distances, 0)
    return distances[:n_fitted], distances[n_fitted:]
