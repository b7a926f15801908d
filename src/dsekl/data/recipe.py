"""From raw rows to X and y: the preprocessing that is learned from the training table.

``learn`` reads the training file once. The recipe is saved with the model as plain JSON, so that a prediction needs
nothing but raw rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .encoding import TableEncoder
from .errors import DataFileError, quoted
from .field_values import Column, is_missing, is_truth
from .inferred_kinds import categorical_columns, date_columns
from .large_integers import refuse_merged
from .layout import Layout, find_column
from .look_alikes import notes_on_columns
from .many_files import csv_of
from .messages import Message
from .number_spelling import COMMA, POINT
from .seen_rows import Columns, Seen
from .sparse_encoding import SparseEncoder, SparseLearner
from .svmlight import SparseTable
from .table import Chunk, Features, ProgressHook, SparseChunk, Table, no_progress
from .target import CLASSIFICATION, REGRESSION, Target, TargetLearner, TaskChoice, takes_classes
from .target_statistics import n_means_of

VERSION = 1
SPARSE_TARGET = "label"
MOST_ROWS = 2**53


@dataclass(frozen=True)
class Options:
    """What a user may decide about a training table.

    target : the column to predict; columns are given by name or by number (1 is the first, -1 the last)
    task : "classification" or "regression"; None infers it from the target
    categorical, numeric : columns whose type is not to be inferred
    ignore : columns to leave out
    scale : standardise numeric columns
    max_categories : categories of a column that have a feature each, the most frequent ones
    day_first : whether 3/4/2024 is in April; None infers it from the column
    seed : chooses the rows of which medians are taken
    search_from : rows from which on a search for gamma will use or drop what stands beside a column: ranks of numbers
        with heavy tails, and means of the target; None for no search
    """

    target: str | None = None
    task: str | None = None
    categorical: Collection[str] = ()
    numeric: Collection[str] = ()
    ignore: Collection[str] = ()
    scale: bool = False
    max_categories: int = 100
    day_first: bool | None = None
    seed: int = 0
    search_from: int | None = None


class Rows(NamedTuple):
    """A chunk of rows: as it is in the file, with columns under their names in training, and encoded."""

    raw: Chunk | SparseChunk
    chunk: Chunk | SparseChunk
    X: Features


@dataclass(frozen=True)
class Recipe:
    """How rows become X and y; ``n_rows`` is the number of training rows, ``decimal`` the mark of their numbers."""

    encoder: TableEncoder | SparseEncoder
    target: Target
    layout: Layout | None
    n_rows: int
    notes: list[Message] = field(default_factory=list)
    decimal: str = POINT

    def encoded(
        self, table: Table | SparseTable, with_target: bool, notes: list[Message] | None = None,
        keep: Collection[str] = (), progress: ProgressHook = no_progress, total: int | None = None,
    ) -> Iterator[Rows]:  # fmt: skip
        """Read a file of ``total`` rows in chunks; the columns ``keep`` are read as they are in the file.

        ``notes`` collects notes for the user: columns that are not used, and unknown categories.
        """
        notes = [] if notes is None else notes
        n_rows = 0
        for rows in self._encoded(table, with_target, notes, keep, progress, total):
            n_rows += rows.raw.n_rows
            yield rows
        if not n_rows:
            raise DataFileError(table.path, "has no rows")

    def _encoded(
        self, table: Table | SparseTable, with_target: bool, notes: list[Message], keep: Collection[str],
        progress: ProgressHook, total: int | None,
    ) -> Iterator[Rows]:  # fmt: skip
        if isinstance(self.encoder, SparseEncoder) or isinstance(table, SparseTable):
            yield from self._encoded_sparse(table, notes, progress, total)
            return
        assert self.layout is not None
        needed = [*self.encoder.names, *([self.target.name] if with_target else [])]
        if (file := csv_of(table)) is not None:
            file.assume_decimal(self.decimal)
        found, unused = self.layout.match(table, needed)
        notes += unused
        text = self.encoder.categorical | ({self.target.name} if self.target.classes and with_target else set())
        unknown: Counter[str] = Counter()
        # What nobody needs is not read as numbers either: it may be no number.
        as_text = frozenset(keep) | {found[name] for name in text} | (set(table.names) - set(found.values()))
        for raw in progress(table.chunks(as_text), total):
            chunk = replace(raw, column=partial(_renamed, raw, found))
            yield Rows(raw, chunk, self.encoder.encode(chunk, unknown))
        notes += self.encoder.surprises(unknown)

    def with_room(self) -> Recipe:
        """Return the recipe with room for means of the target, for categories of many levels."""
        if isinstance(self.encoder, SparseEncoder):
            return self
        return replace(self, encoder=self.encoder.with_room(n_means_of(len(self.target.classes))))

    def y(self, chunk: Chunk | SparseChunk) -> NDArray[Any]:
        """Return the targets of rows: codes of the classes, or numbers."""
        return self.target.codes(chunk) if self.target.classes else self.target.numbers(chunk)

    def load(self, table: Table | SparseTable, progress: ProgressHook = no_progress) -> tuple[Features, NDArray[Any]]:
        """Return all rows as X, and y as in the method ``y``."""
        from scipy import sparse

        y = np.empty(self.n_rows, dtype=np.int32 if self.target.classes else np.float64)
        parts, X, start = [], None, 0
        for _, chunk, rows in self.encoded(table, with_target=True, progress=progress, total=self.n_rows):
            stop = start + chunk.n_rows
            if stop > self.n_rows:
                raise DataFileError(table.path, "grew while it was read")
            y[start:stop] = self.y(chunk)
            if sparse.issparse(rows):
                parts.append(rows)
            else:
                X = self._empty(table, rows.shape[1]) if X is None else X
                X[start:stop] = rows
            start = stop
        if start < self.n_rows:
            raise DataFileError(table.path, "shrank while it was read")
        return sparse.vstack(parts, format="csr") if parts else X, y

    def _empty(self, table: Table | SparseTable, n_features: int) -> NDArray[np.float64]:
        try:
            return np.empty((self.n_rows, n_features))
        except (MemoryError, ValueError) as error:
            gigabytes = 8 * self.n_rows * n_features / 1e9
            raise DataFileError(
                table.path, f"its {self.n_rows:,} rows of {n_features:,} features take {gigabytes:,.0f} GB, more than "
                "there is; convert it, and train on the folder",
            ) from error  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "version": VERSION,
            "kind": "sparse" if isinstance(self.encoder, SparseEncoder) else "table",
            "encoder": self.encoder.to_dict(),
            "target": self.target.to_dict(),
            "layout": None if self.layout is None else self.layout.to_dict(),
            "n_rows": self.n_rows,
            **({} if self.decimal == POINT else {"decimal": self.decimal}),
        }

    @classmethod
    def from_dict(cls, saved: object, where: object) -> Recipe:
        """Return the recipe that ``to_dict`` described, in the file at ``where``; every part of it is checked."""
        if isinstance(saved, dict) and type(saved.get("version")) is int and saved["version"] > VERSION:
            raise DataFileError(where, f"its table is of version {saved['version']}; update dsekl")
        try:
            return cls._checked(saved)
        except (ValueError, TypeError) as error:
            raise DataFileError(where, f"its description of the table is corrupted ({error})") from error

    @classmethod
    def _checked(cls, saved: object) -> Recipe:
        names = {"version", "kind", "encoder", "target", "layout", "n_rows"}
        entries = saved_value.entries(saved, "table", names, {"decimal"})
        decimal = entries.get("decimal", POINT)
        if decimal not in (POINT, COMMA):
            raise ValueError("decimal is neither a point nor a comma")
        saved_value.integer(entries["version"], "version", VERSION, VERSION)
        n_rows = saved_value.integer(entries["n_rows"], "n_rows", 1, MOST_ROWS)
        target = Target.from_dict(entries["target"])
        if entries["kind"] == "sparse":
            if entries["layout"] is not None or target.name != SPARSE_TARGET:
                raise ValueError("an SVMlight file has no named columns")
            return cls(SparseEncoder.from_dict(entries["encoder"]), target, None, n_rows)
        if entries["kind"] != "table":
            raise ValueError("kind is neither sparse nor table")
        encoder, layout = TableEncoder.from_dict(entries["encoder"]), Layout.from_dict(entries["layout"])
        if target.name != layout.target or target.name in encoder.names or not set(encoder.names) <= set(layout.names):
            raise ValueError("target, encoder and layout are of different tables")
        return cls(encoder, target, layout, n_rows, decimal=decimal)

    def _encoded_sparse(
        self, table: Table | SparseTable, notes: list[Message], progress: ProgressHook, total: int | None
    ) -> Iterator[Rows]:
        if not (isinstance(self.encoder, SparseEncoder) and isinstance(table, SparseTable)):
            wanted = "an SVMlight file" if isinstance(self.encoder, SparseEncoder) else "a table with columns"
            raise DataFileError(table.path, f"the model was trained on {wanted}; give a file of that kind")
        unknown = 0
        for chunk in progress(table.chunks(self.encoder.chunk_rows), total):
            unknown += self.encoder.unknown(chunk)
            yield Rows(chunk, chunk, self.encoder.encode(chunk))
        if unknown:
            notes.append(Message(f"{table.path}: {unknown} entries with an unknown index, ignored"))


def learn(
    table: Table | SparseTable, options: Options, progress: ProgressHook = no_progress,
    choose: TaskChoice = takes_classes, look: Callable[[Columns], Seen] | None = None,
) -> Recipe:  # fmt: skip
    """Read the training file once and return the recipe; ``choose`` tells what few integers as a target are.

    ``look`` sees all rows; None reads them here.
    """
    if isinstance(table, SparseTable):
        return _learn_sparse(table, options, progress, choose)
    columns, notes = columns_of(table, options)
    seen = columns.seen(table, progress=progress) if look is None else look(columns)
    n_rows = sum(seen.lengths)
    searched = options.search_from is not None and n_rows >= options.search_from
    encoder, more = seen.encoder.learned(options.scale, options.max_categories, searched)
    notes = [*_notes_on_csv(table), *notes, *more]
    if not encoder.columns:
        reasons = "; ".join(note.text for note in notes[:10])
        raise DataFileError(table.path, f"no column is left to learn from beside {quoted(columns.target)}; {reasons}")
    layout = Layout(list(table.names), table.has_header, columns.target)
    file = csv_of(table)
    decimal = POINT if file is None else file.decimal
    return Recipe(encoder, seen.targets.learned(table.path, choose), layout, n_rows, notes, decimal)


def columns_of(table: Table, options: Options) -> tuple[Columns, list[Message]]:
    """Return what the first rows of a table and the user's options decide, and notes for the user."""
    wanted = options.target or ("y" if table.names[-1] == "y" and not table.has_header else None)
    if wanted is None:
        raise DataFileError(
            table.path, "which column is the target?",
            advice=" give {target}, its name or its number (-1 is the last column)",
        )  # fmt: skip
    target = find_column(table, wanted)
    ignored = {find_column(table, name) for name in options.ignore}
    names = [name for name in table.names if name not in ignored and name != target]
    first = next(table.chunks(frozenset(table.names)), None)
    if first is None:
        raise DataFileError(table.path, "has no rows")
    forced = {find_column(table, name) for name in (*options.categorical, *options.numeric)}
    dates, notes = date_columns(first, [name for name in names if name not in forced], options.day_first)
    categorical = categorical_columns(first, names) - dates.keys()
    categorical |= {find_column(table, name) for name in options.categorical} & set(names)
    categorical -= {find_column(table, name) for name in options.numeric}
    numeric = [name for name in names if name not in categorical and name not in dates]
    for name in numeric:
        refuse_merged(first, name)
    unsure = [name for name in names if name not in forced]
    notes += notes_on_columns(
        first, [name for name in unsure if name in categorical], [name for name in unsure if name in numeric]
    )
    is_text = bool(categorical_columns(first, [target])) or _is_truth(first, target)
    if options.task == CLASSIFICATION:
        is_text = is_text or not _is_numeric(first, target)
    is_text = is_text and options.task != REGRESSION
    return Columns(names, categorical, dates, target, is_text, options.task, options.seed), notes


