"""Who does the work: ``workers.map(task, items)``, by threads here.

Threads run over compiled code that releases the GIL. Numba's own parallel loops abort when two threads enter them at
once, and users call this library from joblib, Dask and web servers. A pool that lives for one call has no state to
share, fork or pickle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

__all__ = ["ALONE", "Threads", "Workers", "chunks"]

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
    """Up to ``count`` threads of this process."""

    count: int = 1

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        items = list(items)
        if self.count == 1 or len(items) < 2:
            return [task(item) for item in items]
        with ThreadPoolExecutor(min(self.count, len(items))) as pool:
            return list(pool.map(task, items))


ALONE = Threads(1)
"""One worker: the thread that calls."""


def chunks(n: int, size: int) -> list[slice]:
    """Return slices of at most ``size`` that cover ``range(n)``."""
    return [slice(start, min(n, start + size)) for start in range(0, n, size)]
