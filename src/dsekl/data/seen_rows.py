"""What all rows of a table are, seen piece by piece, here or elsewhere: what was seen can be joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .encoder_learner import EncoderLearner
from .table import ProgressHook, Table, no_progress
from .target import TargetLearner


@dataclass(frozen=True)
class Columns:
    """What the first rows of a table decide: its target, and which of the columns in use are categories and dates."""

    names: Sequence[str]
    categorical: frozenset[str]
    dates: Mapping[str, bool]
    target: str
    labels_are_text: bool
    task: str | None
    seed: int

    def seen(self, table: Table, piece: int = 0, progress: ProgressHook = no_progress) -> Seen:
        """Read a table, or the ``piece`` of a larger one that it is, and return what its rows are."""
        rng = np.random.default_rng([self.seed, piece] if piece else self.seed)
        encoder = EncoderLearner(self.names, self.categorical, rng, self.dates)
        targets = TargetLearner(self.target, self.task, self.labels_are_text)
        lengths = [0]
        for chunk in progress(table.chunks(self.categorical | self.dates.keys() | {self.target}), None):
            encoder.observe(chunk)
            targets.observe(chunk)
            lengths[0] += chunk.n_rows
        return Seen(encoder, targets, lengths)


@dataclass(frozen=True)
class Seen:
    """What the rows of a table are; ``lengths`` are the rows of each of its pieces."""

    encoder: EncoderLearner
    targets: TargetLearner
    lengths: list[int]

    def join(self, other: Seen) -> None:
        """Take in what was seen in further rows."""
        self.encoder.join(other.encoder)
        self.targets.join(other.targets)
        self.lengths.extend(other.lengths)
