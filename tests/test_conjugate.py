"""Conjugate gradients of the squared loss on wide kernels: the same optimum as blocks, for less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from dsekl import DSEKLRegressor, losses
from dsekl.gram import build
from dsekl.kernels import RBF
from dsekl.rows import as_rows
from dsekl.solvers import DualAscent, Problem
from dsekl.solvers.dual import conjugate
from dsekl.solvers.dual.nystroem import Nystroem
from dsekl.workers import ALONE, Threads

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1300, 4))
Y = np.column_stack([np.sin(2 * X).sum(axis=1), X[:, 0] * X[:, 1]]) + 0.1 * RNG.standard_normal((1300, 2))
WEIGHTS = np.where(np.arange(1300) % 7 == 0, 0.0, RNG.uniform(0.5, 2.0, 1300))
SETTINGS: dict[str, Any] = dict(gamma=0.2, C=5.0, tol=1e-7, random_state=0, solver=DualAscent(256), fit_intercept=False)


def problem(gamma: float = 0.2, C: float = 5.0, budget: int = 2**28) -> Problem:
    gram = build(RBF(), as_rows(X), gamma, "float64", budget, kernel_tol=1e-6)
    order = np.arange(len(X)) if gram.order is None else gram.order
    return Problem(gram, Y[order], np.ones(len(X)), losses.Squared(), C, tol=1e-9)


def epochs(task: Problem, n: int) -> Any:
    solver = DualAscent(256)
    state = solver.start(task, np.random.default_rng(0))
    for _ in range(n):
        for _ in solver.epoch(task, state):
            pass
    return state


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_several_outputs_reach_kernel_ridge(weights: Any) -> None:
    model = DSEKLRegressor(**SETTINGS).fit(X, Y, sample_weight=weights)
    exact = KernelRidge(kernel="rbf", gamma=0.2, alpha=0.2).fit(X, Y, sample_weight=weights)
    assert model.stop_reason_ == "tol"
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=2e-3)


def test_single_precision_and_threads_give_one_model() -> None:
    found = [DSEKLRegressor(**SETTINGS | dict(tol=1e-4), dtype="float32", n_jobs=n).fit(X, Y) for n in (1, 3)]
    np.testing.assert_array_equal(found[0].dual_coef_, found[1].dual_coef_)
    assert found[0].stop_reason_ == "tol"


def test_wide_kernels_move_all_rows_and_narrow_ones_their_blocks() -> None:
    assert epochs(problem(gamma=0.2), 2).conjugate_epochs == 2
    assert epochs(problem(gamma=50.0), 2).conjugate_epochs == 0


def test_blocks_go_on_where_landmarks_know_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conjugate, "MOST_EPOCHS", 2)
    state = epochs(problem(C=1e3), 4)
    assert state.conjugate_epochs == 2
    assert state.epoch == 4


def test_nothing_moves_before_the_end_of_an_epoch() -> None:
    task, solver = problem(), DualAscent(256)
    state = solver.start(task, np.random.default_rng(0))
    before = state.coef.copy()
    for _ in solver.epoch(task, state):
        np.testing.assert_array_equal(state.coef, before)
    assert (state.coef != before).any()


def test_the_preconditioner_is_the_inverse_that_it_stands_for() -> None:
    """With every row a landmark it is the inverse of K + 1 / C, whether its columns are held or made anew."""
    right, everyone = Y[:500], np.arange(500)
    found = []
    for budget, workers in ((2**28, ALONE), (2**16, Threads(2))):
        gram = build(RBF(), as_rows(X[:500]), 0.2, "float64", budget)
        made = Nystroem.of(gram, everyone, everyone, np.full(500, 5.0), workers)
        assert (made.held is None) == (budget == 2**16)
        found.append(made.solve(right)[0])
    K = build(RBF(), as_rows(X[:500]), 0.2, "float64").block(everyone, everyone)
    exact = np.linalg.solve(K + 0.2 * np.eye(500), right)
    for each in found:
        np.testing.assert_allclose(each, exact, atol=1e-5 * np.abs(exact).max())


def test_the_preconditioner_of_a_smooth_kernel_and_a_large_C_has_a_factor() -> None:
    """The system's values are far larger than the kernel's, and so is their rounding."""
    everyone, C = np.arange(300), 1e6
    gram = build(RBF(), as_rows(np.linspace(0.0, 1.0, 300)[:, None]), 1.0, "float64")
    made = Nystroem.of(gram, everyone, everyone, np.full(300, C), ALONE)
    right = np.sin(np.linspace(0.0, 3.0, 300))[:, None]
    solved = made.solve(right)[0]
    back = gram.block(everyone, everyone) @ solved + solved / C
    np.testing.assert_allclose(back, right, atol=0.01)
