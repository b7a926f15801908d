"""A Dask cluster for ``fit`` and ``predict``: the one of a scheduler, or workers on this machine.

The workers read the rows; here are the first rows, which decide what columns are, and what was counted of the others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from dsekl.data import SparseTable
from dsekl.data.many_files import Opener, pieces_of
from dsekl.data.recipe_learner import Options, learn
from dsekl.data.seen_rows import Columns, Seen

from .console import Output, UsageError
from .models import FittedModel
from .reading import TrainingSet, print_recipe_notes, read_training, task_choice

CHUNK_ROWS = 2**16
"""Rows of a block that is sent."""


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
            client = stack.enter_context(Client(cluster))
            # What Dask says of workers that are told to end means nothing to whoever has only asked for a model.
            stack.callback(logging.getLogger("distributed").setLevel, logging.CRITICAL)
            yield client
            return
        try:
            client = Client(scheduler, timeout="20s")
        except (OSError, ValueError) as error:
            raise UsageError(f"--scheduler {scheduler}: no scheduler answers there ({error})") from error
        yield stack.enter_context(client)


def read_training_there(output: Output, client: Any, path: Path, options: Options, opener: Opener) -> TrainingSet:
    """Let the workers read a table; return it as lazy collections, and print the notes on it."""
    from dsekl.dask import table_pieces
    from dsekl.dask.cluster import require_workers
    from dsekl.runs import Progress

    if path.is_dir():
        return _folder(output, path, options)
    started = time.perf_counter()
    table = opener(path)
    if isinstance(table, SparseTable):
        raise UsageError("--scheduler and --workers are for dense rows, and these are sparse; fit on this machine")
    require_workers(client)
    pieces, lengths = pieces_of(table, opener), []
    with Progress(output.verbose, None, "read") as bar:

        def look(columns: Columns) -> Seen:
            found = table_pieces.look(client, pieces, columns, lambda n: bar.advance(n, f"{n:,} rows"))
            lengths.extend(found.lengths)
            return found

        recipe = learn(table, options, choose=task_choice(output), look=look)
    print_recipe_notes(output, recipe, options.task)
    X, y = table_pieces.collections(pieces, recipe, lengths)
    return TrainingSet(recipe, X, y, time.perf_counter() - started)


def _folder(output: Output, path: Path, options: Options) -> TrainingSet:
    """Return the mapped rows of a converted folder, which are sent to the workers in blocks."""
    import dask.array as da

    training = read_training(output, path, options, None, None, None)
    rows = da.from_array(training.X, chunks=(CHUNK_ROWS, training.X.shape[1]))
    y = da.from_array(training.recipe.target.decoded(training.y), chunks=CHUNK_ROWS)
    return replace(training, X=rows, y=y)


def fitted_on(client: Any, training: TrainingSet, loss: str | None, settings: dict[str, Any]) -> FittedModel:
    """Fit a model to encoded rows on a cluster and bring it here; after Ctrl-C the model so far, if there is one."""
    from dsekl.dask import DaskDSEKLClassifier, DaskDSEKLRegressor

    recipe = training.recipe
    given = {name: value for name, value in settings.items() if name != "n_jobs"}
    if loss is not None:
        given["loss"] = loss
    kind = DaskDSEKLClassifier if recipe.target.classes else DaskDSEKLRegressor
    model = kind(**given, client=client)
    model._groups = recipe.encoder.groups  # type: ignore[union-attr]
    try:
        model.fit(training.X, training.y)
    except KeyboardInterrupt:
        if not model.__sklearn_is_fitted__():
            raise
    return cast("FittedModel", model.to_local())
