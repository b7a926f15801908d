"""What the commands say: results on standard output, everything else on standard error.

With ``--json`` standard output has one JSON object and nothing else; with ``--quiet`` nothing is said but errors.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table

from dsekl.data.table import Watch

WIDTH_OF_PIPES = 120


class UsageError(ValueError):
    """A request that cannot be met as it stands: the message names the option and the fix."""


@dataclass(frozen=True)
class Voice:
    """How a command talks: to people, to scripts (``as_json``), or not at all (``quiet``)."""

    as_json: bool = False
    quiet: bool = False

    @property
    def verbose(self) -> Any:
        """The estimators' setting: a progress bar on a terminal, or nothing."""
        return False if self.quiet else "auto"

    def note(self, text: str) -> None:
        """Say something that a user should know."""
        if not self.quiet:
            _console(stderr=True).print(f"[yellow]note:[/yellow] {_plain(text)}", highlight=False, soft_wrap=True)

    def result(self, figures: dict[str, Any], *tables: RenderableType) -> None:
        """Give the result: the figures as JSON, or tables for people."""
        if self.as_json:
            print(json.dumps(_as_json(figures), allow_nan=False))
        elif not self.quiet:
            console = _console()
            for table in tables:
                console.print(table, highlight=False)

    def watch(self, label: str) -> Watch:
        """Return what shows a bar while rows stream by."""

        def watched(chunks: Iterator[Any], total: int | None) -> Iterator[Any]:
            from dsekl.solvers import Progress

            done = 0
            with Progress(self.verbose, total, label) as progress:
                for chunk in chunks:
                    yield chunk
                    done += chunk.n_rows
                    progress.advance(done, f"{done:,} rows")

        return watched

    @contextmanager
    def warnings_as_notes(self, but: str = "\0") -> Iterator[None]:
        """Turn warnings into notes as they come, each once, those aside that begin with ``but``."""
        told: set[str] = set()

        def tell(message: Warning | str, *_: Any, **__: Any) -> None:
            text = str(message)
            if text not in told and not text.startswith(but):
                self.note(text)
            told.add(text)

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = tell
            yield


def complain(message: object) -> None:
    """Say what went wrong, in one line."""
    _console(stderr=True).print(f"[red]dsekl:[/red] {_plain(str(message))}", highlight=False, soft_wrap=True)


def pairs(title: str, rows: dict[str, Any]) -> RenderableType:
    """Return a table of names and values under a title, those left out that have no value."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value is not None:
            table.add_row(name, _plain(told(value)))
    return Group(f"\n[bold]{_plain(title)}[/bold]", table)


def grid(title: str, columns: list[str], rows: list[list[Any]]) -> RenderableType:
    """Return a table under a title, with a heading over each column; numbers are on the right."""
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(columns):
        of_numbers = any(isinstance(row[place], int | float) for row in rows)
        table.add_column(_plain(name), justify="right" if of_numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_plain(told(value)) for value in row))
    return Group(f"\n[bold]{_plain(title)}[/bold]", table)


def told(value: Any) -> str:
    """Return a value as people read it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def size(n_bytes: int) -> str:
    """Return the size of a file as people read it."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:,.1f} kB"


def _console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else WIDTH_OF_PIPES)


def _plain(text: str) -> str:
    """Return a text that rich takes as it is, square brackets and all."""
    return text.replace("[", r"\[")


def _as_json(value: Any) -> Any:
    """Return a value as JSON has it; numbers that are not finite have no place there."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {str(name): _as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
