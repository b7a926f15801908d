"""The simple models beside the kernel machine, how they are weighed, and how a change of the stream is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dsekl import OnlineDSEKLClassifier, OnlineDSEKLRegressor
from dsekl.online import drift, mixture_steps
from dsekl.online.mixture import MOST_COLUMNS, Mixture
from dsekl.online.moments import Moments, observe
from dsekl.online.slots import Slots

RNG = np.random.default_rng(7)
X = RNG.standard_normal((1500, 6)) * 10.0 ** np.arange(-3, 3) + 5.0


def learned(mixture: Mixture, X: Any, Y: Any, tilt: float) -> Any:
    out = np.zeros_like(Y)
    labels = (Y[:, 0] > 0).astype(np.int64) if tilt == 0.0 else np.zeros(len(Y), dtype=np.int64)
    mixture_steps.learn(mixture, X, Y, np.ones(len(X)), labels, tilt, out)
    return out


def moments(rows: Any) -> Moments:
    found = Moments.of(rows.shape[1])
    observe(found, rows, np.ones(len(rows)))
    return found


def test_a_linear_target_is_found_whatever_the_units_of_columns() -> None:
    slopes = np.array([3.0, 1.0, 0.0, 2.0, 0.1, 0.01]) / 10.0 ** np.arange(-3, 3)
    y = X @ slopes
    model = OnlineDSEKLRegressor(budget=20, random_state=0).partial_fit(X[:1000], y[:1000])
    error = np.abs(model.predict(X[1000:]) - y[1000:]).mean() / y.std()
    assert error < 0.05
    np.testing.assert_allclose(model.trend_[:, 0], slopes, rtol=0.2, atol=0.2 * np.abs(slopes).min() + 1e-3)


def test_a_random_walk_is_predicted_by_its_last_target() -> None:
    y = np.cumsum(RNG.standard_normal(1200))
    model = OnlineDSEKLRegressor(budget=20, random_state=0)
    found = [model.partial_fit(X[:1], y[:1]).predict(X[1:2])[0]]
    for i in range(1, 1199):
        found.append(model.partial_fit(X[i : i + 1], y[i : i + 1]).predict(X[i + 1 : i + 2])[0])
    ours, last = np.abs(np.array(found[200:]) - y[201:]).mean(), np.abs(y[200:-1] - y[201:]).mean()
    assert ours < 1.1 * last


def test_labels_that_repeat_are_told_by_the_last_one() -> None:
    y = (np.cumsum(RNG.uniform(size=1500) < 0.05) % 2).astype(int)
    model = OnlineDSEKLClassifier(budget=20, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert np.exp(-model.learner_.mixture.regret[0]) < 0.5
    assert (model.predict(X[:200]) == y[-1]).all()


def test_the_weighted_loss_is_near_that_of_the_best_models_in_turn() -> None:
    mixture, n = Mixture.start(2, 1, classes=True), 5
    best = np.repeat([0, 3, 1], 1000)
    losses = (RNG.uniform(size=(3000, n)) < np.where(np.arange(n) == best[:, None], 0.1, 0.4)).astype(float)
    weighted = 0.0
    for row in losses:
        weighted += np.exp(-mixture.regret) @ row
        mixture_steps.share.py_func(mixture, row)
        np.testing.assert_allclose(np.exp(-mixture.regret).sum(), 1.0)
    rate, switch = mixture_steps.RATE, mixture_steps.SWITCH
    # Herbster and Warmuth: the logarithm of the best sequence's weight, and Hoeffding's rate / 8 for each row.
    sequence = 3 * np.log(n) + 2 * np.log(1 / switch) - 3000 * np.log1p(-switch)
    assert weighted - losses[np.arange(3000), best].sum() < sequence / rate + 3000 * rate / 8
    assert weighted - losses[np.arange(3000), best].sum() < 0.03 * 3000
    assert np.exp(-mixture.regret).argmax() == 1


def test_probabilities_stay_right_when_another_model_takes_over() -> None:
    rng = np.random.default_rng(3)
    Z = rng.uniform(-1, 1, (4000, 2))
    # Told by the columns at first; then rows repeat their class, which the last one tells, and columns say nothing.
    repeats = (np.cumsum(rng.uniform(size=2000) < 0.1) % 2).astype(int)
    y = np.concatenate([(Z[:2000].prod(axis=1) > 0).astype(int), repeats])
    model = OnlineDSEKLClassifier(budget=50, random_state=0).partial_fit(Z[:2000], y[:2000], classes=[0, 1])
    assert np.exp(-model.learner_.mixture.regret[0]) > 0.3
    right, told = [], []
    for i in range(2000, 4000):
        told.append(model.predict_proba(Z[i : i + 1]).max())
        right.append(model.predict(Z[i : i + 1])[0] == y[i])
        model.partial_fit(Z[i : i + 1], y[i : i + 1])
    assert np.exp(-model.learner_.mixture.regret[0]) < 0.1
    for first in (200, 800, 1400):
        part = slice(first, first + 600)
        assert abs(np.mean(told[part]) - np.mean(right[part])) < 0.06


def test_simple_models_cost_nothing_where_the_kernel_machine_is_best() -> None:
    digits = load_digits()
    errors: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(digits.data))
        rows, labels = digits.data[order], digits.target[order]
        for alone in errors:
            model = OnlineDSEKLClassifier(budget=100, random_state=0)
            model.partial_fit(rows[:1], labels[:1], classes=np.arange(10))
            if alone:
                model.learner_.mixture = None
            model.partial_fit(rows[1:1200], labels[1:1200])
            errors[alone].append(1.0 - model.score(rows[1200:], labels[1200:]))
    assert np.mean(errors[False]) < np.mean(errors[True]) + 0.005


def test_placing_columns_anew_changes_no_prediction() -> None:
    mixture = Mixture.start(6, 2, classes=False)
    Y = np.column_stack([X[:, 0], X[:, 5] - X[:, 2]])
    mixture.place(moments(X[:64]), moments(Y[:64]))
    learned(mixture, X[:300], Y[:300], 0.5)
    before, after = np.zeros((50, 2)), np.zeros((50, 2))
    mixture_steps.evaluate(mixture, X[300:350], before)
    mixture.place(moments(X[:300] * 1.01 + 0.02), moments(Y[:300] * 1.01))
    mixture_steps.evaluate(mixture, X[300:350], after)
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-6 * np.abs(before).max())


def test_columns_and_classes_may_come_up_late() -> None:
    mixture = Mixture.start(3, 1, classes=True)
    mixture.place(moments(X[:64, :3]), Moments.of(1))
    Y = np.where(X[:, :1] > 5.0, 1.0, -1.0)
    learned(mixture, X[:200, :3].copy(), Y[:200], 0.0)
    wider = mixture.widened(5)
    before, after = np.zeros((9, 1)), np.zeros((9, 1))
    mixture_steps.evaluate(mixture, X[:9, :3].copy(), before)
    mixture_steps.evaluate(wider, X[:9, :5].copy(), after)
    np.testing.assert_array_equal(before, after)
    three = wider.with_class([0, 0], [-1.0, 1.0])
    out = np.zeros((9, 3))
    mixture_steps.evaluate(three, X[:9, :5].copy(), out)
    np.testing.assert_allclose(three.slopes[:, 1], wider.slopes[:, 0])
    assert (out.argmax(axis=1) < 2).all()
    assert all(part.flags.c_contiguous for part in (*wider, *three) if isinstance(part, np.ndarray))
    assert wider.widened(MOST_COLUMNS + 1).slopes.shape[2] == 1


def test_a_change_is_told_and_chance_is_not() -> None:
    sums, told = drift.nothing(), []
    errors = np.concatenate([RNG.uniform(size=6400) < 0.1, RNG.uniform(size=640) < 0.4]).astype(float)
    for i, error in enumerate(errors, 1):
        sums[0, drift.NOW] += error
        sums[1, drift.NOW] += error * error
        if i % drift.BLOCK == 0 and drift.changed(sums):
            told.append(i)
    assert told
    assert 6400 < told[0] <= 6400 + 2 * drift.BLOCK


def test_weights_are_learned_anew_after_a_change() -> None:
    Z = RNG.uniform(-1, 1, (4000, 8))
    y = np.where(np.arange(4000) < 2000, Z[:, 0] ** 2 > 0.3, Z[:, 5] ** 2 > 0.3).astype(int)
    model = OnlineDSEKLClassifier(budget=100, random_state=0).partial_fit(Z, y, classes=[0, 1])
    assert 2000 - drift.LATE * drift.BLOCK <= model.learner_.since < 2500
    assert model.gamma_.argmax() == 5


@pytest.mark.parametrize("row", [{"b": 2.0, "a": 1.0}, {"a": 1.0, "b": "2.0"}, {"a": 1.0}, {"a": 1.0, "b": None}])
def test_rows_of_other_names_or_types_are_read_as_ever(row: dict[str, Any]) -> None:
    quick, slow = Slots(), Slots()
    for slots in (quick, slow):
        slots.rows([{"a": 1.0, "b": 2.0}], grow=True)
        slots.rows([{"a": 1.0, "b": 2.0}], grow=True)
    np.testing.assert_array_equal(quick.rows([row], grow=True), slow.rows([row, row], grow=True)[:1])
    assert quick.places == slow.places
    for bad in (float("inf"), 1e200):
        with pytest.raises(ValueError, match="too large"):
            quick.rows([{"a": bad, "b": 2.0}], grow=True)
