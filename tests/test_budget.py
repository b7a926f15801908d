"""A fit within a time budget: the clock is the test's own, or the time is over before the fit begins."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor, tuning
from dsekl.cli.console import Output
from dsekl.cli.fit_job import FitJob
from dsekl.cli.reading import read_training
from dsekl.data.recipe_learner import Options
from dsekl.deadline import Budget, Deadline
from dsekl.kernels import RBF
from dsekl.losses import Hinge
from dsekl.models import Examples, Fitted, Machine, fit
from dsekl.models.cross_fitting import CrossFit
from dsekl.rows import as_rows
from dsekl.runs import Run, Stopping
from dsekl.solvers import DoublyStochastic, DualAscent, SharedMemory

X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=0)
MOONS, SIDES = make_moons(600, noise=0.2, random_state=0)
NO_TIME = 1e-9
"""Seconds that are over when the first question is asked."""


class Ticking:
    """A clock that goes on by a tick whenever somebody looks at it."""

    def __init__(self, tick: float) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def wrong(targets: Any, f: Any) -> Any:
    return (targets[:, 0] * f[:, 0] <= 0).astype(float)


def fitted(machine: Machine, run: Run, rows: Any = X, labels: Any = y) -> Fitted:
    return fit(machine, Examples.of(as_rows(rows), np.where(labels > 0, 1.0, -1.0)[:, None], None, wrong, labels), run)


def test_a_deadline_is_a_moment_of_its_clock() -> None:
    budget = Budget(10.0, Ticking(1.0))
    assert [budget.deadline(0.5).left for _ in range(3)] == [4.0, 3.0, 2.0]
    assert not budget.deadline(0.7).passed
    assert budget.deadline(0.5).passed
    assert budget.deadline(0.1).left == 0.0
    halfway = Deadline(20.0, Ticking(2.0)).after(0.5)
    assert halfway.end == 11.0
    assert math.isinf(Budget().deadline(0.5).left)


def test_where_no_time_is_given_no_clock_is_read() -> None:
    clock = Ticking(1.0)
    assert fitted(Machine(None, None), Run(budget=Budget(math.inf, clock))).reason == "tol"
    assert clock.now == 0.0


@pytest.mark.parametrize("tick", [0.01, 0.04, 0.1])
def test_everything_ends_within_a_tenth_of_the_time_and_leaves_a_model(tick: float) -> None:
    clock = Ticking(tick)
    found = fitted(Machine(None, None), Run(budget=Budget(10.0, clock)))
    assert found.reason == "max_seconds"
    assert found.settled.cut_short
    assert clock.now <= 11.0
    f = found.model.evaluate(as_rows(X))[:, 0]
    assert ((f > 0) == y).mean() > 0.75


def test_a_longer_search_compares_more() -> None:
    looks = []
    for seconds in (1.0, 16.0, 64.0):
        clock, run = Ticking(0.02), Run()
        run.budget = Budget(seconds, clock)
        kept: set[str] = set()
        run.keep_if_due = lambda run, kept=kept: kept.update(run.stages)  # type: ignore[misc]
        fitted(Machine(None, None), run)
        looks.append(len(kept))
    assert looks[0] < looks[1] < looks[2]


def test_with_time_enough_the_model_is_that_of_a_fit_without_a_budget() -> None:
    plain = fitted(Machine(None, None), Run())
    budgeted = fitted(Machine(None, None), Run(budget=Budget(1e6, Ticking(1e-3))))
    assert budgeted.reason == plain.reason == "tol"
    np.testing.assert_array_equal(budgeted.model.coef, plain.model.coef)
    np.testing.assert_allclose(budgeted.importances, plain.importances)


def test_a_fit_that_time_ended_within_an_epoch_goes_on_to_the_model_of_a_straight_one() -> None:
    machine = Machine(RBF(), Hinge(), gamma=2.0, C=10.0, solver=DualAscent(100))
    straight = fitted(machine, Run(5, Stopping(tol=1e-4)), MOONS, SIDES)
    run = Run(5, Stopping(tol=1e-4), budget=Budget(1.0, Ticking(0.1)))
    first = fitted(machine, run, MOONS, SIDES)
    assert first.reason == "max_seconds"
    assert run.state is not None
    assert run.state.plan is not None
    run.budget = Budget()
    last = fitted(machine, run, MOONS, SIDES)
    assert last.reason == straight.reason == "tol"
    np.testing.assert_array_equal(last.model.coef, straight.model.coef)


def test_no_step_is_begun_that_would_end_too_late() -> None:
    """Each step takes 2 seconds here; with 3 left of 9 one more is taken, with 1 left none."""
    clock = Ticking(0.0)
    steps: list[float] = []

    class Slow(DualAscent):
        def epoch(self, problem: Any, state: Any) -> Any:
            for done in super().epoch(problem, state):
                clock.now += 2.0
                steps.append(done)
                yield done

    machine = Machine(RBF(), Hinge(), gamma=2.0, C=10.0, solver=Slow(100))
    assert fitted(machine, Run(budget=Budget(10.0, clock)), MOONS, SIDES).reason == "max_seconds"
    assert len(steps) == 4
    assert clock.now == 8.0


@pytest.mark.parametrize(
    "model",
    [
        DSEKLClassifier(),
        DSEKLRegressor(),
        DSEKLClassifier(early_stopping=True),
        DSEKLClassifier(solver=DoublyStochastic(50, 50), gamma=1.0),
        DSEKLClassifier(solver=SharedMemory(100, 100), gamma=1.0),
        DSEKLClassifier(kernel="linear"),
    ],
    ids=["classifier", "regressor", "early stopping", "Algorithm 1", "Algorithm 2", "linear"],
)
def test_a_fit_without_time_still_takes_a_step(model: Any, tmp_path: Path) -> None:
    model.set_params(max_seconds=NO_TIME, random_state=0).fit(X, y)
    assert model.stop_reason_ == "max_seconds"
    assert model.model_.n_terms > 0
    assert not hasattr(model, "feature_importances_")
    model.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    assert (loaded.stop_reason_, loaded.max_seconds) == ("max_seconds", NO_TIME)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_run_that_moves_at_an_epochs_end_has_a_model_by_then() -> None:
    """Ridge on a wide kernel goes by conjugate gradients, whose steps add up products and move nothing."""
    wide = np.random.default_rng(0).standard_normal((1_500, 3))
    model = DSEKLRegressor(gamma=0.05, C=1.0, solver=DualAscent(300), max_seconds=NO_TIME, random_state=0)
    model.fit(wide, np.sin(wide[:, 0]))
    assert model.stop_reason_ in ("max_seconds", "tol")
    assert model.n_iter_ <= 1
    assert model.score(wide, np.sin(wide[:, 0])) > 0.5


@pytest.mark.parametrize("way", ["checkpoint", "warm_start"])
def test_each_fit_has_all_of_the_time_and_goes_on_from_the_last(way: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = dict(gamma=2.0, C=10.0, tol=1e-4, solver=DualAscent(100), random_state=0)
    straight = DSEKLClassifier(**settings).fit(MOONS, SIDES)
    going_on: dict[str, Any] = {"checkpoint": dict(checkpoint=tmp_path / "run"), "warm_start": dict(warm_start=True)}
    model = DSEKLClassifier(**settings, **going_on[way], max_seconds=NO_TIME)
    terms = [model.fit(MOONS, SIDES).model_.n_terms for _ in range(3)]
    assert model.stop_reason_ == "max_seconds"
    assert terms[0] < terms[2] < straight.model_.n_terms
    model.set_params(max_seconds=None).fit(MOONS, SIDES)
    assert model.stop_reason_ == "tol"
    np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)


def test_what_a_search_without_time_has_settled_on_stays_settled(tmp_path: Path) -> None:
    model = DSEKLClassifier(max_seconds=NO_TIME, checkpoint=tmp_path / "run", random_state=0).fit(X, y)
    assert model.metric_ == "equal"
    gamma = model.gamma_
    model.set_params(max_seconds=None).fit(X, y)
    np.testing.assert_array_equal(model.gamma_, gamma)
    assert model.stop_reason_ == "max_seconds", "the search was cut short, though the solver was not"


class SlowRows:
    """Rows that take half a second to become an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        time.sleep(0.5)
        return X


