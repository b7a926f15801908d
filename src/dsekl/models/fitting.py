"""From examples to a fitted model, the same for every task: values in, a value out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl.blas import one_blas_thread
from dsekl.calibration import Unseen
from dsekl.gram import Gram
from dsekl.kernels import VectorKernel
from dsekl.rows import Rows
from dsekl.runs import Course, HeldInterrupts, Hooks, Interrupted, Monitor, Progress, Run, Settled, Validation, optimise
from dsekl.solvers import DualAscent, State
from dsekl.solvers.dual.dual_state import DualState

from .cross_fitting import CrossFit
from .examples import Examples
from .forecast import foretold
from .importances import importances
from .machine import CHOSEN_KERNELS, CHOSEN_LOSSES, Machine
from .model import Model
from .storage import check_sizes

Floats = NDArray[np.float64]

CALIBRATED_BY = 0.75
"""Share of the time after which rows that were held out have been predicted, where that is done before the solver."""

SOLVED_BY = 0.9
"""Share of the time after which the solver ends: what is left is for the model and its importances."""

LATER_SHARE = 0.1
"""Of the time for the fit, what predictions of unseen rows may take that are made when they are first asked for."""


@dataclass(frozen=True)
class Fitted:
    """What a fit gives.

    ``support`` are the rows of X that the terms are, where they are rows, and ``support_classes`` the codes of their
    classes, where there are classes; ``validation_rows`` are the rows that were held out. ``importances`` are there
    when the fit has ended. ``unseen`` are predictions of rows by models without them, or what can make them.
    """

    model: Model
    C: float
    settled: Settled
    importances: Floats | None
    support: NDArray[np.intp] | None
    support_classes: NDArray[np.intp] | None
    validation_rows: NDArray[np.intp] | None
    history: list[dict[str, Any]]
    n_epochs: int
    reason: str | None
    unseen: Unseen | CrossFit | None = None


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C in a fit, with what the fit had come to."""

    def __init__(self, fitted: Fitted) -> None:
        super().__init__("stopped by Ctrl-C")
        self.fitted = fitted


@one_blas_thread()
def fit(machine: Machine, examples: Examples, run: Run) -> Fitted:
    """Fit a machine to examples and measure what is told of the model. ``run`` moves along, to be gone on from.

    Ctrl-C raises ``FitInterrupted`` once the step under way is whole, and KeyboardInterrupt where there is no model
    yet.
    """
    with Progress(run.verbose) as progress:
        result, rows = _solved(machine, examples, run, progress)
        found = importances(result.model, rows, run.seed, run.workers, run.budget.deadline())
        return replace(result, importances=found)


@one_blas_thread()
def solve(machine: Machine, examples: Examples, run: Run) -> Fitted:
    """Fit a machine to examples, for its model alone."""
    with Progress(run.verbose) as progress:
        return _solved(machine, examples, run, progress)[0]


def _solved(machine: Machine, examples: Examples, run: Run, progress: Progress) -> tuple[Fitted, Rows]:
    """Return the fit, and the rows trained on."""
    deadline, rng = run.budget.deadline(SOLVED_BY), np.random.default_rng(run.seed)
    course = Course(progress, foretold(machine, examples), deadline)
    examples, held_out = examples.split(run.stopping.validation_fraction, rng)
    if run.settled is None:
        run.settled = _settle(machine, examples.for_search(), run, rng, course)
        run.stages = {}  # once all is settled, what led there is of no use
        run.keep(run)
    # With other answers, or another loss or C, what was predicted before is of no use.
    settled = run.settled = replace(run.settled, unseen=None) if run.changed else run.settled
    rng.bit_generator.state = settled.randomness
    counted = examples
    with run.blaming_its_file():
        if run.file is not None:
            check_settled(machine, settled, examples.targets.shape[1], int(examples.places.max()) + 1)
        problem, examples = machine.problem(examples, settled, run, rng)
    with HeldInterrupts():
        known = run.known_coef[examples.places] if run.known_coef is not None and machine.exact else None
        state, monitor = run.take_up(machine.solver, problem, rng, known)
    monitor.patience = run.stopping.patience
    if held_out is not None:
        monitor.validation = _validation(problem.gram.at(held_out.rows), held_out)

    limit = LATER_SHARE * run.budget.seconds
    later = cache(lambda: CrossFit(solve, machine, counted.for_cross_fits(), settled, run.seed, run.stopping, limit))

    def unseen(model: Model) -> Unseen | CrossFit:
        if held_out is not None:
            return _predicted(model, held_out, machine, run)
        return _newcomers(state, examples) or settled.unseen or later()

    def fitted() -> Fitted:
        best, own_rows = monitor.best_coef, machine.all_points
        model, kept = Model.of(problem.gram, machine.solver.coefficients(problem, state) if best is None else best)
        return Fitted(
            model,
            problem.C,
            settled,
            importances=None,
            support=examples.places[kept] if own_rows else None,
            support_classes=examples.classes[kept] if own_rows and examples.classes is not None else None,
            validation_rows=None if held_out is None else held_out.places,
            history=monitor.history,
            n_epochs=state.epoch,
            reason="max_seconds" if settled.cut_short and monitor.reason == "tol" else monitor.reason,
            unseen=unseen(model),
        )

    limits = run.stopping.max_epochs, _hooks(run, monitor, fitted), True, deadline
    try:
        optimise(machine.solver, problem, state, monitor, *limits, course)
    except Interrupted:
        run.keep(run)
        raise FitInterrupted(fitted()) from None
    run.keep(run)
    result = fitted()
    with run.blaming_its_file():
        if run.file is not None:
            check_sizes(result.model, None)
    return result, examples.rows


