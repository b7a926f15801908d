"""A table as numbers: the columns' encodings, learned from rows that stream by, kept as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .column_encodings import NumberColumn, NumberLearner, TextColumn, TextLearner, finite
from .fields import Numbers, is_missing, is_number
from .table import Chunk

SAMPLE_ROWS, SAMPLE_CELLS = 2**14, 2**24
"""Rows from which medians are taken, fewer for many columns: all of a smaller table, random ones of a larger."""

TEXT_ADVICE = ", as most values of the column are; mend it, or take the column as texts with --text"

_KINDS: dict[str, Any] = {"number": NumberColumn, "text": TextColumn}


@dataclass(frozen=True)
class TableEncoder:
    """The columns in use, one after the other, and the names of those left out with the reason."""

    columns: Sequence[NumberColumn | TextColumn]
    left_out: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The columns that rows must have."""
        return [column.name for column in self.columns]

    @property
    def texts(self) -> frozenset[str]:
        """Those among them that hold texts."""
        return frozenset(column.name for column in self.columns if isinstance(column, TextColumn))

    @property
    def features(self) -> list[str]:
        """A name for each column of the encoded rows."""
        return [feature for column in self.columns for feature in column.features]

    def encode(self, chunk: Chunk, unseen: Counter[str] | None = None) -> Numbers:
        """Return the rows as numbers, (n_rows, n_features).

        ``unseen`` counts, for each column of texts, rows whose text the training rows did not have.
        """
        out = np.zeros((chunk.n_rows, len(self.features)))
        start = 0
        for column in self.columns:
            stop = start + len(column.features)
            column.encode(chunk, out[:, start:stop], Counter() if unseen is None else unseen)
            start = stop
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        kinds = {kind: name for name, kind in _KINDS.items()}
        return {
            "columns": [{"kind": kinds[type(column)], **asdict(column)} for column in self.columns],
            "left_out": self.left_out,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> TableEncoder:
        """Return the encoder that ``to_dict`` described."""
        columns = [
            _KINDS[column["kind"]](**{name: value for name, value in column.items() if name != "kind"})
            for column in saved["columns"]
        ]
        return cls(columns, dict(saved["left_out"]))


class EncoderLearner:
    """Learns an encoder from chunks. ``texts`` are the columns among ``names`` that hold texts."""

    def __init__(self, names: Iterable[str], texts: Iterable[str], rng: np.random.Generator) -> None:
        self._learners = [TextLearner(name) if name in texts else NumberLearner(name) for name in names]
        self._rng = rng
        n_numbers = sum(isinstance(learner, NumberLearner) for learner in self._learners)
        self._sample_rows = min(SAMPLE_ROWS, max(1, SAMPLE_CELLS // max(1, n_numbers)))
        self._sample, self._keys = np.empty((0, n_numbers)), np.empty(0)

    def observe(self, chunk: Chunk) -> None:
        """Take in more rows."""
        numbers = []
        for learner in self._learners:
            if isinstance(learner, TextLearner):
                learner.observe(chunk.texts(learner.name))
            else:
                numbers.append(finite(chunk, learner.name, TEXT_ADVICE))
                learner.observe(numbers[-1])
        if numbers:
            # The rows with the smallest random keys are a random sample, however the rows are cut into chunks.
            keys = np.concatenate([self._keys, self._rng.random(chunk.n_rows)])
            kept = np.sort(np.argsort(keys, kind="stable")[: self._sample_rows])
            self._keys, self._sample = keys[kept], np.concatenate([self._sample, np.column_stack(numbers)])[kept]

    def learned(self, scale: bool, most_levels: int) -> tuple[TableEncoder, list[str]]:
        """Return the encoder, and notes that a user should see."""
        columns: list[NumberColumn | TextColumn] = []
        left_out: dict[str, str] = {}
        notes = []
        samples = iter(self._sample.T)
        for learner in self._learners:
            note = None
            found: NumberColumn | TextColumn | str
            if isinstance(learner, TextLearner):
                found, note = learner.learned(most_levels)
            else:
                found = learner.learned(next(samples), scale)
            if isinstance(found, str):
                left_out[learner.name] = found
                note = f"column {learner.name!r} is left out: {found}"
            else:
                columns.append(found)
            notes += [note] if note else []
        return TableEncoder(columns, left_out), notes


def text_columns(chunk: Chunk, names: Iterable[str]) -> frozenset[str]:
    """Return the columns that hold texts: those where at most half of the values in the first rows are numbers."""
    texts = set()
    for name in names:
        column = chunk.column(name)
        if isinstance(column, np.ndarray):
            continue
        values = [field for field in column if not is_missing(field)]
        if values and 2 * sum(map(is_number, values)) <= len(values):
            texts.add(name)
    return frozenset(texts)
