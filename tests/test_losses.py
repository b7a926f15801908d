"""Losses: gradients, convexity, conjugates, the one-coordinate dual steps, and the constants they like best."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dsekl.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Quantile, Squared, SquaredHinge, resolve
from tests.oracles import assert_refused, first_part


@dataclass(frozen=True)
class LossCase:
    """A loss, where its slope or curvature jumps, and the coefficients that its dual allows for C = 1."""

    loss: Any
    kinks: Callable[[float], tuple[float, ...]]
    feasible: Callable[[float], tuple[float, float]]
    smooth: bool

    @property
    def is_margin(self) -> bool:
        return "regression" not in self.loss.tasks

    def __str__(self) -> str:
        return str(self.loss)


def one_sided(most: float) -> Callable[[float], tuple[float, float]]:
    return lambda y: (0.0, most) if y > 0 else (-most, 0.0)


UNBOUNDED = 20.0
CASES = (
    LossCase(Hinge(), lambda y: (y,), one_sided(1.0), smooth=False),
    LossCase(SquaredHinge(), lambda y: (y,), one_sided(UNBOUNDED), smooth=True),
    LossCase(Logistic(), lambda y: (), one_sided(1.0), smooth=True),
    LossCase(Squared(), lambda y: (), lambda y: (-UNBOUNDED, UNBOUNDED), smooth=True),
    LossCase(EpsilonInsensitive(0.0), lambda y: (y,), lambda y: (-1.0, 1.0), smooth=False),
    LossCase(EpsilonInsensitive(0.3), lambda y: (y - 0.3, y + 0.3), lambda y: (-1.0, 1.0), smooth=False),
    LossCase(Huber(0.7), lambda y: (y - 0.7, y + 0.7), lambda y: (-0.7, 0.7), smooth=True),
    LossCase(Quantile(0.5), lambda y: (y,), lambda y: (-0.5, 0.5), smooth=False),
    LossCase(Quantile(0.9), lambda y: (y,), lambda y: (0.9 - 1.0, 0.9), smooth=False),
)
every_loss = pytest.mark.parametrize("case", CASES, ids=str)
modestly = settings(deadline=None, max_examples=60)
numbers = st.floats(-5, 5)
shares = st.floats(0, 1)


def target(case: LossCase, number: float) -> float:
    return math.copysign(1.0, number) if case.is_margin else number


def away_from_kinks(case: LossCase, y: float, f: float, distance: float) -> bool:
    return all(abs(f - kink) > distance for kink in case.kinks(y))


def value(case: LossCase, y: float, f: Any) -> Any:
    f = np.asarray(f, dtype=np.float64)
    return case.loss.value(np.full_like(f, y), f)


def gradient(case: LossCase, y: float, f: Any) -> Any:
    f = np.asarray(f, dtype=np.float64)
    return case.loss.gradient(np.full_like(f, y), f)


def conjugate(case: LossCase, y: float, coef: Any, C: float) -> Any:
    coef = np.asarray(coef, dtype=np.float64)
    return case.loss.conjugate(np.full_like(coef, y), coef, C)


@every_loss
@modestly
@given(number=numbers, f=numbers)
def test_gradients_are_fourth_order_finite_differences(case: LossCase, number: float, f: float) -> None:
    y, h = target(case, number), 1e-3
    assume(away_from_kinks(case, y, f, 3 * h))
    far_left, left, right, far_right = value(case, y, f + h * np.array([-2, -1, 1, 2]))
    assert gradient(case, y, f) == pytest.approx((far_left - 8 * left + 8 * right - far_right) / (12 * h), abs=1e-9)


@every_loss
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_gradients_at_kinks_are_subgradients(case: LossCase, y: float) -> None:
    for kink in case.kinks(y):
        left, at, right = gradient(case, y, [kink - 1e-6, kink, kink + 1e-6])
        assert left - 1e-9 <= at <= right + 1e-9


def test_values_and_gradients_at_kinks_are_those_found_by_hand() -> None:
    one = np.ones(1)
    assert Hinge().value(one, one) == Hinge().gradient(one, one) == 0
    assert SquaredHinge().value(one, one) == SquaredHinge().gradient(one, one) == 0
    assert EpsilonInsensitive(0.5).value(one, one + 0.5) == EpsilonInsensitive(0.5).gradient(one, one + 0.5) == 0
    assert Huber(0.5).value(one, one + 0.5) == 0.125
    assert Huber(0.5).gradient(one, one + 0.5) == 0.5
    assert Quantile(0.9).value(one, one) == Quantile(0.9).gradient(one, one) == 0
    assert Logistic().value(one, 0 * one) == pytest.approx(math.log(2))


@every_loss
@modestly
@given(number=numbers, a=numbers, b=numbers, share=shares)
def test_losses_are_convex_and_not_negative(case: LossCase, number: float, a: float, b: float, share: float) -> None:
    y = target(case, number)
    at_a, at_b, between = value(case, y, [a, b, share * a + (1 - share) * b])
    assert between <= share * at_a + (1 - share) * at_b + 1e-12
    assert min(at_a, at_b) >= 0


@every_loss
def test_curvature_is_the_greatest_second_derivative(case: LossCase) -> None:
    y, h = 1.0, 1e-3
    f = np.array([f for f in np.linspace(-6, 6, 2401) if away_from_kinks(case, y, f, 2 * h)])
    second = (gradient(case, y, f + h) - gradient(case, y, f - h)) / (2 * h)
    assert second.max() <= case.loss.curvature + 1e-9
    assert second.max() >= case.loss.curvature - 1e-5


@every_loss
@settings(deadline=None, max_examples=25)
@given(number=numbers, share=st.floats(0.02, 0.98), C=st.floats(0.1, 10))
def test_conjugates_are_the_supremum_over_predictions(case: LossCase, number: float, share: float, C: float) -> None:
    y = target(case, number)
    low, high = case.feasible(y)
    coef = C * (low + share * (high - low))
    f = np.concatenate([np.linspace(-40, 40, 160_001), case.kinks(y)])
    supremum = (-coef * f - C * value(case, y, f)).max()
    assert conjugate(case, y, coef, C) == pytest.approx(supremum, rel=1e-7, abs=1e-6)


@every_loss
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_conjugates_are_infinite_exactly_outside_the_feasible_interval(case: LossCase, y: float) -> None:
    C = 2.0
    for end, outward in zip(case.feasible(y), (-1.0, 1.0), strict=True):
        assert np.isfinite(conjugate(case, y, C * end, C))
        if abs(end) < UNBOUNDED:
            beyond = C * end + 0.01 * outward
            assert conjugate(case, y, beyond, C) == np.inf
            assert max(-beyond * f - C * value(case, y, f) for f in (-1e6, 1e6)) > 1e3


@every_loss
@modestly
@given(number=numbers, f=numbers, share=shares, C=st.floats(0.01, 10))
def test_the_fenchel_young_inequality_holds_and_is_tight_at_the_gradient(
    case: LossCase, number: float, f: float, share: float, C: float
) -> None:
    y = target(case, number)
    low, high = case.feasible(y)
    anywhere = C * (low + share * (high - low))
    tight = -C * float(gradient(case, y, f))
    primal = C * float(value(case, y, f))
    assert primal + conjugate(case, y, np.clip(anywhere, C * low, C * high), C) + anywhere * f >= -1e-9
    if case.smooth or away_from_kinks(case, y, f, 1e-9):
        assert primal + conjugate(case, y, tight, C) + tight * f == pytest.approx(0, abs=1e-9)


@every_loss
@modestly
@example(number=0.0, f=0.25, share=0.1328125, diagonal=5.0, C=5.0)  # plain Newton steps go round in circles
@given(
    number=numbers,
    f=numbers,
    share=shares,
    diagonal=st.just(0.0) | st.floats(0.01, 5),
    C=st.just(0.0) | st.floats(0.01, 10),
)
def test_dual_steps_are_optimal_in_one_dimension(
    case: LossCase, number: float, f: float, share: float, diagonal: float, C: float
) -> None:
    y = target(case, number)
    # For predictions such as these, the ridge of an unbounded loss keeps its best step within 20 C.
    low, high = (C * end for end in case.feasible(y))
    coef = min(max(low + share * (high - low), low), high)

    def objective(c: float) -> float:
        return float(0.5 * diagonal * (c - coef) ** 2 + f * (c - coef) + conjugate(case, y, c, C))

    found = case.loss.dual_step()(y, coef, f, diagonal, C, case.loss.shape)
    reached = objective(found)
    assert np.isfinite(reached)
    assert reached <= min(objective(low), objective(coef), objective(high)) + 1e-9
    if C > 0:
        best = minimize_scalar(objective, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
        assert reached <= best.fun + 1e-9
    else:
        assert found == 0


BEST = [
    Squared(),
    Quantile(0.2),
    Quantile(0.9),
    EpsilonInsensitive(0.0),
    EpsilonInsensitive(0.3),
    Huber(0.4),
    Huber(9.0),
]


@pytest.mark.parametrize("loss", BEST, ids=str)
@modestly
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
def test_the_best_constant_has_the_least_weighted_loss(loss: Any, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    y, weights = rng.standard_normal(n), rng.integers(1, 4, n).astype(float)

    def total(constant: float) -> float:
        return float(weights @ loss.value(y, np.full(n, constant)))

    least = min(total(constant) for constant in [*y, *np.linspace(-3, 3, 301)])
    assert total(loss.best_constant(y, weights)) <= least + 1e-12


@pytest.mark.parametrize(
    ("loss", "middle"), [(EpsilonInsensitive(0.5), 5.0), (Huber(0.5), 5.0), (Quantile(0.5), 5.0)], ids=str
)
def test_of_several_best_constants_the_middle_is_taken(loss: Any, middle: float) -> None:
    y, weights = np.array([2.0, 1.0, 8.0, 9.0]), np.ones(4)
    assert loss.best_constant(y, weights) == pytest.approx(middle)


@pytest.mark.parametrize("C", [1e-300, 1e-20, 1e-3])
def test_the_step_of_the_squared_hinge_is_exact_for_a_small_C(C: float) -> None:
    assert SquaredHinge().dual_step()(1.0, 0.0, 0.0, 1.0, C, 0.0) == pytest.approx(1.0 / (1.0 + 0.5 / C), rel=1e-12)


def test_a_small_diagonal_is_no_rounding() -> None:
    found = EpsilonInsensitive(0.0).dual_step()(1e-20, 0.0, 0.0, 1e-20, 1e9, 0.0)
    assert found == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(), Huber(), Quantile(0.05)], ids=str)
def test_rows_of_weight_zero_do_not_move_the_best_constant(loss: Any) -> None:
    y = np.array([-100.0, 1.0, 2.0, 5.0, 100.0])
    weights = np.array([0.0, 1.0, 1.0, 1.0, 0.0])
    assert loss.best_constant(y, weights) == pytest.approx(loss.best_constant(y[1:4], weights[1:4]))


def test_an_infinite_delta_is_refused_or_gives_the_squared_loss() -> None:
    y, f = np.array([0.0, 3.0]), np.array([1.0, -2.0])
    with suppress(ValueError):
        loss = resolve(Huber(math.inf), "regression")
        np.testing.assert_array_equal(loss.value(y, f), Squared().value(y, f))


def test_names_and_objects_resolve_to_losses() -> None:
    assert resolve("hinge", "classification") == Hinge()
    assert resolve("squared", "classification") == resolve("squared", "regression") == Squared()
    own = Quantile(0.9)
    assert resolve(own, "regression") is own


@pytest.mark.parametrize(
    ("loss", "task", "named"),
    [
        ("hinges", "classification", ["loss='hinges'", "classification", "squared_hinge"]),
        ("huber", "classification", ["loss='huber'", "classification", "hinge"]),
        ("hinge", "regression", ["loss='hinge'", "regression", "epsilon_insensitive"]),
        (Hinge(), "regression", ["loss=Hinge()", "regression", "quantile"]),
        (None, "regression", ["loss=None", "regression"]),
        (EpsilonInsensitive(-0.1), "regression", ["epsilon=-0.1", "at least 0"]),
        (Huber(0.0), "regression", ["delta=0.0", "greater than 0"]),
        (Huber(math.nan), "regression", ["delta=nan", "greater than 0"]),
        (Quantile(1.0), "regression", ["quantile=1.0", "strictly between 0 and 1"]),
        (Quantile(0.0), "regression", ["quantile=0.0", "strictly between 0 and 1"]),
    ],
    ids=first_part,
)
def test_errors_name_the_loss_the_task_and_what_would_be_right(loss: Any, task: str, named: list[str]) -> None:
    assert_refused(lambda: resolve(loss, task), named)
