"""Figure 2: the empirical map against random kitchen sinks and a fixed subset, under the same optimiser.

The paper's panels fix I and J: (a) I = 1, (b) I = 50, both at J = 20; (c) J = 1, (d) J = 50, both at I = 20. Here they
show the error over the steps; two more panels vary I and J over their whole range. Every point of every curve has
its own search over the paper's grids. The paper keeps "all other hyperparameters fixed" as I or J varies, so the
last error is also taken with the setting that was chosen at I = J = 20. ``work`` serves other methods on the same axes
as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from . import grid, maps, relatives_grid
from .judging import EXACT, HIGHER, LEVEL, Estimate, paired, side, slack, verdict
from .results import Results, Row, Table
from .runner import run_units
from .sections import Finding, Numbers, Picture, Section, in_words, mean_and_error, untested
from .settings import Settings
from .xor import BATCH, N_TEST, N_TRAIN, problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "figure2"
KEY = ("method", "n_rows", "n_cols", "seed")
EMP, EMP_FIX, RKS = "Emp", "Emp_Fix", "RKS"
METHODS = {EMP: maps.empirical, EMP_FIX: maps.fixed_subset, RKS: maps.random_fourier, "Nyström": maps.nystroem}
COLOURS = {EMP: "blue", RKS: "orange", EMP_FIX: "green"}
AXIS = (1, 2, 5, 10, 20, 50, 100)
FIXED = 20
"""J while I varies, and I while J varies."""

MOMENTS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
CAPTIONS = {(1, 20): "(a) I = 1, J = 20", (50, 20): "(b) I = 50, J = 20",
            (20, 1): "(c) I = 20, J = 1", (20, 50): "(d) I = 20, J = 50"}  # fmt: skip
EARLY = 10
"""A step at which methods that settle fast should show it."""

FEW, MORE = ((1, 20), (20, 1)), ((50, 20), (20, 50))
CLOSE = 0.01
"""What "close to batch SVMs" is taken to mean: one point, beside the standard error."""


def axis(settings: Settings) -> tuple[int, ...]:
    return (1, 50) if settings.quick else AXIS


def seeds(settings: Settings) -> list[int]:
    return [settings.seed + k for k in range(3 if settings.quick else 10)]


def units(settings: Settings, methods: Iterable[str]) -> list[Row]:
    """Return every method at every I with J = 20 and every J with I = 20."""
    sizes = dict.fromkeys([(i, FIXED) for i in axis(settings)] + [(FIXED, j) for j in axis(settings)])
    last = 100 if settings.quick else MOMENTS[-1]
    return [
        {"method": method, "n_rows": i, "n_cols": j, "seed": seed, "n_steps": last}
        for seed in seeds(settings) for method in methods for i, j in sizes
    ]  # fmt: skip


def run(results: Results, settings: Settings) -> None:
    everything = units(settings, [EMP, RKS, EMP_FIX])
    everything += [{"method": BATCH, "n_rows": 0, "n_cols": 0, "seed": seed, "n_steps": 0} for seed in seeds(settings)]
    run_units(NAME, results.table(NAME, KEY), everything, work, settings)


def work(unit: Row) -> list[Row]:
    """Choose the setting by cross-validation, train once, and test after some of the steps."""
    seed, method = int(unit["seed"]), str(unit["method"])
    X, y, X_test, y_test = problem(seed)
    if method == BATCH:
        gamma, C, _ = grid.search_batch(X, y, seed)
        error = grid.batch_error(gamma, C, X, y, X_test, y_test)
        return [{**unit, "step": 0, "error": error, "gamma": gamma, "penalty": 1 / C, "step_size": ""}]
    steps = grid.Steps(int(unit["n_rows"]), int(unit["n_cols"]), int(unit["n_steps"]))
    moments = [t for t in MOMENTS if t <= steps.n_steps]
    if method in METHODS:
        choice = grid.search(METHODS[method], X, y, steps, seed)
        errors = grid.curve(METHODS[method], choice, X, y, X_test, y_test, steps, seed, moments)
        drawn = grid.error_of_drawn_terms(METHODS[method], choice, X, y, X_test, y_test, steps, seed)
        fixed = grid.curve(METHODS[method], choice_in_the_middle(method, seed, steps.n_steps), X, y, X_test, y_test,
                           steps, seed, moments[-1:])[moments[-1]]  # fmt: skip
    else:
        choice, errors = relatives_grid.METHODS[method](X, y, X_test, y_test, steps, seed, moments)
        drawn = fixed = float("nan")
    chosen = {"gamma": choice.gamma, "penalty": choice.penalty, "step_size": choice.step_size}
    rows: list[Row] = [{**unit, "step": t, "error": error, **chosen} for t, error in errors.items()]
    rows[-1] |= {"drawn_error": drawn, "fixed_error": fixed}
    return rows


@cache
def choice_in_the_middle(method: str, seed: int, n_steps: int) -> grid.Choice:
    """Return the setting that is chosen at I = J = 20."""
    X, y, *_ = problem(seed)
    return grid.search(METHODS[method], X, y, grid.Steps(FIXED, FIXED, n_steps), seed)


def errors_after(table: Table, method: str, n_rows: int, n_cols: int, step: int) -> dict[int, float]:
    """Return the error after a step, by seed."""
    return _by_seed(table.where(method=method, n_rows=n_rows, n_cols=n_cols, step=step))


def final_errors(table: Table, method: str, n_rows: int, n_cols: int, column: str = "error") -> dict[int, float]:
    """Return the error after the last step, by seed.

    The column ``drawn_error`` has f summed over J terms drawn again, ``fixed_error`` the setting of I = J = 20.
    """
    rows = table.where(method=method, n_rows=n_rows, n_cols=n_cols)
    return _by_seed([row for row in rows if row["step"] == row["n_steps"]], column)


def _by_seed(rows: Iterable[Row], column: str = "error") -> dict[int, float]:
    return {int(row["seed"]): float(row[column]) for row in rows}


def section(results: Results) -> Section | None:
    table = results.table(NAME, KEY)
    batch = _by_seed(table.where(method=BATCH))
    if not batch or any(not final_errors(table, m, *size) for m in COLOURS for size in CAPTIONS):
        return None
    header = ["", *COLOURS, BATCH]
    rows = {
        column: [
            [title, *(in_words(list(final_errors(table, m, *size, column).values())) for m in COLOURS),
             in_words(list(batch.values()))]
            for size, title in CAPTIONS.items()
        ]
        for column in ("error", "fixed_error")
    }  # fmt: skip
    n_steps = max(int(row["n_steps"]) for row in table.rows)
    findings = [_few(table), _more(table, batch)]
    pictures = [Picture("figure2", curves(table, list(batch.values())), (
        "Test error over the steps at the paper's four choices of I and J. Mean and two standard errors over the "
        "repetitions; dotted: batch SVM."
    ))]  # fmt: skip
    if not results.quick:  # which has two values of I and J, too few for a curve
        pictures.append(Picture("figure2-axes", ranges(table, list(batch.values()), COLOURS), (
            f"Test error after {n_steps} steps, over the whole range of I at J = 20 and of J at I = 20."
        )))  # fmt: skip
    return Section(
        NAME, "Figure 2: which map, at which I and J", (
            f"XOR, {N_TRAIN} training and {N_TEST:,} test points, {len(batch)} repetitions. Emp draws J of all points "
            "as centres in each step; Emp_Fix draws J of them once; RKS has J random Fourier features. Same optimiser, "
            f"{n_steps} steps, steps of size s/t. {grid.SELECTION} {grid.HALVED} There are 1,521 settings (lambda, "
            "gamma and s), and they are chosen again at each I and J; the paper keeps the others fixed as one varies, "
            "so the last table has those of I = J = 20 throughout."
        ),
        untested(findings) if results.quick else findings,
        pictures,
        [
            Numbers(f"Test error after {n_steps} steps, mean and standard error", header, rows["error"]),
            Numbers("The same with the settings that were chosen at I = J = 20", header, rows["fixed_error"]),
        ],
    )  # fmt: skip


READINGS = {
    "at the end": "error",
    "with the settings of I = J = 20": "fixed_error",
    "with Emp's test over J centres drawn again": "drawn_error",
}
"""The last step, read in three ways: as it is, and as the paper may have done it."""


def leads(table: Table, size: tuple[int, int], other: str) -> dict[str, Estimate]:
    """Return Emp's error minus another map's, paired by repetition: early, and in each reading of the last step."""
    early = paired(*(errors_after(table, method, *size, EARLY) for method in (EMP, other)))
    found = {f"after {EARLY} steps": early}
    for name, column in READINGS.items():
        theirs = "error" if column == "drawn_error" else column  # their J terms are drawn once for all
        found[name] = paired(final_errors(table, EMP, *size, column), final_errors(table, other, *size, theirs))
    return found


def _few(table: Table) -> Finding:
    """Do RKS and Emp_Fix win with few samples?"""
    found, ahead = [], []
    for size in FEW:
        for other in (RKS, EMP_FIX):
            of_size = leads(table, size, other)
            ahead += [side(lead, EXACT) == HIGHER for lead in of_size.values()]
            words = ", ".join(f"{when} {_points(lead)}" for when, lead in of_size.items())
            found.append(f"I = {size[0]}, J = {size[1]}, {other}: {words}")
    return Finding(
        "With few samples for the gradient or the expansion, RKS and Emp_Fix have an advantage over Emp.",
        "Emp's error minus the other's, in points: " + "; ".join(found) + ". An advantage is a difference above 0 by "
        f"more than its 95 % interval; {sum(ahead)} of these {len(ahead)} are.", verdict(ahead),
        "Over the steps every point becomes a centre of Emp; RKS and Emp_Fix have J terms. The paper does not say "
        "whether its test summed f over all coefficients or over J centres drawn again.",
    )  # fmt: skip


def _points(lead: Estimate) -> str:
    return f"{100 * lead.value:+.1f} ± {100 * lead.error:.1f}"


def _more(table: Table, batch: dict[int, float]) -> Finding:
    found, level = [], []
    for size in MORE:
        lead = paired(final_errors(table, EMP, *size), batch)
        level.append(side(lead, EXACT, CLOSE) == LEVEL)
        found.append(
            f"I = {size[0]}, J = {size[1]}: {_points(lead)} (level within {100 * slack(lead, EXACT, CLOSE):.1f})"
        )
    return Finding(
        "With more samples, doubly stochastic learning is close to the batch SVM.",
        "Emp's error minus the batch SVM's, in points: " + "; ".join(found) + ".", verdict(level),
        "Close: within one point, beside the 95 % interval of the paired difference, either way.",
    )  # fmt: skip


def curves(table: Table, batch: Sequence[float]) -> Figure:
    """Draw the error over the steps, a panel for each of the paper's choices of I and J."""
    from . import plots

    with plots.panels(2, 2, (5.8, 5.0), sharex=True, sharey=True) as (figure, axes):
        for ax, (size, title) in zip(axes.flat, CAPTIONS.items(), strict=True):
            for method, colour in COLOURS.items():
                rows = table.where(method=method, n_rows=size[0], n_cols=size[1])
                moments = sorted({int(row["step"]) for row in rows})
                stats = [mean_and_error([float(r["error"]) for r in rows if r["step"] == t]) for t in moments]
                plots.band(ax, moments, stats, colour, method)
            _frame(ax, batch, title)
        for ax in axes[-1]:
            ax.set_xlabel("steps")
        for ax in axes[:, 0]:
            ax.set_ylabel("test error")
        plots.legend_below(figure, axes[0, 0], 4)
    return figure


