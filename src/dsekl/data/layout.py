"""Which column of a new file is which column of the training file: by name under a header, by place without one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from . import saved_values as saved_value
from .errors import DataFileError, quoted
from .messages import Message
from .table import Table

MOST_COMPARED = 10_000
"""Names that a name which was not found is compared with; a table may have half a million."""


@dataclass(frozen=True)
class Layout:
    """The training file's columns in order, and whether their names came from a header."""

    names: Sequence[str]
    has_header: bool
    target: str

    def match(self, table: Table, needed: Iterable[str]) -> tuple[dict[str, str], list[Message]]:
        """Return the table's name for each needed column, and notes on columns that are not used."""
        if self.has_header and table.has_header:
            return self._match_names(table, list(needed))
        return self._match_places(table, list(needed)), []

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: object) -> Layout:
        """Return the layout that ``to_dict`` described; ValueError if it never did."""
        entries = saved_value.entries(saved, "layout", {"names", "has_header", "target"})
        names = saved_value.texts(entries["names"], "layout.names")
        target = saved_value.text(entries["target"], "layout.target")
        if target not in names:
            raise ValueError("layout.target is none of layout.names")
        return cls(names, saved_value.flag(entries["has_header"], "layout.has_header"), target)

    def _match_names(self, table: Table, needed: list[str]) -> tuple[dict[str, str], list[Message]]:
        there, known = set(table.names), set(self.names)
        absent = [name for name in needed if name not in there]
        if absent:
            raise DataFileError(table.path, f"lacks {_listed(absent)}, which the model was trained on")
        unknown = [name for name in table.names if name not in known]
        notes = [Message(f"{table.path}: {_listed(unknown)} not known to the model, ignored")] if unknown else []
        return {name: name for name in needed}, notes

    def _match_places(self, table: Table, needed: list[str]) -> dict[str, str]:
        features = [name for name in self.names if name != self.target]
        if len(table.names) == len(self.names):
            found = dict(zip(self.names, table.names, strict=True))
        elif len(table.names) == len(features) and self.target not in needed:
            found = dict(zip(features, table.names, strict=True))
        else:
            or_without = "" if self.target in needed else f", or the {len(features)} without {quoted(self.target)}"
            raise DataFileError(
                table.path, f"has {len(table.names)} columns; without a header on both sides it needs the "
                f"{len(self.names)} of the training file in their order{or_without}",
            )  # fmt: skip
        return {name: found[name] for name in needed}


def find_column(table: Table, wanted: str) -> str:
    """Return the name of a column that is given by its name, or by its place: 1 is the first, -1 the last."""
    if wanted in table.names:
        return wanted
    place = int(wanted) if re.fullmatch("-?[0-9]{1,9}", wanted) else 0
    if place and -len(table.names) <= place <= len(table.names):
        return table.names[place - 1 if place > 0 else place]
    advice = "" if table.has_header else " (line 1 was read as data; if it is a header, give {header})"
    if table.names[0].startswith("#"):
        advice = " (line 1 begins with #: comments are read as rows; leave them out)"
    elif len(table.names) == 1 and table.has_header:
        advice = " (if rows are cut by another character than , ; | or a tab, give it as {delimiter})"
    raise DataFileError(table.path, no_column(wanted, table.names), advice=advice)


def no_column(wanted: str, names: Sequence[str]) -> str:
    """Return what is wrong with the name of a column that is not there, and which there are."""
    near = "".join(f"did you mean {quoted(name)}? " for name in get_close_matches(wanted, names[:MOST_COMPARED], n=1))
    return f"there is no column {quoted(wanted)}; {near}the columns are {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(quoted, names[:10]))
    return f"{shown} and {len(names) - 10} more" if len(names) > 10 else shown
