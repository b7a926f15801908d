"""The relatives that the paper discusses, on the axes of Figure 2: Dai et al., Nyström, the block-diagonal split."""

from __future__ import annotations

from . import figure2, grid
from .figure2 import AXIS, COLOURS, EMP, FIXED, RKS, final_errors, units, work
from .relatives_grid import BLOCKS, STREAMED
from .results import Results, Row
from .runner import run_units
from .sections import NO_CLAIM, Finding, Numbers, Picture, Section, in_words, mean_and_error
from .settings import Settings
from .xor import BATCH

NAME = "relatives"
KEY = figure2.KEY
NYSTROEM = "Nyström"
ON_THE_AXES = {EMP: "blue", RKS: "orange", NYSTROEM: "red", STREAMED: "purple", BLOCKS: "grey"}
MOST_SEEDS = 5


def run(results: Results, settings: Settings) -> None:
    everything: list[Row] = [
        unit
        for unit in units(settings, [STREAMED, NYSTROEM, BLOCKS])
        # The machines of the split are exact: they draw no rows, so I has no meaning for them.
        if int(unit["seed"]) - settings.seed < MOST_SEEDS and (unit["method"] != BLOCKS or unit["n_rows"] == FIXED)
    ]
    run_units(NAME, results.table(NAME, KEY), everything, work, settings)


def section(results: Results) -> Section | None:
    table, first = results.table(NAME, KEY), results.table(figure2.NAME, KEY)
    batch = first.errors(method=BATCH)
    if not table.rows or not batch:
        return None
    found = {
        method: {j: final_errors(first if method in COLOURS else table, method, FIXED, j) for j in AXIS}
        for method in ON_THE_AXES
    }
    there = [j for j in AXIS if all(found[method][j] for method in ON_THE_AXES)]
    rows = [[f"I = 20, J = {j}", *(in_words(list(found[method][j].values())) for method in ON_THE_AXES)] for j in there]
    means = {j: {m: mean_and_error(list(found[m][j].values()))[0] for m in ON_THE_AXES} for j in there}
    best = [f"{min(of_j, key=lambda method: of_j[method])} at J = {j}" for j, of_j in means.items()]
    return Section(
        NAME, "The relatives, on the same axes", (
            "Dai et al. draw J new random features each step and regenerate them from seeds; Nyström (scikit-learn's) "
            "whitens J fixed points; the block-diagonal split trains one exact machine on each block of J points and "
            "averages them. The first two are trained by the same steps. " + grid.SELECTION
        ),
        [Finding(
            "The paper discusses these methods and leaves them out of its figures.",
            "Lowest mean error at I = 20 by " + ", ".join(best) + "; where standard errors overlap, the lowest is not "
            "the best.", NO_CLAIM,
            "Emp and Dai et al. draw new terms in each step, and the blocks together have all points; RKS and Nyström "
            "have J terms.",
        )],
        [Picture("relatives", figure2.ranges(first, batch, ON_THE_AXES, table), (
            "Test error after the last step against I (J = 20) and J (I = 20). The block-diagonal split draws no rows, "
            "so it stands on the right panel alone. Mean and two standard errors; dotted: batch SVM."
        ))],
        [Numbers("Test error after the last step, mean and standard error", ["", *ON_THE_AXES], rows)],
    )  # fmt: skip
