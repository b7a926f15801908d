"""The output of commands: results on standard output, notes, progress bars and errors on standard error.

With ``--json`` standard output is one JSON object; with ``--quiet`` only errors are printed.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dsekl.data.table import ProgressHook, SomeChunk

from .streams import STANDARD_OUTPUT, discard, naming

WIDTH_OF_PIPES = 120
LISTED = 5
"""Entries of a list that are printed."""


class UsageError(ValueError):
    """A request that cannot be met: the message names the option and the fix."""


@dataclass(frozen=True)
class Output:
    """Where a command prints: tables for people, one JSON object (``as_json``), or nothing (``quiet``)."""

    as_json: bool = False
    quiet: bool = False

    @property
    def verbose(self) -> bool | str:
        """The estimators' setting: a progress bar on a terminal, or nothing."""
        return False if self.quiet else "auto"

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        if not self.quiet:
            _print_line("note:", "yellow", text)

    def result(self, figures: Mapping[str, object], *tables: RenderableType) -> None:
        """Print the result: the figures as JSON, or the tables."""
        if self.as_json:
            with naming(STANDARD_OUTPUT):
                print(json.dumps(_as_json(figures), allow_nan=False))
        elif not self.quiet:
            console = _console()
            with naming(STANDARD_OUTPUT):
                if console.is_terminal:
                    for table in tables:
                        console.print(table, highlight=False)
                else:
                    print(_plain(console, tables))

    def progress(self, label: str) -> ProgressHook:
        """Return a hook that shows a progress bar while rows are read."""

        def with_bar(chunks: Iterator[SomeChunk], total: int | None) -> Iterator[SomeChunk]:
            from dsekl.runs import Progress

            done = 0
            with Progress(self.verbose, total, label) as bar:
                for chunk in chunks:
                    yield chunk
                    done += chunk.n_rows
                    bar.advance(done, f"{done:,} rows")

        return with_bar

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Print warnings as notes, each once."""
        printed: set[str] = set()

        def show(message: Warning | str, *_: object, **__: object) -> None:
            text = str(message)
            if text not in printed:
                self.note(text)
            printed.add(text)

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield


def print_error(message: object) -> None:
    """Print an error in one line."""
    _print_line("dsekl:", "red", str(message))


def pairs(title: str, rows: Mapping[str, object], float_format: str = ".4g") -> RenderableType:
    """Return a table of names and values under a title, without those that are None."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value is not None:
            table.add_row(_text(name), _text(formatted(value, float_format)))
    return Group("", _text(title, "bold"), table)


def grid(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], float_format: str = ".4g"
) -> RenderableType:
    """Return a table under a title, with a heading over each column; numbers are on the right."""
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(columns):
        is_numeric = any(isinstance(row[place], int | float) for row in rows)
        table.add_column(_text(name), justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(formatted(value, float_format)) for value in row))
    return Group("", _text(title, "bold"), table)


def formatted(value: object, float_format: str = ".4g") -> str:
    """Return a value as text; of a long list the first entries."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return format(value, float_format)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {formatted(part, float_format)}" for name, part in value.items())
    if isinstance(value, list):
        shown = ", ".join(formatted(part, float_format) for part in value[:LISTED])
        return shown if len(value) <= LISTED else f"{shown}, ... ({len(value)} values)"
    return str(value)


def size(n_bytes: int) -> str:
    """Return the size of a file as text."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:,.1f} kB"


class _Console(Console):
    """A console that tells its caller when a reader has gone; rich would end the process, and with it the work."""

    def on_broken_pipe(self) -> None:
        raise  # what rich has caught


def _console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return _Console(stderr=stderr, width=None if stream.isatty() else WIDTH_OF_PIPES)


def _plain(console: Console, tables: Sequence[RenderableType]) -> str:
    """Return tables for a pipe or a file: without the blanks that fill their last columns."""
    with console.capture() as captured:
        for table in tables:
            console.print(table, highlight=False)
    return "\n".join(line.rstrip(" ") for line in captured.get().removesuffix("\n").split("\n"))


def printable(text: str) -> str:
    """Return a text that does nothing to a terminal: line ends, escape sequences and the like as they are written.

    Names of files, columns and classes come from files, and may hold anything.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _text(text: str, style: str = "") -> Text:
    """Return a text that rich prints as it is, square brackets and colons included."""
    return Text(printable(text), style)


def _print_line(label: str, style: str, text: str) -> None:
    """Print a line on standard error; where that is impossible, nothing else fails for it."""
    line = Text.assemble((label, style), " ", printable(text))
    try:
        _console(stderr=True).print(line, highlight=False, soft_wrap=True)
    except OSError:
        discard(sys.stderr)


def _as_json(value: Any) -> object:
    """Return a value as JSON; numbers that are not finite become null."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {str(name): _as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
