"""Large C on wide kernels: blocks that sweeps do not settle, and the rows between their bounds in one block."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from dsekl import DSEKLRegressor
from dsekl.kernels import RBF
from dsekl.losses import EpsilonInsensitive, Hinge, Huber, Quantile
from dsekl.solvers import DualAscent, Problem
from dsekl.solvers.dual import interior
from dsekl.solvers.dual.active_rows import SLOW_EPOCHS
from dsekl.solvers.dual.block import descend, violations
from dsekl.solvers.dual.free import free_rows
from dsekl.solvers.dual.interior import solve_boxed
from dsekl.solvers.dual.shrinking import Conditions
from tests.oracles import build

BOXED = [Hinge(), EpsilonInsensitive(0.1), Huber(0.5), Quantile(0.3)]


def rows(n: int, loss: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    f = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, np.sign(f) if "classification" in loss.tasks else f


@pytest.mark.parametrize("loss", BOXED, ids=repr)
def test_a_box_says_what_the_conjugate_is(loss: Any) -> None:
    y, C = np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, 0.5, 3.0, 1.0])
    box = loss.box(y, C)
    for coef in (0.3 * y, -0.3 * y, 1.4 * y, -5.0 * y, 0.0 * y):
        inside = (coef >= box.lo) & (coef <= box.hi)
        value = -y * coef + box.margin * np.abs(coef) + 0.5 * box.ridge * coef**2
        np.testing.assert_allclose(loss.conjugate(y, coef, C), np.where(inside, value, np.inf))


@pytest.mark.parametrize("loss", BOXED, ids=repr)
@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("n", [120, 700])
def test_a_block_is_solved_whatever_C_is(loss: Any, C: float, n: int) -> None:
    """Of 700 rows most are at their bounds, and the first systems leave them out."""
    X, y = rows(n, loss)
    K, factors = rbf_kernel(X, gamma=0.05), np.full(n, C)
    factors[:3] = 0.0  # rows that count nothing stay out of it
    coef, f = np.zeros(n), np.zeros(n)
    descend(K, y, factors, coef, f, loss, 5, 0.0)
    assert solve_boxed(K, y, factors, coef, f, loss)
    np.testing.assert_allclose(f, K @ coef, atol=1e-6 * np.abs(coef).sum())
    assert not coef[:3].any()
    value, conjugate = loss.value(y, f), loss.conjugate(y, coef, factors)
    assert np.isfinite(conjugate).all()
    primal = 0.5 * coef @ f + factors @ value
    assert coef @ f + factors @ value + conjugate.sum() <= 1e-4 * primal


def test_a_block_at_its_optimum_or_without_room_stays_as_it_is() -> None:
    X, y = rows(50, Quantile())
    K, nothing = rbf_kernel(X), np.zeros(50)
    coef, f = np.zeros(50), np.zeros(50)
    assert not solve_boxed(K, y, nothing, coef, f, Quantile(0.5))
    assert not solve_boxed(K, y, np.full(50, np.inf), coef, f, Quantile(0.5))
    assert not coef.any()
    assert not f.any()


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber", "quantile"])
@pytest.mark.parametrize("C", [280.0, 4800.0])
def test_robust_losses_reach_their_tolerance_with_a_large_C(loss: str, C: float) -> None:
    X, y = rows(600, Huber())
    settings: dict[str, Any] = dict(kernel="rbf", gamma=0.1, tol=1e-2, max_epochs=20, random_state=0, n_jobs=1)
    model = DSEKLRegressor(loss=loss, C=C, **settings).fit(X, y)
    assert model.stop_reason_ == "tol"


def problem(n: int, C: float) -> Problem:
    X, y = rows(n, Hinge())
    gram = build(RBF(), X, 0.1, "float64")
    return Problem(gram, y[:, None], np.ones(n), Hinge(), C, tol=1e-3)


def test_free_rows_come_first_and_worst_violators_next() -> None:
    question = problem(40, 1.0)
    coef = np.where(np.arange(40) < 5, 0.5, 0.0)[:, None] * question.targets
    F = np.linspace(-1, 0.9, 40)[:, None]
    now = Conditions.of(question, np.arange(40), coef, F, np.ones(40))
    found = free_rows(now, 0.5)
    assert set(found[:5]) == set(range(5))
    worst = violations(question.targets, np.ones(40), coef, F, np.ones(40), Hinge())
    assert (np.diff(worst[found[5:]]) <= 0).all()
    assert set(found[5:]) == set(np.flatnonzero(worst > 0.5)) - set(range(5))


def test_more_free_rows_than_some_blocks_are_not_solved_for_as_one() -> None:
    question = problem(40, 1.0)
    coef = np.where(np.arange(40) < 5, 0.5, 0.0)[:, None] * question.targets
    now = Conditions.of(question, np.arange(40), coef, np.zeros((40, 1)), np.ones(40))
    assert len(free_rows(now, 0.5, most=5)) > 5
    assert not len(free_rows(now, 0.5, most=4))


def test_a_slow_run_solves_for_its_free_rows_and_goes_on_from_any_step() -> None:
    question, solver = problem(1500, 300.0), DualAscent(block_size=400)
    state = solver.start(question, np.random.default_rng(0))
    copies = []
    while not solver.judge(question, state).met and state.epoch < 60:
        slow = state.slow >= SLOW_EPOCHS
        for _ in solver.epoch(question, state):
            if slow and state.plan is not None and len(copies) < 6:
                copies.append(copy.deepcopy(state))
    assert solver.judge(question, state).met
    assert any(kept.plan is not None and kept.plan.done == len(kept.plan.ends) for kept in copies)
    for kept in copies[:4]:
        kept.check(question, solver)
        while not solver.judge(question, kept).met:
            for _ in solver.epoch(question, kept):
                pass
        np.testing.assert_array_equal(kept.coef, state.coef)


def test_a_system_has_the_rows_that_are_not_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    minimum = interior._minimum

    def noted(M: Any, *others: Any) -> Any:
        sizes.append(len(M))
        return minimum(M, *others)

    monkeypatch.setattr(interior, "_minimum", noted)
    X, y = rows(1500, Hinge())
    K, C, coef, f = rbf_kernel(X, gamma=0.5), np.full(1500, 10.0), np.zeros(1500), np.zeros(1500)
    descend(K, y, C, coef, f, Hinge(), 200, 0.0)
    assert solve_boxed(K, y, C, coef, f, Hinge())
    assert max(sizes) < 600
    # Nobody outside of the last system wants to move.
    assert violations(y[:, None], C, coef[:, None], f[:, None], np.ones(1500), Hinge()).max() < 0.05
