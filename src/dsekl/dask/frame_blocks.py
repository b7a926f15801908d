"""Blocks of frames, and of arrays with gaps, as numbers: by the rules of local frames.

The first rows decide what columns are. Each block tells what it has of categories, times and numbers, the client joins
that to one encoder, and tasks apply it to their blocks when these are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.data.encoder_learner import EncoderLearner
from dsekl.data.encoding import TableEncoder
from dsekl.data.frames import ArrayFrame, FrameTable, is_frame, kinds
from dsekl.estimators.seen_tables import ColumnKinds, chosen_categories, learned_by

from .blocks import Blocks
from .cluster import DaskExecutor
from .lazy import called, lazily

Floats = NDArray[np.float64]


def encoded(executor: DaskExecutor, blocks: Blocks, categorical: Any) -> tuple[Blocks, TableEncoder]:
    """Return blocks whose rows become numbers when they are read, and their encoder."""
    found = _kinds(executor, blocks, categorical)
    asked = [
        called(executor.key("see"), _seen, blocks.X[group.start : group.stop], group.start, found)
        for group in blocks.groups()
    ]
    learner = found.learner(np.random.default_rng(0))
    for seen in executor.gather(executor.compute(asked)):
        if isinstance(seen, str):
            raise ValueError(seen)
        learner.join(seen)
    encoder = learned_by(learner)
    encode = lazily("encode", encoded_block)
    rows = [encode(block, encoder, found.names, number) for number, block in enumerate(blocks.X)]
    return replace(blocks, X=rows, columns=encoder.features, n_features=encoder.n_features), encoder


def _kinds(executor: DaskExecutor, blocks: Blocks, categorical: Any) -> ColumnKinds:
    """Return what the columns are, by their types and the first block that has rows."""
    for block in blocks.X:
        (found,) = executor.gather(executor.compute([called(executor.key("kinds"), _kinds_of, block, categorical)]))
        if isinstance(found, str):
            raise ValueError(found)
        if found is not None:
            for words in found.warnings:
                warnings.warn(words, UserWarning, stacklevel=6)
            columns: ColumnKinds = found.kinds
            return columns
    raise ValueError("X has 0 rows in all of its partitions; give at least two")


@dataclass(frozen=True)
class _Found:
    kinds: ColumnKinds
    warnings: list[str]


def _kinds_of(block: Any, categorical: Any) -> _Found | str | None:
    table = _table(block, None)
    if not table.n_rows:
        return None
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            chosen = chosen_categories(categorical, table.names)
            return _Found(ColumnKinds.of(table, kinds(table, chosen), chosen), [str(one.message) for one in told])
    except ValueError as error:
        return str(error)


def _table(block: Any, names: Sequence[str] | None) -> FrameTable | ArrayFrame:
    return FrameTable(block) if is_frame(block) else ArrayFrame(np.asarray(block), names)


def _seen(X: Sequence[Any], first: int, found: ColumnKinds) -> EncoderLearner | str:
    """Return what some blocks hold, or what is wrong with one of them."""
    learner = found.learner(np.random.default_rng([0, 41, first]))
    for number, block in enumerate(X, start=first):
        try:
            table = _table(block, found.names)
            if table.n_rows:
                learner.observe(table.chunk())
        except ValueError as error:
            return f"partition {number}: {error}"
    return learner


def encoded_block(block: Any, encoder: TableEncoder, names: Sequence[str], number: int) -> Floats:
    """Return the rows of a block as numbers."""
    try:
        table = _table(block, names)
        return encoder.encode(table.chunk()) if table.n_rows else np.zeros((0, encoder.n_features))
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
