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
from numpy.typing import NDArray
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
Floats = NDArray[np.float64]

DAMPINGS = (1e-3, 3e-3)
FIRST_STEPS = (0.5, 1.0)
SCHEDULES = ("constant", "inverse_sqrt", "inverse")
WORSE = (2.0, 4.0)
POWERS = (None, 0, 1, 2, 4)
"""Means of the coefficients, those of step t counting t to this power; None is the last step alone."""


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


def scores(name: str, settings: list[Setting]) -> Floats:
    """Return the mean score on a table of each setting with each mean."""
    X, y = rows_of(name)
    found = np.zeros((len(settings), len(POWERS), FOLDS, len(SIZES), 2))
    for fold, (train, held_out) in enumerate(KFold(FOLDS, shuffle=True, random_state=0).split(X)):
        Z = StandardScaler().fit(X[train]).transform(X)
        matrix = gram.build(RBF(), as_rows(Z[train]), 1 / X.shape[1], "float64")
        train = train if matrix.order is None else train[matrix.order]
        numbers = name in NUMBERS
        targets = y[:, None] - y[train].mean() if numbers else np.where(y[:, None] == np.unique(y), 1.0, -1.0)
        loss = Squared() if numbers else Hinge()
        problem = Problem(matrix, np.asarray(targets[train], dtype=np.float64), np.ones(len(train)), loss, 1.0)
        at_held_out = matrix.at(as_rows(Z[held_out]))
        for (k, setting), (s, size), (a, solver) in product(
            enumerate(settings), enumerate(SIZES), enumerate((DoublyStochastic, SharedMemory))
        ):
            take(setting)
            for m, coef in enumerate(means(solver(size, size), problem)):
                f = at_held_out.product(slice(None), slice(None), coef)
                found[k, m, fold, s, a] = score(targets[held_out], f, numbers)
    return found.mean(axis=(2, 3, 4))  # type: ignore[no-any-return]


def means(solver: Any, problem: Problem) -> list[Floats]:
    """Return each mean of the coefficients of ten epochs, all from one run; zeros for steps that diverge."""
    state = solver.start(problem, np.random.default_rng(0))
    found = [np.zeros_like(state.coef) for _ in POWERS]
    try:
        for _ in range(EPOCHS):
            for _ in solver.epoch(problem, state):
                for mean, power in zip(found, POWERS, strict=True):
                    share = 1.0 if power is None else (power + 1) / (state.step + power)
                    mean += share * (state.coef - mean)
    except FloatingPointError:
        return [np.zeros_like(state.coef) for _ in POWERS]
    return found


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


def compare(settings: list[Setting]) -> Floats:
    """Return the score of each setting with each mean, one after the other, on each table."""
    names = [*STORED, *GENERATED]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(scores, names, [settings] * len(names)))
    return 100 * np.array(found).reshape(len(names), -1).T


def main() -> None:
    """Choose damping, first step, schedule and mean together, then the loss at which steps become shorter."""
    settings = [(*rest, WORSE[0]) for rest in product(DAMPINGS, FIRST_STEPS, SCHEDULES)]
    found = compare(settings)
    choices = [(*setting[:3], power) for setting, power in product(settings, POWERS)]
    behind = (found.max(axis=0) - found).max(axis=1)
    order = np.argsort(-found.mean(axis=1))
    best = choices[order[0]]
    second = [compare([(*best[:3], worse)])[POWERS.index(best[3])].mean() for worse in WORSE]
    now = choices.index(
        (preconditioner.DAMPING, preconditioner.FIRST_STEP, preconditioner.SCHEDULE, preconditioner.AVERAGE)
    )
    bests = [next(k for k in order if choices[k][-1] == power) for power in POWERS]
    shown = [[*("last" if value is None else f"{value}" for value in choices[k]), f"{found[k].mean():.2f}",
              f"{behind[k]:.1f}"] for k in dict.fromkeys([*order[:8], *bests, now, order[-1]])]  # fmt: skip
    publish(
        "Constants of preconditioned steps", COMMAND,
        f"Mean score in % (accuracy, or R2) on held-out rows of {len(STORED) + len(GENERATED)} tables "
        f"({', '.join((*STORED, *GENERATED))}), at most {MOST_ROWS:,} rows of each, {FOLDS} folds, both algorithms "
        f"with I = J = {SIZES[0]} and {SIZES[1]} and ten epochs; columns standardised, gamma 1 / n_features, C 1. "
        "The model is a mean of the coefficients, "
        "those of step t counting t to a power, or the last ones. "
        f"The eight best of {len(choices)} settings, the best of each power, the one in the code, and the worst; "
        "behind the best setting of a table, the most points.\n\n"
        + table(["damping", "first step", "schedule", "power", "mean score", "most behind"], shown)
        + "\n\nSteps of the best become half as long at a loss of so many times that of f = 0: "
        + "; ".join(f"{worse:g}: {mean:.2f}" for worse, mean in zip(WORSE, second, strict=True))
        + ".",
    )  # fmt: skip


if __name__ == "__main__":
    main()
