"""The cluster as an executor: pure futures with names that mean something, and waits that end.

Every task is a plain function of values and other futures, so that what is lost with a worker is computed again. A task
is tried several times. Nobody waits for ever: no workers for some minutes, a scheduler that has gone, and a task that
kills every worker are errors that say so.
"""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar
from uuid import uuid4

import dask
from distributed import Client, Future, wait
from distributed.scheduler import KilledWorker

from dsekl.version import __version__

from .load_balance import balanced

RETRIES = 3
"""Times that a task may fail by an error of its own, and that a task may be given anew to workers that it kills."""

SECONDS_A_LOOK = 5.0
"""Between two looks at whether anybody works."""

SECONDS_A_TRY = 0.1
"""Between two looks at whether a client is connected again."""

AT_REST = ("memory", "released", "error", "forgotten")
"""States of a worker's tasks that it does nothing about."""

PATIENCE_SECONDS = 300.0
"""Without any worker, before a fit gives up."""

LARGE_GRAPH = "100 MB"
"""Graph above which Dask warns: the coefficients of a part are arguments of tasks on purpose."""


MOST_REBUILDS = 3
"""Times that what the cluster has lost, as after a restart, is built anew from its source."""

Found = TypeVar("Found")


class LostFutures(RuntimeError):
    """What the cluster held is gone, as after a restart; it can be built again from its source."""


class NoWorkers(RuntimeError):
    """Nobody has worked, or would start to, for as long as a fit has patience."""


def rebuilding(work: Callable[[DaskExecutor], Found], client: Client) -> Found:
    """Return what some work comes to; it is begun again, with executor of its own, where the cluster has lost it."""
    for _ in range(MOST_REBUILDS):
        with suppress(LostFutures):
            return work(DaskExecutor(client))
        _wait_while_connecting(client)
    try:
        return work(DaskExecutor(client))
    except LostFutures as error:
        raise RuntimeError(
            f"the cluster has lost results {MOST_REBUILDS + 1} times, and what they are made of may be lost too "
            f"({str(error).strip(': ')}). Rows that were scattered are gone with a restart, and with their workers; "
            "give collections that are read from files, or persisted"
        ) from error


def _wait_while_connecting(client: Client) -> None:
    """Wait until a client whose scheduler has gone is connected again, or has given up, which is an error."""
    while client.status == "connecting":
        time.sleep(SECONDS_A_TRY)
    _require_scheduler(client)


def _require_scheduler(client: Client) -> None:
    if client.status not in ("running", "connecting"):
        raise RuntimeError(
            f"the client is {client.status}: its scheduler has gone. Connect to another one; a fit with checkpoint= "
            "goes on from where it was"
        )


def require_workers(client: Client) -> None:
    """Raise an error that names the workers that lack dsekl, or have another version; wait for the first worker."""
    rebuilding(_call, client)
    found = client.run(pkgutil.resolve_name, "dsekl.version:__version__", on_error="return")
    for worker, version in sorted(found.items()):
        if isinstance(version, OSError):  # it has left since
            continue
        if version != __version__:
            has = f"has dsekl {version}" if isinstance(version, str) else f"cannot import dsekl ({version})"
            raise RuntimeError(f"worker {worker} {has}; install dsekl {__version__} on it, as on the client")


def _call(executor: DaskExecutor) -> None:
    """Wait until somebody answers: a cluster that adapts itself starts no worker before there is something to do."""
    executor.gather([executor.submit("call", int)])


def _idle(client: Client) -> NoWorkers | None:
    """Return what is wrong where nobody works, nor would start to."""
    workers = client.scheduler_info(n_workers=-1).get("workers", {}).values()
    if any(_is_busy(about) for about in workers):
        return None
    seconds = f"{PATIENCE_SECONDS:.0f} seconds"
    if any(about["status"] != "paused" for about in workers):
        return NoWorkers(
            f"none of the workers ({len(workers)}) has had anything to do for {seconds}, and the fit still waits for "
            "results: Dask has lost track of a task, as may happen where workers end; fit again"
        )
    if workers:
        least = min(about["memory_limit"] or 0 for about in workers) / 1e6
        return NoWorkers(
            f"all workers ({len(workers)}) have been paused for {seconds}, as Dask does where memory is nearly full; "
            f"give workers more memory than {least:.0f} MB, or set a smaller memory_budget"
        )
    where = client.scheduler.address if client.scheduler is not None else "the scheduler"
    return NoWorkers(f"no worker has been connected to {where} for {seconds}; start workers, and fit again")


