"""A table as numbers: the columns' encodings, learned from rows that stream by, saved as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .column_encodings import (
    AnyColumn,
    CategoricalColumn,
    NumericColumn,
    column_from_dict,
)
from .errors import quoted
from .field_values import Numbers
from .messages import Message
from .table import Chunk
from .target_statistics import LevelBook, LevelColumn, TargetMeans, within_bounds


@dataclass(frozen=True)
class TableEncoder:
    """The columns in use, one after the other, and the names of those left out with the reason."""

    columns: Sequence[AnyColumn]
    left_out: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The columns that rows must have."""
        return [column.name for column in self.columns]

    @property
    def categorical(self) -> frozenset[str]:
        """The columns that are read as text: categories, ordered or not, and dates."""
        return frozenset(column.name for column in self.columns if not isinstance(column, NumericColumn))

    @property
    def features(self) -> list[str]:
        """A name for each column of the encoded rows."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def n_features(self) -> int:
        return sum(len(column.features) for column in self.columns)

    @property
    def groups(self) -> NDArray[np.intp]:
        """The group of each feature: features of one group share a weight."""
        return _numbered([(place, group) for place, column in enumerate(self.columns) for group in column.groups])

    @property
    def statistics(self) -> NDArray[np.bool_]:
        """Tell for each feature whether it is a statistic of the targets."""
        means = [
            [False] * (len(column.features) - n) + [True] * n
            for column in self.columns
            for n in [column.n_means if isinstance(column, CategoricalColumn) else 0]
        ]
        return np.array([flag for of_column in means for flag in of_column], dtype=bool)

    def with_room(self, n_means: int) -> TableEncoder:
        """Return the encoder with room for so many means of the targets, for categories of many levels."""

        def roomy(column: AnyColumn) -> AnyColumn:
            if isinstance(column, CategoricalColumn) and column.has_many:
                pairs = {other: LevelBook(n_means) for other in column.pairs}
                return replace(column, statistic=LevelBook(n_means), pairs=pairs)
            return column

        return TableEncoder([roomy(column) for column in self.columns], self.left_out) if n_means else self

    def level_columns(self, encoded: Numbers) -> list[LevelColumn]:
        """Return the levels that ``encode`` has written where there is room for means."""
        return within_bounds([LevelColumn.read(book, encoded, place) for book, place in self._rooms()])

    def with_statistics(self, means: TargetMeans) -> TableEncoder:
        """Return the encoder with statistics of the targets where there was room for them."""
        known = iter(means.statistics())
        columns = [
            replace(column, statistic=next(known), pairs={other: next(known) for other in column.pairs})
            if isinstance(column, CategoricalColumn) and column.n_means
            else column
            for column in self.columns
        ]
        return TableEncoder(columns, self.left_out)

    def _rooms(self) -> Iterator[tuple[LevelBook, slice]]:
        stop = 0
        for column in self.columns:
            stop += len(column.features)
            if not isinstance(column, CategoricalColumn):
                continue
            start = stop - column.n_means
            for _, book in column.statistics:
                assert isinstance(book, LevelBook)
                yield book, slice(start, start + book.n_means)
                start += book.n_means

    def surprises(self, unknown: Mapping[str, int]) -> list[Message]:
        """Return notes on rows that ``encode`` has counted."""
        words = {column.name: column.surprise for column in self.columns}
        return [Message(f"column {quoted(name)}: {count} rows with {words[name]}") for name, count in unknown.items()]

    def per_column(self, shares: Numbers) -> Numbers:
        """Return the sum over the features of each column."""
        sizes = [len(column.features) for column in self.columns]
        return np.add.reduceat(shares, np.cumsum([0, *sizes[:-1]]))

    def feature(self, place: int) -> str:
        """Return the name of a column of the encoded rows."""
        return self.features[place]

    def column(self, place: int) -> str:
        """Return the name of a column in use."""
        return self.columns[place].name

    def encode(self, chunk: Chunk, unknown: Counter[str] | None = None) -> Numbers:
        """Return the rows as numbers, (n_rows, n_features).

        ``unknown`` counts, for each column, rows with a category or a gap that the training rows did not have.
        """
        out = np.zeros((chunk.n_rows, self.n_features))
        start = 0
        for column in self.columns:
            stop = start + len(column.features)
            count = column.encode(chunk, out[:, start:stop])
            if unknown is not None and count:
                unknown[column.name] += count
            start = stop
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"columns": [column.to_dict() for column in self.columns], "left_out": self.left_out}

    @classmethod
    def from_dict(cls, saved: object) -> TableEncoder:
        """Return the encoder that ``to_dict`` described; ValueError if it never did."""
        entries = saved_value.entries(saved, "encoder", {"columns", "left_out"})
        listed = saved_value.items(entries["columns"], "encoder.columns")
        columns = [column_from_dict(column, f"encoder.columns[{place}]") for place, column in enumerate(listed)]
        left_out = saved_value.entries(entries["left_out"], "encoder.left_out", set(dict(entries["left_out"])))
        for reason in left_out.values():
            saved_value.text(reason, "encoder.left_out")
        saved_value.texts([*(column.name for column in columns), *left_out], "encoder.columns")
        if not columns:
            raise ValueError("encoder.columns is empty")
        found = cls(columns, left_out)
        partners = [set(column.pairs) for column in columns if isinstance(column, CategoricalColumn)]
        if not set().union(*partners) <= found.categorical:
            raise ValueError("encoder.columns has pairs with columns that are no categories")
        return found


def _numbered(keys: Sequence[tuple[int, int]]) -> NDArray[np.intp]:
    """Return a number for each key, the same for the same key."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.intp)
