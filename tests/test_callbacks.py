"""What a fit tells others: callbacks of ours, scikit-learn's where it has them, and the log."""

from __future__ import annotations

import builtins
import importlib.util
import logging
import pickle
import runpy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.estimators import Report, callbacks
from dsekl.solvers import DoublyStochastic
from tests.problems import xor

X, y = xor(300, seed=0)
SETTINGS: dict[str, Any] = dict(gamma=1.0, solver=DoublyStochastic(50, 50), random_state=0, max_epochs=4)

has_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks"
)


class Collector:
    def __init__(self, stop_at: int = 0) -> None:
        self.reports: list[Report] = []
        self.stop_at = stop_at

    def __call__(self, report: Report) -> bool:
        self.reports.append(report)
        return len(self.reports) == self.stop_at


@pytest.mark.parametrize("kind", [DSEKLClassifier, DSEKLRegressor])
def test_a_callback_hears_what_the_history_holds(kind: Any) -> None:
    seen = Collector()
    model = kind(**SETTINGS, early_stopping=True, callbacks=[seen]).fit(X, y)
    assert [report.record for report in seen.reports] == model.history_
    assert {"seconds", "epoch", "kernel_evaluations", "training_loss", "change", "validation_error"} <= set(
        seen.reports[0].record
    )
    assert all(report.estimator is model for report in seen.reports)


def test_a_callback_that_returns_true_ends_the_fit_with_the_model_so_far() -> None:
    seen = Collector(stop_at=2)
    model = DSEKLClassifier(**SETTINGS, callbacks=[seen, lambda report: "not True"]).fit(X, y)
    assert model.stop_reason_ == "callback"
    assert model.n_iter_ == len(model.history_) == 2
    short = DSEKLClassifier(**{**SETTINGS, "max_epochs": 2}).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, short.dual_coef_)


def test_a_callback_can_look_at_the_model_so_far() -> None:
    predictions = []

    def look(report: Report) -> None:
        model = report.model()
        predictions.append(model.decision_function(X))
        assert not hasattr(report.estimator, "dual_coef_")
        assert model.n_iter_ == report.record["epoch"]

    final = DSEKLClassifier(**SETTINGS, callbacks=[look]).fit(X, y)
    np.testing.assert_array_equal(predictions[-1], final.decision_function(X))
    second = DSEKLClassifier(**{**SETTINGS, "max_epochs": 2}).fit(X, y)
    np.testing.assert_array_equal(predictions[1], second.decision_function(X))


def test_an_exception_propagates_with_the_state_kept() -> None:
    def fail(report: Report) -> None:
        if report.record["epoch"] == 2:
            raise RuntimeError("of the callback")

    model = DSEKLClassifier(**SETTINGS, warm_start=True, callbacks=[fail])
    with pytest.raises(RuntimeError, match="of the callback"):
        model.fit(X, y)
    model.set_params(callbacks=None).fit(X, y)  # it is the same run, and ends where it would have
    straight = DSEKLClassifier(**SETTINGS).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)


def test_what_is_no_callback_is_named() -> None:
    with pytest.raises(ValueError, match=r"callbacks=\[3\] must be callables .* 3 cannot be called"):
        DSEKLClassifier(callbacks=[3]).fit(X, y)
    with pytest.raises(ValueError, match="'callbacks' parameter"):
        DSEKLClassifier(callbacks=print).fit(X, y)


def test_callbacks_survive_clone_and_cross_validation() -> None:
    calls: list[int] = []
    model = DSEKLClassifier(**SETTINGS, callbacks=[lambda report: calls.append(report.record["epoch"])])
    assert len(cross_val_score(clone(model), X, y, cv=2)) == 2
    assert calls == [1, 2, 3, 4] * 2


def test_every_epoch_is_logged(caplog: Any) -> None:
    with caplog.at_level(logging.DEBUG, logger="dsekl"):
        DSEKLClassifier(**SETTINGS).fit(X, y)
    records = [record for record in caplog.records if "kernel_evaluations" in record.getMessage()]
    assert len(records) == 4
    assert {record.levelname for record in records} == {"DEBUG"}
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="dsekl"):
        DSEKLClassifier(**SETTINGS, verbose=True).fit(X, y)
    assert [record.levelname for record in caplog.records] == ["INFO"] * 4


class Tasks:
    """A callback of scikit-learn's kind that writes down what it is told."""

    def __init__(self, stop_at: int = 0) -> None:
        self.events: list[tuple[str, str, int]] = []
        self.scores: list[float] = []
        self.stop_at = stop_at

    def setup(self, estimator: Any, context: Any) -> None:
        self.events.append(("setup", context.task_name, context.max_subtasks))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.events.append(("teardown", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.events.append(("end", context.task_name, context.task_id))
        self.scores.append(fitted_estimator.score(X, y))
        return context.task_name == "epoch" and context.task_id + 1 == self.stop_at


@has_callbacks
@pytest.mark.parametrize("kind", [DSEKLClassifier, DSEKLRegressor])
def test_scikit_learns_callbacks_see_a_task_for_each_epoch(kind: Any) -> None:
    tasks = Tasks()
    model = kind(**SETTINGS).set_callbacks(tasks).fit(X, y)
    epochs = [(event, "epoch", k) for k in range(4) for event in ("begin", "end")]
    fit = [("setup", "fit", 4), ("begin", "fit", 0), *epochs, ("end", "fit", 0), ("teardown", "fit", 0)]
    assert tasks.events == fit
    assert tasks.scores[-1] == tasks.scores[-2] == model.score(X, y)
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)


@has_callbacks
def test_scikit_learns_callbacks_can_end_the_fit() -> None:
    model = DSEKLClassifier(**SETTINGS).set_callbacks(Tasks(stop_at=2)).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (2, "callback")


@has_callbacks
def test_scikit_learns_own_monitor_works_on_the_estimator_and_in_a_pipeline() -> None:
    from sklearn.callback import ProgressBar, ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = DSEKLClassifier(**SETTINGS).set_callbacks(monitor).fit(X, y, sample_weight=np.ones(300))
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(scores) == 4
    assert scores[-1] == model.score(X, y)
    pipeline = make_pipeline(StandardScaler(), DSEKLClassifier(**SETTINGS)).set_callbacks(ProgressBar())
    assert pipeline.fit(X, y).score(X, y) > 0.9


def test_an_older_scikit_learn_without_callbacks_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_callbacks(name: str, globals: Any = None, *rest: Any) -> Any:
        if name == "sklearn.callback" and globals["__name__"] == "again":
            raise ImportError(name)
        return original(name, globals, *rest)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without_callbacks)
    module = runpy.run_path(str(callbacks.__file__), run_name="again")
    assert module["CallbackSupportMixin"].__module__ == "again"
    assert module["CallbackSupportMixin"].__bases__ == (object,)
