"""The batched Algorithm 1 behind the exhaustive grids is the library's Algorithm 1, setting by setting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils import check_random_state

from dsekl import DSEKLClassifier
from dsekl.expansions import Empirical, FixedSubset, RandomFourier
from dsekl.experiments import grid, maps
from dsekl.solvers import DoublyStochastic
from tests.problems import xor

GAMMAS = np.array([0.01, 1.0, 100.0])
PENALTIES = np.array([1e-4, 1e-1, 1.0])
STEP_SIZES = np.array([1e-2, 1.0, 10.0])


@pytest.mark.parametrize(
    ("make", "expansion"),
    [
        (maps.empirical, Empirical()),
        (maps.fixed_subset, FixedSubset(n_terms=15)),
        (maps.random_fourier, RandomFourier(n_terms=15)),
    ],
)
@pytest.mark.parametrize("n_rows", [1, 25])
def test_each_setting_of_a_grid_equals_the_library_run_alone(make: Any, expansion: Any, n_rows: int) -> None:
    X, y = xor(60, seed=0)
    X_test, _ = xor(40, seed=1)
    seed = 7
    rng = np.random.default_rng(check_random_state(seed).randint(2**31 - 1))
    feature_map = make(X, GAMMAS, 15, rng)
    n_terms = feature_map.at(X).shape[2]
    n_steps = 3 * max(-(-60 // n_rows), -(-n_terms // 15))
    steps = grid.Steps(n_rows, 15, n_steps)
    coef = grid.last(grid.descend(feature_map.at(X), y, PENALTIES, STEP_SIZES, steps, rng))
    f = feature_map.at(X_test) @ coef * (15 / n_terms)
    for g, gamma in enumerate(GAMMAS):
        for s, (penalty, step_size) in enumerate(zip(PENALTIES, STEP_SIZES, strict=True)):
            model = DSEKLClassifier(
                gamma=gamma, C=1 / (penalty * 60), expansion=expansion, random_state=seed, max_epochs=3, tol=0.0,
                solver=DoublyStochastic(n_rows, 15, step_size, steps="paper"), kernel_tol=0.0, dtype="float64",
            ).fit(X, y)  # fmt: skip
            np.testing.assert_allclose(f[g, :, s], model.decision_function(X_test), rtol=1e-8, atol=1e-10)


def test_a_setting_that_diverges_counts_as_wrong_everywhere() -> None:
    X, y = xor(60, seed=0)
    feature_map = maps.empirical(X, np.array([1.0]), 20, np.random.default_rng(0))
    path = grid.descend(
        feature_map.at(X), y, np.array([1e-3, 1e6]), np.array([1.0, 1e4]), grid.Steps(20, 20, 200),
        np.random.default_rng(0),
    )  # fmt: skip
    errors = grid.errors_of(grid.last(path), feature_map.at(X), y)
    assert errors[0, 0] < 0.1
    assert errors[0, 1] == 1.0


def test_the_search_covers_the_papers_grids_and_finds_a_good_setting() -> None:
    assert grid.GAMMAS[[0, -1]] == pytest.approx([1e-6, 1e6])
    assert grid.PENALTIES[[0, -1]] == pytest.approx([1e-6, 1e6])
    assert grid.STEP_SIZES[[0, -1]] == pytest.approx([1e-4, 1e4])
    X, y = xor(100, seed=0)
    X_test, y_test = xor(1000, seed=1)
    steps = grid.Steps(20, 20, 100)
    choice = grid.search(maps.empirical, X, y, steps, seed=0)
    assert choice.error < 0.1
    errors = grid.curve(maps.empirical, choice, X, y, X_test, y_test, steps, 0, [1, 100])
    assert list(errors) == [1, 100]
    assert errors[100] < 0.1


def test_the_search_prefers_a_plateau_to_a_lucky_point_on_the_edge() -> None:
    errors = np.full((7, 7), 0.5)
    errors[0, 0] = 0.10  # the least, with bad neighbours
    errors[3:6, 3:6] = 0.12
    assert grid.best_place(errors, n=100) == (4, 4)
    assert grid.best_place(errors, n=100_000) == (0, 0)
