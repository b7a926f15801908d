"""Figure 2: the empirical map against random kitchen sinks and a fixed subset, under the same optimiser.

The paper's panels fix I and J: (a) I = 1, (b) I = 50, both at J = 20; (c) J = 1, (d) J = 50, both at I = 20. Here they
show the error over the steps; two more panels vary I and J over their whole range. Every point of every curve has
its own search over the paper's grids. ``work`` serves other methods on the same axes as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import grid, maps, relatives_grid
from .results import Results, Row, Table
from .runner import run_units
from .sections import AGREES, DIFFERS, PARTLY, Finding, Numbers, Picture, Section, in_words, mean_and_error, untested
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
    else:
        choice, errors = relatives_grid.METHODS[method](X, y, X_test, y_test, steps, seed, moments)
        drawn = float("nan")
    chosen = {"gamma": choice.gamma, "penalty": choice.penalty, "step_size": choice.step_size, "drawn_error": drawn}
    return [{**unit, "step": t, "error": error, **chosen} for t, error in errors.items()]


def errors_after(table: Table, method: str, n_rows: int, n_cols: int, step: int) -> dict[int, float]:
    """Return the error after a step, by seed."""
    return _by_seed(table.where(method=method, n_rows=n_rows, n_cols=n_cols, step=step))


def final_errors(table: Table, method: str, n_rows: int, n_cols: int) -> dict[int, float]:
    """Return the error after the last step, by seed."""
    rows = table.where(method=method, n_rows=n_rows, n_cols=n_cols)
    return _by_seed([row for row in rows if row["step"] == row["n_steps"]])


def _by_seed(rows: Iterable[Row]) -> dict[int, float]:
    return {int(row["seed"]): float(row["error"]) for row in rows}


def section(results: Results) -> Section | None:
    table = results.table(NAME, KEY)
    batch = _by_seed(table.where(method=BATCH))
    if not batch or any(not final_errors(table, m, *size) for m in COLOURS for size in CAPTIONS):
        return None
    header = ["", *(m for m in COLOURS), BATCH]
    rows = [
        [
            CAPTIONS[size],
            *(in_words(list(final_errors(table, m, *size).values())) for m in COLOURS),
            in_words(list(batch.values())),
        ]
        for size in CAPTIONS
    ]
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
            f"{n_steps} steps, steps of size s/t; lambda, gamma and s by two-fold cross-validation at each I and J "
            "(1,521 settings)."
        ),
        untested(findings) if results.quick else findings,
        pictures,
        [Numbers(f"Test error after {n_steps} steps, mean and standard error", header, rows)],
    )  # fmt: skip


def _few(table: Table) -> Finding:
    """Do RKS and Emp_Fix win with few samples? Differences are paired by repetition."""
    last = max(int(row["step"]) for row in table.rows)
    found, wins = [], {EARLY: [], last: []}  # type: tuple[list[str], dict[int, list[int]]]
    for size in FEW:
        for other in (RKS, EMP_FIX):
            words = []
            for step, won in wins.items():
                emp, theirs = (errors_after(table, method, *size, step) for method in (EMP, other))
                mean, error = mean_and_error([emp[seed] - theirs[seed] for seed in emp])
                won.append(1 if mean > 2 * error else (-1 if mean < -2 * error else 0))
                words.append(f"{100 * mean:+.1f} ± {100 * error:.1f} after {step}")
            verdict = {1: "ahead of", -1: "behind", 0: "level with"}[wins[last][-1]]
            found.append(
                f"I = {size[0]}, J = {size[1]}: {other} is {verdict} Emp at the end ({', '.join(words)} steps)"
            )
    verdict = AGREES if min(wins[last]) == 1 else (PARTLY if max(wins[last] + wins[EARLY]) == 1 else DIFFERS)
    return Finding(
        "With few samples for the gradient or the expansion, RKS and Emp_Fix have an advantage over Emp.",
        "; ".join(found) + ". Figures are Emp's error minus the other's, in points.", verdict, (
            "Over the steps every point becomes a centre of Emp, so a small J only costs it more steps: with one "
            "centre a step it still ends as an expansion in all points, and one fixed term cannot separate the "
            "classes. The paper does not say whether its test summed f over all coefficients or over J centres drawn "
            f"again. With J drawn again, Emp's errors are {_drawn(table, FEW)}; RKS and Emp_Fix have J terms in any "
            "case."
        ),
    )  # fmt: skip


def _drawn(table: Table, sizes: Iterable[tuple[int, int]]) -> str:
    """Return Emp's errors where the test draws J terms again."""
    words = []
    for n_rows, n_cols in sizes:
        rows = table.where(method=EMP, n_rows=n_rows, n_cols=n_cols)
        words.append(
            f"{in_words([float(r['drawn_error']) for r in rows if r['step'] == r['n_steps']])} at J = {n_cols}"
        )
    return " and ".join(words)


def _more(table: Table, batch: dict[int, float]) -> Finding:
    found, holds = [], []
    for size in MORE:
        emp = final_errors(table, EMP, *size)
        mean, error = mean_and_error([emp[seed] - batch[seed] for seed in emp if seed in batch])
        holds.append(mean <= max(0.01, 2 * error))
        found.append(
            f"I = {size[0]}, J = {size[1]}: {in_words(list(emp.values()))} against {in_words(list(batch.values()))}"
        )
    verdict = AGREES if all(holds) else (PARTLY if any(holds) else DIFFERS)
    return Finding(
        "With more samples, doubly stochastic learning reaches the batch SVM.", "; ".join(found) + ".", verdict,
        "Counted as reached within one point, or within two standard errors of the paired difference.",
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
    ax.set(xscale="log", yscale="log", title=title, ylim=(0.02, 0.7), yticks=[0.02, 0.05, 0.1, 0.2, 0.5])
    ax.set_yticklabels(["2 %", "5 %", "10 %", "20 %", "50 %"])
    ax.minorticks_off()