def _is_busy(about: dict[str, Any]) -> bool:
    """Tell whether a worker runs tasks, or is about to; one that is paused starts none, and ends those it has begun."""
    counts = about["metrics"].get("task_counts", {})
    if about["status"] == "paused":
        return bool(counts.get("executing", 0))
    return any(count for state, count in counts.items() if state not in AT_REST)


def _killing(killed: Sequence[KilledWorker]) -> RuntimeError:
    times = "once" if len(killed) == 1 else f"{len(killed)} times"
    return RuntimeError(
        f"a task has ended {times} with the workers that ran it ({killed[-1]}); give workers more memory, or set a "
        "smaller memory_budget"
    )


@dataclass
class DaskExecutor:
    """Tasks as futures of a client. ``sent`` counts tasks."""

    client: Client
    label: str = field(default_factory=lambda: uuid4().hex[:8])
    _number: Any = field(default_factory=count)

    @property
    def sent(self) -> int:
        """How many tasks there have been."""
        return int(repr(self._number)[6:-1])

    def key(self, name: str) -> str:
        """Return a key that the dashboard shows by its name; never one that was used before."""
        return f"dsekl-{name}-{self.label}-{next(self._number)}"

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any, worker: str | None = None) -> Future:
        """Return the future of a task; it runs on the ``worker`` that is named, as long as that is there."""
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        try:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
                return self.client.submit(task, *arguments, key=self.key(name), pure=False, retries=RETRIES, **where)
        except CancelledError as error:
            raise LostFutures(str(error)) from error

    def workers_for(self, sizes: Sequence[int]) -> list[str | None]:
        """Return a worker for each part of some sizes."""
        return balanced(sizes, self._threads())

    def spread(self, parts: Sequence[Future], loads: Sequence[float]) -> list[Future]:
        """Return the parts, some of them elsewhere, so that all workers have about as much to do."""
        try:
            at = self.client.who_has(list(parts))
        except (OSError, CancelledError):  # whoever needs a part next says what is wrong
            return list(parts)
        holders = [at.get(part.key, ()) for part in parts]
        workers = balanced(loads, self._threads(), holders)
        return [
            part if worker is None or worker in here else self.submit(f"move-{p}", itself, part, worker=worker)
            for p, (part, worker, here) in enumerate(zip(parts, workers, holders, strict=True))
        ]

    def _threads(self) -> dict[str, int]:
        """Return how many threads each worker has."""
        workers = self.client.scheduler_info(n_workers=-1).get("workers", {})
        return {address: int(about["nthreads"]) for address, about in workers.items()}

    def compute(self, delayed: Sequence[Any]) -> list[Future]:
        """Return futures of delayed values."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
            return list(self.client.compute(list(delayed), retries=RETRIES))

    def gather(self, results: Sequence[Any]) -> list[Any]:
        futures = list(results)
        killed: list[KilledWorker] = []
        while True:
            try:
                self._wait(futures)
                return list(self.client.gather(futures))
            except KilledWorker as error:
                killed.append(error)
                if len(killed) > RETRIES:
                    raise _killing(killed) from error
                self._try_again([future.key for future in futures if future.status == "error"])
            except NoWorkers as error:
                if not killed:
                    raise
                raise _killing(killed) from error  # a cluster may give up workers that end again and again
            except CancelledError as error:
                raise LostFutures(str(error)) from error

    def _try_again(self, keys: Sequence[str]) -> None:
        # Future.retry() knows no tasks but futures, and fails where it was one that these depend on.
        for key in self.client.sync(self.client.scheduler.retry, keys=list(keys)):
            if key in self.client.futures:
                self.client.futures[key].retry()

    def _wait(self, futures: Sequence[Future]) -> None:
        """Wait for futures while anybody works on them."""
        alone_since: float | None = None
        while True:
            _require_scheduler(self.client)
            try:
                with self.client.as_current():  # else wait() waits in the loop of the process's default client, if any
                    wait(futures, timeout=SECONDS_A_LOOK)
                return
            except TimeoutError:
                idle = _idle(self.client)
                if idle is None:
                    alone_since = None
                else:
                    alone_since = alone_since or time.monotonic()
                    if time.monotonic() - alone_since > PATIENCE_SECONDS:
                        raise idle from None
            except CancelledError as error:
                raise LostFutures(str(error)) from error


def itself(value: Found) -> Found:
    """Return a value, which is then where the task was run."""
    return value
