"""Section 4.2 of the paper: Algorithm 2 on covertype, and beside it the exact machine and the learned metric.

The paper's settings: three random parts of 559,890 training, 1,122 validation and 20,000 evaluation rows; I = J =
10,000; lambda = 1/N, which is C = 1; RBF scale 1; rate 1/epoch; the end when an epoch moves the coefficients by less
than 1. The scaling of the columns is not stated; all 54 are standardised on the training rows here.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dsekl import DSEKLClassifier
from dsekl.data import catalogue

from .covertype_run import ALGORITHM_2, PASSES_WATCHED, algorithm_2
from .results import Results, Row, Table
from .runner import bar
from .sections import AGREES, DIFFERS, NO_CLAIM, PARTLY, Finding, Numbers, Picture, Section, per_cent
from .settings import Settings
from .splits import Parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "covertype"
KEY = ("model", "epoch", "batch")
EXACT = "dual solver, the paper's kernel"
TUNED = "dual solver, gamma 100, C 4"
LEARNED = "dual solver, learned metric"
COLOURS = {ALGORITHM_2: "blue", EXACT: "orange", TUNED: "green", LEARNED: "red"}
MOST_DUAL_EPOCHS = 60
PAPER_FIRST, PAPER_LAST, PAPER_EPOCHS = 0.17, 0.1334, 54


def parts(settings: Settings) -> Parts:
    """Return covertype as the paper cuts it; for a quick run, the XOR problem in three such parts."""
    if settings.quick:
        data = catalogue.xor(8_000, np.random.default_rng(settings.seed))
        return Parts.of(data, n_validation=1_000, n_evaluation=2_000, batch=1_000, seed=settings.seed)
    data = catalogue.load("covertype")
    return Parts.of(data, n_validation=1_122, n_evaluation=20_000, batch=10_000, seed=settings.seed)


def run(results: Results, settings: Settings) -> None:
    """Fill the table; what is there already is not done again."""
    table = results.table(NAME, KEY)
    raw = parts(settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "column .* varies", UserWarning)
        for model, scaler, estimator in (
            (LEARNED, None, DSEKLClassifier()),
            (TUNED, MinMaxScaler(), DSEKLClassifier(gamma=100.0, C=4.0)),
            (EXACT, StandardScaler(), DSEKLClassifier(gamma=1.0, C=1.0)),
        ):
            if not table.where(model=model, finished="yes"):
                scaled = raw if scaler is None else raw.scaled(scaler)
                _watch_dual(table, model, scaled, estimator, settings)
    algorithm_2(table, raw.scaled(StandardScaler()), settings, results.folder / "covertype-state.npz")


def _watch_dual(table: Table, name: str, data: Parts, model: DSEKLClassifier, settings: Settings) -> None:
    """One epoch at a time; points processed are kernel evaluations over N, what a whole row of the matrix costs."""
    model.set_params(
        max_epochs=1, warm_start=True, random_state=settings.seed, verbose=False, n_jobs=settings.n_jobs
    )  # fmt: skip
    rows: list[Row] = []
    started = time.perf_counter()
    with bar("covertype", MOST_DUAL_EPOCHS) as progress:
        for epoch in range(1, MOST_DUAL_EPOCHS + 1):
            model.fit(data.X["training"], data.y["training"])
            seconds = time.perf_counter() - started
            errors = {part: 1 - model.score(data.X[part], data.y[part]) for part in ("validation", "evaluation")}
            ends = model.stop_reason_ == "tol" or epoch == MOST_DUAL_EPOCHS
            rows.append(
                dict(
                    model=name, epoch=epoch, batch=0,
                    points=model.history_[-1]["kernel_evaluations"] / len(data.y["training"]),
                    validation_error=errors["validation"], evaluation_error=errors["evaluation"],
                    change=model.history_[-1]["change"], seconds=seconds, finished="yes" if ends else "no",
                )
            )  # fmt: skip
            progress.advance(epoch, f"{name}: validation error {100 * errors['validation']:.2f} %")
            if ends:
                break
    table.add(rows)


def section(results: Results) -> Section | None:
    table = results.table(NAME, KEY)
    epochs = [row for row in table.where(model=ALGORITHM_2, batch=0) if row["epoch"] != 0]
    if not epochs:
        return None
    real = not results.quick
    n_rows = round(float(epochs[0]["points"]))
    ends = {model: table.where(model=model, finished="yes") for model in (EXACT, TUNED, LEARNED)}
    rows = [_line(ALGORITHM_2, row) for row in epochs if row["epoch"] in (1, 2, 3, 5, 10, 20, 54) or row is epochs[-1]]
    rows += [_line(model, found[0]) for model, found in ends.items() if found]
    data = (
        "Class 2 against the rest, all 54 columns standardised (the learned metric takes them raw; gamma 100 has them "
        "in [0, 1])"
        if real
        else "A quick run has the XOR problem in the place of covertype; the paper's errors do not apply to it"
    )  # fmt: skip
    return Section(
        NAME, "Covertype" if real else "Covertype's protocol, on XOR", (
            f"{data}. {n_rows:,} training rows; I = J = {'10,000' if real else '1,000'}, lambda = 1/N (C = 1), gamma "
            "1, rate 1/epoch, global reading of the gradient."
        ),
        _findings(epochs, ends) if real else [],
        [Picture("covertype", draw(table, real), (
            "Left: validation error after each batch of rows over three passes; right: error on the evaluation rows "
            "over the whole run. Points processed by the dual solver are its kernel evaluations over N."
        ))],
        [Numbers("Error by epoch", ["", "epoch", "points processed", "validation", "evaluation", "change"], rows)],
    )  # fmt: skip


def _line(model: str, row: Row) -> list[str]:
    errors = (per_cent(float(row[part]), 2) for part in ("validation_error", "evaluation_error"))
    return [model, str(row["epoch"]), f"{float(row['points']):,.0f}", *errors, f"{float(row['change']):.3g}"]


def _findings(epochs: list[Row], ends: dict[str, list[Row]]) -> list[Finding]:
    last, last_error = epochs[-1], float(epochs[-1]["evaluation_error"])
    first = {part: float(epochs[0][f"{part}_error"]) for part in ("validation", "evaluation")}
    where = "stopped by its rule" if last["finished"] == "yes" else "ended before its rule"
    beside = [f"{name}: {per_cent(float(rows[0]['evaluation_error']), 2)}" for name, rows in ends.items() if rows]
    return [
        Finding(
            "After one pass, the validation error has fallen from 51 % to about 17 %.",
            f"{per_cent(first['validation'])} on 1,122 validation rows; {per_cent(first['evaluation'])} on the 20,000 "
            "evaluation rows, for which the paper gives no figure after one pass.",
            AGREES if abs(first["validation"] - PAPER_FIRST) <= 0.025 else DIFFERS,
            "1,122 rows leave a standard error of 1.1 points. One split, one seed.",
        ),
        Finding(
            f"After {PAPER_EPOCHS} epochs the run stops, with {per_cent(PAPER_LAST, 2)} on the evaluation rows.",
            f"{per_cent(last_error, 2)} after {last['epoch']} epochs ({where}; the last epoch moved the coefficients "
            f"by {float(last['change']):.3g}).",
            _against(last_error, PAPER_LAST),
            "Two possible reasons. Here f is summed over all centres before the gradient is taken (the global "
            "reading); the paper's listing can also be read as each worker taking f from its own centres, which ends "
            "higher on 20,000 rows (docs/benchmarks.md) and has not been run on all. And the paper does not state how "
            "it scaled the columns.",
        ),
        Finding(
            "Beside it: what the same rows give with an exact solver and a learned metric.",
            "; ".join(beside) + "." if beside else "not run", NO_CLAIM,
            "The paper's kernel is wide for this much data. A narrower one has a lower error, and one gamma per column "
            "the lowest.",
        ),
    ]  # fmt: skip


def _against(error: float, paper: float) -> str:
    """A point more or less agrees; much less is better than the paper, but not what it found."""
    return AGREES if abs(error - paper) <= 0.01 else (PARTLY if error < paper else DIFFERS)


def draw(table: Table, real: bool) -> Figure:
    """Draw validation and evaluation error over the points processed; the paper's figures beside real data alone."""
    from . import plots

    n_rows = max(float(row["points"]) for row in table.where(model=ALGORITHM_2, epoch=1))
    with plots.panels(1, 2, (5.8, 3.4), sharey=True) as (figure, axes):
        left, right = axes[0]
        for model, colour in COLOURS.items():
            rows = sorted(table.where(model=model), key=lambda row: float(row["points"]))
            early = [row for row in rows if float(row["points"]) <= PASSES_WATCHED * n_rows * 1.001]
            late = [row for row in rows if row["batch"] == 0 and row["epoch"] != 0]
            style = dict(color=plots.PALETTE[colour], marker=plots.MARKERS[colour], label=model)
            for ax, shown, name in ((left, early, "validation_error"), (right, late, "evaluation_error")):
                ax.plot(
                    [max(float(row["points"]) / n_rows, 1e-3) for row in shown], [float(row[name]) for row in shown],
                    markevery=max(1, len(shown) // 12), **style,
                )  # fmt: skip
        left.set(title="validation", xlabel="points processed / N", xlim=(0, 3), ylim=(0, 0.5), ylabel="error")
        right.set(title="evaluation", xlabel="points processed / N", xscale="log" if real else "linear")
        if real:
            left.axhline(PAPER_FIRST, color=plots.INK, linestyle=":", linewidth=1.2)
            left.annotate("paper, one pass: 17 %", (3, PAPER_FIRST), ha="right", va="bottom", fontsize=8)
            right.axhline(PAPER_LAST, color=plots.INK, linestyle=":", linewidth=1.2)
            right.annotate("paper, 54 epochs: 13.34 %", (1, PAPER_LAST), ha="center", va="bottom", fontsize=8)
        else:
            # The first look, at a model of zeros, is wrong on half of the rows; what follows is far below.
            errors = [float(row["validation_error"]) for row in table.rows if row["points"] != 0]
            left.set_ylim(0, 1.2 * max(errors))
        left.yaxis.set_major_formatter(plots.in_per_cent)
        plots.legend_below(figure, left, 2)
    return figure
