"""The search for width and C on regions: what it saves must not change what it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.kernels import Matern
from dsekl.losses import Hinge, Squared
from dsekl.metric import Data, candidates
from dsekl.metric.kind import Kind
from dsekl.metric.region_fits import MOST_SINGLE_C
from dsekl.metric.score import CLEAR, EASY, ENOUGH_ROWS, Found
from dsekl.metric.search import FEWEST_SKETCHED, FIRST_ROWS, Search
from dsekl.models import fitting
from dsekl.models.cross_fitting import CrossFit
from dsekl.rows import as_rows
from dsekl.search import Region
from dsekl.workers import ALONE


def search_of(n: int, loss: Any, n_regions: int = 1) -> Search:
    """A search on noisy moons, or on their height, of regions that hold out a fifth each."""
    X, classes = make_moons(n, noise=0.3, random_state=0)
    y = (2.0 * classes - 1.0)[:, None] if isinstance(loss, Hinge) else X[:, 1:] ** 2
    data = Data(as_rows(X), y, np.ones(n), lambda y, f: (np.sign(f) != y)[:, 0].astype(float), classes, ALONE)
    parts = [np.arange(first, n, 5) for first in range(n_regions)]
    regions = [Region(np.setdiff1d(np.arange(n), part), part, 0) for part in parts]
    return Search(data, regions, Kind("", Matern(1.5), "", loss, None, [np.ones(2), np.ones(2)]), None)


def test_a_fit_does_not_depend_on_where_it_starts() -> None:
    walked = search_of(400, Hinge())
    walked.refined((0, 0))
    alone = search_of(400, Hinge())
    assert walked.at((1, 0)).loss == pytest.approx(alone.at((1, 0)).loss, abs=0.01)
    assert walked.at((-1, -3)).loss == pytest.approx(alone.at((-1, -3)).loss, abs=0.01)  # from a larger C


def test_single_precision_is_enough_for_ridge_with_a_small_C(monkeypatch: pytest.MonkeyPatch) -> None:
    step = round(np.log(MOST_SINGLE_C / 4.0) / np.log(4.0))
    single = search_of(1_500, Squared()).predictions((0, step))
    monkeypatch.setattr("dsekl.metric.region_fits.MOST_SINGLE_C", 0.0)
    double = search_of(1_500, Squared()).predictions((0, step))
    assert np.sqrt(np.mean((single[0] - double[0]) ** 2)) < 0.01 * double[0].std()


def test_a_sketch_is_the_first_regions_and_part_of_their_rows() -> None:
    search = search_of(3_000, Hinge(), 3)
    thin = search.sketch.regions
    assert len(thin) == 1
    assert len(thin[0].held_out) >= FIRST_ROWS
    np.testing.assert_array_equal(thin[0].fitted, search.regions[0].fitted[::3])
    two = search_of(2_000, Hinge(), 3).sketch.regions
    assert len(two) == 2
    for region, whole in zip(two, search_of(2_000, Hinge(), 3).regions, strict=False):
        np.testing.assert_array_equal(region.fitted, whole.fitted[::2])
    few = search_of(FEWEST_SKETCHED, Hinge(), 5)
    assert few.sketch is few


def errors_of(n_wrong: int, n: int) -> Found:
    wrong = (np.arange(n) < n_wrong).astype(float)
    return Found(0, 0, wrong, wrong, np.ones(n))


def test_errors_leave_room_where_half_of_them_would_be_evidence() -> None:
    assert [errors_of(k, 2 * ENOUGH_ROWS).leaves(EASY) for k in (0, 1, 2, 3)] == [False, False, False, True]
    assert [errors_of(k, 2 * ENOUGH_ROWS).leaves(CLEAR) for k in (4, 5)] == [False, True]
    assert errors_of(0, ENOUGH_ROWS - 1).leaves(EASY)


def test_nothing_is_learned_where_equal_weights_leave_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("weights are learned")

    monkeypatch.setattr(candidates.Candidates, "_descended", refuse)
    X, y = make_blobs(1_200, 4, centers=2, cluster_std=0.5, random_state=0)
    model = DSEKLClassifier(random_state=0).fit(X, y)
    assert (model.metric_, model.kernel_) == ("equal", "matern32")
    assert model.score(X, y) == 1.0
    noisy = np.where(np.random.default_rng(0).uniform(size=1_200) < 0.1, 1 - y, y)
    with pytest.raises(AssertionError, match="weights are learned"):
        DSEKLClassifier(random_state=0).fit(X, noisy)


@pytest.mark.parametrize("estimator", [DSEKLClassifier, DSEKLRegressor])
def test_the_search_predicts_unseen_rows_as_the_solver_would(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, Any]] = []
    unseen = CrossFit.unseen

    def both(self: CrossFit, workers: Any = ALONE, folds: Any = None) -> Any:
        found = unseen(self, workers, folds)
        if folds is not None:
            again = unseen(self, workers, [type(fold)(fold.held_out, fold.gamma) for fold in folds])
            seen.append((found, again))
        return found

    monkeypatch.setattr(fitting.CrossFit, "unseen", both)
    X, y = make_moons(400, noise=0.3, random_state=0)
    estimator(random_state=0).fit(X, y if estimator is DSEKLClassifier else y + X[:, 0])
    (found, again), *others = seen
    assert not others
    np.testing.assert_array_equal(found.places, again.places)
    assert np.abs(found.f - again.f).max() < 0.1 * again.f.std()
