"""How a recipe is learned: one pass over the training table, and what the user decides about it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from .errors import DataFileError, quoted
from .field_values import is_missing, is_truth
from .inferred_kinds import categorical_columns, date_columns
from .large_integers import refuse_merged
from .layout import Layout, find_column
from .look_alikes import notes_on_columns
from .many_files import csv_of
from .messages import Message
from .number_spelling import COMMA, POINT
from .recipe import SPARSE_TARGET, Recipe
from .seen_rows import Columns, Seen
from .sparse_encoding import SparseLearner
from .svmlight import SparseTable
from .table import Chunk, ProgressHook, Table, no_progress
from .target import CLASSIFICATION, REGRESSION, TargetLearner, TaskChoice, takes_classes


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