def _validation(gram: Gram, held_out: Examples) -> Validation:
    return Validation(gram, held_out.targets, held_out.errors, real=held_out.classes is None)


def _predicted(model: Model, held_out: Examples, machine: Machine, run: Run) -> Unseen:
    """Return predictions of rows that were held out."""
    f = model.evaluate(held_out.rows, run.workers, machine.budget)
    return Unseen(f, held_out.targets, held_out.weights, held_out.places)


def _newcomers(state: State, examples: Examples) -> Unseen | None:
    """Return predictions of the rows that joined the sample last, by the model before they did, if there are any."""
    if not isinstance(state, DualState) or state.newcomers is None or state.newcomers_F is None:
        return None
    rows = state.newcomers
    return Unseen(state.newcomers_F, examples.targets[rows], examples.weights[rows], examples.places[rows])


def _settle(machine: Machine, examples: Examples, run: Run, rng: np.random.Generator, course: Course) -> Settled:
    """Return what is settled before the first step, with predictions of rows that were held out where it costs little.

    A search has learned one gamma without each of its held-out parts, so that these rows are seen by nothing. Where the
    sample grows, the solver itself has such predictions of more rows.
    """
    settled, folds = machine.settle(examples, run, rng, course)
    grows = isinstance(machine.solver, DualAscent) and machine.solver.grows(len(examples))
    if not folds or not machine.exact or grows or run.stopping.validation_fraction is not None or settled.cut_short:
        return settled
    left = run.budget.deadline(CALIBRATED_BY).left
    late = CrossFit(solve, machine, examples, settled, run.seed, run.stopping, left)
    try:
        return replace(settled, unseen=late.unseen(run.workers, folds))
    except KeyboardInterrupt:
        run.keep(run)
        raise KeyboardInterrupt("stopped by Ctrl-C before the first epoch: there is no model yet") from None


def _hooks(run: Run, monitor: Monitor, fitted: Callable[[], Fitted]) -> Hooks:
    """Return what the loop calls: whoever keeps the run, and whoever watches it."""
    hooks, watcher = Hooks(after_step=lambda: run.keep_if_due(run)), run.watcher
    if watcher is None:
        return hooks

    def after_epoch(record: dict[str, Any]) -> bool:
        try:
            return watcher.after_epoch(monitor.history, fitted)
        except BaseException:
            run.keep(run)
            raise

    return replace(hooks, before_epoch=watcher.before_epoch, after_epoch=after_epoch)


def check_settled(machine: Machine, settled: Settled, n_outputs: int, n_rows: int) -> None:
    """Raise ValueError where what a checkpoint says was settled is not what the machine asks for."""
    if settled.unseen is not None:
        settled.unseen.check(n_outputs, n_rows)
    for part, found, known in (
        (machine.kernel, settled.kernel, CHOSEN_KERNELS),
        (machine.loss, settled.loss, CHOSEN_LOSSES),
    ):
        if found is not None and (part is not None or found not in known):
            wanted = f"one of {', '.join(known)}" if part is None else repr(part)
            raise ValueError(f"what was settled has {found!r}, and the machine has {wanted}")
    _check_beside(machine, settled)
    C = 1.0 if machine.C is None else machine.C
    if C != settled.C and not (machine.C is None and settled.metric is not None):
        raise ValueError(f"what was settled's C is {settled.C!r}, and C={C!r}")
    if isinstance(machine.usual_kernel, VectorKernel) != (settled.gamma is not None):
        raise ValueError(f"what was settled's gamma is {settled.gamma!r} for kernel={machine.usual_kernel!r}")
    given = settled.gamma if isinstance(machine.gamma, str) else machine.gamma
    if settled.gamma is not None and not np.array_equal(settled.gamma, np.asarray(given)):
        raise ValueError(f"what was settled's gamma is {settled.gamma!r}, and gamma={machine.gamma!r}")


def _check_beside(machine: Machine, settled: Settled) -> None:
    """Raise ValueError where what stands beside the kernel was not asked for, and could not have been chosen."""
    usual = machine.usual_beside
    for name, found, asked, wanted in (
        ("intercept", settled.intercept, machine.intercept, usual.intercept),
        ("trend", settled.trend, machine.trend, usual.trend),
    ):
        chosen = asked is None and settled.metric is not None
        if not chosen and found is not wanted:
            raise ValueError(f"what was settled has {name}={found!r}, and the machine has {asked!r}")
