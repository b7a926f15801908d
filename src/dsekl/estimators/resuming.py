"""Where a fit begins: afresh, where a checkpoint was written, or where the last fit of the estimator ended."""

from __future__ import annotations

import logging
import os
import warnings
from dataclasses import replace
from typing import Any

from dsekl import solvers

from . import checkpoints
from .identity import Identity
from .parameters import seed_of
from .runs import FIXED, Run

logger = logging.getLogger("dsekl")

OF_NO_ACCOUNT = frozenset(("tol", "n_iter_no_change", "memory_budget", "random_state"))
"""Parameters that a warm start may change without leaving its problem; the random numbers go on where they were."""


def take_up(estimator: Any, X: Any, targets: Any, weights: Any) -> Run:
    """Return the run that a fit goes on with, or a new one."""
    last: Run | None = getattr(estimator, "_run", None) if estimator.warm_start else None
    wanted = estimator.checkpoint is not None or estimator.warm_start
    identity = Identity.of(estimator, X, targets, weights) if wanted else None
    run = None
    if identity is not None and estimator.checkpoint is not None:
        run = _from_checkpoint(estimator, identity, last)
    if run is None and identity is not None and last is not None:
        run = _from_last_fit(estimator, identity, last, targets)
    # While steps are under way the last state is not whole; a fit that fails leaves none to go on from.
    estimator.__dict__.pop("_run", None)
    if run is None:
        run = Run(identity, seed_of(estimator.random_state))
    run.shape, run.solver = targets.shape, type(solvers.resolve(estimator.solver))
    return run


def put_down(estimator: Any, run: Run, keeper: checkpoints.Keeper) -> None:
    """Keep a run whose state is whole for the next fit, and say how to go on with one that Ctrl-C has stopped."""
    keeper.write()
    if run.ground is not None and not run.ground.whole:
        warnings.warn(
            "stopped by Ctrl-C while gamma was learned; the model is one epoch with the best weights so far. Call fit "
            "again for a whole one, or give gamma and C.",
            UserWarning,
            stacklevel=3,
        )
        return
    if estimator.warm_start:
        estimator._run = replace(run, monitor=None)
    if run.monitor is not None and run.monitor.reason == "interrupted":
        if estimator.checkpoint is not None:
            way = f"call fit again with checkpoint={os.fspath(estimator.checkpoint)!r}"
        elif estimator.warm_start:
            way = "call fit again"
        else:
            way = "set warm_start=True, or a checkpoint, before such a fit and call fit again"
        warnings.warn(
            f"stopped by Ctrl-C after {len(run.monitor.history)} whole epochs; the model so far is kept. To go on from "
            f"it, {way}.",
            UserWarning,
            stacklevel=3,
        )


def _from_checkpoint(estimator: Any, identity: Identity, last: Run | None) -> Run | None:
    """Return the run in the checkpoint file if it is this one; a finished run of something else makes way for it."""
    run = checkpoints.read(estimator.checkpoint)
    if run is None:
        return None
    assert run.identity is not None
    differences = run.identity.differences(identity)
    if run.finished and (differences or last is not None):
        return None
    if differences:
        told = ", ".join(
            name if name in identity.data else f"{name} (was {then}, is {now})"
            for name, (then, now) in differences.items()
        )
        raise ValueError(
            f"checkpoint={os.fspath(estimator.checkpoint)!r} is of an unfinished run that differs in {told}; set that "
            f"back to go on with it, or {checkpoints.FIX}"
        )
    epochs = 0 if run.state is None else run.state.epoch
    logger.info("going on from checkpoint %s, %d epochs done", os.fspath(estimator.checkpoint), epochs)
    return run


def _from_last_fit(estimator: Any, identity: Identity, last: Run, targets: Any) -> Run:
    """Return the last fit's run, marked where its problem has changed; other terms or rows are refused."""
    assert last.state is not None
    assert last.identity is not None
    then, now = last.shape, targets.shape
    if then != now:
        raise ValueError(
            f"warm_start=True goes on from {then[0]} rows and {then[1]} outputs, but this fit has {now[0]} rows and "
            f"{now[1]} outputs; fit the same data, or set warm_start=False"
        )
    differences = last.identity.differences(identity)
    if type(solvers.resolve(estimator.solver)) is not last.solver:
        differences["the solver's class"] = (str(last.solver), identity.parameters["solver"])
    fixed = [name for name in differences if name in (*FIXED, "the solver's class")]
    if fixed:
        raise ValueError(
            f"warm_start=True goes on from a fit that differs in {', '.join(fixed)}; fit the same rows with the same "
            "settings, or set warm_start=False"
        )
    return replace(last, identity=identity, changed=bool(set(differences) - OF_NO_ACCOUNT))