def test_the_time_to_read_rows_counts() -> None:
    model = DSEKLClassifier(max_seconds=0.5, random_state=0).fit(SlowRows(), y)
    assert model.metric_ == "equal"
    assert model.stop_reason_ == "max_seconds"


@pytest.mark.parametrize("seconds", [1e-9, math.inf])
def test_later_fits_share_what_time_they_have(seconds: float) -> None:
    machine, reasons = Machine(RBF(), Hinge(), gamma=2.0, C=10.0, solver=DualAscent(100)), []

    def solve(machine: Machine, examples: Examples, run: Run) -> Fitted:
        found = fit(machine, examples, run)
        reasons.append(found.reason)
        return found

    examples = Examples.of(as_rows(MOONS), np.where(SIDES > 0, 1.0, -1.0)[:, None], None, wrong, SIDES)
    settled = fitted(machine, Run(), MOONS, SIDES).settled
    unseen = CrossFit(solve, machine, examples, settled, 0, Stopping(tol=1e-2), seconds).unseen()
    assert len(unseen) == len(SIDES)
    assert reasons == ["tol" if math.isinf(seconds) else "max_seconds"] * 5


def test_what_probabilities_are_learned_from_has_a_tenth_of_the_time() -> None:
    found = fitted(Machine(RBF(), Hinge(), gamma=2.0, C=10.0), Run(budget=Budget(20.0)), MOONS, SIDES)
    assert isinstance(found.unseen, CrossFit)
    assert found.unseen.seconds == 2.0


