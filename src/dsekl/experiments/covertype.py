"""Section 4.2 of the paper: Algorithm 2 on covertype, and beside it the exact machine and the learned metric.

The paper's settings: three random parts of 559,890 training, 1,122 validation and 20,000 evaluation rows; I = J =
10,000; lambda = 1/N, which is C = 1; RBF scale 1; rate 1/epoch; the end when an epoch moves the coefficients by less
than 1. The scaling of the columns is not stated; all 54 are standardised on the training rows here.

There are two readings of the gradient. The main run is global: f is summed over all centres, and pairs out of the
kernel's reach are skipped. The paper's listing says "as in Algorithm 1", where a worker takes f from its own centres.
This local reading is run for the three passes that the paper's figure shows; its epochs take several times as long.
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

from .covertype_run import ALGORITHM_2, LOCAL, PASSES_WATCHED, algorithm_2
from .judging import LEVEL, SIDES, Estimate, side, slack, verdict
from .results import Results, Row, Table
from .runner import bar
from .sections import AGREES, DIFFERS, NO_CLAIM, NOT_TESTED, PARTLY, Finding, Numbers, Picture, Section, per_cent
from .settings import Settings
from .splits import Parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "covertype"
KEY = ("model", "epoch", "batch")
EXACT = "dual solver, the paper's kernel"
TUNED = "dual solver, gamma 100, C 4"
LEARNED = "dual solver, learned metric"
COLOURS = {ALGORITHM_2: "blue", LOCAL: "purple", EXACT: "orange", TUNED: "green", LEARNED: "red"}
MOST_DUAL_EPOCHS = 60
N_VALIDATION, N_EVALUATION = 1_122, 20_000
PAPER_FIRST, PAPER_LAST, PAPER_EPOCHS = 0.17, 0.1334, 54
FIRST_ROUNDING, LAST_ROUNDING = 0.005, 0.00005
"""Half a unit of the paper's last digit."""


def parts(settings: Settings) -> Parts:
    """Return covertype as the paper cuts it; for a quick run, the XOR problem in three such parts."""
    if settings.quick:
        data = catalogue.xor(8_000, np.random.default_rng(settings.seed))
        return Parts.of(data, n_validation=1_000, n_evaluation=2_000, batch=1_000, seed=settings.seed)
    data = catalogue.load("covertype")
    return Parts.of(data, n_validation=N_VALIDATION, n_evaluation=N_EVALUATION, batch=10_000, seed=settings.seed)


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
    scaled = raw.scaled(StandardScaler())
    early = min(settings.epochs, PASSES_WATCHED)
    algorithm_2(table, scaled, settings, results.folder / "covertype-local.npz", LOCAL, early)
    algorithm_2(table, scaled, settings, results.folder / "covertype-state.npz")


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
    local = [row for row in table.where(model=LOCAL, batch=0) if row["epoch"] != 0]
    rows += [_line(LOCAL, row) for row in local]
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
            "1, rate 1/epoch, global reading of the gradient (f over all centres); the local one over the first passes."
        ),
        _findings(epochs, local, ends) if real else _claims(),
        [Picture("covertype", draw(table, real), (
            "Left: validation error after each batch of rows over three passes; right: error on the evaluation rows "
            "over the whole run. Points processed by the dual solver are its kernel evaluations over N."
        ))],
        [Numbers("Error by epoch", ["", "epoch", "points processed", "validation", "evaluation", "change"], rows)],
    )  # fmt: skip


def _line(model: str, row: Row) -> list[str]:
    errors = (per_cent(float(row[part]), 2) for part in ("validation_error", "evaluation_error"))
    return [model, str(row["epoch"]), f"{float(row['points']):,.0f}", *errors, f"{float(row['change']):.3g}"]


FIRST_CLAIM = "After one pass, the validation error has fallen from 51 % to about 17 %."
LAST_CLAIM = f"After {PAPER_EPOCHS} epochs the run stops by its rule, with {per_cent(PAPER_LAST, 2)} evaluation error."


