"""A progress bar on a terminal, a log line a time elsewhere, nothing where nobody asked.

``verbose="auto"`` shows a bar only on a terminal and only for runs that last; ``verbose=1`` shows it at once and,
where there is no terminal, logs each epoch; ``verbose=0`` is silent. The log is the standard logger ``dsekl``: each
epoch is a line at the level DEBUG, or INFO where ``verbose=1`` asks for it.
"""

from __future__ import annotations

import logging
import sys
import time
from types import TracebackType
from typing import Any

logger = logging.getLogger("dsekl")

PATIENCE_SECONDS = 1.0


class Progress:
    """Shows how far a run is; used as a context manager."""

    def __init__(self, verbose: bool | int | str, max_epochs: int) -> None:
        self._silent = verbose != "auto" and not verbose
        self._eager = verbose != "auto" and bool(verbose)
        self._max_epochs = max_epochs
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._words = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, epochs_done: float) -> None:
        """Move the bar to ``epochs_done`` epochs."""
        if self._bar is None and self._wanted():
            self._open()
        if self._bar is not None:
            self._bar.update(self._task, completed=epochs_done, words=self._words)

    def report(self, record: dict[str, Any]) -> None:
        """Take an epoch's figures into the bar's text, or log them."""
        self._words = "  ".join(f"{name} {_brief(value)}" for name, value in record.items() if value is not None)
        logger.log(logging.INFO if self._eager and not sys.stderr.isatty() else logging.DEBUG, self._words)

    def _wanted(self) -> bool:
        waited = time.monotonic() - self._started >= PATIENCE_SECONDS
        return not self._silent and sys.stderr.isatty() and (self._eager or waited)

    def _open(self) -> None:
        # Imported here: rich takes a tenth of a second that quiet runs need not pay.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("dsekl"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(),
            TimeRemainingColumn(), TextColumn("{task.fields[words]}"), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("fit", total=self._max_epochs, words="")
        self._bar.start()


def _brief(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
