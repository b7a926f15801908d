"""One line of progress on a terminal for each part of a run; nothing in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Advance = Callable[[str], None]


@contextmanager
def bar(name: str, total: int, done: int = 0) -> Iterator[Advance]:
    """Show a bar while the block runs; call what it gives after each step, with a word on how things stand."""
    console = Console(stderr=True)
    columns = [
        TextColumn(f"[bold]{name:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[words]}"),
    ]  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=total, completed=done, words="")
        yield lambda words: progress.update(task, advance=1, words=words)
