"""What every solver promises: the known answers, states that are whole and plain, and verdicts that change nothing."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dsekl.runs.fields import from_values, to_values
from dsekl.solvers import DualAscent, Solver, Verdict
from tests.problems import SOLVER, KnownProblem, SolverCase, different_solvers, every_problem, every_solver


def ran(solver: Any, problem: Any, epochs: int) -> Any:
    """Return the state after some epochs."""
    state = solver.start(problem, np.random.default_rng(0))
    for _ in range(epochs):
        for _ in solver.epoch(problem, state):
            pass
    return state


@every_problem
@pytest.mark.parametrize("solver", different_solvers(), ids=repr)
def test_every_solver_finds_the_known_answer_of_every_problem(solver: Any, problem: KnownProblem) -> None:
    """Dual ascent within its certificate; the paper's algorithms, which penalise other norms, as near as they get."""
    answer = problem.answer
    if isinstance(solver, DualAscent):
        found = problem.fit(solver, tol=1e-6, max_epochs=2000)
        np.testing.assert_allclose(found, answer, atol=2e-3)
    else:
        found = problem.fit(solver, tol=0.0, max_epochs=100)
        error = np.square(found - answer).sum() / np.square(answer - answer.mean(axis=0)).sum()
        assert (np.sign(found) == np.sign(answer)).mean() > 0.9 if problem.of_classes else error < 0.2


@every_solver
def test_it_is_a_solver_whose_settings_are_right(case: SolverCase) -> None:
    assert isinstance(case.solver, Solver)
    case.solver.validate()


@every_solver
def test_a_verdict_changes_nothing(case: SolverCase) -> None:
    solver, problem = case.solver, case.problem()
    for epochs in (1, 3):
        state = ran(solver, problem, epochs)
        before = copy.deepcopy(to_values(state))
        verdicts = [solver.judge(problem, state) for _ in range(2)]
        assert isinstance(verdicts[0], Verdict)
        assert verdicts[0] == verdicts[1]
        np.testing.assert_equal(to_values(state), before)


@every_solver
def test_coefficients_are_a_copy_and_change_nothing(case: SolverCase) -> None:
    solver, problem = case.solver, case.problem()
    state = ran(solver, problem, 2)
    before = copy.deepcopy(to_values(state))
    coef = solver.coefficients(problem, state)
    assert coef.shape == (problem.gram.n_terms, problem.n_outputs)
    coef += 1.0
    np.testing.assert_equal(to_values(state), before)


@every_solver
def test_between_epochs_there_is_no_plan_and_within_one_there_is(case: SolverCase) -> None:
    solver, problem = case.solver, case.problem()
    state = solver.start(problem, np.random.default_rng(0))
    assert type(state) is solver.state_type
    assert state.plan is None
    fractions = []
    for epoch in (1, 2):
        for fraction in solver.epoch(problem, state):
            assert state.plan is not None
            fractions.append(fraction)
        assert state.plan is None
        assert state.epoch == epoch
    assert all(0 < fraction <= 1 for fraction in fractions)


@every_solver
def test_an_epoch_goes_on_from_plain_values_after_every_step(case: SolverCase) -> None:
    """Every step in another process, so to say: all that moves is in the state."""
    solver, problem = case.solver, case.problem()
    left_alone = ran(solver, problem, 2)
    state = solver.start(problem, np.random.default_rng(0))
    while state.epoch < 2:
        next(solver.epoch(problem, state), None)
        state = from_values(solver.state_type, copy.deepcopy(to_values(state)), problem.sizes, "the state")
    np.testing.assert_equal(to_values(state), to_values(left_alone))


@every_solver
def test_an_adapted_state_is_one_of_the_new_problem(case: SolverCase) -> None:
    solver, problem = case.solver, case.problem()
    state = ran(solver, problem, 2)
    next(solver.epoch(problem, state))
    other = replace(problem, C=3.0 * problem.C, targets=-problem.targets)
    adapted = solver.adapt(other, state)
    assert type(adapted) is solver.state_type
    assert adapted.plan is None
    assert (adapted.epoch, adapted.step) == (2, state.step)
    from_values(solver.state_type, to_values(adapted), other.sizes, "the state")
    for _ in solver.epoch(other, adapted):
        pass
    assert adapted.epoch == 3


def test_the_list_takes_solvers_through_what_they_can_do() -> None:
    """Or the tests above would speak of less than they seem to."""

    def state_of(name: str, epochs: int) -> Any:
        return ran(SOLVER[name].solver, SOLVER[name].problem(), epochs)

    assert state_of("growing", 0).size < SOLVER["growing"].n_rows
    assert not state_of("dual", 4).active.all()
    assert state_of("not shrinking", 4).active.all()
    assert len(state_of("ridge", 2).past_coef) == 3
    assert state_of("ridge", 2).conjugate_epochs == 2
    assert len(state_of("ridge in blocks", 2).past_coef) == 2
    assert state_of("ridge in blocks", 2).conjugate_epochs == 0
    assert state_of("averaged", 1).late is not None
    assert state_of("constant steps", 1).late is not None
    assert state_of("shared memory", 1).late is not None
    assert state_of("paper's steps", 1).late is None
    assert state_of("shared memory, pruned", 1).late is None
    assert state_of("shared memory, pruned", 0).prune
    assert not state_of("shared memory", 0).prune
