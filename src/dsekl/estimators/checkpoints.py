"""Checkpoints: all that a run needs beside its data, in a file that is replaced as a whole.

A file is a header with the run's identity, and the run itself: its seed, what was settled before the first step (gamma,
C, the learned metric), the solver's state, the randomness that is left, and the history. A run that goes on from it
ends with the model of the run that was never stopped, to the bit.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dsekl import persistence
from dsekl.persistence import ModelFileError
from dsekl.solvers import Monitor, State

from . import files
from .identity import Identity
from .runs import Ground, Run

logger = logging.getLogger("dsekl")

FIX = "delete the file, or give checkpoint another path"

MONITORED = ("first_epoch", "history", "best_error", "best_coef", "epochs_since_best", "reason")
"""What a monitor knows of its run, but for the seconds."""


class Keeper:
    """Writes a run to the estimator's checkpoint, every so often; does nothing where there is none."""

    def __init__(self, estimator: Any, run: Run) -> None:
        self._estimator, self._run = estimator, run
        self._path = None if estimator.checkpoint is None else Path(estimator.checkpoint)
        self._written = time.monotonic()

    def write_if_due(self) -> None:
        """Write if the interval is over; called where the state is whole."""
        if self._path is not None and time.monotonic() - self._written >= self._estimator.checkpoint_interval:
            self.write()

    def write(self) -> None:
        """Write now. A disk that is full costs a warning and leaves the last checkpoint as it was."""
        if self._path is None or self._run.identity is None:
            return
        arrays: dict[str, Any] = {}
        header = {
            "kind": "checkpoint",
            **files.about(self._estimator),
            "parameters": self._run.identity.parameters,
            "data": self._run.identity.data,
            "run": files.encoded(_to_values(self._run), "run", arrays),
        }
        try:
            persistence.write(self._path, header, arrays)
            logger.debug("checkpoint %s written", self._path)
        except OSError as error:
            warnings.warn(
                f"checkpoint={os.fspath(self._path)!r} could not be written ({error}); the one before it is kept, and "
                "the fit goes on. Make room on the disk.",
                UserWarning,
                stacklevel=2,
            )
        self._written = time.monotonic()


def read(path: Any) -> Run | None:
    """Return the run in a checkpoint file, None where there is no file yet."""
    path = Path(path)
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"checkpoint={os.fspath(path)!r}: {path.parent} is no folder that can be written to; make it")
    if not path.exists():
        return None
    try:
        header, arrays = persistence.read(path)
        with persistence.believing(path):
            if header["kind"] != "checkpoint":
                raise ModelFileError(path, f"it is a {header['kind']}, no checkpoint")
            return _from_values(Identity(header["parameters"], header["data"]), files.decoded(header["run"], arrays))
    except ModelFileError as error:
        raise ModelFileError(error.path, f"{error.reason}; {FIX}") from error


def _to_values(run: Run) -> dict[str, Any]:
    values: dict[str, Any] = {"seed": run.seed, "ground": None, "state": None, "monitor": None}
    if run.ground is not None:
        values["ground"] = {field.name: getattr(run.ground, field.name) for field in fields(Ground)}
    if run.state is not None and run.monitor is not None:
        values["state"] = {field.name: getattr(run.state, field.name) for field in fields(State)}
        values["state"]["rng"] = run.state.rng.bit_generator.state
        values["monitor"] = {name: getattr(run.monitor, name) for name in MONITORED}
        values["monitor"]["seconds"] = run.monitor.seconds
    return values


def _from_values(identity: Identity, values: dict[str, Any]) -> Run:
    run = Run(identity, values["seed"])
    if values["ground"] is not None:
        run.ground = Ground(**values["ground"])
    if values["state"] is not None:
        rng = np.random.default_rng()
        rng.bit_generator.state = values["state"]["rng"]
        run.state = State(**{**values["state"], "rng": rng})
        monitored = dict(values["monitor"])
        started = time.perf_counter() - monitored.pop("seconds")
        run.monitor = Monitor(**monitored, started=started)
    return run
