"""Algorithms 1 and 2: their gradients, their randomness, their stopping, and what they reach."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, DSEKLRegressor, losses
from dsekl.kernels import RBF
from dsekl.solvers import DoublyStochastic, Problem, SharedMemory, preconditioner
from dsekl.solvers.block_gradient import CurvatureBound, data_gradient, safe_step
from dsekl.workers import ALONE, Threads
from tests.oracles import build
from tests.problems import xor

ALL_LOSSES = ["hinge", "squared_hinge", "logistic", "squared", "epsilon_insensitive", "huber", "quantile"]


def make_problem(loss: str, n: int = 60, n_outputs: int = 2, C: float = 0.5, n_threads: int = 1) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    task = "classification" if loss in ("hinge", "squared_hinge", "logistic") else "regression"
    targets = rng.standard_normal((n, n_outputs))
    targets = np.sign(targets) if task == "classification" else targets
    gram = build(RBF(), X, 0.5, "float64", n_threads=n_threads)
    return Problem(gram, targets, rng.uniform(0.5, 2.0, n), losses.resolve(loss, task), C, Threads(n_threads))


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_the_block_gradient_is_that_of_the_sampled_objective(loss: str) -> None:
    problem = make_problem(loss)
    rng = np.random.default_rng(1)
    rows, cols = rng.integers(0, 60, 20), rng.permutation(60)[:15]
    coef = rng.standard_normal((15, 2))
    columns = problem.gram.columns(cols)

    def objective(c: Any) -> float:
        f = columns.block(rows) @ c
        return float((problem.weights[rows, None] * problem.loss.value(problem.targets[rows], f)).sum())

    gradient, total = data_gradient(problem, columns, rows, coef)
    step = 1e-5
    for j, o in [(0, 0), (3, 1), (14, 0)]:
        moved = np.zeros_like(coef)
        moved[j, o] = step
        slope = (objective(coef + moved) - objective(coef - moved)) / (2 * step)
        assert gradient[j, o] == pytest.approx(slope, rel=1e-5, abs=1e-7)
    assert total == pytest.approx(objective(coef))


def test_one_step_of_algorithm_1_is_the_papers_update() -> None:
    problem = make_problem("squared_hinge", n=40)
    solver = DoublyStochastic(n_rows=40, n_cols=10, step_size=0.01, steps="paper")
    state = solver.start(problem, np.random.default_rng(3))
    start = np.random.default_rng(4).standard_normal(state.coef.shape)
    state.coef[:] = start
    state.step = 4
    twin = np.random.default_rng(3)
    rows, cols = twin.integers(0, 40, 40, dtype=np.intp), twin.choice(40, 10, replace=False, shuffle=False)
    next(solver.epoch(problem, state))

    K = problem.gram.block(rows, cols)
    slope = problem.weights[rows, None] * problem.loss.gradient(problem.targets[rows], K @ start[cols])
    expected = start.copy()
    expected[cols] -= 0.01 / 5 * (K.T @ slope + 2 / (problem.C * 40) * start[cols])
    np.testing.assert_allclose(state.coef, expected, rtol=1e-10)


@pytest.mark.parametrize("reading", ["local", "global"])
def test_one_epoch_of_algorithm_2_is_its_serial_pseudocode(reading: str) -> None:
    problem = make_problem("logistic", n=50)
    solver = SharedMemory(n_rows=20, n_cols=15, gradient=reading, learning_rate=0.7, steps="paper")
    state = solver.start(problem, np.random.default_rng(5))
    state.epoch = 2
    for _ in solver.epoch(problem, state):
        pass

    twin = np.random.default_rng(5)
    row_order, col_order = twin.permutation(50), twin.permutation(50)
    coef, G = np.zeros((50, 2)), np.ones((50, 2))
    K = problem.gram.block(slice(None), slice(None))
    for rows in np.split(row_order, [20, 40]):
        gradient = np.zeros_like(coef)
        for cols in np.split(col_order, [15, 30, 45]):
            seen = cols if reading == "local" else slice(None)
            slope = problem.loss.gradient(problem.targets[rows], K[rows][:, seen] @ coef[seen])
            gradient[cols] = K[np.ix_(rows, cols)].T @ (problem.weights[rows, None] * slope)
        gradient += 2 / (problem.C * 50) * coef
        G += gradient**2
        coef -= 0.7 / 3 * gradient / np.sqrt(G)
    np.testing.assert_allclose(state.coef, coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reading", ["local", "global"])
def test_any_number_of_workers_equals_the_serial_run_to_the_bit(reading: str) -> None:
    X, y = xor(300, seed=0)
    solvers = [SharedMemory(n_rows=70, n_cols=40, n_workers=k, gradient=reading) for k in (1, 2, 5)]
    models = [DSEKLClassifier(gamma=1.0, solver=s, max_epochs=4, tol=0.0, random_state=0).fit(X, y) for s in solvers]
    for model in models[1:]:
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)


def test_algorithm_2_without_the_pairs_out_of_reach_is_algorithm_2() -> None:
    """Enough points for a spatial order, and a kernel narrow enough to prune: as good, by any number of workers."""
    X, y = xor(3000, seed=0)

    def fit(**settings: Any) -> Any:
        solver = SharedMemory(n_rows=700, n_cols=400, n_workers=settings.pop("n_workers", 1))
        common = dict(gamma=100.0, max_epochs=3, tol=0.0, random_state=0, dtype="float64", warm_start=True)
        return DSEKLClassifier(solver=solver, **common, **settings).fit(X, y)

    pruned, whole = fit(), fit(kernel_tol=0.0)
    assert pruned._run.state.prune
    assert not whole._run.state.prune
    # The two draw different batches of rows after their start, so their errors are compared and not their coefficients.
    np.testing.assert_array_equal(pruned.dual_coef_, fit(n_workers=3).dual_coef_)
    assert abs(pruned.score(X, y) - whole.score(X, y)) < 0.01


def test_a_pruned_gradient_of_algorithm_2_is_the_gradient() -> None:
    from dsekl.solvers.shared_memory import _global_gradients, _pruned_gradients

    X, y = xor(3000, seed=0)
    gram = build(RBF(), X, gamma=100.0, dtype="float64", kernel_tol=1e-9)
    targets = y[gram.order, None].astype(float)
    problem = Problem(gram, targets, np.ones(3000), losses.Hinge(), 1.0)
    rng = np.random.default_rng(1)
    coef = rng.standard_normal((3000, 1))
    rows = np.sort(rng.choice(3000, 500, replace=False))
    batches = [np.arange(0, 1700), np.arange(1700, 3000)]
    columns = [gram.columns(cols) for cols in batches]
    pruned, pruned_loss = _pruned_gradients(problem, rows, batches, columns, coef, ALONE)
    whole, whole_loss = _global_gradients(problem, rows, batches, columns, coef, ALONE)
    np.testing.assert_allclose(np.vstack(pruned), np.vstack(whole), atol=1e-5)
    assert pruned_loss == pytest.approx(whole_loss, rel=1e-6)


@pytest.mark.parametrize("solver", [DoublyStochastic(n_rows=30, n_cols=30), SharedMemory(n_rows=50, n_cols=50)])
def test_the_random_state_alone_decides_the_model(solver: Any) -> None:
    X, y = xor(200, seed=1)

    def fit(seed: int, n_jobs: int) -> Any:
        model = DSEKLClassifier(gamma=1.0, solver=solver, max_epochs=3, tol=0.0, random_state=seed, n_jobs=n_jobs)
        return model.fit(X, y).decision_function(X)

    np.testing.assert_array_equal(fit(0, 1), fit(0, 4))
    assert (fit(0, 1) != fit(1, 1)).any()


def test_algorithm_1_reaches_the_batch_svm_on_xor() -> None:
    """The paper's problem: N = 100, I = J = 50; the error stays within 2 points of SVC's over ten seeds."""
    ours, batch = [], []
    for seed in range(10):
        X, y = xor(100, seed=seed)
        X_test, y_test = xor(1000, seed=1000 + seed)
        model = DSEKLClassifier(
            gamma=1.0, solver=DoublyStochastic(50, 50, steps="paper"), max_epochs=200, random_state=seed
        )
        ours.append(1 - model.fit(X, y).score(X_test, y_test))
        batch.append(1 - SVC(gamma=1.0).fit(X, y).score(X_test, y_test))
    assert np.mean(ours) <= np.mean(batch) + 0.02


@pytest.mark.parametrize("kind", [DoublyStochastic, SharedMemory])
def test_averaging_returns_the_mean_of_all_of_the_papers_steps(kind: Any) -> None:
    problem = make_problem("squared", n=30)
    solver = kind(n_rows=10, n_cols=10, average=True, steps="paper")
    state = solver.start(problem, np.random.default_rng(0))
    seen = [state.coef.copy() for _ in range(3) for _ in solver.epoch(problem, state)]
    factor = 10 / 30 if kind is DoublyStochastic else 1.0
    np.testing.assert_allclose(solver.coefficients(problem, state), np.mean(seen, axis=0) * factor, rtol=1e-9)
    plain = kind(n_rows=10, n_cols=10, steps="paper")
    state = plain.start(problem, np.random.default_rng(0))
    seen = [state.coef.copy() for _ in plain.epoch(problem, state)]
    np.testing.assert_array_equal(plain.coefficients(problem, state), seen[-1] * factor)


@pytest.mark.parametrize("kind", [DoublyStochastic, SharedMemory])
def test_preconditioned_steps_are_averaged_by_default_and_later_ones_count_more(kind: Any) -> None:
    problem = make_problem("squared", n=30)
    solver = kind(n_rows=10, n_cols=10)
    state = solver.start(problem, np.random.default_rng(0))
    np.testing.assert_array_equal(solver.coefficients(problem, state), 0.0)
    seen = [state.coef.copy() for _ in range(3) for _ in solver.epoch(problem, state)]
    counts = [comb(t + preconditioner.AVERAGE - 1, preconditioner.AVERAGE) for t in range(1, len(seen) + 1)]
    expected = np.average(seen, axis=0, weights=counts)
    np.testing.assert_allclose(solver.coefficients(problem, state), expected, rtol=1e-9)
    last = kind(n_rows=10, n_cols=10, average=False)
    state = last.start(problem, np.random.default_rng(0))
    seen = [state.coef.copy() for _ in range(3) for _ in last.epoch(problem, state)]
    np.testing.assert_array_equal(last.coefficients(problem, state), seen[-1])


@pytest.mark.parametrize("solver", [DoublyStochastic(10, 10), SharedMemory(10, 10)], ids=str)
def test_the_mean_of_another_problem_starts_anew(solver: Any) -> None:
    """From the coefficients that the last problem ended with; what it went through does not count."""
    problem = make_problem("squared", n=30)
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(3):
        for _ in solver.epoch(problem, state):
            pass
    state = solver.adapt(replace(problem, targets=-problem.targets), state)
    np.testing.assert_array_equal(solver.coefficients(problem, state), state.coef)
    next(solver.epoch(replace(problem, targets=-problem.targets), state))
    np.testing.assert_allclose(solver.coefficients(problem, state), state.coef, rtol=1e-9)


@pytest.mark.parametrize("solver", [DoublyStochastic(50, 50), SharedMemory(50, 50)], ids=str)
def test_the_mean_comes_to_rest_although_its_steps_do_not_shrink(solver: Any) -> None:
    X, y = xor(200, seed=2)
    settings: dict[str, Any] = dict(gamma=1.0, solver=solver, max_epochs=60, random_state=0)
    changes = [record["change"] for record in DSEKLClassifier(tol=0.0, **settings).fit(X, y).history_]
    assert max(changes[-5:]) < 0.2 * changes[0]
    model = DSEKLClassifier(tol=0.2 * changes[0], **settings).fit(X, y)
    assert model.stop_reason_ == "tol"
    assert model.n_iter_ < 60


def test_averaging_takes_out_the_noise_of_the_steps() -> None:
    """Nearer to the minimum of eq. 4 than the last step, with few rows a step."""
    problem = replace(make_problem("squared", C=0.05), weights=np.ones(60))
    K = problem.gram.block(slice(None), slice(None))
    best = np.linalg.solve(K.T @ K + 2.0 * problem.penalty * np.eye(60), K.T @ problem.targets)
    distances = []
    for average in (True, False):
        solver = DoublyStochastic(20, 20, average=average)
        state = solver.start(problem, np.random.default_rng(0))
        for _ in range(40):
            for _ in solver.epoch(problem, state):
                pass
        distances.append(np.linalg.norm(K @ (solver.coefficients(problem, state) - best)))
    assert distances[0] < 0.8 * distances[1]


@pytest.mark.parametrize(("schedule", "expected"), [("inverse", 1 / 9), ("inverse_sqrt", 1 / 3), ("constant", 1.0)])
def test_schedules_shrink_the_steps(schedule: str, expected: float) -> None:
    problem = make_problem("hinge")
    solver = DoublyStochastic(step_size=0.5, schedule=schedule, steps="paper")
    state = solver.start(problem, np.random.default_rng(0))
    state.step = 9
    assert solver._step(state) == pytest.approx(0.5 * expected)


def test_algorithm_2_stops_by_the_papers_rule() -> None:
    X, y = xor(200, seed=2)
    model = DSEKLClassifier(gamma=1.0, solver=SharedMemory(50, 50, steps="paper"), random_state=0).fit(X, y)
    assert model.stop_reason_ == "tol"
    changes = [record["change"] for record in model.history_]
    assert changes[-1] < 1.0 <= min(changes[:-1])


def test_a_run_that_does_not_converge_says_so() -> None:
    X, y = xor(200, seed=2)
    with pytest.warns(ConvergenceWarning, match="max_epochs=2.*tol is 1e-09"):
        DSEKLClassifier(gamma=1.0, solver="shared_memory", max_epochs=2, tol=1e-9).fit(X, y)


def test_divergence_names_a_step_size_that_converges() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.sin(X[:, 0])
    diverging = DSEKLRegressor(gamma=0.1, solver=DoublyStochastic(step_size=1e3, steps="paper"), random_state=0)
    with pytest.raises(FloatingPointError, match=r"step_size=1000.0 .* try step_size=") as caught:
        diverging.fit(X, y)
    suggested = float(str(caught.value).split("try step_size=")[1].split(",")[0])
    model = DSEKLRegressor(
        gamma=0.1, solver=DoublyStochastic(step_size=suggested, schedule="constant", steps="paper"), random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.5


def test_a_safe_step_is_one_over_the_largest_curvature() -> None:
    problem = make_problem("squared", n=40)
    rows, cols = np.arange(40), np.arange(40)
    K = problem.gram.block(rows, cols)
    curvature = problem.weights.max() * np.linalg.eigvalsh(K.T @ K)[-1] + 2 * problem.penalty
    assert safe_step(problem, rows, cols) == pytest.approx(1 / curvature, rel=0.05)


@pytest.mark.parametrize("solver", ["doubly_stochastic", "shared_memory"])
def test_the_history_counts_time_evaluations_and_losses(solver: str) -> None:
    X, y = xor(400, seed=3)
    model = DSEKLClassifier(
        gamma=1.0, solver=solver, max_epochs=5, tol=0.0, early_stopping=True, validation_fraction=100, random_state=0
    ).fit(X, y)
    assert [record["epoch"] for record in model.history_] == [1, 2, 3, 4, 5]
    if solver == "shared_memory":  # all pairs, and as many again for the preconditioner
        assert [record["kernel_evaluations"] for record in model.history_] == [2 * 300 * 300 * k for k in range(1, 6)]
    assert np.all(np.diff([record["kernel_evaluations"] for record in model.history_]) > 0)
    assert all(0 <= record["validation_error"] <= 1 and record["training_loss"] >= 0 for record in model.history_)
    assert np.all(np.diff([record["seconds"] for record in model.history_]) > 0)


def test_validation_patience_stops_the_run_and_keeps_the_best_epoch() -> None:
    X, y = xor(300, seed=4)
    model = DSEKLClassifier(
        gamma=1.0, solver="doubly_stochastic", early_stopping=True, n_iter_no_change=3, validation_fraction=60,
        max_epochs=500, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.stop_reason_ == "validation"
    errors = [record["validation_error"] for record in model.history_]
    assert len(errors) - 1 - int(np.argmin(errors)) == 3
    held_out = np.setdiff1d(np.arange(300), model.support_)
    assert len(held_out) >= 60


def test_warm_start_goes_on_where_the_last_fit_stopped() -> None:
    X, y = xor(200, seed=5)
    settings: dict[str, Any] = dict(gamma=1.0, solver=DoublyStochastic(n_rows=20, n_cols=20), random_state=0)
    straight = DSEKLClassifier(max_epochs=6, **settings).fit(X, y)
    stepwise = DSEKLClassifier(max_epochs=2, warm_start=True, **settings)
    for _ in range(3):
        stepwise.fit(X, y)
    assert stepwise.n_iter_ == 6
    np.testing.assert_array_equal(stepwise.dual_coef_, straight.dual_coef_)


def test_ctrl_c_is_raised_and_leaves_the_model_so_far() -> None:
    X, y = xor(2000, seed=6)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs without one
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    model = DSEKLClassifier(gamma=1.0, solver="doubly_stochastic", max_epochs=10**6, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="the estimator holds the model so far"):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(("average", "shrinking"), [("auto", 1.0), (False, 1 / 2)])
def test_one_preconditioned_step_divides_the_gradient_by_the_curvature_of_its_block(
    average: bool | str, shrinking: float
) -> None:
    """By half a step, the start being worse than nothing, in the fourth epoch."""
    from dsekl.solvers.preconditioner import DAMPING

    problem = make_problem("squared", n=40)
    solver = DoublyStochastic(n_rows=40, n_cols=10, average=average)
    state = solver.start(problem, np.random.default_rng(3))
    start = np.random.default_rng(4).standard_normal(state.coef.shape)
    state.coef[:], state.epoch = start, 3
    twin = np.random.default_rng(3)
    rows, cols = twin.integers(0, 40, 40, dtype=np.intp), twin.choice(40, 10, replace=False, shuffle=False)
    next(solver.epoch(problem, state))

    everything, K = problem.gram.block(rows, slice(None)), problem.gram.block(rows, cols)
    weights = problem.weights[rows, None]
    gradient = K.T @ (weights * (everything @ start - problem.targets[rows])) / 40
    gradient += 2 / (problem.C * 40) / 40 * start[cols]
    damping = DAMPING * weights.mean() * np.abs(K).max() ** 2 + 2 / (problem.C * 40) / 40
    system = K.T @ (weights * K) / 40 + damping * np.eye(10)
    expected = start.copy()
    expected[cols] -= 0.5 * shrinking * np.linalg.solve(system, gradient)
    # What conjugate gradients leave is a share of the step's length.
    np.testing.assert_allclose(state.coef, expected, rtol=2e-2, atol=4e-2 * shrinking)


@pytest.mark.parametrize("solver", [DoublyStochastic(2000, 20), SharedMemory(60, 20)], ids=str)
def test_preconditioned_steps_minimise_equation_4(solver: Any) -> None:
    """With the lambda of the pages, 1 / (C N), and rows enough: the closed form for the squared loss."""
    problem = replace(make_problem("squared", C=0.05), weights=np.ones(60))
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(300):
        for _ in solver.epoch(problem, state):
            pass
    K = problem.gram.block(slice(None), slice(None))
    best = np.linalg.solve(K.T @ K + 2.0 * problem.penalty * np.eye(60), K.T @ problem.targets)

    def objective(coef: Any) -> float:
        return float(0.5 * np.square(K @ coef - problem.targets).sum() + problem.penalty * np.square(coef).sum())

    nothing = objective(np.zeros_like(best))
    assert objective(solver.coefficients(problem, state)) <= objective(best) + 0.02 * nothing


def heavy_tails(kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5)) if kind == "outlier" else rng.standard_t(1.5, (1000, 5))
    if kind == "outlier":
        X[17] *= 1e4
    return X, X @ [1.0, -2.0, 0.5, 0.0, 1.0] + 0.1 * rng.standard_normal(1000)


@pytest.mark.parametrize("kind", ["outlier", "tails"])
@pytest.mark.parametrize(
    "solver", [DoublyStochastic(), DoublyStochastic(steps="paper"), SharedMemory(200, 200), SharedMemory(100, 500)],
    ids=str,
)  # fmt: skip
def test_steps_by_default_do_not_diverge_on_heavy_tails(solver: Any, kind: str) -> None:
    X, y = heavy_tails(kind)
    model = DSEKLRegressor(kernel="linear", solver=solver, max_epochs=20, tol=0.0, random_state=0).fit(X, y)
    losses_ = [record["training_loss"] for record in model.history_]
    assert np.abs(model.dual_coef_).max() < 1e6
    assert losses_[-1] <= 4.0 * 0.5 * np.square(y - y.mean()).mean()


@pytest.mark.parametrize(
    "solver",
    [DoublyStochastic(step_size=1e4, schedule="constant"), DoublyStochastic(step_size=10.0, steps="paper"),
     SharedMemory(200, 200, learning_rate=1e4)],
    ids=str,
)  # fmt: skip
def test_a_run_that_diverges_ends_with_an_error_and_not_with_a_model(solver: Any) -> None:
    X, y = heavy_tails("tails")
    with pytest.raises(FloatingPointError, match=r"the steps diverge: .* is too large for targets y of up to"):
        DSEKLRegressor(kernel="linear", solver=solver, max_epochs=50, tol=0.0, random_state=0).fit(X, y)


def test_the_cap_of_a_step_is_a_bound_on_the_curvature_of_its_block() -> None:
    rng = np.random.default_rng(0)
    for K in (rng.random((30, 20)), rng.standard_normal((30, 20)), np.eye(25), np.ones((30, 20))):
        bound = CurvatureBound(K.shape[1])
        for part in np.array_split(K, 3):
            bound.add(part)
        largest = np.linalg.norm(K, 2) ** 2
        assert largest * (1 - 1e-9) <= bound.value
    assert bound.value == pytest.approx(largest)  # of ones, as of any wide kernel
