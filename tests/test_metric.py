"""The learned metric: its gradient is the derivative, its choice is confirmed by rows that it has not seen."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.gram.tree import random_subtrees
from dsekl.kernels import Laplacian, Matern
from dsekl.metric import relevance
from dsekl.metric.candidates import Candidates, n_repeated
from dsekl.metric.data import Data
from dsekl.metric.descent import Descent, Learner
from dsekl.metric.neighbours import neighbour_loss
from dsekl.metric.scales import deviations
from dsekl.models import Examples, Machine, fit
from dsekl.models.examples import absolute_errors
from dsekl.rows import as_rows
from dsekl.runs import Run, Stages
from dsekl.search import draw_regions, draw_splits
from dsekl.workers import ALONE, Threads


def batch(n_outputs: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "rows": rng.standard_normal((50, 4)), "row_targets": rng.standard_normal((50, n_outputs)),
        "row_weights": rng.uniform(0.5, 2, 50), "cols": rng.standard_normal((130, 4)),
        "col_targets": rng.standard_normal((130, n_outputs)), "col_weights": rng.uniform(0.5, 2, 130),
    }  # fmt: skip


def weighted_mean_error(data: dict[str, Any], gamma: Any) -> float:
    """The plain reference."""
    difference = data["rows"][:, None] - data["cols"][None]
    closeness = np.exp(-(difference**2 * gamma).sum(axis=2)) * data["col_weights"]
    predicted = closeness @ data["col_targets"] / closeness.sum(axis=1, keepdims=True)
    return float(np.average(((predicted - data["row_targets"]) ** 2).sum(axis=1), weights=data["row_weights"]))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_gradient_is_the_derivative(n_outputs: int) -> None:
    data, gamma = batch(n_outputs), np.array([0.3, 1.0, 2.0, 0.05])
    scale = np.sqrt(gamma)
    points = {**data, "rows": data["rows"] * scale, "cols": data["cols"] * scale}
    loss, gradient = neighbour_loss(**points, workers=Threads(2))
    assert loss == pytest.approx(weighted_mean_error(data, gamma), rel=1e-6)
    for k in range(4):
        step = np.exp(1e-5 * (np.arange(4) == k))
        up, down = (weighted_mean_error(data, g) for g in (gamma * step, gamma / step))
        assert gradient[k] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-8)


def test_rows_far_from_every_column_take_the_nearest() -> None:
    data = batch(1)
    data["rows"] = data["rows"] + 1e3
    loss, gradient = neighbour_loss(**data, workers=ALONE)
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()


def test_units_of_columns() -> None:
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(4000)
    heavy = np.concatenate([normal[:3990], 1e6 * np.ones(10)])
    rare = (rng.uniform(size=4000) < 0.01).astype(float)
    lonely = np.concatenate([np.zeros(3999), [7.0]])
    columns = np.column_stack([normal, 1e5 * normal, heavy, rare, np.ones(4000), lonely + rare])
    units = deviations(as_rows(columns)) ** 2
    assert units[0] == pytest.approx(1.0, rel=0.1)
    assert units[1] == pytest.approx(1e10 * units[0])
    assert units[2] == pytest.approx(1.0, rel=0.1)
    assert units[3] == pytest.approx(0.25)
    assert units[4] == 0
    assert units[5] > 0


def test_subtrees_are_whole_parts_of_the_space() -> None:
    points = np.random.default_rng(0).uniform(size=(20_000, 2)).astype(np.float32)
    parts = random_subtrees(points, 1_000, 6, np.random.default_rng(0))
    assert len(parts) == 6
    for rows in parts:
        assert 300 < len(rows) <= 1_000
        low, high = points[rows].min(axis=0), points[rows].max(axis=0)
        inside = ((points >= low) & (points <= high)).all(axis=1)
        assert inside.sum() == len(rows)


def test_few_rows_are_one_region_in_folds() -> None:
    splits = draw_splits(103, 1_000, np.random.default_rng(0))
    regions = draw_regions(splits, 103, lambda: np.empty((0, 2), np.float32), 1_000, 6, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.concatenate([region.held_out for region in regions])), np.arange(103))
    for region in regions:
        np.testing.assert_array_equal(np.sort(np.concatenate([region.fitted, region.held_out])), np.arange(103))


def test_many_rows_are_judged_by_rows_that_nothing_was_learned_from() -> None:
    points = np.random.default_rng(0).uniform(size=(20_000, 2)).astype(np.float32)
    splits = draw_splits(20_000, 1_000, np.random.default_rng(0))
    regions = draw_regions(splits, 20_000, lambda: points, 1_000, 6, np.random.default_rng(0))
    assert len(splits) == 1
    assert len(splits[0]) == 4_000
    for region in regions:
        assert np.isin(region.held_out, splits[0]).all()
        assert not np.isin(region.fitted, splits[0]).any()


def two_of_twenty(n: int, seed: int) -> tuple[Any, Any]:
    """Two columns that matter, in wildly different units, among eighteen that do not."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    y = X[:, 3] * X[:, 11] > 0
    return X * 10.0 ** rng.integers(-4, 5, 20), y


