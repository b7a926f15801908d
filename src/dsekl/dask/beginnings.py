"""Where a fit on a cluster begins: afresh, from a checkpoint, or where the last fit of a warm start ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dsekl.deadline import Budget
from dsekl.estimators.units import Unit
from dsekl.models import Fitted
from dsekl.models.savable import text_of
from dsekl.parts import LocalUpdates
from dsekl.runs import Run, Stopping, checkpoint, resume
from dsekl.runs.identity import Identity
from dsekl.solvers import DualAscent
from dsekl.workers import Threads

from .overview import Overview


@dataclass(frozen=True)
class LastFit:
    """Where the last fit ended: its run, and the model's coefficients by the rows' places in X, in the user's units."""

    run: Run
    places: NDArray[np.intp]
    coef: NDArray[np.float64]

    @staticmethod
    def of(run: Run, fitted: Fitted, interrupted: bool) -> LastFit:
        """Return what the next fit goes on from; the same question after Ctrl-C is the same run."""
        assert fitted.support is not None
        kept = Run(
            run.seed, identity=run.identity, settled=run.settled, state=run.state, shape=run.shape, solver=run.solver,
            monitor=run.monitor if interrupted else None,
        )  # fmt: skip
        return LastFit(kept, fitted.support, fitted.model.coef)


def seed_of(estimator: Any, n_features: int) -> int:
    """Return the number that decides on all that is random: that of the run that is gone on with, if there is one."""
    kept = None if estimator.checkpoint is None else checkpoint.read(Path(estimator.checkpoint), n_features)
    if kept is not None and not kept.finished:
        return kept.seed
    last: LastFit | None = vars(estimator).get("_last")
    if last is not None:
        return last.run.seed
    return int(check_random_state(estimator.random_state).randint(2**31 - 1))


def begun(estimator: Any, overview: Overview, seed: int, n_outputs: int, unit: Unit) -> Run:
    """Return the run that a fit goes on with, or a new one."""
    last: LastFit | None = vars(estimator).get("_last")
    path = None if estimator.checkpoint is None else Path(estimator.checkpoint)
    run, identity, shape = None, None, (overview.n_rows, n_outputs)
    solver = LocalUpdates if isinstance(estimator.solver, LocalUpdates) else DualAscent
    if path is not None or estimator.warm_start:
        parameters = estimator.get_params(deep=False)
        texts = {name: text_of(parameters[name]) for name, role in estimator._roles.items() if role.in_identity}
        identity = Identity.of(texts, overview.digests)
    if path is not None and identity is not None:
        run = resume.from_checkpoint(path, identity, overview.X.shape[1], warm=last is not None)
    if run is None and last is not None and identity is not None:
        run = resume.from_last_fit(last.run, identity, shape, solver, estimator._roles)
        if run.changed:
            run.known_coef = np.zeros(shape)
            run.known_coef[last.places] = last.coef / unit.size
            run.settled = None if run.settled is None else replace(run.settled, unseen=None)
    run = run or Run(seed, identity=identity)
    run.shape, run.solver, run.units = shape, solver, unit.figures
    held_out = estimator.validation_fraction if estimator.early_stopping else None
    run.stopping = Stopping(estimator.tol, estimator.max_epochs, held_out, estimator.n_iter_no_change)
    run.budget, run.verbose = Budget.of(estimator.max_seconds), estimator.verbose
    run.workers = Threads.of(estimator.n_jobs)
    if path is not None:
        kept = checkpoint.Checkpoint(path, estimator.checkpoint_interval, type(estimator).__name__)
        run.keep, run.keep_if_due = kept.write, kept.write_if_due
    return run