def ranges(table: Table, batch: Sequence[float], colours: dict[str, str], more: Table | None = None) -> Figure:
    """Draw the final error against I and against J."""
    from . import plots

    with plots.panels(1, 2, (5.8, 3.1), sharey=True) as (figure, axes):
        for ax, name in zip(axes.flat, ("I", "J"), strict=True):
            for method, colour in colours.items():
                source = table if table.where(method=method) or more is None else more
                found = {size: final_errors(source, method, *_size(name, size)) for size in AXIS}
                sizes = [size for size in AXIS if found[size]]
                stats = [mean_and_error(list(found[size].values())) for size in sizes]
                plots.band(ax, sizes, stats, colour, method)
            _frame(ax, batch, f"varying {name}, {'J' if name == 'I' else 'I'} = {FIXED}")
            ax.set_xlabel(name)
        axes[0, 0].set_ylabel("test error")
        plots.legend_below(figure, axes[0, 0], 4)
    return figure


def _size(name: str, value: int) -> tuple[int, int]:
    return (value, FIXED) if name == "I" else (FIXED, value)


def _frame(ax: Axes, batch: Sequence[float], title: str) -> None:
    from . import plots

    ax.axhline(float(np.mean(batch)), color=plots.INK, linestyle=":", linewidth=1.2, label=BATCH)
    ax.set(xscale="log", yscale="log", title=title, ylim=(0.01, 1.0))
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    ax.set_yticks(ticks, [plots.in_per_cent(tick) for tick in ticks])
    ax.set_xticks([1, 10, 100], ["1", "10", "100"])
    ax.minorticks_off()
