"""Tables in files, read by the workers: what their rows are, the rows themselves, and their predictions.

The client opens the first file, for its columns. Pieces of the table, files or row groups of Parquet files, are read by
tasks, wherever they run: the files must be there under the same names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeVar

import dask.array as da
import numpy as np
from distributed import Client
from numpy.typing import NDArray

from dsekl.data.errors import DataFileError
from dsekl.data.many_files import Piece
from dsekl.data.messages import Message
from dsekl.data.recipe import Recipe
from dsekl.data.seen_rows import Columns, Seen

from .cluster import MOST_REBUILDS, DaskExecutor, LostFutures, itself, rebuilding
from .lazy import lazily

AHEAD = 2
"""Pieces on their way for each thread of the workers."""

Found = TypeVar("Found")


def _told(task: Callable[..., Found], *arguments: Any) -> Found | DataFileError:
    """Return what a task comes to, or what is wrong with its file: as a value, since no second try would help."""
    try:
        return task(*arguments)
    except DataFileError as error:
        return error


def look(client: Client, pieces: Sequence[Piece], columns: Columns, seen_rows: Callable[[int], None]) -> Seen:
    """Return what the rows of all pieces are; ``seen_rows`` is told how many have been seen."""

    def looked(executor: DaskExecutor) -> Seen:
        asked = [executor.submit("see", _told, _seen, piece, k, columns) for k, piece in enumerate(pieces)]
        whole: Seen | None = None
        for future in asked:
            (found,) = executor.gather([future])
            if isinstance(found, DataFileError):
                raise found
            if whole is None:
                whole = found
            else:
                whole.join(found)
            seen_rows(sum(whole.lengths))
        assert whole is not None
        return whole

    return rebuilding(looked, client)


def _seen(piece: Piece, number: int, columns: Columns) -> Seen:
    return columns.seen(piece.table(), number)


def collections(pieces: Sequence[Piece], recipe: Recipe, lengths: Sequence[int]) -> tuple[da.Array, da.Array]:
    """Return the encoded rows of all pieces, and their labels or numbers, lazily."""
    read = lazily("read", rows_of)
    encoded, told = lazily("encoded-rows", itemgetter(0)), lazily("targets", itemgetter(1))
    labels = np.asarray(recipe.target.classes) if recipe.target.classes else np.empty(0)
    X, y = [], []
    for piece, n in zip(pieces, lengths, strict=True):
        both = read(piece, recipe, n)
        X.append(da.from_delayed(encoded(both), (n, recipe.encoder.n_features), np.float64))
        y.append(da.from_delayed(told(both), (n,), labels.dtype))
    return da.concatenate(X), da.concatenate(y)


def rows_of(piece: Piece, recipe: Recipe, n: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read the rows of a piece: encoded, and their labels or numbers."""
    found = [(rows.X, recipe.y(rows.chunk)) for rows in recipe.encoded(piece.table(), with_target=True)]
    X, y = (np.concatenate(of) for of in zip(*found, strict=True))
    if len(X) != n:
        raise DataFileError(piece.path, f"had {n:,} rows when it was first read, and has {len(X):,} now")
    return X, recipe.target.decoded(y)


Predict = Callable[..., list[list[Any]]]
"""Makes columns of a model, of rows and of options."""


@dataclass(frozen=True)
class Predicted:
    """Columns made of the rows of a piece, and notes on these rows."""

    columns: list[list[Any]]
    n_rows: int
    notes: list[Message]


def predicted(model: Any, piece: Piece, recipe: Recipe, predict: Predict, kept: list[str], *options: Any) -> Predicted:
    """Read the rows of a piece and predict them, chunk by chunk; the columns ``kept`` are read as they are."""
    notes: list[Message] = []
    pieces: list[list[list[Any]]] = []
    n_rows = 0
    for rows in recipe.encoded(piece.table(), False, notes, kept):
        pieces.append(predict(model, rows, kept, *options))
        n_rows += rows.raw.n_rows
    columns = [[value for part in column for value in part] for column in zip(*pieces, strict=True)]
    return Predicted(columns, n_rows, notes)


def predictions(
    client: Client, model: Any, pieces: Sequence[Piece], recipe: Recipe, predict: Predict, *options: Any
) -> Iterator[Predicted]:
    """Yield the predictions of each piece, in order; only some are on their way at a time."""
    most, done = AHEAD * max(1, sum(client.nthreads().values())), 0
    for left in reversed(range(MOST_REBUILDS + 1)):
        executor = DaskExecutor(client)
        try:
            held = executor.submit("model", itself, model)
            asked: deque[Any] = deque()
            for place in range(done, len(pieces) + most):
                if place < len(pieces):
                    asked.append(
                        executor.submit("predict", _told, predicted, held, pieces[place], recipe, predict, *options)
                    )
                if asked and (len(asked) >= most or place >= len(pieces)):
                    (found,) = executor.gather([asked.popleft()])
                    if isinstance(found, DataFileError):
                        raise found
                    yield found
                    done += 1
            return
        except LostFutures:
            if not left:
                raise
