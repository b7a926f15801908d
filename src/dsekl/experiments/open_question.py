"""The paper's open question: when to prefer the empirical map, when an explicit one?

One problem with four parameters. The XOR problem lies in a random plane of D dimensions, with noise of deviation 0.3 in
all of them; each entry of a row is then kept with probability ``density`` and is 0 otherwise, as in data that are
mostly empty. One parameter varies at a time: density (at D = 100), the number of points N, the number of terms J, and
D. All maps have the same optimiser and move J terms a step, and every point has its own search on the grids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import grid, maps
from .results import Results, Row, Table
from .runner import run_units
from .sections import (
    AGREES,
    DIFFERS,
    NO_CLAIM,
    Finding,
    Numbers,
    Picture,
    Section,
    in_words,
    mean_and_error,
    untested,
)
from .settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "open-question"
KEY = ("knob", "value", "method", "seed")
EMP, EMP_FIX, RKS, NYSTROEM, BATCH = "Emp", "Emp_Fix", "RKS", "Nyström", "batch SVM"
MAPS = {EMP: maps.empirical, EMP_FIX: maps.fixed_subset, RKS: maps.random_fourier, NYSTROEM: maps.nystroem}
COLOURS = {EMP: "blue", EMP_FIX: "green", RKS: "orange", NYSTROEM: "red", BATCH: "grey"}
BASE: dict[str, float] = {"density": 1.0, "N": 400, "J": 50, "D": 20}
KNOBS: dict[str, list[float]] = {
    "density": [1.0, 0.3, 0.1, 0.05],
    "N": [100, 200, 400, 800],
    "J": [5, 20, 50, 200],
    "D": [2, 10, 50, 100],
}
SPARSE_D = 100
NOISE = 0.3
N_TEST = 1_000
N_ROWS = 50


def run(results: Results, settings: Settings) -> None:
    few: dict[str, list[float]] = {"density": [1.0, 0.1], "J": [5, 50]}
    knobs = few if settings.quick else KNOBS
    n_seeds = 1 if settings.quick else 3
    units = [
        {"knob": knob, "value": value, "method": method, "seed": settings.seed + k,
         "n_steps": 100 if settings.quick else 500}
        for k in range(n_seeds) for knob, values in knobs.items() for value in values for method in COLOURS
    ]  # fmt: skip
    run_units(NAME, results.table(NAME, KEY), units, work, settings)


def problem(
    N: int, D: int, density: float, rng: np.random.Generator
) -> tuple[grid.Floats, grid.Floats, grid.Floats, grid.Floats]:
    """Return training and test rows and labels."""
    n = N + N_TEST
    corners = rng.choice([-1.0, 1.0], (n, 2))
    plane, _ = np.linalg.qr(rng.standard_normal((D, 2)))
    X = (corners + np.sqrt(0.2) * rng.standard_normal((n, 2))) @ plane.T * np.sqrt(D / 2)
    X += NOISE * rng.standard_normal((n, D))
    X *= rng.random((n, D)) < density
    y = corners.prod(axis=1)
    return X[:N], y[:N], X[N:], y[N:]


def work(unit: Row) -> list[Row]:
    sparse = {"D": SPARSE_D} if unit["knob"] == "density" else {}
    chosen = BASE | sparse | {str(unit["knob"]): float(unit["value"])}
    N, D, density = int(chosen["N"]), int(chosen["D"]), chosen["density"]
    seed = int(unit["seed"])
    # One problem for all methods and values of J, and wherever two rows of the table have the same N, D and density.
    rng = np.random.default_rng([seed, N, D, round(1000 * density)])
    X, y, X_test, y_test = problem(N, D, density, rng)
    if unit["method"] == BATCH:
        gamma, C, _ = grid.search_batch(X, y, seed)
        return [{**unit, "error": grid.batch_error(gamma, C, X, y, X_test, y_test), "gamma": gamma}]
    steps = grid.Steps(N_ROWS, int(chosen["J"]), int(unit["n_steps"]))
    make = MAPS[str(unit["method"])]
    choice = grid.search(make, X, y, steps, seed)
    errors = grid.curve(make, choice, X, y, X_test, y_test, steps, seed, [steps.n_steps])
    return [{**unit, "error": errors[steps.n_steps], "gamma": choice.gamma}]


def section(results: Results) -> Section | None:
    table = results.table(NAME, KEY)
    if not table.rows:
        return None
    knobs = [knob for knob in KNOBS if table.where(knob=knob)]
    findings = [_finding(table, knob) for knob in knobs]
    rows = [
        [f"{knob} = {value:g}", *(in_words(_errors(table, knob, value, method)) for method in COLOURS)]
        for knob in knobs for value in _values(table, knob)
    ]  # fmt: skip
    n_seeds = table.count("seed")
    return Section(
        NAME, "The open question: empirical or explicit?", (
            "XOR in a random plane of D dimensions with noise in all of them; of each row, a share of the entries is "
            f"kept (density) and the rest is 0. One parameter varies at a time from N = {BASE['N']}, J = {BASE['J']}, "
            f"D = {BASE['D']}, density 1 (density varies at D = {SPARSE_D}). I = {N_ROWS}, {n_seeds} "
            f"repetition{'s' if n_seeds > 1 else ''}, {N_TEST:,} test rows, all settings by two-fold cross-validation. "
            "Zeros remove signal and larger D adds some, so compare methods at one setting, not settings."
        ),
        untested(findings) if results.quick else findings,
        [Picture("open-question", draw(table, knobs), (
            "Test error as the data grow sparser, and as N, J and the dimension vary. Mean and two standard errors."
        ))],
        [Numbers("Test error, mean and standard error", ["", *COLOURS], rows)],
    )  # fmt: skip


def _values(table: Table, knob: str) -> list[float]:
    return sorted({float(row["value"]) for row in table.where(knob=knob)}, reverse=knob == "density")


def _errors(table: Table, knob: str, value: float, method: str) -> list[float]:
    return table.errors(knob=knob, value=value, method=method)


def _by_seed(table: Table, knob: str, value: float, method: str) -> dict[int, float]:
    """Return the errors by seed; rows stand in the order in which processes finished."""
    rows = table.where(knob=knob, value=value, method=method)
    return {int(row["seed"]): float(row["error"]) for row in rows}


QUESTIONS = {
    "density": "On extremely sparse data the empirical map on few points is 0 almost everywhere, and Fourier bases of "
    "low frequency cover the space better.",
    "N": "Which map gains from more data, at the same J?",
    "J": "Which map needs fewer terms?",
    "D": "Which map suffers more from dimension?",
}

WHY = {
    "density": "The centres of the empirical map are rows of the data, and over its steps Emp uses all of them, so "
    "some share entries with a new row. Random frequencies mix all D directions, most of which are 0 in a sparse row.",
    "N": "Emp ends as an expansion in all N points, whatever J is; RKS has J terms.",
    "J": "J fixed cosines must span the problem; Emp goes through all points, J at a time.",
}


def _finding(table: Table, knob: str) -> Finding:
    """Say where Emp is ahead of RKS and where behind, by more than two standard errors of the paired difference."""
    ahead: list[str] = []
    behind: list[str] = []
    level: list[str] = []
    for value in _values(table, knob):
        emp, rks = (_by_seed(table, knob, value, method) for method in (EMP, RKS))
        if not emp or emp.keys() != rks.keys():
            continue
        mean, error = mean_and_error([rks[seed] - emp[seed] for seed in emp])
        text = f"{value:g} (Emp {in_words(list(emp.values()))}, RKS {in_words(list(rks.values()))})"
        (ahead if mean > 2 * error else behind if mean < -2 * error else level).append(text)
    parts = [("Emp ahead at ", ahead), ("RKS ahead at ", behind), ("level at ", level)]
    words = "; ".join(name + ", ".join(values) for name, values in parts if values)
    verdict = NO_CLAIM if knob != "density" else _sparse_verdict(table)
    return Finding(QUESTIONS[knob], f"{knob}: {words}.", verdict, WHY.get(knob, ""))


def _sparse_verdict(table: Table) -> str:
    """The paper's conjecture holds if RKS gains on the fixed subset as the data grow sparser."""
    values = _values(table, "density")
    gaps = [
        np.mean(_errors(table, "density", value, EMP_FIX)) - np.mean(_errors(table, "density", value, RKS))
        for value in (values[0], values[-1])
    ]
    return AGREES if gaps[1] > max(0.0, float(gaps[0])) else DIFFERS


def draw(table: Table, knobs: list[str]) -> Figure:
    """Draw the error of every method, a panel for each parameter."""
    from . import plots

    n_lines = -(-len(knobs) // 2)
    with plots.panels(n_lines, 2, (5.8, 2.5 * n_lines + 0.4), sharey=True) as (figure, axes):
        for ax, knob in zip(axes.flat, knobs, strict=False):
            for method, colour in COLOURS.items():
                values = [value for value in _values(table, knob) if _errors(table, knob, value, method)]
                stats = [mean_and_error(_errors(table, knob, value, method)) for value in values]
                plots.band(ax, values, stats, colour, method)
            names = {"density": "share of entries that are not 0", "N": "training points N", "J": "terms J",
                     "D": "dimension D"}  # fmt: skip
            ax.set(xscale="log", xlabel=names[knob], ylim=(0, None))
            tried = _values(table, knob)
            ax.set_xticks(tried, [f"{value:g}" for value in tried])
            ax.minorticks_off()
            if knob == "density":
                ax.invert_xaxis()
            ax.yaxis.set_major_formatter(plots.in_per_cent)
        for ax in axes[:, 0]:
            ax.set_ylabel("test error")
        plots.legend_below(figure, axes[0, 0], 5)
    return figure
