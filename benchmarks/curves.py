"""Learning curves: test errors of all defaults as rows grow, over seeds on one split.

DSEKL_DATA=... python benchmarks/curves.py measure [SEEDS]   # 10 unless told; cells that are there are kept
DSEKL_DATA=... python benchmarks/curves.py publish
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import cells
import numpy as np
from report import publish, table
from rivals import measure, ours
from tabular_data import calendar, panel_data

COMMAND = "DSEKL_DATA=... python benchmarks/curves.py"
CELLS = cells.RESULTS / "curves.json"
ROWS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
SEEDS = 10
TABLES = ("calendar", "california-housing", "protein-casp", "covertype", "ijcnn1", "magic")
MOST_TEST_ROWS = 10_000


def measure_cells(n_seeds: int) -> None:
    panel = panel_data()
    for seed in range(n_seeds):
        for name in TABLES:
            regression, X, y = (True, *calendar(80_000, 0)) if name == "calendar" else panel[name]
            order = np.random.default_rng(0).permutation(len(X))
            n_test = min(MOST_TEST_ROWS, len(X) // 4)
            test, train = order[:n_test], order[n_test:]
            for n in ROWS:
                if n > len(train) or str(seed) in cells.read(CELLS).get(name, {}).get(str(n), {}):
                    continue
                data = (X[train[:n]], y[train[:n]]), (X[test], y[test])
                error, _ = measure(ours(regression, seed), *data, regression)
                cells.keep(CELLS, [name, str(n), str(seed)], round(100 * error, 4))
                print("  ", name, n, seed, f"{100 * error:.2f}", flush=True)


def line(name: str, of_rows: dict[str, dict[str, float]]) -> list[Any]:
    """Return a table's line: the mean, and the range where there are several seeds."""
    found = [list(of_rows.get(str(n), {}).values()) for n in ROWS]
    return [name, *(f"{np.mean(e):.2f} ({min(e):.2f} to {max(e):.2f})" if e else "" for e in found)]


def publish_all() -> None:
    found = cells.read(CELLS)
    n_seeds = min(len(of_seeds) for of_rows in found.values() for of_seeds in of_rows.values())
    lines = [line(name, found[name]) for name in TABLES if name in found]
    publish(
        "Learning curves", f"{COMMAND} measure; python benchmarks/curves.py publish",
        "Test error of the defaults in per cent (regression: root mean squared error in per cent of the targets' "
        f"deviation), mean and range over at least {n_seeds} seeds, on one split. \"calendar\" is made: 11 columns of "
        "very different ranges, of which two matter, a weak signal and heavy tails.\n\n"
        + table(["data", *(f"{n:,} rows" for n in ROWS)], lines),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["measure"]:
        measure_cells(int(sys.argv[2]) if len(sys.argv) > 2 else SEEDS)
    else:
        publish_all()
