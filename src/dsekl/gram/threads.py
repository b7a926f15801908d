"""Plain threads over compiled code that releases the GIL.

Numba's own parallel loops abort when two threads enter them at once, and users call this library from
joblib, Dask and web servers. A pool that lives for one call has no state to share, fork or pickle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def spread(task: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> list[Any]:
    """Return ``[task(item) for item in items]``, computed by up to ``n_threads`` threads."""
    items = list(items)
    if n_threads == 1 or len(items) < 2:
        return [task(item) for item in items]
    with ThreadPoolExecutor(min(n_threads, len(items))) as pool:
        return list(pool.map(task, items))


def chunks(n: int, size: int) -> list[slice]:
    """Return slices of at most ``size`` that cover ``range(n)``."""
    return [slice(start, min(n, start + size)) for start in range(0, n, size)]
