"""The paper's last paragraph: workers that share no memory, and what they have to tell each other.

Algorithm 2 as ``LocalUpdates`` has it: with a global model after every batch, which is the naive scheme, and with local
updates and a global model from time to time; all workers have copies of all rows. Beside it dual ascent in parts, where
only rows within the kernel's reach of another part are copied. All have the same kernel, loss and C. Who runs the tasks
changes no bit, so they are run here one after the other; the bytes are those of the arrays that would travel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from dsekl import losses
from dsekl.blas import one_blas_thread
from dsekl.data import catalogue
from dsekl.gram import build as gram_of
from dsekl.gram.placement import Placement
from dsekl.kernels import RBF
from dsekl.parts import (
    LocalUpdates,
    Objective,
    Parts,
    PartsAscent,
    Planes,
    Region,
    Rows,
    SerialExecutor,
    SharedUpdates,
    build,
)
from dsekl.rows import ArrayRows
from dsekl.solvers import DualAscent, Problem

from .results import Results, Row, Table
from .runner import run_units
from .sections import NO_CLAIM, Finding, Numbers, Picture, Section, in_words
from .settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "last-paragraph"
KEY = ("method", "seed")
GAMMA, C, KERNEL_TOL, BUDGET = 100.0, 4.0, 1e-6, 2**28
SHARES = 2
BATCH_ROWS = 200
BETWEEN = {"naive (after every batch)": 1, "local updates (after 10)": 10, "local updates (after 50)": 50}
IN_PARTS = {f"dual ascent in {n} parts": n for n in (2, 8, 32)}
COLOURS = dict(zip([*BETWEEN, *IN_PARTS], ("grey", "blue", "purple", "orange", "red", "green"), strict=True))
MOST_ROUNDS = 100


def run(results: Results, settings: Settings) -> None:
    """Fill the table; what is there already is not done again."""
    units: list[Row] = [
        {"method": method, "seed": settings.seed + k, "epochs": 3 if settings.quick else 10,
         "rows": 2_000 if settings.quick else 20_000}
        for k in range(1 if settings.quick else 3) for method in COLOURS
    ]  # fmt: skip
    if not settings.quick:
        catalogue.load("covertype")  # or say at once that it is not there
    run_units(NAME, results.table(NAME, KEY), units, work, settings)


@lru_cache(maxsize=1)
def _data(seed: int, n_rows: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows with columns between 0 and 1, and their labels as -1 and 1; few rows are XOR."""
    rng = np.random.default_rng(seed)
    whole = catalogue.xor(2 * n_rows, rng) if n_rows < 10_000 else catalogue.load("covertype")
    n_test = min(len(whole.y) - n_rows, 10_000)
    order = rng.permutation(len(whole.y))[: n_rows + n_test]
    test, training = order[:n_test], order[n_test:]
    scaler = MinMaxScaler().fit(whole.X[training])
    X, X_test = (scaler.transform(whole.X[rows]).astype(np.float32) for rows in (training, test))
    return X, whole.y[training], X_test, whole.y[test]


def _parts(X: Any, y: Any, n_parts: int) -> Parts:
    """Return the rows in parts."""
    kernel = RBF()
    placement = Placement.of(kernel, GAMMA, ArrayRows(X), "float32")
    objective = Objective(kernel, placement, losses.Hinge(), C, KERNEL_TOL, BUDGET)
    points, rows = placement.dense(X), Rows(X, y.astype(np.float64)[:, None], np.ones(len(y)), np.arange(len(y)))
    planes = Planes.of(points, n_parts)
    number = planes.part_of(points)
    regions = [Region.of(p, objective, [rows.take(np.flatnonzero(number == p))]) for p in range(planes.n_parts)]
    return build(SerialExecutor(), objective, regions)