@pytest.mark.parametrize("kernel", ["rbf", Laplacian(), Matern(1.5)])
def test_the_columns_that_matter_are_found(kernel: Any) -> None:
    X, y = two_of_twenty(1500, 0)
    model = DSEKLClassifier(kernel=kernel, gamma="learn", random_state=0).fit(X[:1000], y[:1000])
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {3, 11}
    assert model.metric_ in ("learned", "selected")
    assert model.score(X[1000:], y[1000:]) > 0.9
    equal = make_pipeline(StandardScaler(), DSEKLClassifier(kernel=kernel, gamma="scale", random_state=0))
    assert equal.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) < 0.75


def test_regression_with_many_targets() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1200, 12))
    Y = np.column_stack([np.sin(4 * X[:, 0]), X[:, 5] ** 2]) + 0.05 * rng.standard_normal((1200, 2))
    model = DSEKLRegressor(gamma="learn", random_state=0).fit(X[:800], Y[:800])
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 5}
    assert model.score(X[800:], Y[800:]) > 0.9


def test_constant_and_repeated_columns() -> None:
    X, y = two_of_twenty(800, 1)
    strange = np.column_stack([X, np.full(800, 1e6), X[:, 3], X[:, 3]])
    model = DSEKLClassifier(gamma="learn", random_state=0).fit(strange[:600], y[:600])
    assert model.feature_importances_[20] == 0
    assert model.score(strange[600:], y[600:]) > 0.85


def test_thousands_of_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2000))
    model = DSEKLClassifier(gamma="learn", random_state=0).fit(X, X[:, 7] > 0)
    assert np.isfinite(model.gamma_).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_one_hot_groups_in_the_company_of_numbers() -> None:
    rng = np.random.default_rng(0)
    codes, number = rng.integers(0, 6, 1200), rng.standard_normal(1200)
    X = np.column_stack([np.eye(6)[codes], 1e4 * number])
    y = (codes % 2 == 0) ^ (number > 0)
    model = DSEKLClassifier(gamma="learn", random_state=0).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > 0.93


def test_heavy_tails() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy((1200, 5))
    y = X[:, 0] > 0
    model = DSEKLClassifier(gamma="learn", random_state=0).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > 0.9


def test_rows_that_never_vary_give_a_model() -> None:
    X, y = np.ones((150, 3)), np.arange(150) % 2
    assert DSEKLClassifier(gamma="learn", random_state=0).fit(X, y).score(X, y) == pytest.approx(0.5)


def test_one_random_state_decides_whatever_the_threads() -> None:
    X, y = two_of_twenty(900, 2)
    models = [DSEKLClassifier(gamma="learn", random_state=0, n_jobs=n).fit(X, y) for n in (1, 2, 3)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.gamma_, models[0].gamma_)
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)
    other = DSEKLClassifier(gamma="learn", random_state=1).fit(X, y)
    assert not np.array_equal(other.gamma_, models[0].gamma_)


def test_rows_without_weight_are_not_learned_from() -> None:
    X, y = two_of_twenty(900, 3)
    wrong = np.arange(900) >= 600
    labels = np.where(wrong, ~y, y)
    model = DSEKLClassifier(gamma="learn", random_state=0).fit(X, labels, sample_weight=np.where(wrong, 0.0, 1.0))
    alone = DSEKLClassifier(gamma="learn", random_state=0).fit(X[:600], y[:600])
    np.testing.assert_array_equal(model.gamma_, alone.gamma_)


def test_a_given_C_is_kept_and_auto_chooses_one() -> None:
    X, y = datasets.make_moons(400, noise=0.2, random_state=0)
    assert DSEKLClassifier(gamma="learn", C=3.0, random_state=0).fit(X, y).C_ == 3.0
    assert DSEKLClassifier(gamma=2.0, random_state=0).fit(X, y).C_ == 1.0
    assert DSEKLClassifier(gamma="learn", random_state=0).fit(X, y).C_ > 0


@pytest.mark.parametrize(
    ("settings", "X"),
    [(dict(kernel="linear"), np.eye(150)), (dict(), sparse.csr_array(np.eye(150)))],
)
def test_what_cannot_be_learned_is_said(settings: dict[str, Any], X: Any) -> None:
    with pytest.raises(ValueError, match=r"gamma='learn' needs dense rows and a distance-based \(stationary\) kernel"):
        DSEKLClassifier(gamma="learn", **settings).fit(X, np.arange(150) % 2)
    assert not hasattr(DSEKLClassifier(**settings).fit(X, np.arange(150) % 2), "metric_")


