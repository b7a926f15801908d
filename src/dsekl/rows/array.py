"""Rows in memory, and what they share with rows in a file: passes over all of them, a chunk at a time.

The size of a chunk depends on the width of the rows alone, so sums over the chunks are the same to the bit wherever the
rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dsekl.workers import chunks

from .digest import digest
from .rows import Indices

CHUNK_ENTRIES = 2**20
"""Entries that a pass over all rows holds at a time."""


def chunks_of(shape: tuple[int, ...]) -> list[slice]:
    """Return the consecutive chunks in which rows of this shape are passed over."""
    return chunks(shape[0], max(1, CHUNK_ENTRIES // max(1, shape[1])))


class InChunks:
    """Passes over all rows, for rows that have ``shape`` and can be indexed."""

    shape: tuple[int, int]

    def __getitem__(self, wanted: Any, /) -> NDArray[Any]:
        """Return some rows, or with ``[rows, columns]`` some of their entries, in memory."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        return self.shape[1]

    def dense(self, places: Indices) -> NDArray[Any]:
        return self[places]

    def chunks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield all rows in consecutive chunks, contiguous in memory."""
        for part in chunks_of(self.shape):
            yield part, np.ascontiguousarray(self[part])

    def means(self) -> NDArray[np.float64]:
        """Return the mean of each column."""
        total = np.zeros(self.shape[1])
        for _, rows in self.chunks():
            total += rows.sum(axis=0, dtype=np.float64)
        return np.asarray(total / self.shape[0])

    def variance(self) -> float:
        size = self.shape[0] * self.shape[1]
        mean = sum(float(rows.sum(dtype=np.float64)) for _, rows in self.chunks()) / size
        return (
            sum(float(np.square(np.subtract(rows, mean, dtype=np.float64)).sum()) for _, rows in self.chunks()) / size
        )

    def sample(self, most_rows: int) -> NDArray[Any]:
        """Return at most so many rows, evenly spaced."""
        # Sums over columns depend on how the numbers lie in memory.
        return np.ascontiguousarray(self[:: -(-self.shape[0] // most_rows)])

    def ranges(self, most_rows: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        some = self.sample(most_rows)
        return np.arange(self.shape[1]), np.asarray(some.max(axis=0), dtype=np.float64) - some.min(axis=0)

    def lowest(self) -> float:
        return float(min(rows.min() for _, rows in self.chunks()))

    def largest(self) -> tuple[int, float]:
        largest = np.zeros(self.shape[1])
        for _, rows in self.chunks():
            np.maximum(largest, np.maximum(rows.max(axis=0), -rows.min(axis=0)), out=largest)
        column = int(largest.argmax())
        return column, float(largest[column])

    def digest(self) -> str:
        return digest(self)


@dataclass(frozen=True, eq=False)
class ArrayRows(InChunks):
    """The rows of an array (n, n_features)."""

    values: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, wanted: Any, /) -> NDArray[Any]:
        return np.asarray(self.values[wanted])

    def take(self, places: Indices) -> ArrayRows:
        return ArrayRows(self.values[places])

    def without(self, hidden: Indices) -> ArrayRows:
        """Return the rows as they are when nothing is known of some of their targets: as they are."""
        return self


class Informed(Protocol):
    """What has made features of the targets of all rows, and can make them of those of some."""

    def without(self, hidden: NDArray[np.intp]) -> Informed:
        """Return the same for targets of which some are hidden."""

    def write(self, encoded: NDArray[Any], rows: NDArray[np.intp]) -> None:
        """Write the features of some rows into them."""


@dataclass(frozen=True, eq=False)
class InformedRows(ArrayRows):
    """Rows with features that know of the targets; ``places`` are the rows' numbers among those of the ``source``."""

    values: NDArray[Any]
    source: Informed
    places: NDArray[np.intp]

    def take(self, places: Indices) -> InformedRows:
        return InformedRows(self.values[places], self.source, self.places[places])

    def without(self, hidden: Indices) -> ArrayRows:
        """Return the rows with features that know nothing of the targets of some of them."""
        return RewrittenRows(self.values, self.source.without(self.places[hidden]), self.places)


class RewrittenRows(InformedRows):
    """Rows whose features are made of other targets when they are read, so that there is no second copy of all rows."""

    def __getitem__(self, wanted: Any, /) -> NDArray[Any]:
        if isinstance(wanted, tuple):
            return np.asarray(self[wanted[0]][:, wanted[1]])
        found = np.array(self.values[wanted])
        self.source.write(found, self.places[wanted])
        return found

    def take(self, places: Indices) -> ArrayRows:  # type: ignore[override]
        return ArrayRows(self[places])
