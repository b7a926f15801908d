"""Units of work: those that are not done yet are shared by processes, and what each finds is kept as it ends.

Progress is a bar on a terminal, and a line now and then where there is none.

A unit has a seed of its own, so what it finds depends neither on the others nor on how many processes there are.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dsekl.runs import Progress

from .results import Row, Table
from .settings import Settings

Work = Callable[[Row], list[Row]]


LINE_SECONDS = 10.0
"""Seconds between two lines of progress where there is no terminal."""


class Shown:
    """How far an experiment is: a bar on a terminal, lines on the standard error stream elsewhere."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name, self._progress = name, progress
        self._last = time.monotonic()

    def advance(self, done: float, words: str) -> None:
        """Move on to ``done`` steps."""
        self._progress.advance(done, words)
        now = time.monotonic()
        if sys.stderr is None or sys.stderr.isatty() or now - self._last < LINE_SECONDS:
            return
        self._last = now
        print(f"{self._name}: {words}", file=sys.stderr, flush=True)


@contextmanager
def bar(name: str, total: int, done: int = 0) -> Iterator[Shown]:
    """Show progress, ``done`` of ``total`` steps on."""
    with Progress("auto", total, name) as progress:
        progress.advance(done)
        yield Shown(name, progress)


def run_units(name: str, table: Table, units: Iterable[Row], work: Work, settings: Settings) -> None:
    """Do the units that the table lacks."""
    everything = list(units)
    missing = table.missing(everything)
    before = len(everything) - len(missing)
    calls = (delayed(_alone)(work, unit) for unit in missing)
    with bar(name, len(everything), before) as progress:
        finished: Iterator[list[Row]] = Parallel(n_jobs=settings.n_jobs, return_as="generator_unordered")(calls)
        for done, rows in enumerate(finished, start=before + 1):
            table.add(rows)
            progress.advance(done, f"{done} of {len(everything)}")


def _alone(work: Work, unit: Row) -> list[Row]:
    # The matrices are small: BLAS threads would only get in each other's way.
    with threadpool_limits(1):
        return work(unit)
