"""Figure 1: the XOR problem, the surface that Algorithm 1 learns, and its support vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dsekl import DSEKLClassifier
from dsekl.data import catalogue
from dsekl.solvers import DoublyStochastic

from . import grid, maps
from .judging import EXACT, LEVEL, Estimate, paired, side, slack, verdict
from .results import Results, Row, Table
from .runner import run_units
from .sections import Finding, Numbers, Picture, Section, in_words, untested
from .settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "xor"
KEY = ("method", "seed")
N_TRAIN, N_TEST = 100, 2_000
EMP, BATCH = "Algorithm 1", "batch SVM"
STEPS = grid.Steps(n_rows=50, n_cols=50, n_steps=400)
EPOCHS = 200
"""400 steps of 50 rows and 50 centres of 100 points are 200 epochs."""
CLOSE = 0.01
"""Errors that differ by one point, beside the standard error, are level."""


def run(results: Results, settings: Settings) -> None:
    seeds = [settings.seed + k for k in range(3 if settings.quick else 10)]
    units: list[Row] = [{"method": method, "seed": seed} for seed in seeds for method in (EMP, BATCH)]
    run_units(NAME, results.table(NAME, KEY), units, work, settings)


def problem(seed: int) -> tuple[grid.Floats, grid.Floats, grid.Floats, grid.Floats]:
    """Return training and test rows and labels of one repetition."""
    rng = np.random.default_rng([seed, 100])
    train, test = catalogue.xor(N_TRAIN, rng), catalogue.xor(N_TEST, rng)
    return train.X.astype(np.float64), train.y.astype(np.float64), test.X.astype(np.float64), test.y.astype(np.float64)


def work(unit: Row) -> list[Row]:
    """Choose the setting by cross-validation, train once, and test."""
    seed = int(unit["seed"])
    X, y, X_test, y_test = problem(seed)
    if unit["method"] == BATCH:
        gamma, C, cv_error = grid.search_batch(X, y, seed)
        error = grid.batch_error(gamma, C, X, y, X_test, y_test)
        return [{**unit, "error": error, "cv_error": cv_error, "gamma": gamma, "C": C, "step_size": "", "distance": ""}]
    choice = grid.search(maps.empirical, X, y, STEPS, seed)
    C = 1 / (choice.penalty * N_TRAIN)
    row = {**unit, "cv_error": choice.error, "gamma": choice.gamma, "C": C, "step_size": choice.step_size}
    fitted = model(row).fit(X, y)
    return [{**row, "error": float(1 - fitted.score(X_test, y_test)), "distance": distance(fitted, X)}]


def distance(fitted: DSEKLClassifier, X: grid.Floats) -> float:
    """Return the mean distance of the training points to the boundary, weighted by coefficients, over the plain mean.

    The boundary is the best one, the two axes. Below 1, points of large weight lie nearer to it than others.
    """
    to_axes = np.abs(X).min(axis=1)
    return float(np.average(to_axes, weights=_weights(fitted, len(X))) / to_axes.mean())


def _weights(fitted: DSEKLClassifier, n: int) -> grid.Floats:
    """Return the absolute coefficient of each training point, 0 for those that are not in the model."""
    weight = np.zeros(n)
    weight[fitted.support_] = np.abs(fitted.dual_coef_[:, 0])
    return weight


def model(row: Row) -> DSEKLClassifier:
    """Return the estimator with the setting of a row of the table."""
    solver = DoublyStochastic(STEPS.n_rows, STEPS.n_cols, step_size=row["step_size"], steps="paper")
    return DSEKLClassifier(
        gamma=row["gamma"], C=row["C"], solver=solver, max_epochs=EPOCHS, random_state=row["seed"], verbose=False
    )


def section(results: Results) -> Section | None:
    table = results.table(NAME, KEY)
    ours, batch = (table.errors(method=method) for method in (EMP, BATCH))
    if not ours or not batch:
        return None
    rows = [[EMP, in_words(ours), "not stated"], [BATCH, in_words(batch), "not stated"]]
    finding = _finding(table)
    return Section(
        NAME, "Figure 1: XOR", (
            "Gaussians of variance 0.2 around the four corners of a square, opposite corners of one class. "
            f"{N_TRAIN} training and {N_TEST:,} test points, {len(ours)} repetitions. Algorithm 1 with I = J = 50, "
            f"{STEPS.n_steps} steps. {grid.SELECTION} {grid.HALVED}"
        ),
        untested([finding]) if results.quick else [finding],
        [Picture("xor", surface(table), (
            "What Algorithm 1 learns from 100 points. Background: the sign and size of f; solid line: f = 0, dashed: "
            "where |f| is at its median. The larger a mark, the more weight its point has in the model."
        ))],
        [Numbers("Test error on XOR", ["method", "here", "paper"], rows)],
    )  # fmt: skip


def _finding(table: Table) -> Finding:
    """Is the error that of the batch SVM on the same points?"""
    ours, batch = ({int(row["seed"]): float(row["error"]) for row in table.where(method=m)} for m in (EMP, BATCH))
    lead = paired(ours, batch)
    far = Estimate.of([float(row["distance"]) for row in table.where(method=EMP)])
    return Finding(
        "Doubly stochastic learning separates the classes by a nonlinear boundary.",
        f"Algorithm 1's error minus the batch SVM's: {100 * lead.value:+.1f} ± {100 * lead.error:.1f} points (level "
        f"within {100 * slack(lead, EXACT, CLOSE):.1f}).",
        verdict([side(lead, EXACT, CLOSE) == LEVEL]),
        "The paper states no error here, so it is compared with the batch SVM's on the same points. Weighted by the "
        f"coefficients, the mean distance of the points to the boundary is {far.value:.2f} ± {far.error:.2f} times the "
        "plain mean; below 1, support vectors would crowd along the boundary.",
    )


def surface(table: Table) -> Figure:
    """Draw the first repetition, trained again with the setting that the table holds."""
    from . import plots

    row = table.where(method=EMP)[0]
    X, y, *_ = problem(int(row["seed"]))
    fitted = model(row).fit(X, y)
    axis = np.linspace(-2.6, 2.6, 160)
    rows = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    f = fitted.decision_function(rows).reshape(len(axis), len(axis))
    f = f / np.median(np.abs(f))
    weight = _weights(fitted, len(X))
    with plots.panels(1, 1, (5.0, 4.6)) as (figure, axes):
        ax = axes[0, 0]
        levels = np.array([-9, -2, -1, -0.3, 0, 0.3, 1, 2, 9])
        ax.contourf(axis, axis, f.clip(-8.9, 8.9), levels=levels, colors=plots.shades("blue", "orange", 4))
        ax.contour(
            axis, axis, f, levels=[-1, 0, 1], colors=plots.INK, linewidths=[0.7, 1.6, 0.7],
            linestyles=["--", "-", "--"],
        )  # fmt: skip
        for label, colour in ((1, "orange"), (-1, "blue")):
            chosen = y == label
            size = 12 + 150 * weight[chosen] / weight.max()
            ax.scatter(
                *X[chosen].T, s=size, color=plots.PALETTE[colour], marker="o" if label > 0 else "s",
                edgecolor=plots.INK, linewidth=0.6, label=f"class {label:+d}",
            )  # fmt: skip
        ax.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
        ax.grid(visible=False)
        plots.legend_below(figure, ax, 2)
    return figure
