"""What the client knows of the rows: how many each block has, which labels there are, and a sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.rows import digest

from .blocks import Blocks
from .cluster import DaskExecutor
from .lazy import called
from .partitions import Asked, Look, looked

Floats = NDArray[np.float64]

SAMPLE_ROWS = 2**16
"""Rows of the sample."""

SPARE = 4
"""Candidates that a block draws, over its share of the sample if all blocks had the same number of rows."""


@dataclass(frozen=True)
class Overview:
    """The lengths of all blocks, labels with their numbers, and a sample: places, rows, y and weights."""

    lengths: list[int]
    labels: NDArray[Any] | None
    counts: NDArray[np.intp] | None
    heaviest: float
    places: NDArray[np.intp]
    X: NDArray[Any]
    y: NDArray[Any]
    weights: Floats
    digests: dict[str, str]

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    @property
    def starts(self) -> list[int]:
        """The place in X of each block's first row."""
        return [0, *np.cumsum(self.lengths)[:-1].tolist()]


def overview_of(
    executor: DaskExecutor, blocks: Blocks, labels: bool, seed: int, with_digests: bool, gaps: bool
) -> Overview | None:
    """Look at all blocks; the first that has something wrong is named. None where X has ``gaps``, if it may."""
    n_candidates = max(1, min(SAMPLE_ROWS, SPARE * -(-SAMPLE_ROWS // max(1, len(blocks.X)))))
    asked = Asked(labels, n_candidates, seed, blocks.columns, blocks.n_features, with_digests, gaps)
    delayed = [called(executor.key("look"), looked, *blocks.of(group), group.start, asked) for group in blocks.groups()]
    looks: list[Look] = [look for group in executor.gather(executor.compute(delayed)) for look in group]
    for look in looks:
        if look.wrong is not None:
            raise ValueError(look.wrong)
    if any(look.has_gaps for look in looks):
        return None
    n = sum(look.n_rows for look in looks)
    if n < 2:
        raise ValueError(f"X has {n} rows in all of its partitions; give at least two")
    if not max(look.heaviest for look in looks) > 0:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return _joined(looks, n)


def _joined(looks: list[Look], n: int) -> Overview:
    start, places, pieces = 0, [], []
    for look in looks:
        if look.candidates is not None:
            drawn, X, y, weights = look.candidates
            # Candidates are a random choice, and so is each share of them that is spread over their places.
            wanted = min(len(drawn), max(1, round(SAMPLE_ROWS * look.n_rows / n)))
            some = np.unique(np.linspace(0, len(drawn) - 1, wanted).astype(np.intp))
            places.append(start + drawn[some])
            pieces.append((X[some], y[some], weights[some]))
        start += look.n_rows
    X, y, weights = (np.concatenate(of) for of in zip(*pieces, strict=True))
    labels = counts = None
    if looks and any(look.labels is not None for look in looks):
        each = [(look.labels, look.counts) for look in looks if look.labels is not None and look.counts is not None]
        labels, codes = np.unique(np.concatenate([of for of, _ in each]), return_inverse=True)
        counts = np.bincount(codes, np.concatenate([number for _, number in each]), len(labels)).astype(np.intp)
    names = ("X", "y", "sample_weight")
    digests = {name: digest([look.digests[k] for look in looks]) for k, name in enumerate(names)}
    heaviest = max(look.heaviest for look in looks)
    lengths = [look.n_rows for look in looks]
    return Overview(lengths, labels, counts, heaviest, np.concatenate(places), X, y, weights, digests)
