"""A column of a stream that comes in another unit from some row on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dsekl import OnlineDSEKLClassifier, OnlineDSEKLRegressor
from dsekl.online import new_units
from dsekl.online.drift import BLOCK
from dsekl.river import KernelClassifier

CHANGE = 2001
RNG = np.random.default_rng(0)
Z = RNG.standard_normal((4000, 4))
PRODUCT = Z[:, 0] * Z[:, 1]


def measured(times: float) -> Any:
    """Return rows whose first column is multiplied, and shifted, from some row on, beside a constant one."""
    later = np.where(np.arange(len(Z)) < CHANGE, Z[:, 0], times * (Z[:, 0] + 3.0))
    return np.column_stack([later, Z[:, 1], np.full(len(Z), 5.0), Z[:, 2:]])


@pytest.mark.parametrize("times", [1e6, 1e-4])
def test_a_column_in_a_new_unit_is_soon_as_good_as_before(times: float) -> None:
    X, labels = measured(times), (PRODUCT > 0).astype(int)
    model, wrong = OnlineDSEKLClassifier(budget=200, random_state=0), np.zeros(len(X))
    for first in range(0, len(X), BLOCK // 2):
        part = slice(first, first + BLOCK // 2)
        if first:
            wrong[part] = model.predict(X[part]) != labels[part]
        model.partial_fit(X[part], labels[part], classes=[0, 1])
    assert wrong[1000:CHANGE].mean() < 0.05
    assert wrong[CHANGE + 500 :].mean() < 0.08


def test_numbers_are_predicted_in_a_new_unit_too_and_single_rows_are_batches() -> None:
    X = measured(1e6)
    model = OnlineDSEKLRegressor(budget=200, random_state=0).partial_fit(X, PRODUCT)
    assert np.abs(model.predict(X[-500:]) - PRODUCT[-500:]).mean() < 0.3 * np.abs(PRODUCT[-500:]).mean()
    single = OnlineDSEKLRegressor(budget=200, random_state=0).partial_fit(X[:1900], PRODUCT[:1900])
    for row in range(1900, 2500):
        single.partial_fit(X[row : row + 1], PRODUCT[row : row + 1])
    single.partial_fit(X[2500:], PRODUCT[2500:])
    np.testing.assert_array_equal(model.predict(X), single.predict(X))


def test_rows_without_a_column_are_left_alone() -> None:
    model = KernelClassifier(budget=50, seed=1)
    for row in range(600):
        x = {"a": Z[row, 0] * (1e5 if row > 300 else 1.0), "b": Z[row, 1]}
        model.learn_one(x if row % 7 else {"b": x["b"]}, bool(Z[row, 1] > 0))
    assert np.isfinite(list(model.predict_proba_one({"a": 0.0, "b": 1.0}).values())).all()


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "rare ones", "counts"])
def test_chance_is_no_new_unit(kind: str) -> None:
    rng = np.random.default_rng(1)
    rows = {
        "normal": lambda n: rng.standard_normal((n, 6)),
        "heavy tails": lambda n: rng.standard_cauchy((n, 6)),
        "rare ones": lambda n: (rng.random((n, 6)) < 0.02).astype(float),
        "counts": lambda n: rng.poisson(2.0, (n, 6)).astype(float),
    }[kind](BLOCK * 3000)
    model = OnlineDSEKLClassifier(budget=20, random_state=0).partial_fit(rows[:10], np.arange(10) % 2, classes=[0, 1])
    for first in range(0, len(rows), BLOCK):
        window = rows[first : first + new_units.LAST + new_units.BEFORE]
        assert not new_units.take(model.learner_, window)