def _notes_on_csv(table: Table) -> list[Message]:
    """Return what was inferred of how a file is written, where it might have been otherwise."""
    notes: list[Message] = []
    file = csv_of(table)
    if file is not None and file.doubts_header:
        notes.append(Message(f"{file.path}: line 1 is read as data, not as a header", "; override with {header}"))
    if file is not None and (file.decimal == COMMA or file.doubts_decimal):
        reading = "decimals: 1,500 is one and a half" if file.decimal == COMMA else "thousands: 1,500 is 1500"
        notes.append(Message(f"{file.path}: commas in numbers are read as {reading}", "; override with {decimal}"))
    return notes


def _learn_sparse(table: SparseTable, options: Options, progress: ProgressHook, choose: TaskChoice) -> Recipe:
    if options.target not in (None, SPARSE_TARGET) or options.ignore or options.categorical or options.numeric:
        raise DataFileError(
            table.path, "is an SVMlight file: its lines begin with the target and it has no named columns",
            advice="; leave out {target}, {ignore}, {categorical} and {numeric}",
        )  # fmt: skip
    learner = SparseLearner(table.path, options.scale)
    targets = TargetLearner(SPARSE_TARGET, options.task, is_text=False)
    n_rows = 0
    for chunk in progress(table.chunks(), None):
        learner.observe(chunk)
        targets.observe(chunk)
        n_rows += chunk.n_rows
    return Recipe(learner.learned(), targets.learned(table.path, choose), None, n_rows)


def _renamed(chunk: Chunk, names: dict[str, str], name: str) -> Column:
    return chunk.column(names[name])


def _is_truth(chunk: Chunk, name: str) -> bool:
    """Tell whether labels are the words true and false."""
    column = chunk.column(name)
    return not isinstance(column, np.ndarray) and all(is_truth(field) for field in column if not is_missing(field))


def _is_numeric(chunk: Chunk, name: str) -> bool:
    try:
        chunk.numbers(name)
    except DataFileError:
        return False
    return True
