"""Where a run begins: afresh, where a checkpoint was written, or where the last fit ended."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from . import checkpoint
from .identity import Identity
from .role import Role
from .run import FIX, Run

logger = logging.getLogger("dsekl")

SOLVER_CLASS = "the solver's class"


def from_checkpoint(path: Path, identity: Identity, n_features: int, warm: bool) -> Run | None:
    """Return the run in the checkpoint file if it is this one; a finished run of something else makes way for it."""
    run = checkpoint.read(path, n_features)
    if run is None:
        return None
    assert run.identity is not None
    differences = run.identity.differences(identity)
    if run.finished and (differences or warm):
        return None
    if differences:
        listed = ", ".join(
            name if name in identity.data else f"{name} (was {then}, is {now})"
            for name, (then, now) in differences.items()
        )
        raise ValueError(
            f"checkpoint={os.fspath(path)!r} is of an unfinished run that differs in {listed}; set that back to go on "
            f"with it, or {FIX}"
        )
    epochs = 0 if run.saved is None else run.saved.epochs_done
    logger.info("going on from checkpoint %s, %d epochs done", os.fspath(path), epochs)
    return run


def from_last_fit(
    last: Run, identity: Identity, shape: tuple[int, ...], solver: type, roles: Mapping[str, Role]
) -> Run:
    """Return the last fit's run, marked where its problem has changed; other terms or rows are refused.

    One that was stopped before its end has its monitor still: epochs go on being counted, and a run that had come to
    its end stays there.
    """
    assert last.identity is not None
    if last.shape != shape:
        raise ValueError(
            f"warm_start=True goes on from {last.shape[0]} rows and {last.shape[1]} outputs, but this fit has "
            f"{shape[0]} rows and {shape[1]} outputs; fit the same data, or set warm_start=False"
        )
    differences = last.identity.differences(identity)
    found = {name: identity.role(name, roles) for name in differences}
    if solver is not last.solver:
        found[SOLVER_CLASS] = Role.TERMS
    refused = [name for name, role in found.items() if role is Role.TERMS]
    if refused:
        raise ValueError(
            f"warm_start=True goes on from a fit that differs in {', '.join(refused)}; fit the same rows with the same "
            "settings, or set warm_start=False"
        )
    # The same question after Ctrl-C is the same run; after a fit that has ended, and for another question, a new one.
    monitor = None if last.monitor is None or found else last.monitor.taken_up()
    return replace(last, identity=identity, file=None, monitor=monitor, changed=Role.PROBLEM in found.values())


def words_after_ctrl_c(run: Run, path: Path | None, warm_start: bool) -> str:
    """Return what a fit that Ctrl-C has stopped says: what there is, and how to go on."""
    epochs = 0 if run.monitor is None else len(run.monitor.history)
    if path is not None:
        way = f"call fit again with checkpoint={os.fspath(path)!r}"
    elif warm_start:
        way = "call fit again"
    else:
        way = "set warm_start=True, or a checkpoint, before such a fit and call fit again"
    return f"stopped by Ctrl-C after {epochs} whole epochs; the estimator holds the model so far. To go on, {way}."
