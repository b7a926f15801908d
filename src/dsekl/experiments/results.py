"""What the experiments found: one CSV file an experiment, and JSON beside them that says where the numbers come from.

Files are replaced as a whole, so neither a reader nor a resumed run ever meets half of one.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dsekl.atomic import replacing

Value = str | int | float
Row = dict[str, Value]


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
        with replacing(self.path) as file:
            file.write(text.getvalue().encode())

    def where(self, **wanted: Value) -> list[Row]:
        """Return the rows with these values."""
        return [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]

    def errors(self, **wanted: Value) -> list[float]:
        """Return the errors of the rows with these values."""
        return [float(row["error"]) for row in self.where(**wanted)]

    def count(self, column: str) -> int:
        """Return how many different values a column has."""
        return len({row[column] for row in self.rows})

    def _key_of(self, row: Row) -> tuple[Value, ...]:
        return tuple(row[name] for name in self.key)


class Results:
    """A folder of tables, all made with the same settings."""

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        known = self.read("settings")
        if known and known != settings:
            raise ValueError(
                f"{folder} holds results of a run with {_in_words(known)}, and this one has {_in_words(settings)}; "
                "give another folder with --output, or the same settings"
            )
        self.write("settings", settings)

    @property
    def quick(self) -> bool:
        """Whether they are of a quick run."""
        return bool(self.read("settings").get("quick"))

    def table(self, name: str, key: tuple[str, ...]) -> Table:
        """Return an experiment's table, with the rows that it has by now."""
        return Table(self.folder / f"{name}.csv", key)

    def read(self, name: str) -> dict[str, Any]:
        """Return what ``write`` kept, or nothing."""
        path = self.folder / f"{name}.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def write(self, name: str, value: Mapping[str, object]) -> None:
        """Keep a small dictionary."""
        with replacing(self.folder / f"{name}.json") as file:
            file.write((json.dumps(value, indent=2, sort_keys=True) + "\n").encode())


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(stream)]


def _value(text: str | None) -> Value:
    for kind in (int, float):
        try:
            return kind(text or "")
        except ValueError:
            continue
    return text or ""


def _rounded(value: Value) -> Value:
    """Seven digits: more than any of these numbers mean, and the same after a look at the file."""
    return float(f"{value:.7g}") if isinstance(value, float) else value


def _in_words(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())
