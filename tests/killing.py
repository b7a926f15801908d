"""Kill the fits of ``problems.SOLVERS`` with SIGKILL at random moments, take them up again, and compare their models.

``python -m tests.killing KILLS FOLDER NAME ...`` forks a process for each part of each run, so that only the first has
to load and compile anything.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dsekl
from tests.problems import SOLVER


def fork(name: str, folder: Path) -> int:
    """Start a process that fits, from its checkpoint on if there is one, and saves the model."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            SOLVER[name].fit(checkpoint=folder / "run.ckpt", checkpoint_interval=0.0).save(folder / "m.dsekl")
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


def kill(name: str, n_kills: int, folder: Path) -> None:
    """Kill one fit so many times, over as many runs as that takes."""
    rng = random.Random(0)
    straight = SOLVER[name].fit()
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
    print(f"{name}: {finished + 1} runs to their end, {kills} kills", flush=True)


if __name__ == "__main__":
    for name in sys.argv[3:]:
        kill(name, int(sys.argv[1]), Path(sys.argv[2]))
