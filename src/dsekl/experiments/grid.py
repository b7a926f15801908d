"""Algorithm 1 for a whole grid of settings at once, so that a search over all of it takes seconds.

All settings of a grid share the rows and terms that are drawn and, for one gamma, the block of features. Only the
coefficients differ, so they gain two dimensions: ``coef`` is (n_gammas, n_terms, n_settings). Each setting's
coefficients are those that ``DoublyStochastic(steps="paper")`` finds alone from the same seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from dsekl.compiled import njit
from dsekl.sampling import draw_distinct, draw_with_replacement

from .maps import FeatureMap, MakeMap, squared_distances

Floats = NDArray[np.float64]

GAMMAS: Floats = np.logspace(-6, 6, 13)
PENALTIES: Floats = np.logspace(-6, 6, 13)
STEP_SIZES: Floats = np.logspace(-4, 4, 9)
"""The paper's grids: RBF scale and regularisation 1e-6 to 1e6, step size 1e-4 to 1e4, a decade apart."""

TEST_DRAWS = 20

SELECTION = (
    "Settings are chosen by two-fold cross-validation on the paper's whole grids, by a rule of our own where the paper "
    "names exhaustive search only: of those within one standard error of the least error, the one whose neighbours on "
    "the grid have the lowest mean error."
)
HALVED = "A fold has half the points, so in a fold Emp draws half as many centres."
"""How settings are chosen, for the report."""


@dataclass(frozen=True)
class Steps:
    """How Algorithm 1 runs: the paper's I and J, and the number of steps."""

    n_rows: int
    n_cols: int
    n_steps: int


@dataclass(frozen=True)
class Choice:
    """The setting that cross-validation chose, and the error it had there."""

    gamma: float
    penalty: float
    step_size: float
    error: float


