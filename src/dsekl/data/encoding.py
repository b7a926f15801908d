"""A table as numbers: the columns' encodings, learned from rows that stream by, saved as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .column_encodings import (
    AnyColumn,
    CategoricalColumn,
    CategoricalLearner,
    NumericColumn,
    NumericLearner,
    OrderedLearner,
    column_from_dict,
    finite,
)
from .date_columns import DateLearner
from .date_spelling import as_time, day_comes_first
from .errors import quoted
from .field_values import Numbers, is_missing, is_number, is_truth
from .messages import Message
from .table import Chunk
from .target_statistics import statistic

SAMPLE_ROWS, SAMPLE_CELLS = 2**14, 2**24
"""Rows from which medians are taken, fewer for many columns: all of a smaller table, random ones of a larger."""

MOST_LOOKED_AT = 1_000
"""Different texts of a column, of which dates must be more than half for it to be one of dates."""

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

    def with_statistics(
        self, chunk: Chunk, encoded: Numbers, targets: Numbers, weights: Numbers, rng: np.random.Generator
    ) -> tuple[TableEncoder, Numbers]:
        """Return the encoder with statistics of the targets for categories of many levels, and the training rows."""
        columns: list[AnyColumn] = []
        blocks, start = [], 0
        for column in self.columns:
            stop = start + len(column.features)
            blocks.append(encoded[:, start:stop])
            start = stop
            found = None
            if isinstance(column, CategoricalColumn):
                found = statistic(chunk.text(column.name), targets, weights, rng)
                if found is not None:
                    column = replace(column, statistic=found[0])
                    blocks.append(found[1])
            columns.append(column)
        if len(blocks) == len(columns):
            return self, encoded
        return TableEncoder(columns, self.left_out), np.hstack(blocks)

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
            elif not isinstance(learner, NumericLearner):
                learner.observe(chunk.text(learner.name))
            else:
                numbers.append(finite(chunk, learner.name, NOT_NUMERIC_ADVICE))
                learner.observe(numbers[-1])
        if numbers:
            # The rows with the smallest random keys are a random sample, however the rows are cut into chunks.
            keys = np.concatenate([self._keys, self._rng.random(chunk.n_rows)])
            kept = np.sort(np.argsort(keys, kind="stable")[: self._sample_rows])
            self._keys, self._sample = keys[kept], np.concatenate([self._sample, np.column_stack(numbers)])[kept]

    def learned(self, scale: bool, max_categories: int) -> tuple[TableEncoder, list[Message]]:
        """Return the encoder, and notes for the user."""
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
                found = learner.learned(next(samples), scale)
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
