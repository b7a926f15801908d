"""Learning curves: test errors of all defaults as rows grow, over seeds on one split.

DSEKL_DATA=... python benchmarks/curves.py measure [SEEDS]   # at most so many; cells that are there are kept
DSEKL_DATA=... python benchmarks/curves.py publish
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import cells
import numpy as np
from report import Section, publish_all, table
from rivals import measure, ours
from tabular_data import calendar, panel_data

COMMAND = "DSEKL_DATA=... python benchmarks/curves.py"
CELLS = cells.RESULTS / "curves.json"
SEEDS = {1_000: 10, 2_000: 10, 4_000: 5, 8_000: 5, 16_000: 3, 32_000: 3, 64_000: 2}
"""Numbers of rows, and how many seeds: fewer of those that take long."""

TABLES = ("calendar", "california-housing", "protein-casp", "covertype", "ijcnn1", "magic")
MOST_TEST_ROWS = 10_000
CALENDAR_ROWS = 80_000
AGREED = 0.02
"""Share of the mean error by which seeds may be apart."""


def measure_cells(most_seeds: int) -> None:
    panel = panel_data()
    for seed in range(most_seeds):
        for name in TABLES:
            regression, X, y = (True, *calendar(CALENDAR_ROWS, 0)) if name == "calendar" else panel[name]
            order = np.random.default_rng(0).permutation(len(X))
            n_test = min(MOST_TEST_ROWS, len(X) // 4)
            test, train = order[:n_test], order[n_test:]
            for n, n_seeds in SEEDS.items():
                if seed >= n_seeds or n > len(train) or str(seed) in cells.read(CELLS).get(name, {}).get(str(n), {}):
                    continue
                data = (X[train[:n]], y[train[:n]]), (X[test], y[test])
                error, _ = measure(ours(regression, seed), *data, regression)
                cells.keep(CELLS, [name, str(n), str(seed)], round(100 * error, 4))
                print("  ", name, n, seed, f"{100 * error:.2f}", flush=True)


def line(name: str, of_rows: dict[str, dict[str, float]]) -> list[Any]:
    """Return a table's line: the mean, and the range where there are several seeds."""
    found = [list(of_rows.get(str(n), {}).values()) for n in SEEDS]
    return [name, *(f"{np.mean(e):.2f} ({min(e):.2f} to {max(e):.2f})" if e else "" for e in found)]


def apart(errors: Any) -> float:
    """Return how far the seeds' errors are from each other: the range, as a share of the mean."""
    return float(np.ptp(errors) / np.mean(errors)) if np.mean(errors) > 0 else 0.0


def rise(fewer: dict[str, float], more: dict[str, float]) -> tuple[float, float]:
    """Return by how much more rows raise the error, of the same seeds, as a share of it; and the standard error."""
    changes = [more[seed] / max(error, 1e-9) - 1 for seed, error in fewer.items() if seed in more]
    noise = np.std(changes, ddof=1) / np.sqrt(len(changes)) if len(changes) > 1 else np.nan
    return float(np.mean(changes)), float(noise)


def verdict(name: str, of_rows: dict[str, dict[str, float]]) -> list[Any]:
    """Return where seeds are furthest apart, at how many points they agree, and the largest rise with more rows."""
    sizes = [str(n) for n in SEEDS if str(n) in of_rows]
    ranges = {n: apart(list(of_rows[n].values())) for n in sizes}
    widest = max(ranges, key=ranges.__getitem__)
    within = sum(value <= AGREED for value in ranges.values())
    steps = {n: rise(of_rows[before], of_rows[n]) for before, n in itertools.pairwise(sizes)}
    rises = {n: found for n, found in steps.items() if found[0] > 0}
    steepest = max(rises, key=lambda n: rises[n][0], default=None)
    told = "never"
    if steepest is not None:
        told = f"{100 * rises[steepest][0]:+.1f} ± {100 * rises[steepest][1]:.1f} % at {int(steepest):,}"
    return [name, f"{within} of {len(sizes)}", f"{100 * ranges[widest]:.1f} % at {int(widest):,}", told]


def sections() -> Iterator[Section]:
    """Yield the section that is made from the file of results."""
    found = cells.read(CELLS)
    names = [name for name in TABLES if name in found]
    verdicts = [verdict(name, found[name]) for name in names]
    yield Section(
        "Learning curves", f"{COMMAND} measure; python benchmarks/curves.py publish",
        "Test error of the defaults in per cent (regression: root mean squared error in per cent of the targets' "
        "deviation), mean and range over seeds, on one split: ten seeds of up to 2,000 rows, five of up to 8,000, "
        "three of up to 32,000 and two of 64,000. \"calendar\" is made: 11 columns of "
        "very different ranges, of which two matter, a weak signal and heavy tails.\n\n"
        + table(["data", *(f"{n:,} rows" for n in SEEDS)], [line(name, found[name]) for name in names])
        + "\n\nSeeds are apart by the range of their errors, as a share of the mean; they agree within "
        f"{100 * AGREED:.0f} %. A rise is the mean change of a seed's error from one number of rows to the next, and "
        "its standard error.\n\n"
        + table(["data", "points where seeds agree", "furthest apart", "largest rise"], verdicts),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["measure"]:
        measure_cells(int(sys.argv[2]) if len(sys.argv) > 2 else max(SEEDS.values()))
    else:
        publish_all(sections())
