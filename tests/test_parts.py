"""One problem in many parts: the optimum of one machine, whatever the loss, with a certificate that holds."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dsekl import kernels, losses
from dsekl.gram import build as gram_of
from dsekl.gram.affine import AffineGram, Plane
from dsekl.gram.placement import Placement
from dsekl.gram.points import DensePoints
from dsekl.gram.tree import spatial_order
from dsekl.parts import (
    LocalUpdates,
    Objective,
    PartsAscent,
    Planes,
    Region,
    Rows,
    SerialExecutor,
    SharedUpdates,
    build,
    checked_state,
    n_parts_of,
)
from dsekl.parts.halo import Boxes, Reach
from dsekl.parts.line_search import STEPS, LineSums, between
from dsekl.rows import ArrayRows
from dsekl.solvers import DualAscent, Problem

NARROW, WIDE = 400.0, 5.0


def table(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return rows in a square, a wave on it, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]), rng.uniform(0.5, 2.0, n)


def targets_for(loss: Any, wave: Any, n_outputs: int) -> Any:
    outputs = np.stack([wave, -0.5 * wave + 0.1][:n_outputs], axis=1)
    return outputs if "classification" not in loss.tasks else np.where(outputs > 0, 1.0, -1.0)


def in_parts(
    X: Any, y: Any, weights: Any, loss: Any, gamma: float, n_parts: int = 5, plane: Plane | None = None,
    tol: float | None = 1e-3, kernel_tol: float = 1e-6, solver: DualAscent | None = None, dtype: str = "float64",
) -> tuple[PartsAscent, Problem, Any]:  # fmt: skip
    """Return a fit in parts, before its first round."""
    kernel = kernels.resolve("rbf")
    placement = Placement.of(kernel, gamma, ArrayRows(X), dtype)
    objective = Objective(kernel, placement, loss, 2.0, kernel_tol, 2**26, plane)
    points = placement.dense(X)
    planes = Planes.of(points, n_parts)
    number, rows = planes.part_of(points), Rows(X, y, weights, np.arange(len(X)))
    regions = [Region.of(p, objective, [rows.take(np.flatnonzero(number == p))]) for p in range(planes.n_parts)]
    executor = SerialExecutor()
    ascent = PartsAscent(executor, build(executor, objective, regions), solver or DualAscent(), 0)
    sample = Problem(gram_of(kernel, ArrayRows(X[:9]), gamma, dtype), y[:9], weights[:9], loss, 2.0, tol=tol)
    return ascent, sample, ascent.start(sample, np.random.default_rng(0))


def solve(ascent: PartsAscent, problem: Problem, state: Any, most: int = 200) -> Any:
    """Run rounds until the goal is met."""
    for _ in range(most):
        for _ in ascent.epoch(problem, state):
            pass
        if ascent.judge(problem, state).met:
            break
    ascent.bring_home(state)
    return state


def objective(ascent: PartsAscent, state: Any, plane: Plane | None = None) -> tuple[float, float]:
    """Return primal and dual of the coefficients, from the whole kernel matrix in float64."""
    regions = [part.region for part in ascent.parts.parts]
    X, y, weights = (
        np.concatenate([vars(region.rows)[name] for region in regions]) for name in ("X", "targets", "weights")
    )
    objective = ascent.parts.objective
    K: Any = gram_of(
        objective.kernel, ArrayRows(X), objective.placement.scale ** (1 / objective.kernel.gamma_power), "float64"
    )
    K = K if plane is None else AffineGram(K, plane)
    everyone = np.arange(len(X))
    F = K.block(everyone, everyone) @ state.coef
    square, C = 0.5 * float((state.coef * F).sum()), objective.C * weights[:, None]
    primal = square + float((C * objective.loss.value(y, F)).sum())
    return primal, -square - float(objective.loss.conjugate(y, state.coef, C).sum())


LOSSES = [
    losses.Hinge(), losses.SquaredHinge(), losses.Logistic(), losses.Squared(), losses.EpsilonInsensitive(0.05),
    losses.Huber(0.3), losses.Quantile(0.3),
]  # fmt: skip


@pytest.mark.parametrize("gamma", [NARROW, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_certificate_holds_for_the_real_f(loss: Any, gamma: float) -> None:
    X, wave, weights = table(700)
    ascent, problem, state = in_parts(X, targets_for(loss, wave, 2), weights, loss, gamma)
    assert ascent.parts.wide == (gamma == WIDE)
    solve(ascent, problem, state)
    primal, dual = objective(ascent, state)
    assert -1e-12 < (primal - dual) / primal < max(state.gap, 1e-3) * 1.01
    assert state.gap < 1e-3
    assert primal == pytest.approx(state.primal, rel=1e-6)


@pytest.mark.parametrize("gamma", [NARROW, WIDE], ids=["narrow", "wide"])
def test_an_intercept_and_a_trend_are_sums_over_the_parts(gamma: float) -> None:
    X, wave, weights = table(700)
    plane = Plane(0.3, np.array([0.4, 0.2]), np.array([0.5, 0.5]))
    y = (wave + 2.0 * X[:, 0])[:, None]
    ascent, problem, state = in_parts(X, y, weights, losses.Squared(), gamma, plane=plane)
    solve(ascent, problem, state)
    primal, dual = objective(ascent, state, plane)
    assert -1e-12 < (primal - dual) / primal < 1e-3


def test_a_coarse_halo_does_not_break_the_certificate() -> None:
    """Kernel values up to 0.1 are left out of the rounds, and the gap is still that of the real f."""
    X, wave, weights = table(700)
    y = targets_for(losses.Hinge(), wave, 1)
    ascent, problem, state = in_parts(X, y, weights, losses.Hinge(), NARROW, kernel_tol=0.1, tol=0.05)
    assert not ascent.parts.wide
    solve(ascent, problem, state, 30)
    primal, dual = objective(ascent, state)
    assert (primal - dual) / primal == pytest.approx(state.gap, rel=1e-3)


@pytest.mark.parametrize("gamma", [900.0, WIDE], ids=["narrow", "wide"])
def test_samples_grow_and_rows_leave_the_active_set(gamma: float) -> None:
    X, wave, weights = table(9_000)
    y = targets_for(losses.Hinge(), wave + 0.3 * np.random.default_rng(1).normal(size=len(X)), 1)
    ascent, problem, state = in_parts(X, y, weights, losses.Hinge(), gamma, tol=None, dtype="float32")
    assert state.size < len(X)
    solve(ascent, problem, state, 40)
    assert state.size == len(X)
    assert state.gap < ascent.judge(problem, state).goal
    assert ascent.unseen is not None
    assert len(ascent.unseen) > 3_900
    gram = gram_of(ascent.parts.objective.kernel, ArrayRows(X), gamma, "float32", kernel_tol=1e-6)
    alone = DualAscent()
    whole = Problem(gram, y[gram.order], weights[gram.order], losses.Hinge(), 2.0)
    other = alone.start(whole, np.random.default_rng(0))
    for _ in range(40):
        for _ in alone.epoch(whole, other):
            pass
        if alone.judge(whole, other).met:
            break
    assert state.primal == pytest.approx(other.primal, rel=0.1)


def test_going_on_from_a_cut_gives_the_same_bits() -> None:
    X, wave, weights = table(700)
    y = targets_for(losses.Squared(), wave, 1)
    ascent, problem, state = in_parts(X, y, weights, losses.Squared(), NARROW, tol=1e-9)
    kept = None
    for _ in range(9):
        for _ in ascent.epoch(problem, state):
            pass
        if state.epoch == 6:
            kept = pickle.loads(pickle.dumps(state))
    ascent.bring_home(state)
    other, problem, _ = in_parts(X, y, weights, losses.Squared(), NARROW, tol=1e-9)
    other.resume(kept)
    for _ in range(3):
        for _ in other.epoch(problem, kept):
            pass
    other.bring_home(kept)
    np.testing.assert_array_equal(kept.coef, state.coef)
    np.testing.assert_array_equal(kept.F, state.F)
    assert kept.gap == state.gap


def test_copies_are_all_rows_that_kernel_values_reach() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(3_000, 3)).astype(np.float32)
    order, leaf = spatial_order(data)
    points = DensePoints.of(data[order], leaf)
    low = points.data[:, 0] < 0
    boxes = Boxes.of(points.take(np.flatnonzero(low)))
    others = points.take(np.flatnonzero(~low))
    kernel = kernels.resolve("rbf")
    reach = Reach.of(kernel, 1e-2)
    near = boxes.near(others, reach)
    distances = ((others.data[:, None] - points.data[low][None]) ** 2).sum(axis=2).min(axis=1)
    assert set(np.flatnonzero(np.exp(-distances) > 1e-2)) <= set(near)
    assert len(near) < len(others)
    assert len(boxes.near(others, Reach(np.inf, False))) == len(others)


def test_planes_send_equal_points_to_one_part_and_halve_the_largest() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4_000, 2)).astype(np.float32)
    planes = Planes.of(points, 8)
    sizes = np.bincount(planes.part_of(points), minlength=8)
    assert planes.n_parts == 8
    assert sizes.min() > 350
    codes = np.repeat(np.eye(3, dtype=np.float32), 50, axis=0)
    few = Planes.of(codes, 8)
    assert few.n_parts == 3
    assert len(np.unique(few.part_of(codes).reshape(3, 50), axis=1)[0]) == 1
    assert Planes.of(points, 1).part_of(points).max() == 0


def test_how_many_parts_there_are_depends_on_the_rows_alone() -> None:
    assert [n_parts_of(n) for n in (10, 8_192, 40_000, 581_012, 10**8)] == [1, 2, 8, 8, 763]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_step_length_is_where_the_dual_is_least(loss: Any) -> None:
    rng = np.random.default_rng(0)
    y = targets_for(loss, rng.normal(size=40), 1)
    C = rng.uniform(0.5, 2.0, 40)
    A = rng.normal(size=(40, 40))
    K = A @ A.T
    feasible = 0.2 * np.sign(y) * C[:, None] * rng.uniform(size=(40, 1))
    before, after = (np.where(rng.uniform(size=(40, 1)) < 0.5, 0.0, feasible) for _ in range(2))
    F, G = K @ before, K @ (after - before)
    (found,) = LineSums.of(loss, y, C, (before, after), F, G).best_steps()

    def dual(s: float) -> float:
        c = between(before, after, np.array([s]))
        return float(0.5 * (c * (K @ c)).sum() + loss.conjugate(y, c, C[:, None]).sum())

    fine = np.linspace(0, 1, 4_001)
    values = [dual(s) for s in fine]
    assert abs(found - fine[int(np.argmin(values))]) < 0.1 * (STEPS[1] - STEPS[0])


def test_no_coefficient_goes_beyond_the_ends_by_rounding() -> None:
    rng = np.random.default_rng(0)
    before, after = rng.uniform(size=(1_000, 1)), rng.uniform(size=(1_000, 1))
    for s in (np.nextafter(1.0, 0.0), 1.0, 1e-300):
        found = between(before, after, np.array([s]))
        assert ((found >= np.minimum(before, after)) & (found <= np.maximum(before, after))).all()


def _changed(name: str, place: Any, value: Any) -> Any:
    def change(state: Any) -> None:
        array = getattr(state, name).copy()
        array[place] = value
        setattr(state, name, array)

    return change


FORGED: dict[str, tuple[Any, str]] = {
    "rank": (_changed("rank", slice(None), 0), "rank"),
    "rank of another part": (lambda state: setattr(state, "rank", np.arange(len(state.rank))), "rank"),
    "coef": (_changed("coef", 3, 1e6), "dual"),
    "F": (_changed("F", 3, 1e9), "predictions"),
    "C": (lambda state: setattr(state, "C", 7.0), "C is 7.0"),
    "size": (lambda state: setattr(state, "size", 10**6), "size"),
    "past": (lambda state: setattr(state, "past_coef", state.coef[None]), "one machine"),
}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Squared()], ids=repr)
def test_a_state_from_a_file_is_checked_by_the_parts(name: str, loss: Any) -> None:
    """Their ranks are places in arrays, and a wrong one would be written to."""
    X, wave, weights = table(200)
    ascent, problem, state = in_parts(X, targets_for(loss, wave, 1), weights, loss, NARROW, n_parts=3)
    problem = replace(problem, C=state.C)
    solve(ascent, problem, state, most=12)
    checked_state.check(ascent, problem, state)
    change, words = FORGED[name]
    change(state)
    if name == "coef" and isinstance(loss, losses.Squared):
        return  # whose dual allows any
    with pytest.raises(ValueError, match=words):
        checked_state.check(ascent, problem, state)


def updates(local_batches: int, n_shares: int = 2) -> tuple[SharedUpdates, Any]:
    """Return Algorithm 2 after three epochs of the wave's signs, and its state."""
    X, wave, weights = table(1_500)
    y = np.where(wave > 0, 1.0, -1.0)[:, None]
    ascent, problem, _ = in_parts(X, y, weights, losses.Hinge(), NARROW, n_parts=1)
    solver = LocalUpdates(n_rows=100, n_shares=n_shares, local_batches=local_batches)
    run = SharedUpdates(SerialExecutor(), ascent.parts, solver, 0)
    state = run.start(problem, np.random.default_rng(0))
    for _ in range(3):
        for _ in run.epoch(problem, state):
            pass
    return run, state


