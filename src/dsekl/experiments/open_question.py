"""The paper's open question: when to prefer the empirical map, when an explicit one?

One problem with four parameters. The XOR problem lies in a random plane of D dimensions, with noise of deviation 0.3 in
all of them; each entry of a row is then kept with probability ``density`` and is 0 otherwise, as in data that are
mostly empty. One parameter varies at a time: density (at D = 100), the number of points N, the number of terms J, and
D. All maps have the same optimiser and move J terms a step, and every point has its own search on the grids.

The parameters change the difficulty too: zeros remove signal (entries are missing rather than small), and the signal
grows with D while the noise does not. So methods are compared at one value, never values with each other, and at equal
numbers of terms: Emp_Fix, RKS and Nyström have J, while Emp ends with N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import grid, maps
from .judging import EXACT, HIGHER, LEVEL, LOWER, paired, side
from .results import Results, Row, Table
from .runner import run_units
from .sections import (
    AGREES,
    DIFFERS,
    NO_CLAIM,
    NOT_TESTED,
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
    several = n_seeds > 1
    return Section(
        NAME, "The open question: empirical or explicit?", (
            "XOR in a random plane of D dimensions with noise in all of them; of each row, a share of the entries is "
            f"kept (density) and the rest is 0. One parameter varies at a time from N = {BASE['N']}, J = {BASE['J']}, "
            f"D = {BASE['D']}, density 1 (density varies at D = {SPARSE_D}). I = {N_ROWS}, {n_seeds} "
            f"repetition{'s' if several else ''}, {N_TEST:,} test rows. {grid.SELECTION} {grid.HALVED} "
            "Zeros remove signal and larger D adds some, so compare methods at one setting, not settings. Emp ends "
            "with N terms; Emp_Fix, RKS and Nyström have J."
        ),
        untested(findings) if results.quick else findings,
        [Picture("open-question", draw(table, knobs), (
            "Test error as the data grow sparser, and as N, J and the dimension vary, one at a time. "
            + ("Mean and two standard errors." if several else "One repetition.")
        ))],
        [Numbers(f"Test error, {'mean and standard error' if several else 'one repetition'}", ["", *COLOURS], rows)],
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


def _finding(table: Table, knob: str) -> Finding:
    """Say where one map is ahead of another, at equal terms first, by the 95 % interval of the paired difference."""
    words = [
        f"{ours} ({terms}) against {RKS} (J terms): {_places(table, knob, ours)}"
        for ours, terms in ((EMP_FIX, "J terms"), (EMP, "N terms"))
    ]
    outcome = judge_sparse(table) if knob == "density" else NO_CLAIM
    why = ""
    if knob == "density":
        easy, hard = (_errors(table, knob, value, BATCH) for value in _ends(table, knob))
        why = (
            "Judged at equal terms, and only if the sparse problem is as easy as the dense one for the batch SVM. Its "
            f"error goes from {in_words(easy)} to {in_words(hard)}: the zeros are missing values here, not the "
            "structure of data that are sparse by nature."
        )
    return Finding(QUESTIONS[knob], f"{knob}: " + ". ".join(words) + ".", outcome, why)


def _places(table: Table, knob: str, ours: str) -> str:
    """Return where our map is ahead of RKS, behind it and level, with the paired differences in points."""
    places: dict[int, list[str]] = {LOWER: [], HIGHER: [], LEVEL: []}
    for value in _values(table, knob):
        lead = paired(_by_seed(table, knob, value, ours), _by_seed(table, knob, value, RKS))
        places[side(lead, EXACT)].append(f"{value:g} ({100 * lead.value:+.1f} ± {100 * lead.error:.1f})")
    if table.count("seed") == 1:
        return "one repetition, not judged"
    names = {LOWER: "lower at ", HIGHER: "higher at ", LEVEL: "level at "}
    return "; ".join(names[found] + ", ".join(values) for found, values in places.items() if values)


def _ends(table: Table, knob: str) -> tuple[float, float]:
    values = _values(table, knob)
    return values[0], values[-1]


def judge_sparse(table: Table) -> str:
    """The conjecture is of the sparsest rows at equal terms; it is not tested if they are also the harder problem."""
    dense, sparse = _ends(table, "density")
    harder = paired(_by_seed(table, "density", sparse, BATCH), _by_seed(table, "density", dense, BATCH))
    lead = paired(_by_seed(table, "density", sparse, EMP_FIX), _by_seed(table, "density", sparse, RKS))
    if side(harder, EXACT) != LEVEL or side(lead, EXACT) == LEVEL:
        return NOT_TESTED
    return AGREES if side(lead, EXACT) == HIGHER else DIFFERS


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
