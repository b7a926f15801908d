"""A Dask cluster for ``fit`` and ``predict``: the one of a scheduler, or workers on this machine.

Rows are read and encoded here, as ever, and sent to the workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar, cast

from .console import UsageError
from .models import FittedModel
from .reading import TrainingSet

CHUNK_ROWS = 2**16
"""Rows of a block that is sent."""

AHEAD = 2
"""Chunks of rows on their way for each thread of the workers."""

Item = TypeVar("Item")


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a scheduler, or start workers; None where neither is asked for."""
    if scheduler is None and workers is None:
        yield None
        return
    if scheduler is not None and workers is not None:
        raise UsageError("--workers: a cluster with --scheduler has its own workers; leave one of the two out")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        option = "--workers" if scheduler is None else "--scheduler"
        raise UsageError(f"{option} needs Dask; install it with pip install 'dsekl[dask]'") from None
    with ExitStack() as stack:
        if scheduler is None:
            cluster = stack.enter_context(
                LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0")
            )
            yield stack.enter_context(Client(cluster))
            return
        try:
            client = Client(scheduler, timeout="20s")
        except (OSError, ValueError) as error:
            raise UsageError(f"--scheduler {scheduler}: no scheduler answers there ({error})") from error
        yield stack.enter_context(client)


def fitted_on(client: Any, training: TrainingSet, loss: str | None, settings: dict[str, Any]) -> FittedModel:
    """Fit a model to encoded rows on a cluster and bring it here; after Ctrl-C the model so far, if there is one."""
    import dask.array as da
    from scipy import sparse

    from dsekl.dask import DaskDSEKLClassifier, DaskDSEKLRegressor

    recipe = training.recipe
    if sparse.issparse(training.X):
        raise UsageError("--scheduler and --workers are for dense rows, and these are sparse; fit on this machine")
    given = {name: value for name, value in settings.items() if name != "n_jobs"}
    if loss is not None:
        given["loss"] = loss
    kind = DaskDSEKLClassifier if recipe.target.classes else DaskDSEKLRegressor
    model = kind(**given, client=client)
    model._groups = recipe.encoder.groups  # type: ignore[union-attr]
    rows = da.from_array(training.X, chunks=(CHUNK_ROWS, training.X.shape[1]))
    targets = da.from_array(recipe.target.decoded(training.y), chunks=CHUNK_ROWS)
    try:
        model.fit(rows, targets)
    except KeyboardInterrupt:
        if not model.__sklearn_is_fitted__():
            raise
    return cast("FittedModel", model.to_local())


def in_order(
    client: Any, items: Iterable[Item], task: Callable[..., Any], model: FittedModel, *options: Any
) -> Iterator[tuple[Item, Any]]:
    """Yield each chunk of rows with what a task makes of it, some of them computed ahead by the workers of a client."""
    if client is None:
        for item in items:
            yield item, task(model, item.X, *options)  # type: ignore[attr-defined]
        return
    held = client.scatter(model, broadcast=True)
    most = AHEAD * max(1, sum(client.nthreads().values()))
    waiting: deque[tuple[Item, Any]] = deque()
    for item in items:
        waiting.append((item, client.submit(task, held, item.X, *options, pure=False)))  # type: ignore[attr-defined]
        if len(waiting) >= most:
            first, future = waiting.popleft()
            yield first, future.result()
    for first, future in waiting:
        yield first, future.result()
