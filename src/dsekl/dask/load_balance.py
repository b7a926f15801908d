"""Which worker has which part, so that all have about as much to do. No result depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

UNEVEN = 1.05
"""Load of a worker, over its share of all, from which on a part that it has is better off elsewhere."""


def balanced(
    loads: Sequence[float], threads: Mapping[str, int], holders: Sequence[Sequence[str]] = ()
) -> list[str | None]:
    """Return a worker for each part of some load, the largest first; one that holds it already, if that is not uneven.

    Workers with more threads get more. None for all parts where nobody is there.
    """
    workers: list[str | None] = [None] * len(loads)
    if not any(threads.values()):
        return workers
    taken = dict.fromkeys(sorted(worker for worker in threads if threads[worker]), 0.0)
    share = sum(loads) / sum(threads.values())
    for part in sorted(range(len(loads)), key=lambda part: -loads[part]):
        then = {worker: (taken[worker] + loads[part]) / threads[worker] for worker in taken}
        least = min(then, key=then.__getitem__)
        here = [worker for worker in (holders[part] if holders else ()) if worker in then]
        nearest = min(here, key=then.__getitem__) if here else least
        worker = nearest if then[nearest] <= max(then[least], UNEVEN * share) else least
        taken[worker] += loads[part]
        workers[part] = worker
    return workers
