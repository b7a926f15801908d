"""Where progress is shown: a bar of rich's on a terminal, one line that changes in a notebook."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any, Protocol

BAR_WIDTH = 24


class Display(Protocol):
    """Something that shows how far a run is."""

    def draw(self, share: float | None, seconds: float, left: str, words: str) -> None:
        """Show the share that is done (None if nobody knows), the seconds so far, the time left, and words."""

    def close(self) -> None:
        """Take it away."""


class TerminalBar:
    """A bar on standard error, which is gone when it is closed."""

    def __init__(self, label: str) -> None:
        # Imported here: rich takes a tenth of a second that quiet runs need not pay.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn(label), BarColumn(bar_width=BAR_WIDTH), TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[words]}", style="dim"), console=Console(stderr=True), transient=True,
            auto_refresh=False,  # a thread of its own may not be had, and would print when a terminal was closed
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None, left="", words="")

    def draw(self, share: float | None, seconds: float, left: str, words: str) -> None:
        total = None if share is None else 1.0
        self._bar.update(self._task, total=total, completed=share or 0.0, left=left, words=words)
        self._bar.start()
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar away, and give rich's hold on standard output and error back."""
        with suppress(OSError):
            self._bar.stop()


class NotebookLine:
    """One line below a cell; IPython alone shows it, whatever widgets are installed."""

    def __init__(self, label: str) -> None:
        display: Any = importlib.import_module("IPython.display").display
        self._label, self._last = label, ""
        self._handle = display({"text/plain": label}, raw=True, display_id=True)

    def draw(self, share: float | None, seconds: float, left: str, words: str) -> None:
        full = round(BAR_WIDTH * (share or 0.0))
        minutes, rest = divmod(round(seconds), 60)
        parts = [self._label, "█" * full + "░" * (BAR_WIDTH - full), f"{minutes}:{rest:02d}", left, words]
        self._last = "  ".join(part for part in parts if part)
        self._handle.update({"text/plain": self._last}, raw=True)

    def close(self) -> None:
        """Leave the last line, which says how it ended."""


def on_terminal() -> bool:
    """Tell whether standard error is a terminal; services have none at all."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def in_notebook() -> bool:
    """Tell whether a notebook's kernel runs this: IPython with a kernel, and no terminal."""
    ipython: Any = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    try:
        return shell.kernel is not None
    except AttributeError:  # no IPython, or one on a terminal
        return False
