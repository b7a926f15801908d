"""What each choice of the defaults adds: the panel's tables again, with one choice left out at a time.

DSEKL_DATA=... python benchmarks/ablation.py measure   # cells that are there are kept
DSEKL_DATA=... python benchmarks/ablation.py publish

Left out means that the usual is kept: equal weights or one unit, Matérn 3/2, columns as they are, the hinge, nothing
beside the kernel. One variant ranks by errors alone, where the default counts log losses too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cells
import numpy as np
import panel
from report import Section, publish_all, table
from rivals import measure, ours
from tabular_data import panel_data

from dsekl.metric import candidates, score
from dsekl.metric.choice import Chooser

COMMAND = "DSEKL_DATA=... python benchmarks/ablation.py"
CELLS = cells.RESULTS / "ablation.json"
SPLIT = 0
WHOLE = "all choices"
STEPS = {
    "without other kernels": "_kernels",
    "without scales of columns": "_reshapings",
    "without other losses": "_losses",
    "without intercept and trend": "_planes",
}
WEIGHTS = {
    "without learned weights": (candidates.PARTLY, candidates.LEARNED, candidates.SELECTED),
    "without partly learned weights": (candidates.PARTLY,),
    "without selected columns": (candidates.SELECTED,),
}
ERRORS_ALONE = "by errors alone"
"""Log losses do not count."""
VARIANTS = (WHOLE, *STEPS, *WEIGHTS, ERRORS_ALONE)
ALMOST = 1.01
"""Error over the lowest of all variants up to which a choice was as good as any."""


@contextmanager
def left_out(name: str) -> Iterator[None]:
    """Leave a choice out of all fits within the block."""
    if name == WHOLE:
        yield
        return
    owner, what = (Chooser, STEPS[name]) if name in STEPS else (candidates.Candidates, "learned")
    if name == ERRORS_ALONE:
        owner, what = score, "LOSS_WEIGHT"
    usual = getattr(owner, what)

    def made(self: Any, advance: Callable[[float], None]) -> Any:
        return {key: gammas for key, gammas in usual(self, advance).items() if key not in WEIGHTS[name]}

    kept: Any = (lambda self, champion: champion) if name in STEPS else made
    setattr(owner, what, 0.0 if name == ERRORS_ALONE else kept)
    try:
        yield
    finally:
        setattr(owner, what, usual)


def measure_cells() -> None:
    for name, (regression, X, y) in panel_data().items():
        data = panel.split(np.asarray(X, dtype=np.float32), y, regression, SPLIT)
        for variant in VARIANTS:
            if variant in cells.read(CELLS).get(name, {}):
                continue
            with left_out(variant):
                error, _ = measure(ours(regression, SPLIT), *data, regression)
            cells.keep(CELLS, [name, variant], round(100 * error, 4))
            print("  ", name, variant, f"{100 * error:.2f}", flush=True)


def sections() -> Iterator[Section]:
    """Yield the section that is made from the file of results."""
    found = {name: of for name, of in cells.read(CELLS).items() if set(of) == set(VARIANTS)}
    lines = []
    for variant in VARIANTS[1:]:
        changes = [of[variant] / of[WHOLE] - 1 if of[WHOLE] else 0.0 for of in found.values()]
        worse, better = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
        lines.append([variant, f"{100 * np.mean(np.clip(changes, -1, 1)):+.1f} %", worse, better])
    near = sum(of[WHOLE] <= ALMOST * min(of.values()) for of in found.values())
    over = np.mean([of[WHOLE] / min(of.values()) - 1 for of in found.values() if min(of.values()) > 0])
    yield Section(
        "What each choice adds", f"{COMMAND} measure; python benchmarks/ablation.py publish",
        f"Change of the test error on {len(found)} of the panel's tables (split {SPLIT}) when one choice is left out: "
        "its mean, and on how many tables leaving it out is worse and better.\n\n"
        + table(["", "mean change", "worse on", "better on"], lines)
        + "\n\nIn hindsight, the lowest of these variants' test errors is that of all choices, within one per cent, "
        f"on {near} of {len(found)} tables; all choices are {100 * over:.1f} % above it in the mean.",
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measure_cells() if sys.argv[1:2] == ["measure"] else publish_all(sections())