@pytest.mark.parametrize("name", ["wine", "breast_cancer", "digits"])
def test_the_defaults_are_a_good_model_and_no_worse_than_equal_weights(name: str) -> None:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X, y = X[:600], y[:600]
    model = DSEKLClassifier(random_state=0)
    equal = make_pipeline(StandardScaler(), DSEKLClassifier(gamma="scale", C=4.0, random_state=0))
    found, reference = (cross_val_score(clone(m), X, y, cv=4).mean() for m in (model, equal))
    assert found >= reference - 2 * np.sqrt(reference * (1 - reference) / len(y)) - 0.005
    assert found > 0.9


@pytest.mark.parametrize("steps", [3, 400])
def test_ctrl_c_while_the_metric_is_learned_is_raised_and_leaves_no_model(
    steps: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y = two_of_twenty(600, 4)
    seen = [0]
    descend = Learner._loss

    def counted(self: Learner, *sides: Any) -> Any:
        seen[0] += 1
        if seen[0] == steps:
            signal.raise_signal(signal.SIGINT)
        return descend(self, *sides)

    monkeypatch.setattr(Learner, "_loss", counted)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    checkpoint = tmp_path / "run.ckpt"
    model = DSEKLClassifier(random_state=0, checkpoint=checkpoint, warm_start=True)
    with pytest.raises(KeyboardInterrupt, match="before the first epoch"):
        model.fit(X, y)
    assert not hasattr(model, "model_")
    assert checkpoint.exists()
    whole = model.fit(X, y)
    assert whole.stop_reason_ == "tol"
    np.testing.assert_array_equal(whole.gamma_, DSEKLClassifier(random_state=0).fit(X, y).gamma_)


INTERRUPTED = """
import os, signal
import numpy as np
from numba.core import serialize

calls, place, number, unpickle = 0, 0, signal.SIGINT, serialize._numba_unpickle

def interrupted(*arguments):
    global calls
    calls += 1
    if calls == place:
        os.kill(os.getpid(), number)
    return unpickle(*arguments)

serialize._numba_unpickle = interrupted

from dsekl import DSEKLClassifier

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 4))
y = X[:, 0] * X[:, 1] > 0
whole = DSEKLClassifier(random_state=0).fit(X, y)
total = calls
for place in (total // 4, *range(total // 2 - 3, total // 2 + 3), 3 * total // 4, 9 * total // 10):
    calls = 0
    model = DSEKLClassifier(random_state=0, warm_start=True)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        assert calls >= place
    else:
        raise AssertionError(f"call {place} of {total} was not interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert (model.fit(X, y).dual_coef_ == whole.dual_coef_).all()

def asked_to_end(number, frame):
    raise SystemExit(3)

expected = whole.predict(X)
for raised, name in ((KeyboardInterrupt, "SIGINT"), (SystemExit, "SIGTERM")):
    number = getattr(signal, name)
    if number == signal.SIGTERM:
        signal.signal(number, asked_to_end)
    handler = signal.getsignal(number)
    for ask in (lambda: whole.predict(X), lambda: whole.compact(0.1, X)):
        place = 0
        for _ in range(2):  # the first one also loads compiled code
            calls = 0
            ask()
        total = calls
        assert total > 0
        for place in {1, 1 + total // 2, total}:
            calls = 0
            try:
                ask()
            except raised:
                assert calls >= place
            else:
                raise AssertionError(f"call {place} of {total} was not interrupted by {name}")
            assert signal.getsignal(number) is handler
    place = 0
    assert (whole.predict(X) == expected).all()
print("done")
"""


def test_ctrl_c_while_numba_takes_a_function_is_ctrl_c() -> None:
    """There an exception is lost, and Numba raises a TypeError in its place."""
    code = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(code, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.stdout, ended.stderr) == ("done\n", "")


def test_values_whose_squares_overflow_are_named_by_their_column() -> None:
    X, y = two_of_twenty(200, 0)
    X = X.astype(np.float64)
    X[:, 3] *= 1e200
    with pytest.raises(ValueError, match=r"column 3 of X holds .* too large for squares"):
        DSEKLClassifier(random_state=0).fit(X, y)
    # Whoever has no estimator in hand is told as well.
    examples = Examples.of(as_rows(X), np.where(y > 0, 1.0, -1.0)[:, None])
    with pytest.raises(ValueError, match="column 3 of X has values so far apart"):
        fit(Machine(None, None), examples, Run(0))


def test_useless_columns_by_the_hundred_are_left_out() -> None:
    """Small weights of many columns add up to a distance that has nothing to do with the target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_600, 300)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0
    model = DSEKLClassifier(random_state=0).fit(X[:1_000], y[:1_000])
    assert model.metric_ == "selected"
    assert {0, 1, 2} <= set(np.flatnonzero(model.gamma_))
    assert np.count_nonzero(model.gamma_) <= 32
    assert model.score(X[1_000:], y[1_000:]) > 0.85


def test_features_of_one_group_are_selected_together() -> None:
    X = np.random.default_rng(0).standard_normal((50, 5))
    groups = np.array([0, 1, 1, 1, 2])
    data = Data(as_rows(X), X[:, :1], np.ones(50), absolute_errors, None, ALONE, groups=groups)
    candidates = Candidates(data, [], np.ones(5), 0, Stages({}, None, lambda: None))
    gamma = np.array([1.0, 3.0, 3.0, 3.0, 2.0])
    np.testing.assert_array_equal(candidates._heaviest(gamma, 1), [0, 3, 3, 3, 0])
    np.testing.assert_array_equal(candidates._heaviest(gamma, 2), [0, 3, 3, 3, 2])


def test_weights_of_one_split_are_the_mean_of_several_descents() -> None:
    """Each is led astray by other batches; where there are several splits, their own mean evens that out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3))
    data = Data(as_rows(X), np.sin(3 * X[:, :1]), np.ones(900), absolute_errors, None, ALONE)
    stages = Stages({}, None, lambda: None)
    learned = Candidates(data, [np.arange(300)], X.std(axis=0), 0, stages).learned(lambda done: None)["learned"][0]
    names = ["descent 0, equal", "descent 0, equal, again 1", "descent 0, equal, again 2"]
    found = [stages.take(name, Descent, {"features": 3}) for name in names]
    ends = np.array([descent.average for descent in found if descent is not None])
    assert len(ends) == n_repeated(1, 900) == 3
    assert np.ptp(ends, axis=0).min() > 0
    np.testing.assert_allclose(learned, np.exp(ends.mean(axis=0)))
    assert n_repeated(5, 900) == n_repeated(1, 540_000) == 1


