"""A progress bar on a terminal or in a notebook, a log line a time elsewhere, nothing where nobody asked.

``verbose="auto"`` shows a bar only where somebody looks, and only for runs that last; ``verbose=1`` shows it at once
and, where there is neither terminal nor notebook, logs each epoch; ``verbose=0`` is silent. The log is the standard
logger ``dsekl``: each epoch is a line at the level DEBUG, or INFO where ``verbose=1`` asks for it.
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from dsekl.compiled import told_of_compiling

from .displays import Display, NotebookLine, TerminalBar, in_notebook, on_terminal

logger = logging.getLogger("dsekl")

PATIENCE_SECONDS = 1.0
SECONDS_A_FRAME = 0.1

COMPILING = "compiling, once for this machine"

SHOWN = {
    "epoch": "epoch",
    "gap": "gap",
    "validation_rmse": "validation RMSE",
    "validation_error": "validation error rate",
}
"""What a bar has room for, in the field's words."""


class Progress:
    """Shows how far a run is; used as a context manager.

    ``total`` is what ``advance`` counts up to (epochs, rows), at most; None if nobody knows.
    """

    def __init__(self, verbose: bool | int | str, total: float | None = None, label: str = "fit") -> None:
        self._silent = verbose != "auto" and not verbose
        self._eager = verbose != "auto" and bool(verbose)
        self._total, self._label = total, label
        self._started = time.monotonic()
        self._share, self._left, self._words = 0.0, math.inf, ""
        self._first: float | None = None
        self._drawn = -math.inf
        self._compiling = False
        self._display: Display | None = None
        self._closing = ExitStack()

    def __enter__(self) -> Progress:
        if not self._silent:
            self._closing.enter_context(told_of_compiling(self._note_compiling))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()
        if self._display is not None:
            self._display.close()

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self._started

    def advance(self, done: float, words: str | None = None) -> None:
        """Move the bar to ``done`` of the total, at an even pace."""
        # A run that goes on from a checkpoint has done a part of the total before the clock started.
        self._first = done if self._first is None else self._first
        left = math.inf
        if self._total and done > self._first:
            left = self.seconds / (done - self._first) * max(0.0, self._total - done)
        self.show(left, words)

    def show(self, left: float, words: str | None = None) -> None:
        """Show the seconds that are left, infinite if nobody knows."""
        self._words = self._words if words is None else words
        self._left = left
        if self.seconds > 0:
            self._share = max(self._share, self.seconds / (self.seconds + left))
        self._refresh()

    def report(self, record: dict[str, Any]) -> None:
        """Take an epoch's figures into the bar's text, or log them."""
        self._words = _figures(record)
        words = "  ".join(f"{name} {_brief(value)}" for name, value in record.items() if value is not None)
        logged = self._eager and not on_terminal() and not in_notebook()
        logger.log(logging.INFO if logged else logging.DEBUG, words)

    def _note_compiling(self, begins: bool) -> None:
        self._compiling = begins
        self._refresh()

    def _refresh(self) -> None:
        now = time.monotonic()
        if self._display is None and self._wanted():
            self._display = NotebookLine(self._label) if in_notebook() else TerminalBar(self._label)
        if self._display is None or (now - self._drawn < SECONDS_A_FRAME and not self._compiling):
            return
        self._drawn = now
        left = f"{_clock(self._left)} left" if math.isfinite(self._left) else ""
        words = COMPILING if self._compiling else self._words
        try:
            self._display.draw(self._share if left or self._share else None, self.seconds, left, words)
        except OSError:  # a terminal that was closed is no reason to end a run
            self._display.close()
            self._display, self._silent = None, True

    def _wanted(self) -> bool:
        waited = self.seconds >= PATIENCE_SECONDS
        return not self._silent and (self._eager or waited) and (on_terminal() or in_notebook())


def _figures(record: dict[str, Any]) -> str:
    """Return what a bar has room for: the epoch, how good the model is, and the speed."""
    found = {name: words for name, words in SHOWN.items() if record.get(name) is not None}
    if "validation_rmse" in found:
        found.pop("validation_error", None)
    shown = [f"{words} {_brief(record[name])}" for name, words in found.items()]
    if record.get("kernel_evaluations") and record.get("seconds"):
        shown.append(f"{record['kernel_evaluations'] / record['seconds'] / 1e6:,.0f} M kernel values/s")
    return "  ".join(shown)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _brief(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
