"""Forged checkpoints of fits on Dask, taken up again: by an executor in this process, which a trial can afford."""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import dask
import numpy as np

from dsekl.dask import DaskDSEKLClassifier, DaskDSEKLRegressor, cluster, estimator
from dsekl.parts import SerialExecutor
from dsekl.runs.checkpoint import Checkpoint
from dsekl.runs.run import Run

from .checkpoints import forged_checkpoint, refuses
from .models import SIDES, THREE, X

NAME = "checkpoints of Dask"
COUNT = 2_000

MORE = np.concatenate([X + 0.05 * k for k in range(4)])
PLAIN: dict[str, Any] = dict(gamma=2.0, C=2.0, random_state=0, n_parts=2, n_jobs=1, max_epochs=14, verbose=False)


class Here(SerialExecutor):
    """The executor of a cluster, in this process."""

    def __init__(self, client: Any = None) -> None:
        self._number = count()

    def key(self, name: str) -> str:
        return f"{name}-{next(self._number)}"

    def submit(self, name: str, task: Any, *arguments: Any, worker: str | None = None) -> Any:
        return super().submit(name, task, *arguments)

    def workers_for(self, sizes: Sequence[int]) -> list[str | None]:
        return [None] * len(sizes)

    def compute(self, delayed: Sequence[Any]) -> list[Any]:
        return list(dask.compute(*delayed, scheduler="synchronous"))


def fits() -> dict[str, tuple[Any, Any]]:
    """Return unfitted estimators and targets."""
    return {
        "sides": (DaskDSEKLClassifier(tol=1e-12, **PLAIN), np.tile(SIDES, 4)),
        "three": (DaskDSEKLClassifier(loss="logistic", fit_intercept=True, **PLAIN), np.tile(THREE, 4)),
        "wide": (DaskDSEKLRegressor(tol=1e-12, **{**PLAIN, "gamma": 0.1}), MORE[:, 0]),
        "learned": (
            DaskDSEKLClassifier(random_state=0, n_parts=2, n_jobs=1, max_epochs=8, verbose=False), np.tile(SIDES, 4),
        ),
    }  # fmt: skip


def prepare(folder: Path) -> None:
    """Write checkpoints of all fits: before the first round, at cuts, and at the end."""
    # Trials are forked from this process; an import must not change it, since pytest imports this module too.
    cluster.DaskExecutor = Here  # type: ignore[assignment, misc]
    estimator.client_of = lambda given: None  # type: ignore[assignment, return-value]
    estimator.require_workers = lambda client: None  # type: ignore[assignment]
    estimator.DaskExecutor = Here  # type: ignore[assignment, misc]
    estimator.DaskEstimator._held_models = lambda self: self._models  # type: ignore[method-assign]
    estimator.DaskEstimator._model_client = None  # type: ignore[assignment]
    write, number = Checkpoint.write, count()

    def write_and_keep(self: Checkpoint, run: Run) -> None:
        write(self, run)
        shutil.copy(self.path, folder / f"{self.path.name}-{next(number):03}.ckpt")

    Checkpoint.write = write_and_keep  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, (model, targets) in fits().items():
                model.set_params(checkpoint=folder / name, checkpoint_interval=0.0).fit(MORE, targets)
                (folder / name).unlink()
    finally:
        Checkpoint.write = write  # type: ignore[method-assign]


def trial(folder: Path, seed: int) -> str:
    name, path = forged_checkpoint(folder, random.Random(seed))
    if path is None:
        return "refused"
    model, targets = fits()[name]
    if refuses(model, path, MORE, targets):
        return "refused"
    local = model.to_local()
    assert np.isfinite(local.dual_coef_).all()
    values = local.decision_function(MORE) if isinstance(model, DaskDSEKLClassifier) else local.predict(MORE)
    assert np.isfinite(values).all()
    return "right"
