"""Probabilities and intervals: from rows that a model had not seen, kept with it, in line with its predictions."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.calibration import Calibration, Intervals, Unseen, calibrated, fit_intervals
from dsekl.calibration.increasing_maps import Map
from dsekl.estimators.late import Calibrating
from dsekl.losses.log_loss import log_losses
from dsekl.persistence import ModelFileError
from dsekl.solvers import DualAscent

QUICK: dict[str, Any] = dict(random_state=0, n_jobs=1)
GIVEN: dict[str, Any] = dict(**QUICK, gamma=4.0, C=1.0)

rng = np.random.default_rng(0)


def two_classes(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return rows, labels and the true probabilities of the second class."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, (n, 2))
    truth = 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))
    return X, (random.random(n) < truth).astype(int), truth


WAYS: dict[str, dict[str, Any]] = {
    "learned": QUICK,
    "given": GIVEN,
    "squared hinge": dict(**GIVEN, loss="squared_hinge"),
    "squared": dict(**GIVEN, loss="squared"),
    "logistic": dict(**GIVEN, loss="logistic"),
    "early stopping": dict(**GIVEN, early_stopping=True),
    "algorithm 1": dict(**GIVEN, solver="doubly_stochastic", max_epochs=10),
    "algorithm 2": dict(**GIVEN, solver="shared_memory", max_epochs=10),
    "random Fourier": dict(**QUICK, gamma=0.5, solver="doubly_stochastic", expansion="random_fourier", max_epochs=10),
    "growing": dict(**GIVEN, loss="hinge"),
}


@pytest.fixture(scope="module")
def growing() -> DSEKLClassifier:
    X, y, _ = two_classes(9000, 0)
    return DSEKLClassifier(**WAYS["growing"]).fit(X, y)


@pytest.mark.parametrize("way", WAYS)
def test_every_fit_gives_probabilities_near_the_truth(way: str, growing: DSEKLClassifier) -> None:
    X, y, _ = two_classes(600, 0)
    X_new, _, truth = two_classes(500, 1)
    model = growing if way == "growing" else DSEKLClassifier(**WAYS[way]).fit(X, y)
    p = model.predict_proba(X_new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # Ten epochs of random steps end farther from the optimum: 0.111 to 0.132 over seeds, exact fits 0.102 to 0.113.
    assert np.abs(p[:, 1] - truth).mean() < (0.14 if way.startswith("algorithm") else 0.12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_new))
    f = model.decision_function(X_new)
    np.testing.assert_array_equal(np.argsort(f, kind="stable"), np.argsort(p[:, 1], kind="stable"))
    np.testing.assert_array_equal(model.predict_log_proba(X_new), np.log(p))


def test_newcomers_of_the_last_doubling_were_not_seen(growing: DSEKLClassifier) -> None:
    """Half of the rows, as a model of the other half predicts them: their log loss is that of new rows."""
    assert growing.calibration_.n_rows == 4500
    X_new, y_new, _ = two_classes(4000, 2)
    assert growing.calibration_.log_loss == pytest.approx(log_loss(y_new, growing.predict_proba(X_new)), abs=0.03)


def test_the_last_sample_is_solved_before_it_is_doubled(growing: DSEKLClassifier) -> None:
    gaps = [epoch["gap"] for epoch in growing.history_]
    assert gaps.count(np.inf) > 2  # one epoch for each size, but for the last sample


def test_several_classes_add_up_and_keep_the_decision() -> None:
    X, y = load_iris(return_X_y=True)
    model = DSEKLClassifier(**QUICK, gamma=0.5).fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    assert p.shape == (75, 3)
    assert log_loss(y[1::2], p) < 0.25
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X[1::2]))


def test_weights_are_respected() -> None:
    """Rows of one class that count nine times as much make it nine times as likely where nothing else is known."""
    X, y = rng.normal(size=(400, 1)), np.tile([0, 1], 200)
    model = DSEKLClassifier(**QUICK, gamma=0.01, C=0.1).fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0))
    assert model.predict_proba(X)[:, 1].mean() > 0.8


@pytest.mark.parametrize("way", ["learned", "given", "algorithm 1"])
def test_files_pickles_and_copies_keep_the_probabilities(way: str, tmp_path: Path) -> None:
    X, y, _ = two_classes(300, 0)
    model = DSEKLClassifier(**WAYS[way]).fit(X, y)
    pickled = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model")
    p = model.predict_proba(X)
    for other in (pickled, dsekl.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(other.predict_proba(X), p)
    compact = model.compact(0.05)
    assert np.abs(compact.predict_proba(X) - p).max() < 0.2


def test_a_resumed_fit_has_the_same_probabilities(tmp_path: Path) -> None:
    X, y, _ = two_classes(300, 0)
    whole = DSEKLClassifier(**QUICK).fit(X, y).predict_proba(X)
    path = tmp_path / "checkpoint"
    stopped = DSEKLClassifier(**QUICK, checkpoint=path, callbacks=[lambda report: True]).fit(X, y)
    assert stopped.stop_reason_ in ("callback", "tol")
    np.testing.assert_array_equal(DSEKLClassifier(**QUICK, checkpoint=path).fit(X, y).predict_proba(X), whole)


def test_a_warm_start_with_other_labels_forgets_the_old_probabilities() -> None:
    X, y, _ = two_classes(300, 0)
    model = DSEKLClassifier(**QUICK, warm_start=True).fit(X, y)
    before = model.predict_proba(X)[:, 1]
    after = model.fit(X, 1 - y).predict_proba(X)[:, 1]
    assert np.corrcoef(before, after)[0, 1] < -0.9


def test_a_model_of_many_rows_that_was_not_asked_says_so_after_it_was_saved(tmp_path: Path) -> None:
    X, y, _ = two_classes(8500, 0)
    model = DSEKLClassifier(gamma=1.0, solver="doubly_stochastic", max_epochs=1, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    loaded = dsekl.load(tmp_path / "model")
    assert not hasattr(loaded, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        _ = loaded.predict_proba
    assert "before save" in str(caught.value.__cause__)
    assert model.predict_proba(X[:5]).shape == (5, 2)
    assert model.calibration_.n_rows == 4250


FORGED = {
    "no method": Map("softmax", 1.0, 1.0),
    "two slopes": Map("sigmoid", 1.0, 2.0),
    "an offset": Map("sigmoid", 1.0, 1.0, offset=1.0),
    "a line that falls": Map("isotonic", 1.0, 1.0, 0.0, np.array([-1.0, 0.0, 1.0]), np.array([0.6, 0.5, 0.7])),
    "a line beside 1/2": Map("isotonic", 1.0, 1.0, 0.0, np.array([-1.0, 1.0]), np.array([0.4, 0.7])),
    "no line": Map("isotonic", 1.0, 1.0),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_calibration_is_refused(forged: str, tmp_path: Path) -> None:
    X, y, _ = two_classes(120, 0)
    model = DSEKLClassifier(**GIVEN).fit(X, y)
    model.predict_proba(X)
    model._late._value = Calibration(FORGED[forged], 10, 0.1)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError):
        dsekl.load(tmp_path / "model")


def unseen_of(f: Any, positive: Any) -> Unseen:
    targets = np.where(positive, 1.0, -1.0)[:, None]
    return Unseen(np.asarray(f)[:, None], targets, np.ones(len(f)), np.arange(len(f)))


def test_the_richer_map_is_taken_only_where_it_wins() -> None:
    f = rng.uniform(-1, 1, 4000)
    straight = calibrated(unseen_of(f, rng.random(4000) < 1 / (1 + np.exp(-4 * f))), has_odds=False)
    assert straight.method == "sigmoid"
    assert straight.map.above == pytest.approx(4.0, rel=0.2)
    steps = calibrated(unseen_of(f, rng.random(4000) < np.where(f > 0.5, 0.98, np.where(f > -0.5, 0.5, 0.02))), False)
    assert steps.method == "isotonic"
    assert calibrated(unseen_of(f, rng.random(4000) < 1 / (1 + np.exp(-f))), has_odds=True).map.above == 1.0


def test_odds_of_a_machine_of_half_the_rows_are_corrected_by_half() -> None:
    """Its f is smaller than that of the model, where neither a richer map nor twice the slope would be right."""
    f = rng.uniform(-4, 4, 4000)
    shrunk = unseen_of(f / 2, rng.random(4000) < 1 / (1 + np.exp(-f)))
    found = calibrated(shrunk, has_odds=True, by_less=True)
    assert found.method == "sigmoid"
    assert found.map.above == found.map.below == pytest.approx(2**0.5, rel=0.1)
    assert calibrated(shrunk, has_odds=True).map.above == pytest.approx(2.0, rel=0.1)
    true = calibrated(unseen_of(f, shrunk.targets[:, 0] > 0), has_odds=True, by_less=True)
    assert true.map.above == pytest.approx(1.0, abs=0.05)


def test_the_slope_is_halved_where_the_model_has_more_rows_than_what_predicted() -> None:
    f = rng.uniform(-4, 4, 4000)
    shrunk = unseen_of(f / 2, rng.random(4000) < 1 / (1 + np.exp(-f)))
    of_half = Unseen(shrunk.f, shrunk.targets, shrunk.weights, 2 * shrunk.places)
    assert Calibrating(of_half, True, False, 1)().map.above < 1.6
    assert Calibrating(of_half, True, True, 1)().map.above > 1.7
    assert Calibrating(shrunk, True, False, 1)().map.above > 1.7


def test_rows_that_are_all_right_are_no_proof_of_certainty() -> None:
    f = np.array([-1.0, -1.0, 1.0, 1.0])
    p = calibrated(unseen_of(f, f > 0), has_odds=False).probabilities(f[:, None])
    assert p.min() > 0.1


def test_imbalance_of_one_in_a_hundred() -> None:
    """The threshold that tuning finds raises the balanced accuracy, which a threshold of 1/2 leaves low."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 2))
    y = (random.random(3000) < 0.08 * (X[:, 0] > 1)).astype(int)
    settings: dict[str, Any] = dict(**QUICK, gamma=0.5, loss="logistic")
    model = DSEKLClassifier(**settings).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    tuned = TunedThresholdClassifierCV(DSEKLClassifier(**settings), scoring="balanced_accuracy", cv=2).fit(X, y)
    new = random.normal(size=(20_000, 2))
    labels = random.random(20_000) < 0.08 * (new[:, 0] > 1)
    low, raised = (balanced_accuracy_score(labels, each.predict(new)) for each in (model, tuned))
    assert low < 0.6 < 0.8 < raised
    fixed = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.03, response_method="predict_proba").fit(X, y)
    np.testing.assert_array_equal(fixed.predict(X), (model.predict_proba(X)[:, 1] >= 0.03).astype(int))


