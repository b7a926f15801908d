"""From raw rows to X and y: everything that a model must know of the table it was trained on.

``learn`` reads the training file once. The recipe goes into the model's file as plain JSON, so that a prediction
needs nothing but raw rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .delimited import DelimitedTable
from .encoding import EncoderLearner, TableEncoder, text_columns
from .errors import DataFileError
from .fields import Column
from .layout import Layout, find_column
from .sparse_encoding import SparseEncoder, SparseLearner
from .svmlight import SparseTable
from .table import Chunk, SparseChunk, Table, Watch, unwatched
from .target import CLASSIFICATION, Target, TargetLearner

VERSION = 1
SPARSE_TARGET = "label"


@dataclass(frozen=True)
class Options:
    """What a user may say of a training table. Columns are named, or given by their place."""

    target: str | None = None
    task: str | None = None
    texts: Collection[str] = ()
    numbers: Collection[str] = ()
    ignored: Collection[str] = ()
    scale: bool = False
    most_levels: int = 100
    seed: int = 0


class Rows(NamedTuple):
    """Some rows: as they stand in the file, with columns under their names in training, and encoded."""

    raw: Chunk | SparseChunk
    chunk: Chunk | SparseChunk
    X: Any


@dataclass(frozen=True)
class Recipe:
    """How rows become X, and the target y; ``n_rows`` is the number of training rows."""

    encoder: TableEncoder | SparseEncoder
    target: Target
    layout: Layout | None
    n_rows: int
    notes: list[str] = field(default_factory=list)

    def encoded(
        self, table: Table | SparseTable, with_target: bool, notes: list[str] | None = None,
        keep: Collection[str] = (), watch: Watch = unwatched, total: int | None = None,
    ) -> Iterator[Rows]:  # fmt: skip
        """Read a file of ``total`` rows, some at a time; the columns ``keep`` of the file as they stand in it.

        ``notes`` takes what a user should see: columns not used, and texts that training did not have.
        """
        notes = [] if notes is None else notes
        if isinstance(self.encoder, SparseEncoder) or isinstance(table, SparseTable):
            yield from self._encoded_sparse(table, notes, watch, total)
            return
        assert self.layout is not None
        needed = [*self.encoder.names, *([self.target.name] if with_target else [])]
        found, unused = self.layout.match(table, needed)
        notes += unused
        texts = self.encoder.texts | ({self.target.name} if self.target.is_text and with_target else set())
        unseen: Counter[str] = Counter()
        for raw in watch(table.chunks(frozenset(keep) | {found[name] for name in texts}), total):
            chunk = Chunk(raw.n_rows, partial(_renamed, raw, found), raw.where)
            yield Rows(raw, chunk, self.encoder.encode(chunk, unseen))
        notes += [
            f"column {name!r}: {count} rows with a text that training did not have; all its features are 0"
            for name, count in unseen.items()
            if count
        ]

    def y(self, chunk: Chunk | SparseChunk) -> NDArray[Any]:
        """Return the targets of rows: codes of the classes, or numbers."""
        return self.target.codes(chunk) if self.target.classes else self.target.numbers(chunk)

    def load(self, table: Table | SparseTable, watch: Watch = unwatched) -> tuple[Any, NDArray[Any]]:
        """Return all rows as X and their targets as the estimators take them: labels, or numbers."""
        from scipy import sparse

        y = np.empty(self.n_rows, dtype=np.int32 if self.target.classes else np.float64)
        parts, X, start = [], None, 0
        for _, chunk, rows in self.encoded(table, with_target=True, watch=watch, total=self.n_rows):
            stop = start + chunk.n_rows
            if stop > self.n_rows:
                raise DataFileError(table.path, "grew while it was read")
            y[start:stop] = self.y(chunk)
            if sparse.issparse(rows):
                parts.append(rows)
            else:
                X = np.empty((self.n_rows, rows.shape[1])) if X is None else X
                X[start:stop] = rows
            start = stop
        if start < self.n_rows:
            raise DataFileError(table.path, "shrank while it was read")
        return sparse.vstack(parts, format="csr") if parts else X, self.target.labels(y) if self.target.classes else y

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "version": VERSION,
            "kind": "sparse" if isinstance(self.encoder, SparseEncoder) else "table",
            "encoder": self.encoder.to_dict(),
            "target": self.target.to_dict(),
            "layout": None if self.layout is None else self.layout.to_dict(),
            "n_rows": self.n_rows,
        }

    @classmethod
    def from_dict(cls, saved: Any, where: object) -> Recipe:
        """Return the recipe that ``to_dict`` described, in the file at ``where``."""
        try:
            if saved["version"] != VERSION:
                raise DataFileError(where, f"its table is of version {saved['version']!r}; update dsekl")
            kind = SparseEncoder if saved["kind"] == "sparse" else TableEncoder
            encoder: TableEncoder | SparseEncoder = kind.from_dict(saved["encoder"])
            layout = None if saved["layout"] is None else Layout(**saved["layout"])
            return cls(encoder, Target.from_dict(saved["target"]), layout, int(saved["n_rows"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise DataFileError(where, f"its description of the table is damaged ({error!r})") from error

    def _encoded_sparse(
        self, table: Table | SparseTable, notes: list[str], watch: Watch, total: int | None
    ) -> Iterator[Rows]:
        if not (isinstance(self.encoder, SparseEncoder) and isinstance(table, SparseTable)):
            wanted = "SVMlight" if isinstance(self.encoder, SparseEncoder) else "a table with columns"
            raise DataFileError(table.path, f"the model was trained on {wanted}; give a file of that kind")
        unknown = 0
        for chunk in watch(table.chunks(), total):
            unknown += self.encoder.unknown(chunk)
            yield Rows(chunk, chunk, self.encoder.encode(chunk))
        if unknown:
            notes.append(f"{table.path}: {unknown} entries with an index that training did not have, ignored")


def learn(table: Table | SparseTable, options: Options, watch: Watch = unwatched) -> Recipe:
    """Read the training file once and return the recipe."""
    if isinstance(table, SparseTable):
        return _learn_sparse(table, options, watch)
    return _learn_table(table, options, watch)


def _learn_table(table: Table, options: Options, watch: Watch) -> Recipe:
    wanted = options.target or ("y" if table.names[-1] == "y" and not table.has_header else None)
    if wanted is None:
        raise DataFileError(table.path, "say which column to predict: --target NAME (or its number; -1 is the last)")
    target = find_column(table, wanted)
    ignored = {find_column(table, name) for name in options.ignored}
    names = [name for name in table.names if name not in ignored and name != target]
    first = next(table.chunks(frozenset(table.names)))
    texts = text_columns(first, names) | {find_column(table, name) for name in options.texts} & set(names)
    texts -= {find_column(table, name) for name in options.numbers}
    target_is_text = bool(text_columns(first, [target]))
    if options.task == CLASSIFICATION:
        target_is_text = target_is_text or not _all_numbers(first, target)
    learner = EncoderLearner(names, texts, np.random.default_rng(options.seed))
    targets = TargetLearner(target, options.task, target_is_text and options.task != "regression")
    n_rows = 0
    for chunk in watch(table.chunks(texts | ({target} if target_is_text else frozenset())), None):
        learner.observe(chunk)
        targets.observe(chunk)
        n_rows += chunk.n_rows
    encoder, notes = learner.learned(options.scale, options.most_levels)
    if isinstance(table, DelimitedTable) and table.doubts_header:
        notes.insert(0, f"{table.path}: line 1 is taken as data, not as a header (--header says otherwise)")
    if not encoder.columns:
        raise DataFileError(table.path, f"no column is left to learn from beside {target!r}; {'; '.join(notes)}")
    layout = Layout(list(table.names), table.has_header, target)
    return Recipe(encoder, targets.learned(table.path), layout, n_rows, notes)


def _learn_sparse(table: SparseTable, options: Options, watch: Watch) -> Recipe:
    if options.target not in (None, SPARSE_TARGET) or options.ignored or options.texts or options.numbers:
        raise DataFileError(
            table.path, "is in SVMlight's format: its lines begin with the target and have no named columns; leave "
            "--target, --ignore, --text and --number out",
        )  # fmt: skip
    learner, targets = SparseLearner(), TargetLearner(SPARSE_TARGET, options.task, is_text=False)
    n_rows = 0
    for chunk in watch(table.chunks(), None):
        learner.observe(chunk)
        targets.observe(chunk)
        n_rows += chunk.n_rows
    return Recipe(learner.learned(options.scale), targets.learned(table.path), None, n_rows)


def _renamed(chunk: Chunk, names: dict[str, str], name: str) -> Column:
    return chunk.column(names[name])


def _all_numbers(chunk: Chunk, name: str) -> bool:
    try:
        chunk.numbers(name)
    except DataFileError:
        return False
    return True