@pytest.mark.parametrize("max_seconds", [0, -1.0, "soon"])
def test_time_is_a_positive_number(max_seconds: Any) -> None:
    with pytest.raises(ValueError, match="'max_seconds' parameter of DSEKLClassifier must be"):
        DSEKLClassifier(max_seconds=max_seconds).fit(X, y)


def test_a_tuning_without_time_judges_one_candidate_and_fits_it(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    tuned = tuning.tune([DSEKLClassifier()], X, y, max_seconds=NO_TIME, journal=journal)
    assert tuned.estimator.stop_reason_ == "max_seconds"
    assert len(tuned.outcomes) == 1
    assert "base" not in journal.read_text(), "what was cut short is not kept"


def test_reading_and_scores_count_on_the_command_line(bought: Path, tmp_path: Path) -> None:
    output, options = Output(as_json=False, quiet=True), Options(target="buys", categorical=("id",))
    read = replace(read_training(output, bought / "train.csv", options, None, None, None), seconds=100.0)
    settings: dict[str, Any] = {"max_seconds": 50.0, "solver": "dual", "random_state": 0, "n_jobs": 1}
    path = tmp_path / "m.dsekl"
    summary, scores = FitJob(output, read, None, settings, bought / "train.csv", path, None).run(np.arange(60), True)
    assert summary["stopped"] == "max_seconds"
    assert summary["fitted_rows"] == 240, "there was no time to fit all rows"
    assert scores is not None
    assert path.exists()


def test_the_command_line_takes_a_time_budget(run: Any, bought: Path, tmp_path: Path) -> None:
    table, model = bought / "train.csv", tmp_path / "m.dsekl"
    done = run("fit", table, "-t", "buys", "-m", model, "--text", "id", "--max-seconds", "1e-9", "--json", "-q")
    assert done.code == 0
    assert done.json["stopped"] == "max_seconds"
    tuned = run("tune", table, "-t", "buys", "-m", tmp_path / "t.dsekl", "--text", "id", "--max-seconds", "1e-9", "-q")
    assert tuned.code == 0
    for command in ("fit", "tune"):
        refused = run(command, table, "-t", "buys", "-m", tmp_path / "n.dsekl", "--max-seconds", "0")
        assert refused.code == 2
        assert "--max-seconds 0.0: give a number greater than 0" in refused.err


def test_conjugate_gradients_without_time_leave_a_model_that_predicts() -> None:
    """Their steps move nothing before the end of an epoch."""
    rows = np.random.default_rng(0).uniform(-1, 1, (2100, 3))
    targets = rows[:, 0] + rows[:, 1] ** 2
    model = DSEKLRegressor(kernel="rbf", gamma=0.1, C=1.0, max_seconds=NO_TIME, random_state=0).fit(rows, targets)
    assert model.n_iter_ == 1
    assert model.score(rows, targets) > 0.9
