"""Units of work: those that are not done yet are shared by processes, and what each finds is kept as it ends.

A unit has a seed of its own, so what it finds depends neither on the others nor on how many processes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from dsekl.runs import Progress

from .results import Row, Table
from .settings import Settings

Work = Callable[[Row], list[Row]]


def bar(name: str, total: int, done: int = 0) -> Progress:
    """Return a progress bar, ``done`` of ``total`` steps on; it shows on a terminal alone."""
    progress = Progress("auto", total, name)
    progress.advance(done)
    return progress


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
