"""How long a model file of 100 MB takes to load, in turns with another version of the library.

``python benchmarks/loading.py [OTHER_SRC]``: OTHER_SRC is the ``src`` folder of the other version. Each version loads
the file that it wrote itself. Each load is made by a process of its own that has loaded a small model before, so that
imports are not counted; the best of some turns is what each version can do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TURNS = 7
N_POINTS, N_FEATURES = 700_000, 54
"""In float32; an epoch of Algorithm 1 meets some two thirds of them, which the model keeps: 103 MB."""

WRITE = f"""
import sys, numpy as np
from dsekl import DSEKLClassifier
from dsekl.solvers import DoublyStochastic
X = np.random.default_rng(0).normal(size=({N_POINTS}, {N_FEATURES})).astype(np.float32)
papers = dict(steps="paper") if "steps" in DoublyStochastic().get_params() else dict()
model = DSEKLClassifier(gamma=0.01, solver=DoublyStochastic(**papers), max_epochs=1, dtype="float32", random_state=0)
model.fit(X, X[:, 0] > 0).save(sys.argv[1])
model.fit(X[:100], X[:100, 0] > 0).save(sys.argv[2])
"""

LOAD = """
import sys, time, dsekl
dsekl.load(sys.argv[2])
started = time.perf_counter()
dsekl.load(sys.argv[1])
print(time.perf_counter() - started)
"""


def run(source: Path, code: str, folder: Path) -> str:
    """Return what ``code`` prints with the library in ``source`` and its two files in ``folder``."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", code, str(folder / "large.dsekl"), str(folder / "small.dsekl")]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def main() -> None:
    sources = {"this version": Path(__file__).parents[1] / "src"}
    if len(sys.argv) > 1:
        sources["the other"] = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        folders = {name: Path(folder) / name for name in sources}
        for name, source in sources.items():
            folders[name].mkdir()
            run(source, WRITE, folders[name])
            print(f"{name:14} {(folders[name] / 'large.dsekl').stat().st_size / 2**20:.0f} MB")
        times = [
            {name: float(run(source, LOAD, folders[name])) for name, source in sources.items()} for _ in range(TURNS)
        ]
    for name in sources:
        taken = sorted(turn[name] for turn in times)
        print(f"{name:14} best {taken[0]:.3f} s, median {taken[len(taken) // 2]:.3f} s")


if __name__ == "__main__":
    main()
