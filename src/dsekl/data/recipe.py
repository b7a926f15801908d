"""From raw rows to X and y: the preprocessing that was learned from the training table.

It is saved with the model as plain JSON, so that a prediction needs nothing but raw rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .encoding import TableEncoder
from .errors import DataFileError
from .field_values import Column
from .layout import Layout
from .many_files import csv_of
from .messages import Message
from .number_spelling import COMMA, POINT
from .sparse_encoding import SparseEncoder
from .svmlight import SparseTable
from .table import Chunk, Features, ProgressHook, SparseChunk, Table, no_progress
from .target import Target
from .target_statistics import n_means_of

VERSION = 1
SPARSE_TARGET = "label"
MOST_ROWS = 2**53


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


def _renamed(chunk: Chunk, names: dict[str, str], name: str) -> Column:
    return chunk.column(names[name])