@one_blas_thread()
def work(unit: Row) -> list[Row]:
    """Run one method and return its error, its exchanges and the bytes that they take."""
    seed, method = int(unit["seed"]), str(unit["method"])
    X, y, X_test, y_test = _data(seed, int(unit["rows"]))
    parts = _parts(X, y, IN_PARTS.get(method, 1))
    if method in BETWEEN:
        updates = LocalUpdates(n_rows=BATCH_ROWS, n_shares=SHARES, local_batches=BETWEEN[method])
        solver: Any = SharedUpdates(SerialExecutor(), parts, updates, seed)
        most, copied = int(unit["epochs"]), (SHARES - 1) * len(X)
    else:
        solver, most = PartsAscent(SerialExecutor(), parts, DualAscent(), seed), MOST_ROUNDS
        copied = 0 if parts.wide else parts.n_copies
    problem = Problem(gram_of(RBF(), ArrayRows(X[:2]), GAMMA), np.ones((2, 1)), np.ones(2), losses.Hinge(), C)
    state = solver.start(problem, np.random.default_rng(seed))
    received, exchanges = 0.0, 0
    for _ in range(most):
        for _ in solver.epoch(problem, state):
            pass
        received += solver.figures["received"]
        exchanges += int(solver.figures.get("exchanges", 1))
        if solver.judge(problem, state).met:
            break
    solver.bring_home(state)
    order = np.concatenate([part.region.rows.places for part in parts.parts])
    kept = np.flatnonzero(state.coef.any(axis=1))
    gram = gram_of(RBF(), ArrayRows(X[order[kept]]), GAMMA, "float32", kernel_tol=KERNEL_TOL)
    coef = state.coef[kept] if gram.order is None else state.coef[kept][gram.order]
    f = gram.at(ArrayRows(X_test)).product(slice(None), slice(None), coef)[:, 0]
    error = float(np.mean(np.where(f > 0, 1, -1) != y_test))
    row_bytes = 4 * X.shape[1]
    figures = {"error": error, "exchanges": exchanges, "received": received, "copied": float(copied * row_bytes)}
    return [{**unit, **figures}]


def section(results: Results) -> Section | None:
    """Return the experiment's part of the report, None while it has no results."""
    table = results.table(NAME, KEY)
    if not table.rows:
        return None
    rows = [
        [method, in_words(table.errors(method=method)), f"{_mean(table, method, 'exchanges'):,.0f}",
         *(f"{_mean(table, method, name) / 1e6:.2f}" for name in ("received", "copied"))]
        for method in COLOURS if table.where(method=method)
    ]  # fmt: skip
    n_rows, n_seeds = int(table.rows[0]["rows"]), table.count("seed")
    return Section(
        NAME, "The last paragraph: workers that share no memory", (
            f"{n_rows:,} training rows, columns between 0 and 1, RBF with gamma {GAMMA:g}, hinge loss, C = {C:g}; "
            f"{n_seeds} repetition{'s' if n_seeds > 1 else ''}. Algorithm 2 has {SHARES} shares of the work, batches "
            f"of {BATCH_ROWS} rows and {int(table.rows[0]['epochs'])} epochs, or fewer by its rule. Dual ascent runs "
            "to the gap of its default rule. Coefficients travel at every exchange, rows once."
        ),
        [_finding(table)],
        [Picture("last-paragraph", draw(table), "Test error and the bytes of coefficients that workers receive.")],
        [Numbers("Error and traffic", ["", "test error", "exchanges", "coefficients, MB", "copies of rows, MB"], rows)],
    )  # fmt: skip


CLAIM = "A variant that updates parameters locally and only updates the global model from time to time is worth a look."


def _finding(table: Table) -> Finding:
    naive, *others = [method for method in COLOURS if table.where(method=method)]
    base = _mean(table, naive, "received")
    words = [
        f"{method}: {in_words(table.errors(method=method))} with {_mean(table, method, 'received') / base:.3g} of the "
        "naive scheme's bytes"
        for method in others
    ]
    return Finding(CLAIM, f"{naive}: {in_words(table.errors(method=naive))}. " + ". ".join(words) + ".", NO_CLAIM)


def _mean(table: Table, method: str, name: str) -> float:
    return float(np.mean([float(row[name]) for row in table.where(method=method)]))


def draw(table: Table) -> Figure:
    """Draw error against bytes."""
    from . import plots

    with plots.panels(1, 1, (5.8, 3.2)) as (figure, axes):
        ax = np.ravel(axes)[0]
        for method, colour in COLOURS.items():
            found = table.where(method=method)
            if found:
                megabytes = [max(float(row["received"]), 1.0) / 1e6 for row in found]
                ax.plot(
                    megabytes, [row["error"] for row in found], plots.MARKERS[colour], color=plots.PALETTE[colour],
                    label=method,
                )  # fmt: skip
        most = max(float(row["error"]) for row in table.rows)
        ax.set(xscale="log", xlabel="megabytes of coefficients received", ylabel="test error", ylim=(0, 1.1 * most))
        ax.yaxis.set_major_formatter(plots.in_per_cent)
        plots.legend_below(figure, ax, 2)
    return figure
