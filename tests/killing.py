"""Kill fits with SIGKILL at random moments, take them up again, and compare the models that they end with.

``python -m tests.killing NAME KILLS FOLDER`` forks a process for each part of the run, so that only the first has to
load and compile anything.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.solvers import DoublyStochastic, DualAscent, SharedMemory
from tests.problems import xor

FITS: dict[str, Any] = {
    "dual": lambda **s: DSEKLClassifier(gamma=3.0, tol=1e-4, solver=DualAscent(200), **s),
    "learned metric": lambda **s: DSEKLClassifier(tol=1e-4, solver=DualAscent(200), early_stopping=True, **s),
    "ridge": lambda **s: DSEKLRegressor(gamma=1.0, max_epochs=6, tol=0.0, solver=DualAscent(300), **s),
    "doubly stochastic": lambda **s: DSEKLClassifier(
        gamma="median", solver="doubly_stochastic", early_stopping=True, max_epochs=8, **s
    ),
    "shared memory": lambda **s: DSEKLRegressor(gamma=1.0, solver=SharedMemory(200, 200), max_epochs=6, tol=0.0, **s),
    "subset": lambda **s: DSEKLClassifier(
        gamma=1.0, expansion="fixed_subset", solver=DoublyStochastic(), max_epochs=6, **s
    ),
}


def fit(name: str, **settings: Any) -> Any:
    X, y = xor(1100, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITS[name](random_state=0, n_jobs=1, verbose=False, **settings).fit(X, y)


def fork(name: str, folder: Path) -> int:
    """Start a process that fits, from its checkpoint on if there is one, and saves the model."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fit(name, checkpoint=folder / "run.ckpt", checkpoint_interval=0.0).save(folder / "m.dsekl")
            status = 0
        finally:
            os._exit(status)
    return child


def compare(folder: Path, straight: Any) -> None:
    """Check the model of a finished run, and clear up."""
    model = dsekl.load(folder / "m.dsekl")
    np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)
    np.testing.assert_array_equal(getattr(model, "support_", 0), getattr(straight, "support_", 0))
    assert (model.n_iter_, model.stop_reason_) == (straight.n_iter_, straight.stop_reason_)
    for path in folder.iterdir():
        path.unlink()


def main(name: str, n_kills: int, folder: Path) -> None:
    rng = random.Random(0)
    straight = fit(name)
    started = time.perf_counter()
    os.waitpid(fork(name, folder), 0)
    whole = time.perf_counter() - started
    compare(folder, straight)
    kills = finished = 0
    while kills < n_kills:
        child = fork(name, folder)
        time.sleep(rng.uniform(0.0, 0.4 * whole))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            kills += 1
        else:
            assert os.WEXITSTATUS(status) == 0
            compare(folder, straight)
            finished += 1
    assert os.waitpid(fork(name, folder), 0)[1] == 0
    compare(folder, straight)
    print(f"{finished + 1} runs to their end, {kills} kills")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
