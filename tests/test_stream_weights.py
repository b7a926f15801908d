"""Weights of features on a stream: the descent's derivative, when it is due, and what is kept for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dsekl import OnlineDSEKLClassifier
from dsekl.compiled import pointer, profile_signature
from dsekl.kernels import RBF, Matern
from dsekl.losses import Logistic, Loss, Squared
from dsekl.online import drift, relearning, weights
from dsekl.online.callbacks import address_of
from dsekl.online.growth import widen
from dsekl.online.online_state import learner_of, learner_values

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kernel", [RBF(), Matern(nu=2.5)], ids=["rbf", "matern"])
@pytest.mark.parametrize("loss", [Logistic(), Squared()], ids=["logistic", "squared"])
def test_the_derivative_by_weights_is_that_of_finite_differences(kernel: Any, loss: Loss) -> None:
    profile = pointer(kernel.profile(), profile_signature("float32"))
    points, coef = (RNG.standard_normal(shape).astype(np.float32) for shape in ((3, 20), (2, 20)))
    expansion = weights.Expansion(points, coef, address_of(profile), np.asarray(kernel.params()))
    rows = RNG.standard_normal((40, 3)).astype(np.float32)
    examples = weights.Examples(rows, np.sign(RNG.standard_normal((40, 2))), RNG.uniform(size=40), loss)
    logs, step = np.array([0.3, -0.5, -1.0]), 0.05
    found = weights._gradient(expansion, examples, logs)
    for k in range(3):
        ahead, behind = (
            examples.mean_loss(expansion.predict(rows, np.exp(logs + sign * step * np.eye(3)[k]))) for sign in (1, -1)
        )
        # The loss of a row is the mean over outputs, the gradient that of their sum.
        assert found[k] == pytest.approx(2 * (ahead - behind) / (2 * step), rel=0.02, abs=1e-3)


def test_weights_are_learned_as_long_as_the_stream_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    learn = relearning.relearn

    def counted(learner: Any, early: Any) -> bool:
        rows.append((learner.n_seen, early.size))
        return learn(learner, early)

    monkeypatch.setattr(relearning, "relearn", counted)
    monkeypatch.setattr(relearning, "LEARNED_AT", relearning.LEARNED_AT[:11])
    X = RNG.standard_normal((20_000, 2))
    OnlineDSEKLClassifier(budget=20, random_state=0).partial_fit(X, X[:, 0] > 0, classes=[False, True])
    last = relearning.LEARNED_AT[-1]
    assert [n for n, _ in rows] == [*relearning.LEARNED_AT, *range(2 * last, 20_000, last)]
    sizes = [size for _, size in rows[len(relearning.LEARNED_AT) :]]
    assert min(sizes) > relearning.MOST_ROWS // 2
    assert max(sizes) <= relearning.MOST_ROWS


def test_a_file_holds_the_rows_of_a_stream_whose_features_came_late() -> None:
    X = RNG.standard_normal((relearning.MOST_ROWS - 64, 1))
    model = OnlineDSEKLClassifier(budget=5, n_cols=1, random_state=0).partial_fit(X, X[:, 0] > 0, classes=[False, True])
    learner = model.learner_
    n_features = 2 * relearning.MOST_ENTRIES // relearning.MOST_ROWS
    widen(learner, n_features)
    assert learner.early.size <= learner.early.most < len(X)
    again = learner_of(learner.settings, n_features, 1, learner_values(learner))
    assert again.early is not None
    np.testing.assert_array_equal(again.early.rows, learner.early.rows)


def test_a_long_stream_without_a_change_has_none_told() -> None:
    sums, told = drift.nothing(), 0
    for errors in RNG.binomial(drift.BLOCK, 0.2, size=20_000):
        sums[:, drift.NOW] += errors
        told += drift.changed(sums)
    assert told <= 1
