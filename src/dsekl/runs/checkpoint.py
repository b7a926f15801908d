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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsekl import persistence
from dsekl.persistence import ModelFileError, decoded, encoded
from dsekl.solvers.state import Count

from .fields import checked, from_values, to_values
from .identity import Identity
from .run import FIX, Run, SavedState, Settled

logger = logging.getLogger("dsekl")


@dataclass
class Checkpoint:
    """The file of a run, written every so often. ``owner`` names what is fitted."""

    path: Path
    interval: float
    owner: str
    written: float = field(default_factory=time.monotonic)

    def write_if_due(self, run: Run) -> None:
        """Write if the interval is over; called where the state is whole."""
        if time.monotonic() - self.written >= self.interval:
            self.write(run)

    def write(self, run: Run) -> None:
        """Write now. A disk that is full costs a warning and leaves the last checkpoint as it was."""
        if run.identity is None:
            return
        arrays: dict[str, Any] = {}
        header = {
            "kind": "checkpoint",
            **persistence.about(self.owner),
            "parameters": run.identity.parameters,
            "data": run.identity.data,
            "run": encoded(_to_values(run), "run", arrays, {}),
        }
        try:
            persistence.write(self.path, header, arrays)
            logger.debug("checkpoint %s written", self.path)
        except OSError as error:
            warnings.warn(
                f"checkpoint={os.fspath(self.path)!r} could not be written ({error}); the one before it is kept, and "
                "the fit goes on. Make room on the disk.",
                UserWarning,
                stacklevel=2,
            )
        self.written = time.monotonic()


def read(path: Path, n_features: int) -> Run | None:
    """Return the run in a checkpoint file, None where there is no file yet."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"checkpoint={os.fspath(path)!r}: {path.parent} is no folder that can be written to; make it")
    if not path.exists():
        return None
    with persistence.checking(path, FIX):
        header, arrays = persistence.read(path)
        if header["kind"] != "checkpoint":
            raise ModelFileError(path, f"it is a {header['kind']}, no checkpoint")
        texts = {name: checked(dict[str, str], header[name], {}, f"its {name}") for name in ("parameters", "data")}
        identity = Identity(**texts)
        return _from_values(path, identity, decoded(header["run"], arrays, {}), n_features)


def _to_values(run: Run) -> dict[str, Any]:
    values: dict[str, Any] = {"seed": run.seed, "stages": run.stages, "settled": None, "state": None, "monitor": None}
    if run.settled is not None:
        values["settled"] = to_values(run.settled)
    if run.state is not None and run.monitor is not None:
        values["state"] = to_values(run.state)
        values["monitor"] = to_values(run.monitor.paused())
    elif run.saved is not None:
        values |= {"state": run.saved.state, "monitor": run.saved.monitor}
    return values


def _from_values(path: Path, identity: Identity, values: dict[str, Any], n_features: int) -> Run:
    if set(values) != {"seed", "stages", "settled", "state", "monitor"}:
        raise ValueError(f"its run has the fields {sorted(values)}")
    seed = checked(Count, values["seed"], {}, "its seed")
    stages = checked(dict[str, Mapping[str, Any]], values["stages"], {}, "its stages")
    run = Run(seed=seed, identity=identity, file=path, stages=stages)
    if values["settled"] is not None:
        run.settled = from_values(Settled, values["settled"], {"features": n_features}, "what was settled")
        run.settled.check()
    if values["state"] is not None:
        if run.settled is None:
            raise ValueError("its state is one of a run for which nothing was settled")
        run.saved = SavedState(path, values["state"], values["monitor"])
    return run
