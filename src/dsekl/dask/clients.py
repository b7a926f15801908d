"""The client of a fit: the one that is given, the one of an address, or that of the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from distributed import Client, get_client, rejoin, secede
from distributed.threadpoolexecutor import thread_state


def client_of(given: Client | str | None) -> Client:
    """Return the client that a user gives, or the one of this process."""
    if isinstance(given, Client):
        client = given
    elif isinstance(given, str):
        client = _connected(given)
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


@contextmanager
def not_holding_a_thread() -> Iterator[None]:
    """Give a worker its thread back for as long as a task of it waits for other tasks, as a fit within a task does.

    Else tasks may wait behind the very one that waits for them. Elsewhere, and where the task has done so, do nothing.
    """
    if not vars(thread_state).get("proceed", False):
        yield
        return
    secede()
    try:
        yield
    finally:
        rejoin()


def _connected(address: str) -> Client:
    """Return a client of a scheduler by its address: one that is there, so that all futures are of the same client."""
    with suppress(ValueError):
        current = get_client()
        if current.scheduler is not None and _same_address(current.scheduler.address, address):
            return current
    client = _CONNECTED.get(address)
    if client is None or client.status != "running":
        try:
            client = _CONNECTED[address] = Client(address)
        except (OSError, ValueError) as error:
            raise ConnectionError(f"client={address!r}: no scheduler answers there ({error})") from error
    return client


_CONNECTED: dict[str, Client] = {}
"""Clients that were connected here, by the addresses that were given."""


def _same_address(one: str, other: str) -> bool:
    return bool(one.rpartition("://")[2] == other.rpartition("://")[2])
