"""The constants of preconditioned steps (``solvers/preconditioner.py``), chosen by cross-validation.

The tables are others than those of ``benchmarks/algorithms.py``, which says how good the choice is. A setting's figure
is the mean score on the rows that a fold leaves out, over tables, folds, both algorithms and two sizes of the blocks.

DSEKL_DATA=... python benchmarks/steps.py
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np
from report import load, publish, table
from sklearn.datasets import make_circles, make_classification, make_friedman1
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.solvers import DoublyStochastic, SharedMemory, preconditioner

COMMAND = "DSEKL_DATA=... python benchmarks/steps.py"

STORED = ("magic", "penbased", "segment", "vehicle", "vowel", "ring", "sonar", "texture", "protein-casp")
GENERATED = ("circles", "classes", "friedman", "heavy tails")
NUMBERS = ("protein-casp", "friedman", "heavy tails")
MOST_ROWS, FOLDS = 1_000, 2
SIZES = (100, 500)

Setting = tuple[float, float, str, float]

DAMPINGS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
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
        for k, setting in enumerate(settings):
            take(setting)
            for s, size in enumerate(SIZES):
                for a, solver in enumerate((DoublyStochastic(size, size), SharedMemory(size, size))):
                    kind = DSEKLRegressor if name in NUMBERS else DSEKLClassifier
                    model = kind(gamma=1 / X.shape[1], solver=solver, max_epochs=10, tol=0.0, n_jobs=1, random_state=0)
                    found[k, fold, s, a] = score(model, Z, y, train, held_out)
    return [float(mean) for mean in found.mean(axis=(1, 2, 3))]


def score(model: Any, X: Any, y: Any, train: Any, held_out: Any) -> float:
    """Return accuracy or R2 on the rows left out; nothing learned is 0, and so is less."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return max(0.0, float(model.fit(X[train], y[train]).score(X[held_out], y[held_out])))
        except FloatingPointError:
            return 0.0


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
