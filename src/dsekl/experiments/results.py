"""What the experiments found: one CSV file an experiment, and JSON beside them that says where the numbers come from.

A file is written beside its place and renamed, so neither a reader nor a resumed run ever meets half of one.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class Table:
    """The rows of one experiment. ``key`` names the columns that tell one unit of work from another."""

    def __init__(self, path: Path, key: tuple[str, ...]) -> None:
        self.path = path
        self.key = key
        self.rows: list[Row] = _read(path)

    def missing(self, units: Iterable[Row]) -> list[Row]:
        """Return the units that have no rows yet."""
        there = {self._key_of(row) for row in self.rows}
        return [unit for unit in units if self._key_of(unit) not in there]

    def add(self, rows: Iterable[Row]) -> None:
        """Keep the rows of a finished unit, in the place of any that the same unit had before."""
        new = [{name: _rounded(value) for name, value in row.items()} for row in rows]
        keys = {self._key_of(row) for row in new}
        self.rows = [row for row in self.rows if self._key_of(row) not in keys] + new
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_whole(self.path, text.getvalue().encode())

    def where(self, **wanted: Any) -> list[Row]:
        """Return the rows with these values."""
        return [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]

    def _key_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.key)


class Results:
    """A folder of tables, all made with the same settings."""

    def __init__(self, folder: Path, settings: Row) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        known = self.read("settings")
        if known and known != settings:
            raise ValueError(
                f"{folder} holds results of a run with {_in_words(known)}, and this one has {_in_words(settings)}; "
                "give another folder with --output, or the same settings"
            )
        self.write("settings", settings)

    def table(self, name: str, key: tuple[str, ...]) -> Table:
        """Return an experiment's table, with the rows that it has by now."""
        return Table(self.folder / f"{name}.csv", key)

    def read(self, name: str) -> Row:
        """Return what ``write`` kept, or nothing."""
        path = self.folder / f"{name}.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def write(self, name: str, value: Row) -> None:
        """Keep a small dictionary."""
        write_whole(self.folder / f"{name}.json", (json.dumps(value, indent=2, sort_keys=True) + "\n").encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(stream)]


def _value(text: str | None) -> Any:
    for kind in (int, float):
        try:
            return kind(text or "")
        except ValueError:
            continue
    return text or ""


def _rounded(value: Any) -> Any:
    """Seven digits: more than any of these numbers mean, and the same after a look at the file."""
    return float(f"{value:.7g}") if isinstance(value, float) else value


def _in_words(settings: Row) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())
