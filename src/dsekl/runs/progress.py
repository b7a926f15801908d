"""A progress bar on a terminal, a log line a time elsewhere, nothing where nobody asked.

``verbose="auto"`` shows a bar only on a terminal and only for runs that last; ``verbose=1`` shows it at once and,
where there is no terminal, logs each epoch; ``verbose=0`` is silent. The log is the standard logger ``dsekl``: each
epoch is a line at the level DEBUG, or INFO where ``verbose=1`` asks for it.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any

logger = logging.getLogger("dsekl")

PATIENCE_SECONDS = 1.0
SECONDS_A_FRAME = 0.1


class Progress:
    """Shows how far a run is; used as a context manager.

    ``total`` is what ``advance`` counts up to (epochs, rows), at most; None if nobody knows.
    """

    def __init__(self, verbose: bool | int | str, total: float | None, label: str = "fit") -> None:
        self._silent = verbose != "auto" and not verbose
        self._eager = verbose != "auto" and bool(verbose)
        self._total, self._label = total, label
        self._started = time.monotonic()
        self._forecast = Forecast()
        self._share = 0.0
        self._first: float | None = None
        self._drawn = -math.inf
        self._bar: Any = None
        self._task: Any = None
        self._words = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._close()

    def advance(self, done: float, words: str | None = None) -> None:
        """Move the bar to ``done`` of the total."""
        self._words = self._words if words is None else words
        # A run that goes on from a checkpoint has done a part of the total before the clock started.
        self._first = done if self._first is None else self._first
        if self._bar is None and self._wanted():
            self._open()
        if self._bar is None:
            return
        now = time.monotonic()
        elapsed = now - self._started
        left = math.inf
        if self._total and done > self._first:
            pace = elapsed / (done - self._first)
            left = min(pace * max(0.0, self._total - done), self._forecast.seconds_left(now))
            self._share = max(self._share, elapsed / (elapsed + left))
        soon = f"{_clock(left)} left" if math.isfinite(left) else ""
        self._bar.update(self._task, completed=self._share, left=soon, words=self._words)
        if now - self._drawn >= SECONDS_A_FRAME:
            self._drawn = now
            self._draw()

    def report(self, record: dict[str, Any], shortfall: float = math.inf, goal: float = 0.0) -> None:
        """Take an epoch's figures into the bar's text, or log them.

        The run ends where ``shortfall`` is under ``goal``; how fast it gets there says how long that takes.
        """
        self._forecast.observe(time.monotonic(), shortfall, goal)
        self._words = _figures(record)
        words = "  ".join(f"{name} {_brief(value)}" for name, value in record.items() if value is not None)
        logger.log(logging.INFO if self._eager and not _on_terminal() else logging.DEBUG, words)

    def _wanted(self) -> bool:
        waited = time.monotonic() - self._started >= PATIENCE_SECONDS
        return not self._silent and _on_terminal() and (self._eager or waited)

    def _open(self) -> None:
        # Imported here: rich takes a tenth of a second that quiet runs need not pay.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn(self._label), BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[words]}", style="dim"), console=Console(stderr=True), transient=True,
            auto_refresh=False,  # a thread of its own may not be had, and would print when a terminal was closed
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None if self._total is None else 1.0, left="", words="")

    def _draw(self) -> None:
        """Show the bar as it is now; a terminal that was closed is no reason to end a run."""
        try:
            self._bar.start()
            self._bar.refresh()
        except OSError:
            self._close()
            self._bar, self._silent = None, True

    def _close(self) -> None:
        """Take the bar away, and give rich's hold on standard output and error back."""
        with suppress(OSError):
            self._bar.stop()


class Forecast:
    """Seconds until a figure that falls by the same share each second is under its goal."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._end = math.inf

    def observe(self, now: float, shortfall: float, goal: float) -> None:
        """Take in the figure as it is now."""
        if not math.isfinite(shortfall) or shortfall <= 0 or goal <= 0:
            return
        before, self._last = self._last, (now, shortfall)
        if before is not None and before[1] > shortfall and now > before[0]:
            speed = math.log(before[1] / shortfall) / (now - before[0])
            self._end = now + max(0.0, math.log(shortfall / goal)) / speed

    def seconds_left(self, now: float) -> float:
        """Return the seconds left, infinite while nobody knows."""
        return max(0.0, self._end - now)


def _on_terminal() -> bool:
    """Tell whether standard error is a terminal; services have none at all."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _figures(record: dict[str, Any]) -> str:
    """Return what a bar has room for: the epoch, how good the model is, and the speed."""
    shown = [f"{name.replace('_', ' ')} {_brief(record[name])}" for name in ("epoch", "gap", "validation_error")
             if record.get(name) is not None]  # fmt: skip
    if record.get("kernel_evaluations") and record.get("seconds"):
        shown.append(f"{record['kernel_evaluations'] / record['seconds'] / 1e6:,.0f} M kernel values/s")
    return "  ".join(shown)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _brief(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