def test_a_start_that_is_decidedly_behind_halfway_goes_no_further() -> None:
    """In one unit a column of large codes has all of the distance. A search that goes on comes to the same weights."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_500, 4))
    y = np.sin(3 * X[:, :1]) + X[:, 1:2]
    X[:, 3] *= 1e4
    data = Data(as_rows(X), y, np.ones(1_500), absolute_errors, None, ALONE)
    kept: list[dict[str, Any]] = []
    values: dict[str, Any] = {}

    def learned(start: dict[str, Any], keep: Any) -> dict[str, list[Any]]:
        stages = Stages(start, None, keep)
        return Candidates(data, [np.arange(500)], X.std(axis=0), 0, stages).learned(lambda done: None)

    whole = learned(values, lambda: kept.append(dict(values)))
    assert "descent 0, equal" in values
    assert "descent 0, isotropic, first steps" in values
    assert "descent 0, isotropic" not in values
    for before in (kept[5], kept[-2]):
        again = learned(before, lambda: None)
        for name, gammas in whole.items():
            np.testing.assert_array_equal(again[name], gammas)


def test_a_weak_signal_in_a_few_of_a_hundred_columns_is_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 100))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + X[:, 2]
    y = signal + signal.std() * rng.standard_normal(800)
    for seed in (0, 1):
        model = DSEKLRegressor(random_state=seed).fit(X[:400], y[:400])
        unexplained = np.mean((model.predict(X[400:]) - signal[400:]) ** 2) / signal[400:].var()
        assert unexplained < 0.2


def test_what_a_column_explains_alone() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((2_000, 12)), np.ones(2_000), rng.integers(0, 2, 2_000)])
    y = X[:, :1] ** 2 + X[:, 13:] + X[:, 1:2] * X[:, 2:3]
    found = relevance.relevances(X, y, np.ones(2_000))
    assert found[0] > 0.4
    assert found[13] > 0.02
    assert found[12] == 0.0, "it is constant"
    assert (found[1:12] < 0.02).all(), "these say nothing, or nothing alone"
    repeated = relevance.relevances(np.repeat(X, 2, axis=0)[:, :1], np.repeat(y, 2, axis=0), np.full(4_000, 3.0))
    np.testing.assert_allclose(repeated, found[:1], rtol=0.02)


def test_sixty_rows_in_unlike_units_are_no_surprise() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((460, 5))
    X, y = Z * [1.0, 1e4, 1e-3, 10.0, 1e6], Z[:, 0] + np.abs(Z[:, 1])
    model = DSEKLRegressor(random_state=0).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.6
