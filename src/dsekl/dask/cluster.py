"""The cluster as hands: pure futures with names that mean something, and waits that end.

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
from distributed.client import get_client
from distributed.scheduler import KilledWorker

from dsekl.version import __version__

RETRIES = 3
"""Times that a task may fail by an error of its own, and that a task may be given anew to workers that it kills."""

SECONDS_A_LOOK = 5.0
"""Between two looks at whether anybody works."""

PATIENCE_SECONDS = 300.0
"""Without any worker, before a fit gives up."""

LARGE_GRAPH = "100 MB"
"""Graph above which Dask warns: the coefficients of a part are arguments of tasks on purpose."""


MOST_REBUILDS = 3
"""Times that what the cluster has lost, as after a restart, is built anew from its source."""

Found = TypeVar("Found")


class LostFutures(RuntimeError):
    """What the cluster held is gone, as after a restart; it can be built again from its source."""


def rebuilding(work: Callable[[DaskHands], Found], client: Client) -> Found:
    """Return what some work comes to; it is begun again, with hands of its own, where the cluster has lost it."""
    for _ in range(MOST_REBUILDS):
        with suppress(LostFutures):
            return work(DaskHands(client))
    return work(DaskHands(client))


def client_of(given: Client | str | None) -> Client:
    """Return the client that a user gives, or the one of this process."""
    if isinstance(given, Client):
        client = given
    elif isinstance(given, str):
        client = Client(given)
    elif given is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "client=None, and no Dask client is there; give client=Client('scheduler:8786'), or start a cluster on "
                "this machine with Client(n_workers=4, threads_per_worker=1)"
            ) from None
    else:
        raise TypeError(f"client={given!r} must be a dask.distributed.Client, an address such as 'host:8786', or None")
    if client.asynchronous:
        raise ValueError("client is asynchronous, and fit waits for its tasks; give Client(..., asynchronous=False)")
    if client.status != "running":
        raise ValueError(f"client is {client.status}; give one that is connected to its scheduler")
    return client


def require_workers(client: Client) -> None:
    """Raise an error that names the workers that lack dsekl, or have another version; wait for the first worker."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    except TimeoutError:
        raise _no_workers(client) from None
    found = client.run(pkgutil.resolve_name, "dsekl.version:__version__", on_error="return")
    for worker, version in sorted(found.items()):
        if isinstance(version, OSError):  # it has left since
            continue
        if version != __version__:
            has = f"has dsekl {version}" if isinstance(version, str) else f"cannot import dsekl ({version})"
            raise RuntimeError(f"worker {worker} {has}; install dsekl {__version__} on it, as on the client")


def _no_workers(client: Client) -> RuntimeError:
    where = client.scheduler.address if client.scheduler is not None else "the scheduler"
    return RuntimeError(
        f"no worker has been connected to {where} for {PATIENCE_SECONDS:.0f} seconds; start workers, and fit again"
    )


@dataclass
class DaskHands:
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

    def submit(self, name: str, task: Callable[..., Any], *arguments: Any) -> Future:
        try:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
                return self.client.submit(task, *arguments, key=self.key(name), pure=False, retries=RETRIES)
        except CancelledError as error:
            raise LostFutures(str(error)) from error

    def compute(self, delayed: Sequence[Any]) -> list[Future]:
        """Return futures of delayed values."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
            return list(self.client.compute(list(delayed), retries=RETRIES))

    def gather(self, results: Sequence[Any]) -> list[Any]:
        futures = list(results)
        for left in reversed(range(RETRIES + 1)):
            self._wait(futures)
            try:
                return list(self.client.gather(futures))
            except KilledWorker as error:
                if not left:
                    raise RuntimeError(
                        f"a task has ended {RETRIES + 1} times with the workers that ran it ({error}); give workers "
                        "more memory, or set a smaller memory_budget"
                    ) from error
                for future in futures:
                    if future.status == "error":
                        future.retry()
            except CancelledError as error:
                raise LostFutures(str(error)) from error
        raise AssertionError("the last try returns or raises")

    def _wait(self, futures: Sequence[Future]) -> None:
        """Wait for futures while anybody works on them."""
        alone_since: float | None = None
        while True:
            if self.client.status not in ("running", "connecting"):
                raise RuntimeError(
                    f"the client is {self.client.status}: its scheduler has gone. Connect to another one; a fit with "
                    "checkpoint= goes on from where it was"
                )
            try:
                wait(futures, timeout=SECONDS_A_LOOK)
                return
            except TimeoutError:
                if self.client.scheduler_info(n_workers=1)["workers"]:
                    alone_since = None
                else:
                    alone_since = alone_since or time.monotonic()
                    if time.monotonic() - alone_since > PATIENCE_SECONDS:
                        raise _no_workers(self.client) from None
            except CancelledError as error:
                raise LostFutures(str(error)) from error
