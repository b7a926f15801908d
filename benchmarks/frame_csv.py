"""A large csv of mixed columns: how fast its rows are encoded, and what ``dsekl fit`` needs for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from dsekl.data import open_table
from dsekl.data.recipe_learner import Options, learn


def mixed_csv(path: Path, rows: int) -> None:
    """Write a csv of 30 mixed columns: numbers with gaps, categories and times."""
    rng = np.random.default_rng(0)
    for start in range(0, rows, 50_000):
        n = min(50_000, rows - start)
        part = {f"n{k}": np.where(rng.random(n) < 0.02, np.nan, rng.normal(size=n).round(4)) for k in range(20)}
        part |= {f"c{k}": rng.choice([f"level {j}" for j in range(5 * (k + 1))], n) for k in range(9)}
        part |= {"t0": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s")}
        frame = pd.DataFrame(part)
        signal = frame["n0"].fillna(0) + (frame["c0"] == "level 1") * frame["n1"].fillna(0)
        frame["y"] = np.where(signal + rng.normal(size=n) > 0, "yes", "no")
        frame.to_csv(path, index=False, header=start == 0, mode="w" if start == 0 else "a")


def encoding(path: Path) -> dict[str, float]:
    """Return how fast the rows of a csv are read and encoded, in megabytes of csv a second of CPU time."""
    megabytes = path.stat().st_size / 1e6
    opened = open_table(path)
    started = process_time()
    recipe = learn(opened, Options(target="y"))
    learned = process_time()
    n_rows = sum(len(part.X) for part in recipe.encoded(opened, with_target=False))
    encoded = process_time()
    n_features = recipe.encoder.n_features
    return {
        "MB of csv": megabytes, "learning, MB/s": megabytes / (learned - started),
        "encoding, MB/s": megabytes / (encoded - learned), "features": n_features,
        "MB of encoded rows": 8e-6 * n_rows * n_features,
    }  # fmt: skip


def fitting(path: Path, model: Path) -> dict[str, float]:
    """Return the seconds and the peak memory of ``dsekl fit``, with ten minutes for the search and the solver."""
    started = perf_counter()
    command = [sys.executable, "-c", CHILD, str(path), str(model)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()
    return {"seconds of dsekl fit": perf_counter() - started, "peak MB of dsekl fit": float(said[-1])}


CHILD = """
import resource, sys
from dsekl.__main__ import main
sys.argv[1:] = ["fit", sys.argv[1], "-t", "y", "-m", sys.argv[2], "--json", "--max-seconds", "600"]
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
"""
