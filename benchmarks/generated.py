"""The defaults on generated tables of every make: errors beside boosting and a tuned machine, over seeds.

python benchmarks/generated.py measure FIRST LAST   # numbers of tables; cells that are there are kept
python benchmarks/generated.py publish
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import cells
import joblib
import numpy as np
from generated_data import MOST_ROWS, TEST_ROWS, Made, generated
from report import publish, table
from rivals import MODELS, measure, ours

COMMAND = "python benchmarks/generated.py"
CELLS = cells.RESULTS / "generated.json"
RIVALS = ("LightGBM 500 x 0.05", "HistGradientBoosting", "tuned SVM")
SEEDS = ("dsekl, seed 0", "dsekl, seed 1")
FEWEST_OF_A_CLASS = 6
"""Rows of a class below which rivals cannot split them in three."""

BEHIND, APART = 1.1, 1.05
"""Error over a rival's, and over another seed's, from which on it is told."""

LEAST = 0.005
"""Error that counts as little as none: a few test rows."""


def usable(made: Made) -> bool:
    """Tell whether there are rows enough of every class."""
    counts = np.unique(made.train[1], return_counts=True)[1]
    return made.regression or bool((counts >= FEWEST_OF_A_CLASS).all() and len(counts) > 1)


def model_of(name: str, regression: bool) -> Any:
    """Return a model of a column's name; one thread, since other work runs beside."""
    if name in SEEDS:
        return ours(regression, SEEDS.index(name))
    model = MODELS[name](regression, 0)
    return model.set_params(n_jobs=1) if name.startswith("LightGBM") else model


def measure_cells(first: int, last: int) -> None:
    for number in range(first, last):
        made = generated(number)
        for name in (*SEEDS, *RIVALS) if usable(made) else ():
            if cells.has(CELLS, [str(number), name]):
                continue
            error, _ = measure(model_of(name, made.regression), made.train, made.test, made.regression)
            cells.keep(CELLS, [str(number), name], round(error, 6))
            cells.keep(CELLS, [str(number), "kind"], made.kind)
        print(number, cells.read(CELLS).get(str(number)), flush=True)


def publish_all() -> None:
    names = (*SEEDS, *RIVALS)
    found = [of for of in cells.read(CELLS).values() if all(name in of for name in names)]
    errors = np.maximum([[of[name] for name in names] for of in found], LEAST)
    own, rivals = errors[:, : len(SEEDS)], errors[:, len(SEEDS) :]
    mean = own.mean(axis=1)
    lines = []
    for name, theirs in zip(RIVALS, rivals.T, strict=True):
        ratio = float(np.exp(np.log(mean / theirs).mean()))
        lines.append([
            name, int((mean < theirs).sum()), int((mean > theirs).sum()), int((mean > BEHIND * theirs).sum()),
            int((theirs > BEHIND * mean).sum()), f"{ratio:.2f}",
        ])  # fmt: skip
    ratios = own.max(axis=1) / own.min(axis=1)
    apart = int((ratios > APART).sum())
    behind = [
        [of["kind"], *(f"{100 * of[name]:.1f}" for name in names)]
        for of, ours_, theirs in zip(found, mean, rivals, strict=True)
        if ours_ > BEHIND * theirs.min()
    ]
    publish(
        "Generated tables", f"{COMMAND} measure FIRST LAST; {COMMAND} publish",
        f"{len(found)} generated tables (smooth, rough, additive, high-frequency, sparse, linear, stepped signals; "
        "normal, heavy-tailed, counted, coded columns in like and unlike units; irrelevant, repeated, nearly constant "
        f"columns; up to 20 classes, rare ones, flipped labels), up to {MOST_ROWS:,} training and {TEST_ROWS:,} test "
        "rows; mean of two seeds of the defaults. A tenth is a tenth of the error; errors below half a per cent count "
        "as that.\n\n"
        + table(["beside", "lower error on", "higher on", "higher by a tenth", "lower by a tenth", "mean ratio"], lines)
        + f"\n\nThe two seeds are within {100 * (APART - 1):.0f} % of each other on {len(found) - apart} tables; the "
        f"median ratio is {np.median(ratios):.3f}. Tables where a rival is ahead by more than a tenth:\n\n"
        + table(["table", *names], behind),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["measure"]:
        with joblib.parallel_config(backend="sequential"):
            measure_cells(int(sys.argv[2]), int(sys.argv[3]))
    else:
        publish_all()
