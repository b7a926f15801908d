"""Forged checkpoints of every solver, taken up again."""

from __future__ import annotations

import random
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dsekl import DSEKLClassifier, DSEKLRegressor, ModelFileError, losses
from dsekl.gram import dense
from dsekl.runs.checkpoint import Checkpoint
from dsekl.runs.run import Run
from dsekl.solvers import DoublyStochastic, DualAscent, SharedMemory
from dsekl.solvers.dual import ascent

from .forging import forged, genuine
from .models import SIDES, THREE, WORDS, X, shared_letters

NAME = "checkpoints"
COUNT = 20_000

MORE = np.concatenate([X, X + 0.1, X - 0.1])
PLAIN: dict[str, Any] = dict(gamma=0.5, random_state=0, max_epochs=4, n_jobs=1, tol=0.0, verbose=False)
STEPS = DoublyStochastic(15, 15)
EARLY: dict[str, Any] = dict(early_stopping=True, validation_fraction=0.25)


def fits() -> dict[str, tuple[Any, Any, Any]]:
    """Return unfitted estimators, X and y: every solver, and every optional part of a state."""
    sparse_rows = sparse.csr_array(np.where(X > 0, X, 0.0))
    return {
        "dual": (DSEKLClassifier(solver=DualAscent(10), **PLAIN), X, SIDES),
        "growing": (DSEKLClassifier(solver=DualAscent(10), **PLAIN), MORE, np.tile(SIDES, 3)),
        "pruned": (DSEKLClassifier(solver=DualAscent(10), **{**PLAIN, "gamma": 50.0}), MORE, np.tile(SIDES, 3)),
        "not shrinking": (DSEKLClassifier(solver=DualAscent(10, shrink=False), loss="logistic", **PLAIN), X, THREE),
        "one block": (DSEKLRegressor(loss=losses.EpsilonInsensitive(0.1), **PLAIN), X, X[:, 0]),
        "ridge": (DSEKLRegressor(solver=DualAscent(10), **PLAIN), X, X[:, :2]),
        "early dual": (DSEKLRegressor(solver=DualAscent(10), loss="huber", **EARLY, **PLAIN), X, X[:, 0]),
        "learned": (DSEKLClassifier(**{**PLAIN, "gamma": "learn"}), np.tile(MORE, (2, 1)), np.tile(SIDES, 6)),
        "steps": (DSEKLClassifier(solver=STEPS, **{**PLAIN, "gamma": "median"}), X, SIDES),
        "averaged": (DSEKLClassifier(solver=DoublyStochastic(15, 15, average=True), **EARLY, **PLAIN), X, SIDES),
        "given step": (DSEKLRegressor(solver=DoublyStochastic(15, 15, 0.1, "constant"), **PLAIN), X, X[:, 0]),
        "subset": (DSEKLClassifier(solver=STEPS, expansion="fixed_subset", **PLAIN), MORE, np.tile(SIDES, 3)),
        "fourier": (DSEKLClassifier(solver=STEPS, expansion="random_fourier", **PLAIN), X, SIDES),
        "shared": (DSEKLRegressor(solver=SharedMemory(12, 12), **PLAIN), X, X[:, 0]),
        "shared, local": (DSEKLClassifier(solver=SharedMemory(12, 12, gradient="local"), **PLAIN), X, SIDES),
        "shared, pruned": (
            DSEKLClassifier(solver=SharedMemory(30, 30), **{**PLAIN, "gamma": 300.0}), MORE, np.tile(SIDES, 3)
        ),
        "sparse": (DSEKLClassifier(solver=DualAscent(10), **PLAIN), sparse_rows, SIDES),
        "words": (DSEKLClassifier(shared_letters, solver=STEPS, **PLAIN), WORDS, SIDES),
        "precomputed": (DSEKLClassifier("precomputed", solver=DualAscent(10), **PLAIN), X @ X.T, SIDES),
    }  # fmt: skip


def prepare(folder: Path) -> None:
    """Write checkpoints of all fits: before the first step, within an epoch, between two, and at the end."""
    # Small problems for thousands of fits should still grow, shrink, and prune by a spatial order. Trials are forked
    # from this process; an import must not change it, since pytest imports this module too.
    ascent.FEWEST_ROWS, dense.FEWEST_ORDERED = 8, 20
    write = Checkpoint.write

    def write_and_keep(self: Checkpoint, run: Run) -> None:
        write(self, run)
        plan, epochs = None if run.state is None else run.state.plan, 0 if run.state is None else run.state.epoch
        moment = "start" if run.state is None else "end" if plan is None and epochs == 4 else "between"
        if plan is not None:
            moment = "within" if plan.done > 0 else "start of an epoch"
        if self.path.exists() and (epochs == 2 or moment in ("start", "end")):
            shutil.copy(self.path, folder / f"{self.path.name}-{moment}.ckpt")

    Checkpoint.write = write_and_keep  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, (model, rows, targets) in fits().items():
                model.set_params(checkpoint=folder / name, checkpoint_interval=0.0).fit(rows, targets)
                (folder / name).unlink()
    finally:
        Checkpoint.write = write  # type: ignore[method-assign]


def trial(folder: Path, seed: int) -> str:
    name, path = forged_checkpoint(folder, random.Random(seed))
    if path is None:
        return "refused"
    model, rows, targets = fits()[name]
    if refuses(model, path, rows, targets):
        return "refused"
    assert np.isfinite(model.dual_coef_).all()
    values = model.decision_function(rows) if isinstance(model, DSEKLClassifier) else model.predict(rows)
    assert np.isfinite(values).all()
    return "right"


def forged_checkpoint(folder: Path, rng: random.Random) -> tuple[str, Path | None]:
    """Write a forged checkpoint; return its fit and its path, None where it is forged deeper than can be written."""
    checkpoints = genuine(folder, ".ckpt")
    name = rng.choice(sorted(checkpoints))
    path = folder / "forged"
    try:
        path.write_bytes(forged(*checkpoints[name], rng, others=checkpoints))
    except RecursionError:
        return name.rpartition("-")[0], None
    return name.rpartition("-")[0], path


def refuses(model: Any, path: Path, rows: Any, targets: Any) -> bool:
    """Fit with a checkpoint, and tell whether it is refused by name; any other error is raised."""
    try:
        model.set_params(checkpoint=path, checkpoint_interval=1e6).fit(rows, targets)
    except ValueError as error:
        # A file that says it is of another run is no bad file, and its error another.
        bad = isinstance(error, ModelFileError) and str(error).startswith(f"{path}: ")
        if bad or str(error).startswith(f"checkpoint={str(path)!r} is of an unfinished run that differs in"):
            return True
        raise
    return False
