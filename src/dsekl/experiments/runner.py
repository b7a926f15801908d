"""Units of work: those that are not done yet are dealt to processes, and what each finds is kept as it ends.

A unit has a seed of its own, so what it finds depends neither on the others nor on how many processes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from .progress import bar
from .results import Row, Table
from .settings import Settings

Work = Callable[[Row], list[Row]]


def run_units(name: str, table: Table, units: Iterable[Row], work: Work, settings: Settings) -> None:
    """Do the units that the table lacks."""
    everything = list(units)
    missing = table.missing(everything)
    calls = (delayed(_alone)(work, unit) for unit in missing)
    with bar(name, len(everything), len(everything) - len(missing)) as advance:
        done: Any = Parallel(n_jobs=settings.n_jobs, return_as="generator_unordered")(calls)
        for rows in done:
            table.add(rows)
            advance("")


def _alone(work: Work, unit: Row) -> list[Row]:
    # The matrices are small: BLAS threads would only get in each other's way.
    with threadpool_limits(1):
        return work(unit)
