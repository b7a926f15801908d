"""A table as numbers: the columns' encodings, learned from rows that stream by, saved as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .column_encodings import (
    AnyColumn,
    CategoricalColumn,
    NumericColumn,
    column_from_dict,
    finite,
    level_texts,
)
from .column_learners import CategoricalLearner, NumericLearner, OrderedLearner
from .date_columns import DateLearner
from .date_spelling import as_time, day_comes_first
from .errors import quoted
from .field_values import Numbers, is_missing, is_number, is_truth
from .large_integers import refuse_merged
from .look_alikes import MOST_LOOKED_AT
from .messages import Message
from .table import Chunk
from .target_statistics import FEW_LEVELS, LevelBook, LevelColumn, TargetMeans

SAMPLE_ROWS, SAMPLE_CELLS = 2**14, 2**24
"""Rows from which medians are taken, fewer for many columns: all of a smaller table, random ones of a larger."""

NOT_NUMERIC_ADVICE = ", but most of the column is; correct it, or encode the column as categories with {categorical}"


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
            if isinstance(column, CategoricalColumn) and column.n_codes > FEW_LEVELS:
                return replace(column, statistic=LevelBook(n_means))
            return column

        return TableEncoder([roomy(column) for column in self.columns], self.left_out) if n_means else self

    def level_columns(self, encoded: Numbers) -> list[LevelColumn]:
        """Return the levels that ``encode`` has written where there is room for means."""
        return [LevelColumn.read(book, encoded, place) for book, place in self._rooms()]

    def with_statistics(self, means: TargetMeans) -> TableEncoder:
        """Return the encoder with statistics of the targets where there was room for them."""
        known = iter(means.statistics())
        columns = [
            replace(column, statistic=next(known))
            if isinstance(column, CategoricalColumn) and column.n_means
            else column
            for column in self.columns
        ]
        return TableEncoder(columns, self.left_out)

    def _rooms(self) -> Iterator[tuple[LevelBook, slice]]:
        stop = 0
        for column in self.columns:
            stop += len(column.features)
            if isinstance(column, CategoricalColumn) and isinstance(column.statistic, LevelBook):
                yield column.statistic, slice(stop - column.n_means, stop)

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
        return cls(columns, left_out)


class EncoderLearner:
    """Learns an encoder from chunks.

    ``categorical`` are the categorical columns among ``names``, ``dates`` those of times and whether their day comes
    first, and ``ordered`` has the levels of ordered categories; all others are numbers.
    """

    def __init__(
        self, names: Iterable[str], categorical: Collection[str], rng: np.random.Generator,
        dates: Mapping[str, bool] | None = None, ordered: Mapping[str, list[str]] | None = None,
    ) -> None:  # fmt: skip
        levels, times = ordered or {}, dates or {}
        self._learners: list[CategoricalLearner | NumericLearner | OrderedLearner | DateLearner] = [
            CategoricalLearner(name)
            if name in categorical
            else DateLearner(name, times[name])
            if name in times
            else OrderedLearner(name, levels[name])
            if name in levels
            else NumericLearner(name)
            for name in names
        ]
        self._rng = rng
        n_numeric = sum(isinstance(learner, NumericLearner) for learner in self._learners)
        self._sample_rows = min(SAMPLE_ROWS, max(1, SAMPLE_CELLS // max(1, n_numeric)))
        self._sample, self._keys = np.empty((0, n_numeric)), np.empty(0)

    def observe(self, chunk: Chunk) -> None:
        """Take in more rows."""
        numbers = []
        for learner in self._learners:
            if isinstance(learner, DateLearner):
                learner.observe(chunk)
            elif isinstance(learner, OrderedLearner):
                learner.observe(level_texts(chunk, learner.name, learner.levels))
            elif isinstance(learner, CategoricalLearner):
                learner.observe(chunk.text(learner.name))
            else:
                numbers.append(finite(chunk, learner.name, NOT_NUMERIC_ADVICE))
                refuse_merged(chunk, learner.name, numbers[-1])
                learner.observe(numbers[-1])
        if numbers:
            self._draw(self._rng.random(chunk.n_rows), np.column_stack(numbers))

    def join(self, other: EncoderLearner) -> None:
        """Take in what another learner has seen of further rows of the same table."""
        for mine, theirs in zip(self._learners, other._learners, strict=True):
            mine.join(theirs)  # type: ignore[arg-type]
        self._draw(other._keys, other._sample)

    def _draw(self, keys: Numbers, rows: Numbers) -> None:
        # The rows with the smallest random keys are a random sample, however the rows are cut into chunks.
        keys = np.concatenate([self._keys, keys])
        kept = np.sort(np.argsort(keys, kind="stable")[: self._sample_rows])
        self._keys, self._sample = keys[kept], np.concatenate([self._sample, rows])[kept]

    def learned(self, scale: bool, max_categories: int, ranks: bool = False) -> tuple[TableEncoder, list[Message]]:
        """Return the encoder, and notes for the user; ``ranks`` gives them to numbers with heavy tails."""
        columns: list[AnyColumn] = []
        left_out: dict[str, str] = {}
        notes = []
        samples = iter(self._sample.T)
        for learner in self._learners:
            note = None
            found: AnyColumn | str
            if isinstance(learner, CategoricalLearner):
                found, note = learner.learned(max_categories)
            elif isinstance(learner, NumericLearner):
                found = learner.learned(next(samples), scale, ranks)
            else:
                found = learner.learned()
            if isinstance(found, str):
                left_out[learner.name] = found
                note = Message(f"column {quoted(learner.name)} is left out: {found}")
            else:
                columns.append(found)
            notes += [note] if note else []
        return TableEncoder(columns, left_out), notes


def _numbered(keys: Sequence[tuple[int, int]]) -> NDArray[np.intp]:
    """Return a number for each key, the same for the same key."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.intp)


def date_columns(
    chunk: Chunk, names: Iterable[str], day_first: bool | None = None
) -> tuple[dict[str, bool], list[Message]]:
    """Return the columns of dates and whether the day comes first in them, with notes where that is anybody's guess.

    They are those of times by their type, and of texts of which more than half, in the first rows, are dates.
    """
    dates: dict[str, bool] = {}
    notes = []
    for name in names:
        column = chunk.column(name)
        if isinstance(column, np.ndarray):
            if column.dtype.kind in "mM":
                dates[name] = False
            continue
        present = [text for text in islice(dict.fromkeys(column), MOST_LOOKED_AT) if not is_missing(text)]
        found = [text for text in present if as_time(text) is not None or as_time(text, day_first=True) is not None]
        if not present or 2 * len(found) <= len(present):
            continue
        order = day_comes_first(found) if day_first is None else day_first
        dates[name] = bool(order)
        if order is None:
            notes.append(
                Message(
                    f"column {quoted(name)}: {quoted(found[0].strip())} is read with the month first, as no row tells",
                    "; if the day is, say so with {day_first}",
                )
            )
    return dates, notes


def categorical_columns(chunk: Chunk, names: Iterable[str]) -> frozenset[str]:
    """Return the categorical columns: those where at most half of the values in the first rows are numbers.

    A column of true and false is one of numbers, as it is in a frame.
    """
    categorical = set()
    for name in names:
        column = chunk.column(name)
        if isinstance(column, np.ndarray):
            continue
        present = {field: count for field, count in Counter(column).items() if not is_missing(field)}
        numeric = sum(count for field, count in present.items() if is_number(field, chunk.decimal))
        if present and 2 * numeric <= sum(present.values()) and not all(map(is_truth, present)):
            categorical.add(name)
    return frozenset(categorical)