@pytest.fixture(scope="module")
def uneven() -> tuple[Any, ...]:
    """A regression whose noise grows along the first column."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (1600, 2))
    y = np.sin(6 * X[:, 1]) + random.normal(size=1600) * (0.05 + X[:, 0])
    return X[:600], y[:600], X[600:], y[600:]


def covered(ends: Any, y: Any) -> float:
    return float(((ends[:, 0] <= y) & (y <= ends[:, 1])).mean())


def test_intervals_hold_their_share_and_are_wide_where_noise_is(uneven: Any, tmp_path: Path) -> None:
    X, y, X_new, y_new = uneven
    model = DSEKLRegressor(**QUICK).fit(X, 1000 * y)
    ends = model.predict_interval(X_new, coverage=0.8)
    assert covered(ends, 1000 * y_new) == pytest.approx(0.8, abs=0.06)
    width = ends[:, 1] - ends[:, 0]
    assert width[X_new[:, 0] > 0.8].mean() > 2 * width[X_new[:, 0] < 0.2].mean()
    model.save(tmp_path / "model")
    for other in (dsekl.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_interval(X_new, coverage=0.8), ends)
    assert covered(model.compact(50.0).predict_interval(X_new), 1000 * y_new) > 0.8


@pytest.mark.parametrize("settings", [dict(loss="quantile"), dict(solver="doubly_stochastic", max_epochs=10)])
def test_intervals_of_other_machines(settings: dict[str, Any], uneven: Any) -> None:
    X, y, X_new, y_new = uneven
    model = DSEKLRegressor(**QUICK, gamma=4.0, **settings).fit(X, y)
    assert covered(model.predict_interval(X_new), y_new) == pytest.approx(0.9, abs=0.05)


def test_intervals_of_several_targets(uneven: Any) -> None:
    X, y, X_new, _ = uneven
    model = DSEKLRegressor(**QUICK, gamma=4.0).fit(X, np.column_stack([y, -10 * y]))
    ends = model.predict_interval(X_new)
    assert ends.shape == (1000, 2, 2)
    np.testing.assert_allclose(ends[:, 1, 1] - ends[:, 0, 1], 10 * (ends[:, 1, 0] - ends[:, 0, 0]), rtol=0.05)


def test_a_coverage_that_the_rows_do_not_allow_is_refused(uneven: Any) -> None:
    X, y, X_new, _ = uneven
    model = DSEKLRegressor(**QUICK, gamma=4.0).fit(X, y)
    for coverage in (0.0, 1.0, 0.9999, "high"):
        with pytest.raises(ValueError, match=r"coverage=.* at most 0\.99"):
            model.predict_interval(X_new, coverage=coverage)


def test_the_ends_are_the_order_statistics_of_split_conformal() -> None:
    """Of 19 scores and a coverage of 0.9, the ends are the smallest and the largest: (19 + 1) 0.05 = 1."""
    residuals = np.arange(-9.0, 10.0)
    unseen = Unseen(np.zeros((19, 1)), residuals[:, None], np.ones(19), np.arange(19))
    found = fit_intervals(unseen, None, np.arange(19))
    low, high = found.bounds(np.zeros((1, 1)), None, 0.9)
    assert (low[0, 0], high[0, 0]) == (-9.0, 9.0)
    low, high = found.bounds(np.zeros((1, 1)), None, 0.8)
    assert (low[0, 0], high[0, 0]) == (-8.0, 8.0)


@pytest.mark.parametrize("forged", ["falling", "no weight", "nothing"])
def test_forged_intervals_are_refused(forged: str, uneven: Any, tmp_path: Path) -> None:
    X, y, *_ = uneven
    model = DSEKLRegressor(**QUICK, gamma=4.0).fit(X[:100], y[:100])
    ones = np.ones((3, 1))
    model.predict_interval(X[:1], 0.5)
    model._late._value = {
        "falling": Intervals(np.array([[3.0], [2.0], [1.0]]), ones),
        "no weight": Intervals(np.array([[1.0], [2.0], [3.0]]), 0 * ones),
        "nothing": Intervals(np.empty((0, 1)), np.empty((0, 1))),
    }[forged]
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError):
        dsekl.load(tmp_path / "model")


def test_a_fit_that_does_not_grow_has_no_newcomers() -> None:
    X, y = make_moons(300, noise=0.3, random_state=0)
    assert [DualAscent().grows(300), DualAscent().grows(9000), DualAscent(grow=False).grows(9000)] == [
        False,
        True,
        False,
    ]
    assert DSEKLClassifier(**GIVEN).fit(X, y).calibration_.n_rows == 300


def test_a_constant_has_intervals_of_no_width() -> None:
    X = np.random.default_rng(0).standard_normal((200, 3))
    model = DSEKLRegressor(random_state=0).fit(X, np.full(200, 7.0))
    np.testing.assert_array_equal(model.predict_interval(X[:2]), np.full((2, 2), 7.0))


def test_any_finite_f_has_probabilities():
    largest = np.finfo(np.float64).max
    f = np.array([[largest, largest, largest], [-largest, largest, 0.0], [-largest, -largest, -largest]])
    found = Map("softmax", 2.0, 2.0).probabilities(f)
    np.testing.assert_allclose(found, [[1 / 3, 1 / 3, 1 / 3], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-9)


def test_probabilities_as_the_objective_choose_by_log_loss() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = (rng.random(1200) < 0.25 / (1 + np.exp(-2 * X[:, 0]))).astype(int)  # never more likely than not
    losses = {}
    for loss, objective in (("hinge", "decisions"), ("auto", "probabilities")):
        model = DSEKLClassifier(loss=loss, objective=objective, random_state=0, n_jobs=1).fit(X[:400], y[:400])
        losses[objective] = log_loss(y[400:], model.predict_proba(X[400:]))
        assert objective == "decisions" or model.loss_ == "logistic"
    assert losses["probabilities"] < losses["decisions"]
    few = DSEKLClassifier(objective="probabilities", gamma=1.0, random_state=0).fit(X[:60], y[:60])
    assert few.loss_ == "logistic"
    with pytest.raises(ValueError, match="objective"):
        DSEKLClassifier(objective="both").fit(X, y)


def test_log_losses_do_not_depend_on_the_size_of_f() -> None:
    rng = np.random.default_rng(0)
    f = rng.normal(size=(50, 3))
    y = np.where(np.arange(3) == rng.integers(0, 3, 50)[:, None], 1.0, -1.0)
    np.testing.assert_allclose(log_losses(y, f), log_losses(y, 100 * f))
    np.testing.assert_allclose(log_losses(y[:, :1], f[:, :1]), log_losses(y[:, :1], 7 * f[:, :1]))
    assert log_losses(y, np.zeros((50, 3))).mean() == pytest.approx(np.log(3))
