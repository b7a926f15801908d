"""The published online algorithms against slow readings of their papers, one line of pseudo-code at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dsekl.online import BudgetedSGD, BudgetPerceptron, Forgetron, Norma, Projectron

GAMMA, BUDGET = 0.7, 12

X = np.random.default_rng(0).standard_normal((300, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(1).standard_normal(300) > 0, 1.0, -1.0)


def k(a: Any, b: Any) -> float:
    return float(np.exp(-GAMMA * np.sum((np.asarray(a) - np.asarray(b)) ** 2)))


def value(points: list[Any], coef: list[float], x: Any) -> float:
    return sum(c * k(p, x) for p, c in zip(points, coef, strict=True))


def norma(first_eta: float, decay: float, falling: bool) -> list[float]:
    points: list[Any] = []
    coef: list[float] = []
    found = []
    for t, (x, y) in enumerate(zip(X, Y, strict=True), 1):
        eta = first_eta / t**0.5 if falling else first_eta
        f = value(points, coef, x)
        found.append(f)
        coef = [c * (1 - eta * decay) for c in coef]
        if y * f <= 1:
            points, coef = [*points, x][-BUDGET:], [*coef, eta * y][-BUDGET:]
    return found


def forgetron() -> list[float]:
    points: list[Any] = []
    coef: list[float] = []
    found, total, mistakes = [], 0.0, 0
    for x, y in zip(X, Y, strict=True):
        f = value(points, coef, x)
        found.append(f)
        if y * f > 0:
            continue
        mistakes += 1
        points, coef = [*points, x], [*coef, y]
        if len(points) > BUDGET:
            sigma, mu = abs(coef[0]), np.sign(coef[0]) * value(points, coef, points[0])

            def damage(phi: float, sigma: float = sigma, mu: float = mu) -> float:
                return (sigma * phi) ** 2 + 2 * sigma * phi * (1 - phi * mu)

            # The damage rises from 0, so the first phi that is too much is searched for from below.
            low, high = 0.0, 1.0
            if damage(1.0) + total > 15 / 32 * mistakes:
                for _ in range(60):
                    middle = 0.5 * (low + high)
                    low, high = (middle, high) if damage(middle) + total <= 15 / 32 * mistakes else (low, middle)
                high = low
            total += damage(high)
            points, coef = points[1:], [c * high for c in coef[1:]]
    return found


def projectron(eta: float) -> list[float]:
    points: list[Any] = []
    coef: list[float] = []
    found = []
    for x, y in zip(X, Y, strict=True):
        f = value(points, coef, x)
        found.append(f)
        if y * f > 0:
            continue
        K = np.array([[k(p, q) for q in points] for p in points]).reshape(len(points), len(points))
        row = np.array([k(p, x) for p in points])
        d = np.linalg.solve(K, row) if points else row
        if len(points) == BUDGET or 1 - row @ d <= eta**2:
            coef = [c + y * share for c, share in zip(coef, d, strict=True)]
        else:
            points, coef = [*points, x], [*coef, y]
    return found


def budgeted_sgd(decay: float, maintenance: str) -> list[float]:
    points: list[Any] = []
    coef: list[float] = []
    found = []
    for t, (x, y) in enumerate(zip(X, Y, strict=True), 1):
        f = value(points, coef, x)
        found.append(f)
        eta = 1 / (decay * t)
        coef = [c * (1 - eta * decay) for c in coef]
        if y * f >= 1:
            continue
        points, coef = [*points, x], [*coef, eta * y]
        if len(points) <= BUDGET:
            continue
        i = int(np.argmax(np.abs(coef) <= (1 + 1e-9) * np.abs(coef).min()))  # of equal ones, the oldest
        point, own = points.pop(i), coef.pop(i)
        if maintenance == "merge":
            points, coef = _merged(points, coef, point, own)
        elif maintenance == "project":
            K = np.array([[k(p, q) for q in points] for p in points])
            shares = np.linalg.solve(K, [k(p, point) for p in points])
            coef = [c + own * share for c, share in zip(coef, shares, strict=True)]
    return found


def golden_section(new: Any) -> float:
    """Return where a coefficient is largest, by the search that the paper names."""
    low, high, ratio = 0.0, 1.0, (5**0.5 - 1) / 2
    for _ in range(30):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if abs(new(left)) > abs(new(right)) else (left, high)
    return 0.5 * (low + high)


def _merged(points: list[Any], coef: list[float], point: Any, own: float) -> tuple[list[Any], list[float]]:
    best: tuple[float, int, Any, float] | None = None
    for j, (other, theirs) in enumerate(zip(points, coef, strict=True)):
        if own * theirs <= 0:
            continue

        def new(h: float, other: Any = other, theirs: float = theirs) -> float:
            z = h * point + (1 - h) * other
            return own * k(point, z) + theirs * k(other, z)

        h = golden_section(new)
        change = own**2 + theirs**2 + 2 * own * theirs * k(point, other) - new(h) ** 2
        if best is None or change < best[0]:
            best = (change, j, h * point + (1 - h) * other, new(h))
    if best is not None:
        points[best[1]], coef[best[1]] = best[2], best[3]
    return points, coef


@pytest.mark.parametrize("falling", [False, True])
def test_norma_is_that_of_its_paper(falling: bool) -> None:
    found = Norma(BUDGET, GAMMA, eta=0.3, decay=0.1, falling=falling).learn(X, Y)
    np.testing.assert_allclose(found, norma(0.3, 0.1, falling), atol=1e-10)


def test_the_forgetron_is_that_of_its_paper() -> None:
    np.testing.assert_allclose(Forgetron(BUDGET, GAMMA).learn(X, Y), forgetron(), atol=1e-9)


def test_the_projectron_is_that_of_its_paper() -> None:
    found = Projectron(BUDGET, GAMMA, eta=0.3).learn(X, Y)
    np.testing.assert_allclose(found, projectron(0.3), atol=1e-6)


@pytest.mark.parametrize("maintenance", ["merge", "project", "remove"])
def test_budgeted_sgd_is_that_of_its_paper(maintenance: str) -> None:
    found = BudgetedSGD(BUDGET, GAMMA, decay=0.02, maintenance=maintenance).learn(X[:150], Y[:150])
    np.testing.assert_allclose(found, budgeted_sgd(0.02, maintenance)[:150], atol=1e-3)


def test_the_budget_perceptron_keeps_labels_of_mistakes_within_its_budget() -> None:
    model = BudgetPerceptron(BUDGET, GAMMA, seed=3)
    found = model.learn(X, Y)
    assert model.kept is not None
    kept, n = model.kept, int(model.kept.counts[0])
    assert n == BUDGET
    assert kept.counts[2] == (Y * found <= 0).sum() > 2 * BUDGET
    points = kept.points[:, :n].T / np.sqrt(GAMMA)
    rows = [int(np.argmin(((X - point) ** 2).sum(axis=1))) for point in points]
    assert np.all(np.diff(rows) > 0)
    assert (Y[rows] * found[rows] <= 0).all()
    np.testing.assert_array_equal(kept.coef[:n], Y[rows])
    assert np.abs(model.evaluate(X[:5]) - [value(list(points), list(kept.coef[:n]), x) for x in X[:5]]).max() < 1e-12
    assert not np.array_equal(BudgetPerceptron(BUDGET, GAMMA, seed=4).learn(X, Y), found)
