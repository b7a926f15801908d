"""Without an estimator in hand: plain values in, a plain value out, and the same predictions to the bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dsekl import DSEKLClassifier, DSEKLRegressor, losses
from dsekl.gram import build
from dsekl.kernels import RBF
from dsekl.models import Examples, Machine, Model, fit
from dsekl.rows import as_rows
from dsekl.runs import Run, Stopping
from dsekl.solvers import DoublyStochastic, DualAscent, Problem
from dsekl.workers import Threads
from tests.problems import xor

X, y = xor(1200, seed=0)
QUERIES, _ = xor(300, seed=1)
TARGETS = y.astype(np.float64)[:, None]


def seed_of(random_state: int) -> int:
    """The seed that an estimator takes from its random_state."""
    return int(np.random.RandomState(random_state).randint(2**31 - 1))


def wrong(y: Any, f: Any) -> Any:
    return (np.where(f > 0, 1.0, -1.0) != y).any(axis=1).astype(float)


@pytest.mark.parametrize("gamma", [5.0, "auto", "median"])
@pytest.mark.parametrize("solver", [DualAscent(200), DoublyStochastic()], ids=repr)
def test_a_machine_fitted_to_examples_says_what_the_estimator_says(solver: Any, gamma: Any) -> None:
    machine = Machine(None, None, gamma, solver=solver)
    run = Run(seed_of(0), Stopping(max_epochs=20), Threads(2))
    codes = (y > 0).astype(np.intp)
    fitted = fit(machine, Examples.of(as_rows(X), TARGETS, errors=wrong, classes=codes), run)
    estimator = DSEKLClassifier(gamma=gamma, solver=solver, max_epochs=20, random_state=0).fit(X, y)
    found = fitted.model.evaluate(as_rows(QUERIES))
    np.testing.assert_array_equal(found[:, 0], estimator.decision_function(QUERIES))
    np.testing.assert_array_equal(fitted.model.evaluate(as_rows(QUERIES), Threads(2), budget=1), found)
    np.testing.assert_array_equal(fitted.support, estimator.support_)
    assert (fitted.C, fitted.n_epochs, fitted.reason) == (estimator.C_, estimator.n_iter_, estimator.stop_reason_)
    assert run.state is not None
    assert run.finished


def test_weights_outputs_and_rows_held_out_need_no_estimator_either() -> None:
    targets = np.column_stack([np.sin(X[:, 0]), X.prod(axis=1)])
    weights = np.linspace(0.0, 2.0, len(X))

    def squared(y: Any, f: Any) -> Any:
        return losses.Squared().value(y, f).mean(axis=1)

    machine = Machine(RBF(), losses.Squared(), 1.0, C=2.0)
    run = Run(seed_of(3), Stopping(max_epochs=5, validation_fraction=0.2))
    fitted = fit(machine, Examples.of(as_rows(X), targets, weights, squared), run)
    estimator = DSEKLRegressor(
        gamma=1.0,
        C=2.0,
        fit_intercept=False,
        early_stopping=True,
        validation_fraction=0.2,
        max_epochs=5,
        random_state=3,
    ).fit(X, targets, weights)
    # The estimator fits targets in units of their spread, so that the two differ by rounding.
    np.testing.assert_allclose(fitted.model.evaluate(as_rows(QUERIES)), estimator.predict(QUERIES), rtol=1e-9)
    np.testing.assert_array_equal(fitted.validation_rows, estimator.validation_rows_)
    assert 0 not in fitted.validation_rows, "a row without weight is in no part"


def test_a_run_is_gone_on_from() -> None:
    machine = Machine(RBF(), losses.Hinge(), 5.0, solver=DoublyStochastic())
    examples = Examples.of(as_rows(X), TARGETS)
    straight = fit(machine, examples, Run(7, Stopping(max_epochs=6)))
    run = Run(7, Stopping(max_epochs=2))
    fit(machine, examples, run)
    run.stopping = Stopping(max_epochs=6)
    gone_on = fit(machine, examples, run)
    assert gone_on.n_epochs == straight.n_epochs == 6
    np.testing.assert_array_equal(gone_on.model.coef, straight.model.coef)


def test_a_solvers_epochs_by_hand_make_the_estimators_model() -> None:
    """A gram, a problem, a few epochs: no machine and no loop either."""
    gram = build(RBF(), as_rows(X), 5.0, "float64", kernel_tol=1e-6)
    solver = DualAscent(200)
    problem = Problem(gram, TARGETS[gram.order], np.ones(len(X)), losses.Hinge(), 1.0)
    state = solver.start(problem, np.random.default_rng(seed_of(0)))
    while state.epoch < 100:
        for _ in solver.epoch(problem, state):
            pass
        if solver.judge(problem, state).met:
            break
    model, kept = Model.of(gram, solver.coefficients(problem, state))
    estimator = DSEKLClassifier(gamma=5.0, solver=solver, random_state=0).fit(X, y)
    assert state.epoch == estimator.n_iter_
    np.testing.assert_array_equal(gram.order[kept], estimator.support_)
    np.testing.assert_array_equal(model.evaluate(as_rows(QUERIES))[:, 0], estimator.decision_function(QUERIES))


def test_a_model_packs_its_points_once_and_predicts_a_row_alone_as_among_others() -> None:
    model = DSEKLRegressor(gamma=5.0, kernel_tol=0.0, random_state=0).fit(X, y)
    size = len(pickle.dumps(model))
    together = model.predict(QUERIES)
    points = model.model_.gram.col_points
    packed = points.packed
    np.testing.assert_array_equal([model.predict(row[None])[0] for row in QUERIES[:20]], together[:20])
    assert model.model_.gram.col_points.packed is packed
    again = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(model)) == size
    np.testing.assert_array_equal(again.predict(QUERIES), together)
