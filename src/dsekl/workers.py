"""Who does the work: ``workers.map(task, items)``, by threads here.

Threads run over compiled code that releases the GIL. Numba's own parallel loops abort when two threads enter them at
once, and users call this library from joblib, Dask and web servers. A pool that lives for one call has no state to
share, fork or pickle.

The thread that calls works too. Where the system gives no further thread, those that there are do all the work.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import current_process
from threading import Thread
from typing import Generic, Protocol, TypeVar

from joblib import cpu_count, effective_n_jobs

__all__ = ["ALONE", "Threads", "Workers", "chunks"]

MOST_THREADS = 256
"""Threads on a machine with fewer cores: a model file may name any number."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(Protocol):
    """Several hands for one list of tasks."""

    @property
    def count(self) -> int:
        """How many tasks are done at once."""

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[task(item) for item in items]``; the results do not depend on who computed them."""


@dataclass(frozen=True)
class Threads:
    """Up to ``count`` threads of this process, the calling one among them."""

    count: int = 1

    @staticmethod
    def of(n_jobs: int | None) -> Threads:
        """Return as many threads as scikit-learn's ``n_jobs`` asks for; all cores for None, as for -1.

        In a process of a pool, such as a worker of Dask, None is one thread.
        """
        cores = int(cpu_count())
        if current_process().daemon and n_jobs != 0:
            # Of a pool that has cores at work, as Dask's. Joblib allows such a process no processes; these are threads.
            count = 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
        else:
            count = int(effective_n_jobs(-1 if n_jobs is None else n_jobs))
            if n_jobs is None or n_jobs < 0:
                count = min(count, cores)  # joblib's Dask backend counts those of all machines
        return Threads(min(count, max(MOST_THREADS, cores)))

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        items = list(items)
        if self.count == 1 or len(items) < 2:
            return [task(item) for item in items]
        return _Job(task, items).done_by(min(self.count, len(items)))


class _Job(Generic[Item, Result]):
    """Tasks that several threads take from one list, in its order."""

    def __init__(self, task: Callable[[Item], Result], items: list[Item]) -> None:
        self._task, self._items = task, items
        self._next = itertools.count()  # whose next() is atomic
        self._results: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}

    def done_by(self, n_threads: int) -> list[Result]:
        """Return the results, or raise the error of the first task that failed; no further ones are begun then."""
        threads: list[Thread] = []
        try:
            for _ in range(n_threads - 1):
                threads.append(Thread(target=self._work))
                try:
                    threads[-1].start()
                except RuntimeError:  # no further thread to be had
                    threads.pop()
                    break
            self._work()
        except BaseException as error:  # Ctrl-C: what runs ends first, since compiled code cannot be left
            self._errors[-1] = error
        for thread in threads:
            if thread.ident is not None:  # None if Ctrl-C came before it was started
                thread.join()
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[place] for place in range(len(self._items))]

    def _work(self) -> None:
        while not self._errors:
            place = next(self._next)
            if place >= len(self._items):
                return
            try:
                self._results[place] = self._task(self._items[place])
            except BaseException as error:
                self._errors[place] = error


ALONE = Threads(1)
"""One worker: the thread that calls."""


def chunks(n: int, size: int) -> list[slice]:
    """Return slices of at most ``size`` that cover ``range(n)``."""
    return [slice(start, min(n, start + size)) for start in range(0, n, size)]