def descend(
    features: Floats, y: Floats, penalties: Floats, step_sizes: Floats, steps: Steps, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the coefficients (n_gammas, n_terms, n_settings) after each step of Algorithm 1 with the hinge loss.

    ``features`` is (n_gammas, n, n_terms), ``y`` (n,); ``penalties`` (the paper's lambda) and ``step_sizes`` are
    (n_settings,). A setting that diverges ends in values that are not finite.
    """
    n_gammas, n, n_terms = features.shape
    coef = np.zeros((n_gammas, n_terms, len(penalties)))
    for t in range(1, steps.n_steps + 1):
        rows = draw_with_replacement(rng, n, steps.n_rows)
        cols = draw_distinct(rng, n_terms, steps.n_cols)
        _step(features, y, rows, cols, penalties, step_sizes / t, coef)
        yield coef


@njit(cache=True, nogil=True)
def _add_scaled(total: Any, weight: float, values: Any) -> None:
    for s in range(total.size):
        total[s] += weight * values[s]


@njit(cache=True, nogil=True)
def _step(features: Any, y: Any, rows: Any, cols: Any, penalties: Any, rates: Any, coef: Any) -> None:
    """One step of Algorithm 1 for every gamma and setting; the settings are the innermost loop, and vectorise.

    Narrow kernels are 0 between most points, and what is 0 is passed over.
    """
    slopes = np.empty((rows.size, penalties.size))
    gradient = np.empty(penalties.size)
    for g in range(features.shape[0]):
        for i in range(rows.size):
            f = slopes[i]
            f[:] = 0.0
            for j in range(cols.size):
                value = features[g, rows[i], cols[j]]
                if value != 0.0:
                    _add_scaled(f, value, coef[g, cols[j]])
            label = y[rows[i]]
            for s in range(f.size):
                f[s] = -label if label * f[s] < 1.0 else 0.0
        for j in range(cols.size):
            moving = coef[g, cols[j]]
            gradient[:] = 0.0
            for i in range(rows.size):
                value = features[g, rows[i], cols[j]]
                if value != 0.0:
                    _add_scaled(gradient, value, slopes[i])
            for s in range(moving.size):
                moving[s] -= rates[s] * (gradient[s] + 2.0 * penalties[s] * moving[s])


def errors_of_values(f: Floats, y: Floats) -> Floats:
    """Return the error of f (..., n, n_settings) over its n rows; 1 for a setting that has diverged."""
    wrong = np.mean(np.where(f > 0, 1.0, -1.0) != y[:, None], axis=-2)
    return np.where(np.isfinite(f).all(axis=-2), wrong, 1.0)


def errors_of(coef: Floats, features: Floats, y: Floats) -> Floats:
    """Return the error (n_gammas, n_settings) at rows with these features."""
    with np.errstate(over="ignore", invalid="ignore"):
        return errors_of_values(features @ coef, y)


def settings_of_the_grid() -> tuple[Floats, Floats, tuple[int, int, int]]:
    """Return the penalty and the step size of each setting of one gamma, and the shape of the whole grid."""
    penalties, step_sizes = (axis.ravel() for axis in np.meshgrid(PENALTIES, STEP_SIZES, indexing="ij"))
    return penalties, step_sizes, (len(GAMMAS), len(PENALTIES), len(STEP_SIZES))


def search(make: MakeMap, X: Floats, y: Floats, steps: Steps, seed: int) -> Choice:
    """Return the best of all gammas, penalties and step sizes by two-fold cross-validation.

    A fold has half the points. Where terms are points, its steps draw half as many, so that the share of the model that
    a step sees, and how often it meets each term, are those of the final run.
    """
    penalties, step_sizes, shape = settings_of_the_grid()
    total = np.zeros((len(GAMMAS), len(penalties)))
    for fold, (kept, out) in enumerate(folds(X, y, seed)):
        rng = np.random.default_rng([seed, fold])
        feature_map = make(X[kept], GAMMAS, steps.n_cols, rng)
        n_cols = -(-steps.n_cols // 2) if feature_map.one_a_point else steps.n_cols
        fold_steps = Steps(steps.n_rows, n_cols, steps.n_steps)
        coef = last(descend(feature_map.at(X[kept]), y[kept], penalties, step_sizes, fold_steps, rng))
        total += errors_of(coef, feature_map.at(X[out]), y[out]) / 2
    return choose(total.reshape(shape), len(y))


def choose(errors: Floats, n: int) -> Choice:
    """Return the best setting by the errors of the whole grid on ``n`` rows."""
    g, p, s = best_place(errors, n)
    return Choice(float(GAMMAS[g]), float(PENALTIES[p]), float(STEP_SIZES[s]), float(errors[g, p, s]))


def curve(
    make: MakeMap, choice: Choice, X: Floats, y: Floats, X_test: Floats, y_test: Floats, steps: Steps, seed: int,
    moments: list[int],
) -> dict[int, float]:  # fmt: skip
    """Train once with the chosen setting; return the test error after each of the ``moments``."""
    feature_map, path, _ = _final_run(make, choice, X, y, steps, seed)
    at_test = feature_map.at(X_test)
    return {t: float(errors_of(coef, at_test, y_test)[0, 0]) for t, coef in enumerate(path, start=1) if t in moments}


def error_of_drawn_terms(
    make: MakeMap, choice: Choice, X: Floats, y: Floats, X_test: Floats, y_test: Floats, steps: Steps, seed: int
) -> float:
    """Return the test error of the same run where f is summed over J terms drawn again, the mean of some draws."""
    feature_map, path, rng = _final_run(make, choice, X, y, steps, seed)
    at_test, coef = feature_map.at(X_test), last(path)
    draws = [draw_distinct(rng, coef.shape[1], steps.n_cols) for _ in range(TEST_DRAWS)]
    return float(np.mean([errors_of(coef[:, cols], at_test[:, :, cols], y_test)[0, 0] for cols in draws]))


def _final_run(
    make: MakeMap, choice: Choice, X: Floats, y: Floats, steps: Steps, seed: int
) -> tuple[FeatureMap, Iterator[Floats], np.random.Generator]:
    rng = np.random.default_rng([seed, 2])
    feature_map = make(X, np.array([choice.gamma]), steps.n_cols, rng)
    setting = np.array([choice.penalty]), np.array([choice.step_size])
    return feature_map, descend(feature_map.at(X), y, *setting, steps, rng), rng


def search_batch(X: Floats, y: Floats, seed: int) -> tuple[float, float, float]:
    """Return gamma, C and error of the batch SVM's best setting on the same grids."""
    grid = np.zeros((len(GAMMAS), len(PENALTIES)))
    distances = squared_distances(X, X)
    for kept, out in folds(X, y, seed):
        for g, gamma in enumerate(GAMMAS):
            K = np.exp(-gamma * distances)
            for c, C in enumerate(PENALTIES):
                model = SVC(C=C, kernel="precomputed", cache_size=50).fit(K[np.ix_(kept, kept)], y[kept])
                grid[g, c] += (1 - model.score(K[np.ix_(out, kept)], y[out])) / 2
    g, c = best_place(grid, len(y))
    return float(GAMMAS[g]), float(PENALTIES[c]), float(grid[g, c])


def last(path: Iterator[Floats]) -> Floats:
    """Return the last coefficients of a descent."""
    *_, coef = path
    return coef


def folds(X: Floats, y: Floats, seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    return iter(StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y))


def best_place(errors: Floats, n: int) -> tuple[int, ...]:
    """Return the place whose neighbours in the grid have the lowest mean error, of those as good as the best.

    As good are errors within one standard error of the least, on ``n`` rows. The least of 1,521 errors is often low by
    chance and on the edge of divergence, where one more decade of step size would fail.
    """
    least = float(errors.min())
    slack = np.sqrt(max(least, 1.0 / n) * (1.0 - least) / n)
    around = uniform_filter(errors, size=3, mode="nearest")
    best = np.where(errors <= least + slack, around, np.inf).argmin()
    return tuple(int(i) for i in np.unravel_index(best, errors.shape))


def batch_error(gamma: float, C: float, X: Floats, y: Floats, X_test: Floats, y_test: Floats) -> float:
    """Return the test error of the batch SVM."""
    return float(1 - SVC(C=C, gamma=gamma).fit(X, y).score(X_test, y_test))
