"""How an encoder is learned, from rows that stream by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .column_encodings import AnyColumn, CategoricalColumn, finite, level_texts
from .column_learners import CategoricalLearner, NumericLearner, OrderedLearner
from .date_columns import DateLearner
from .encoding import TableEncoder
from .errors import quoted
from .field_values import Numbers
from .large_integers import refuse_merged
from .messages import Message
from .table import Chunk
from .target_statistics import crowded_pairs

SAMPLE_ROWS, SAMPLE_CELLS = 2**14, 2**24
"""Rows from which medians are taken, fewer for many columns: all of a smaller table, random ones of a larger."""

NOT_NUMERIC_ADVICE = ", but most of the column is; correct it, or encode the column as categories with {categorical}"


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
        self._rng, self.n_rows = rng, 0
        n_numeric = sum(isinstance(learner, NumericLearner) for learner in self._learners)
        self._sample_rows = min(SAMPLE_ROWS, max(1, SAMPLE_CELLS // max(1, n_numeric)))
        self._sample, self._keys = np.empty((0, n_numeric)), np.empty(0)

    def observe(self, chunk: Chunk) -> None:
        """Take in more rows."""
        self.n_rows += chunk.n_rows
        n_numeric = self._sample.shape[1]
        drawn = self._drawn(self._rng.random(chunk.n_rows)) if n_numeric else np.empty(0, dtype=np.intp)
        # A frame is one chunk: of its numbers only the rows that are drawn are kept.
        sample, place = np.empty((len(drawn), n_numeric)), 0
        for learner in self._learners:
            if isinstance(learner, DateLearner):
                learner.observe(chunk)
            elif isinstance(learner, OrderedLearner):
                learner.observe(level_texts(chunk, learner.name, learner.levels))
            elif isinstance(learner, CategoricalLearner):
                learner.observe(chunk.text(learner.name))
            else:
                values = finite(chunk, learner.name, NOT_NUMERIC_ADVICE)
                refuse_merged(chunk, learner.name, values)
                learner.observe(values)
                sample[:, place] = values[drawn]
                place += 1
        self._sample = np.concatenate([self._sample, sample])

    def join(self, other: EncoderLearner) -> None:
        """Take in what another learner has seen of further rows of the same table."""
        for mine, theirs in zip(self._learners, other._learners, strict=True):
            mine.join(theirs)  # type: ignore[arg-type]
        self.n_rows += other.n_rows
        self._sample = np.concatenate([self._sample, other._sample[self._drawn(other._keys)]])

    def _drawn(self, keys: Numbers) -> NDArray[np.intp]:
        """Return which of further rows are in the sample, and drop those that they replace.

        The rows with the smallest random keys are a random sample, however the rows are cut into chunks.
        """
        n_known, keys = len(self._keys), np.concatenate([self._keys, keys])
        kept = np.sort(np.argsort(keys, kind="stable")[: self._sample_rows])
        self._keys, self._sample = keys[kept], self._sample[kept[kept < n_known]]
        return kept[kept >= n_known] - n_known

    def learned(self, scale: bool, max_categories: int, searched: bool = False) -> tuple[TableEncoder, list[Message]]:
        """Return the encoder, and notes for the user.

        Where a search for gamma will use or drop them, ranks stand beside numbers with heavy tails, and columns of many
        categories may have means of the targets together.
        """
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
                found = learner.learned(next(samples), scale, searched)
            else:
                found = learner.learned()
            if isinstance(found, str):
                left_out[learner.name] = found
                note = Message(f"column {quoted(learner.name)} is left out: {found}")
            else:
                columns.append(found)
            notes += [note] if note else []
        return TableEncoder(self._paired(columns) if searched else columns, left_out), notes

    def _paired(self, columns: list[AnyColumn]) -> list[AnyColumn]:
        """Return the columns, of which those of many categories know with which others they have means."""
        many = {column.name for column in columns if isinstance(column, CategoricalColumn) and column.has_many}
        seen = {
            learner.name: learner
            for learner in self._learners
            if isinstance(learner, CategoricalLearner) and learner.name in many
        }
        pairs = crowded_pairs({name: learner.spread() for name, learner in seen.items()}, self.n_rows)
        return [
            replace(column, pairs=dict.fromkeys(sorted(b for a, b in pairs if a == column.name)))
            if isinstance(column, CategoricalColumn)
            else column
            for column in columns
        ]