def _claims() -> list[Finding]:
    return [Finding(claim, "These are other data.", NOT_TESTED) for claim in (FIRST_CLAIM, LAST_CLAIM)]


def _findings(epochs: list[Row], local: list[Row], ends: dict[str, list[Row]]) -> list[Finding]:
    last = epochs[-1]
    beside = [f"{name}: {per_cent(float(rows[0]['evaluation_error']), 2)}" for name, rows in ends.items() if rows]
    return [
        *(_first_pass(*passes) for passes in (("global", epochs), ("local", local)) if passes[1]),
        _end(float(last["evaluation_error"]), int(last["epoch"]), float(last["change"]), last["finished"] == "yes"),
        Finding(
            "Beside it: what the same rows give with an exact solver and a learned metric.",
            "; ".join(beside) + "." if beside else "not run", NO_CLAIM,
        ),
    ]  # fmt: skip


def judge_first_pass(validation: float, evaluation: float) -> str:
    """Compare validation with validation; in part if our own evaluation rows say that the draw was an unusual one."""
    ours, theirs = (Estimate.share(value, N_VALIDATION) for value in (validation, PAPER_FIRST))
    if side(ours, theirs, FIRST_ROUNDING) != LEVEL:
        return DIFFERS
    return AGREES if side(ours, Estimate.share(evaluation, N_EVALUATION)) == LEVEL else PARTLY


def _first_pass(reading: str, epochs: list[Row]) -> Finding:
    validation, evaluation = (float(epochs[0][f"{part}_error"]) for part in ("validation", "evaluation"))
    ours, theirs = (Estimate.share(value, N_VALIDATION) for value in (validation, PAPER_FIRST))
    own = Estimate.share(evaluation, N_EVALUATION)
    return Finding(
        FIRST_CLAIM,
        f"The {reading} reading: {_share(ours)} on {N_VALIDATION:,} validation rows, "
        f"{SIDES[side(ours, theirs, FIRST_ROUNDING)]} (within {100 * slack(ours, theirs, FIRST_ROUNDING):.1f} points). "
        f"The same model has {_share(own)} on the {N_EVALUATION:,} evaluation rows, {SIDES[side(own, ours)]} (beyond "
        f"{100 * slack(own, ours):.1f} points the draw of validation rows is an unusual one, and the claim agrees in "
        "part).",
        judge_first_pass(validation, evaluation),
        "The paper gives no evaluation error after one pass. One split, one seed: standard errors are those of the "
        "draw of rows alone.",
    )


def judge_end(evaluation: float, stopped: bool) -> str:
    """The claim has two parts: the run ends by its rule, and the evaluation error is the paper's."""
    ours, theirs = (Estimate.share(value, N_EVALUATION) for value in (evaluation, PAPER_LAST))
    return verdict([stopped, side(ours, theirs, LAST_ROUNDING) == LEVEL])


def _end(evaluation: float, epoch: int, change: float, stopped: bool) -> Finding:
    ours, theirs = (Estimate.share(value, N_EVALUATION) for value in (evaluation, PAPER_LAST))
    where = "stopped by its rule" if stopped else "ended before its rule"
    return Finding(
        LAST_CLAIM,
        f"{per_cent(evaluation, 2)} after {epoch} epochs ({where}; the last epoch moved the coefficients by "
        f"{change:.3g}). The error is {SIDES[side(ours, theirs, LAST_ROUNDING)]} (level within "
        f"{100 * slack(ours, theirs, LAST_ROUNDING):.1f} points).",
        judge_end(evaluation, stopped),
        "Why is not shown. This run has the global reading of the gradient; the local one, which the listing "
        "suggests, ends higher on 20,000 rows (docs/benchmarks.md) and is not run to its end here. The paper does not "
        "state how it scaled the columns, and other scalings have not been run.",
    )


def _share(error: Estimate) -> str:
    return f"{100 * error.value:.1f} ± {100 * error.error:.1f} %"


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
