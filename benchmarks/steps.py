"""The constants of preconditioned steps (``solvers/preconditioner.py``), chosen by cross-validation.

The tables are others than those of ``benchmarks/algorithms.py``, which says how good the choice is. A setting's figure
is the mean score on the rows that a fold leaves out, over tables, folds, both algorithms and two sizes of the blocks.

DSEKL_DATA=... python benchmarks/steps.py
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np
from report import load, publish, table
from sklearn.datasets import make_circles, make_classification, make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from dsekl import gram
from dsekl.kernels import RBF
from dsekl.losses import Hinge, Squared
from dsekl.rows import as_rows
from dsekl.solvers import DoublyStochastic, Problem, SharedMemory, preconditioner

COMMAND = "DSEKL_DATA=... python benchmarks/steps.py"

STORED = ("magic", "segment", "vehicle", "vowel", "ring", "sonar", "protein-casp")
GENERATED = ("circles", "classes", "friedman", "heavy tails")
NUMBERS = ("protein-casp", "friedman", "heavy tails")
MOST_ROWS, FOLDS, EPOCHS = 700, 2, 10
SIZES = (100, 300)

Setting = tuple[float, float, str, float]

DAMPINGS = (1e-4, 3e-4, 1e-3, 3e-3)
FIRST_STEPS = (0.25, 0.5, 1.0)
SCHEDULES = ("constant", "inverse_sqrt", "inverse")
WORSE = (2.0, 4.0, 16.0)


def rows_of(name: str) -> tuple[Any, Any]:
    """Return the rows of a table, in random order, at most so many."""
    rng = np.random.default_rng(0)
    if name in STORED:
        X, y = load(name)
        some = rng.permutation(len(X))[:MOST_ROWS]
        return np.asarray(X[some], dtype=np.float64), y[some]
    if name == "circles":
        return make_circles(MOST_ROWS, noise=0.2, factor=0.5, random_state=0)  # type: ignore[no-any-return]
    if name == "classes":
        return make_classification(  # type: ignore[no-any-return]
            MOST_ROWS, 12, n_informative=6, n_classes=4, flip_y=0.1, random_state=0
        )
    X, y = make_friedman1(MOST_ROWS, n_features=8, noise=1.0, random_state=0)
    return X, y if name == "friedman" else y + 2.0 * rng.standard_t(2, len(y))


def scores(name: str, settings: list[Setting]) -> list[float]:
    """Return each setting's mean score on a table."""
    X, y = rows_of(name)
    found = np.zeros((len(settings), FOLDS, len(SIZES), 2))
    for fold, (train, held_out) in enumerate(KFold(FOLDS, shuffle=True, random_state=0).split(X)):
        Z = StandardScaler().fit(X[train]).transform(X)
        matrix = gram.build(RBF(), as_rows(Z[train]), 1 / X.shape[1], "float64")
        train = train if matrix.order is None else train[matrix.order]
        numbers = name in NUMBERS
        targets = y[:, None] - y[train].mean() if numbers else np.where(y[:, None] == np.unique(y), 1.0, -1.0)
        loss = Squared() if numbers else Hinge()
        problem = Problem(matrix, np.asarray(targets[train], dtype=np.float64), np.ones(len(train)), loss, 1.0)
        for (k, setting), (s, size), (a, solver) in product(
            enumerate(settings), enumerate(SIZES), enumerate((DoublyStochastic, SharedMemory))
        ):
            take(setting)
            coef = coefficients(solver(size, size), problem)
            f = matrix.at(as_rows(Z[held_out])).product(slice(None), slice(None), coef)
            found[k, fold, s, a] = score(targets[held_out], f, numbers)
    return [float(mean) for mean in found.mean(axis=(1, 2, 3))]


def coefficients(solver: Any, problem: Problem) -> Any:
    """Return the coefficients after ten epochs; zeros for steps that diverge."""
    state = solver.start(problem, np.random.default_rng(0))
    try:
        for _ in range(EPOCHS):
            for _ in solver.epoch(problem, state):
                pass
    except FloatingPointError:
        return np.zeros_like(state.coef)
    return solver.coefficients(problem, state)


def score(targets: Any, f: Any, numbers: bool) -> float:
    """Return accuracy or R2 on the rows left out; nothing learned is 0, and so is less."""
    if numbers:
        return max(0.0, float(r2_score(targets, f)))
    return float((targets.argmax(axis=1) == f.argmax(axis=1)).mean())


def take(setting: Setting) -> None:
    """Put a setting in the place of the constants."""
    preconditioner.DAMPING, preconditioner.FIRST_STEP, preconditioner.SCHEDULE, preconditioner.WORSE_THAN_NOTHING = (
        setting
    )


def compare(settings: list[Setting]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the mean score of each setting on each table."""
    names = [*STORED, *GENERATED]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(scores, names, [settings] * len(names)))
    return 100 * np.array(found).T


def main() -> None:
    """Choose damping, first step and schedule together, then the loss at which steps become shorter."""
    settings = [(*rest, WORSE[1]) for rest in product(DAMPINGS, FIRST_STEPS, SCHEDULES)]
    found = compare(settings)
    behind = (found.max(axis=0) - found).max(axis=1)
    order = np.argsort(-found.mean(axis=1))
    best = settings[order[0]]
    others = [(*best[:3], worse) for worse in WORSE]
    second = compare(others).mean(axis=1)
    now = settings.index((preconditioner.DAMPING, preconditioner.FIRST_STEP, preconditioner.SCHEDULE, WORSE[1]))
    shown = [[*(f"{value}" for value in settings[k][:3]), f"{found[k].mean():.2f}", f"{behind[k]:.1f}"]
             for k in dict.fromkeys([*order[:8], now, order[-1]])]  # fmt: skip
    publish(
        "Constants of preconditioned steps", COMMAND,
        f"Mean score in % (accuracy, or R2) on held-out rows of {len(STORED) + len(GENERATED)} tables "
        f"({', '.join((*STORED, *GENERATED))}), at most {MOST_ROWS:,} rows of each, {FOLDS} folds, both algorithms "
        f"with I = J = {SIZES[0]} and {SIZES[1]} and ten epochs; columns standardised, gamma 1 / n_features, C 1. "
        f"The eight best of {len(settings)} settings, the one in the code, and the worst; behind the best setting of "
        "a table, the most points.\n\n"
        + table(["damping", "first step", "schedule", "mean score", "most behind"], shown)
        + "\n\nSteps become half as long at a loss of so many times that of f = 0: "
        + "; ".join(f"{other[3]:g}: {mean:.2f}" for other, mean in zip(others, second, strict=True))
        + ".",
    )  # fmt: skip


if __name__ == "__main__":
    main()
