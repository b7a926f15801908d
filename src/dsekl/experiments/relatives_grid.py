"""The same search for the two relatives that are not feature maps under Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from . import grid
from .block_diagonal import BlockDiagonal
from .grid import Choice, Floats, Steps
from .streamed_features import Stream, descend

STREAMED, BLOCKS = "Dai et al.", "block diagonal"


def streamed(
    X: Floats, y: Floats, X_test: Floats, y_test: Floats, steps: Steps, seed: int, moments: list[int]
) -> tuple[Choice, dict[int, float]]:
    """Dai et al.'s features, new in each step: one run holds all penalties and step sizes of one gamma."""
    penalties, step_sizes, shape = grid.settings_of_the_grid()
    total = np.zeros((len(grid.GAMMAS), len(penalties)))
    for fold, (kept, out) in enumerate(grid.folds(X, y, seed)):
        for g, gamma in enumerate(grid.GAMMAS):
            *_, (_, f) = _watched(gamma, X[kept], y[kept], X[out], penalties, step_sizes, steps, 3 * seed + fold)
            total[g] += grid.errors_of_values(f, y[out]) / 2
    choice = grid.choose(total.reshape(shape), len(y))
    setting = np.array([choice.penalty]), np.array([choice.step_size])
    path = _watched(choice.gamma, X, y, X_test, *setting, steps, 3 * seed + 2)
    return choice, {t: float(grid.errors_of_values(f, y_test)[0]) for t, f in path if t in moments}


def blocks(
    X: Floats, y: Floats, X_test: Floats, y_test: Floats, steps: Steps, seed: int, moments: list[int]
) -> tuple[Choice, dict[int, float]]:
    """Exact machines on blocks of J points; their only settings are gamma and C."""
    errors = np.zeros((len(grid.GAMMAS), len(grid.PENALTIES)))

    def machine(gamma: float, C: float, n: int) -> BlockDiagonal:
        return BlockDiagonal(gamma, C=C, n_blocks=max(1, n // steps.n_cols), random_state=seed)

    for kept, out in grid.folds(X, y, seed):
        for g, gamma in enumerate(grid.GAMMAS):
            for c, C in enumerate(grid.PENALTIES):
                fitted = machine(gamma, C, len(kept)).fit(X[kept], y[kept])
                errors[g, c] += (1 - fitted.score(X[out], y[out])) / 2
    g, c = grid.best_place(errors, len(y))
    gamma, C = float(grid.GAMMAS[g]), float(grid.PENALTIES[c])
    error = 1 - machine(gamma, C, len(X)).fit(X, y).score(X_test, y_test)
    return Choice(gamma, 1 / C, float("nan"), float(errors[g, c])), {steps.n_steps: float(error)}


Relative = Callable[[Floats, Floats, Floats, Floats, Steps, int, list[int]], tuple[Choice, dict[int, float]]]
METHODS: dict[str, Relative] = {STREAMED: streamed, BLOCKS: blocks}


def _watched(
    gamma: float, X: Floats, y: Floats, X_watched: Floats, penalties: Floats, step_sizes: Floats, steps: Steps,
    seed: int,
) -> Iterator[tuple[int, Floats]]:  # fmt: skip
    """Yield each step's number and f (n, n_settings) at the rows to watch."""
    stream = Stream(seed, steps.n_cols, gamma)
    f = np.zeros((len(X_watched), len(penalties)))
    path = descend(stream, X, y, penalties, step_sizes, steps.n_rows, steps.n_steps, np.random.default_rng(seed))
    for t, coef, shrink in path:
        with np.errstate(over="ignore", invalid="ignore"):
            f = shrink * f + stream.features(t, X_watched) @ coef
        yield t, f