def right(run: SharedUpdates, state: Any) -> float:
    (part,) = run.parts.parts
    f = part.gram.block(np.arange(len(part.region)), np.arange(len(part.region))) @ state.coef
    return float(np.mean(np.sign(f) == part.region.rows.targets))


def test_local_updates_tell_less_and_learn_about_as_much() -> None:
    naive, local = updates(1), updates(50)
    assert naive[0].figures["exchanges"] == 8
    assert local[0].figures["exchanges"] == 1
    assert local[0].figures["received"] < 0.2 * naive[0].figures["received"]
    assert min(right(*naive), right(*local)) > 0.93


def test_one_share_is_algorithm_2() -> None:
    """Nobody else changes anything, so that it does not matter when it is told."""
    one, other = updates(1, n_shares=1), updates(50, n_shares=1)
    assert one[0].figures["received"] == other[0].figures["received"] == 0
    assert right(*one) > 0.93
    assert right(*other) == pytest.approx(right(*one), abs=0.03)


def test_a_part_tells_how_much_memory_it_takes() -> None:
    X, wave, weights = table(700)
    ascent, *_ = in_parts(X, targets_for(losses.Hinge(), wave, 1), weights, losses.Hinge(), NARROW)
    sizes = [sys.getsizeof(part) for part in ascent.parts.parts]
    assert sum(sizes) > 2 * X.nbytes
    assert sys.getsizeof(ascent.states[0]) > ascent.states[0].own.coef.nbytes
