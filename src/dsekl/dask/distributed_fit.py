"""A fit on a cluster: from blocks to regions, from regions to parts, and rounds until the gap is small enough."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from dsekl import metric
from dsekl.blas import one_blas_thread
from dsekl.calibration import Unseen
from dsekl.deadline import Deadline
from dsekl.gram.affine import AffineGram
from dsekl.gram.dense import DenseGram
from dsekl.kernels import VectorKernel
from dsekl.models import Examples, Machine
from dsekl.models.cross_fitting import CrossFit
from dsekl.models.fitting import SOLVED_BY, check_settled, solve
from dsekl.models.machine import CHOSEN_KERNELS, CHOSEN_LOSSES, precision, warn_of_unequal_scales
from dsekl.parts import (
    LocalUpdates,
    Objective,
    PartsAscent,
    SharedUpdates,
    build,
    checked_state,
    n_parts_of,
)
from dsekl.parts.ascent_in_parts import SNAPSHOT
from dsekl.persistence import checking
from dsekl.rows import ArrayRows
from dsekl.runs import Course, Hooks, Interrupted, Monitor, Progress, Run, Settled, optimise
from dsekl.runs.fields import from_values
from dsekl.runs.run import FIX
from dsekl.solvers import DualAscent, Problem
from dsekl.solvers.dual.dual_state import DualState
from dsekl.solvers.shared_memory import SharedState
from dsekl.workers import ALONE

from .blocks import Blocks
from .cluster import DaskExecutor, rebuilding
from .held_out_rows import HeldOutRows
from .overview import Overview
from .partitions import Encoding
from .shuffle import NOBODY, regions_of
from .width import refined

Floats = NDArray[np.float64]

Ascent = PartsAscent | SharedUpdates
ShardedState = DualState | SharedState


Listen = Callable[[list[dict[str, Any]], "Callable[[], Result]"], bool]
"""Is told of each round by its history, and of the fit as if it had ended there; True ends it."""


@dataclass(frozen=True)
class Given:
    """What is fitted to what."""

    machine: Machine
    blocks: Blocks
    overview: Overview
    encoding: Encoding
    sample: Examples
    n_parts: int | None
    held_out: Examples | None = None
    """Rows of the sample that judge every round, and are in no part."""
    updates: LocalUpdates | None = None
    """Settings of Algorithm 2, where that is run in the place of dual ascent."""
    listen: Listen | None = None
    warm: bool = False
    """Whether the next fit goes on from where this one ends."""


@dataclass(frozen=True)
class Result:
    """What a fit gives, but for the model, whose terms are where the parts are."""

    ascent: Ascent
    state: ShardedState
    coef: Floats
    states: list[Any]
    """The model's coefficients, and the states of the parts that have them: the last, or those of the best round."""
    settled: Settled
    monitor: Monitor
    C: float
    unseen: Unseen | CrossFit
    held_out: NDArray[np.intp] | None = None
    """Places in X of the rows that were held out."""


@one_blas_thread()
def fit(client: Client, given: Given, run: Run, keep: Callable[[Result], None]) -> Result:
    """Fit a machine to the rows of a cluster, and ``keep`` what it comes to. ``run`` moves along, to be kept.

    Where the cluster has lost all that it held, it is built again, and the fit goes on from the last snapshot.
    """
    machine, deadline = given.machine, run.budget.deadline(SOLVED_BY)
    with Progress(run.verbose) as progress:
        course = Course(progress, None, deadline)
        sampled = run.settled
        if sampled is None:
            rng = np.random.default_rng(run.seed)
            n_rows = given.overview.n_rows
            with run.blaming_its_file():
                sampled = machine.settle(given.sample.for_search(), run, rng, course, n_rows)[0]
            run.stages = {}
        elif run.file is not None:
            with run.blaming_its_file():
                check_settled(machine, sampled, given.sample.targets.shape[1], given.overview.n_rows)

        def kept(executor: DaskExecutor) -> Result:
            found = _solved(executor, given, run, sampled, deadline, course)
            keep(found)
            return found

        return rebuilding(kept, client)


def _solved(
    executor: DaskExecutor, given: Given, run: Run, sampled: Settled, deadline: Deadline, course: Course
) -> Result:
    with run.blaming_its_file():
        ascent, problem = _in_parts(executor, given, run, sampled)
    state, monitor = _begin(ascent, problem, run)
    monitor.patience = run.stopping.patience
    monitor.validation = None if given.held_out is None else HeldOutRows.of(ascent, given.held_out)
    hooks = _hooks(given, run, ascent, state, monitor)
    with suppress(Interrupted):  # the monitor says so
        optimise(ascent, problem, state, monitor, run.stopping.max_epochs, hooks, True, deadline, course)
    ascent.bring_home(state)
    if monitor.reason in COME_TO_ITS_END:
        _note(run, ascent, state, monitor)
        run.keep(run)
    elif given.warm:
        _note(run, ascent, state, monitor)
    return _result(given, run, ascent, state, monitor)


def objective_of(given: Given, settled: Settled) -> tuple[Objective, Problem]:
    """Return what all parts fit, and the problem of the sample."""
    machine, rows = given.machine, given.sample.rows
    kernel = machine.usual_kernel if settled.kernel is None else CHOSEN_KERNELS[settled.kernel]
    loss = machine.usual_loss if settled.loss is None else CHOSEN_LOSSES[settled.loss]
    C = settled.C if machine.C is None else machine.C
    dtype = precision(given.overview.n_rows, C) if machine.dtype == "auto" else machine.dtype
    assert isinstance(kernel, VectorKernel)
    assert isinstance(rows, ArrayRows)
    gamma = 1.0 if settled.gamma is None else settled.gamma
    if np.ndim(gamma) == 0:
        warn_of_unequal_scales(rows, machine.names)
    own = DenseGram.of(kernel, rows, gamma, dtype, machine.budget, ALONE, machine.kernel_tol, settled.reshaping)
    gram = metric.with_plane(own, rows, machine.beside(settled), settled.reshaping)
    plane = gram.plane if isinstance(gram, AffineGram) else None
    objective = Objective(own.kernel, own.placement, loss, C, machine.kernel_tol, machine.budget, plane)
    return objective, Problem(gram, given.sample.targets, given.sample.weights, loss, C, tol=None)


def _in_parts(executor: DaskExecutor, given: Given, run: Run, sampled: Settled) -> tuple[Ascent, Problem]:
    """Return the ascent of all parts; width and C are chosen first, by whole regions of the rows, unless they are."""
    n_parts = n_parts_of(given.overview.n_rows) if given.n_parts is None else given.n_parts
    n_parts = n_parts if given.updates is None else 1
    if run.settled is None:
        run.settled = sampled
        if sampled.metric is not None and given.overview.n_rows > SPARSE * len(given.sample):
            objective, problem = objective_of(given, sampled)
            regions = _regions(executor, given, objective, n_parts)
            run.settled = refined(
                executor, regions, given.machine, given.sample, sampled, problem.loss, given.overview.n_rows, run
            )
        run.keep(run)
    objective, problem = objective_of(given, run.settled)
    parts = build(executor, objective, _regions(executor, given, objective, n_parts))
    problem = replace(problem, tol=run.stopping.tol)
    if given.updates is not None:
        return SharedUpdates(executor, parts, given.updates, run.seed), problem
    assert isinstance(given.machine.solver, DualAscent)
    each_round = given.held_out is not None  # the best may be any of them
    return PartsAscent(executor, parts, given.machine.solver, run.seed, each_round), problem


def _regions(executor: DaskExecutor, given: Given, objective: Objective, n_parts: int) -> list[Any]:
    held_out = NOBODY if given.held_out is None else given.held_out.places
    return regions_of(
        executor, given.blocks, given.overview, given.encoding, given.sample, objective, n_parts, np.sort(held_out)
    )


COME_TO_ITS_END = ("tol", "validation")
"""Reasons after which a run is never gone on with; others go on from the last snapshot, to the same bits."""

SPARSE = 2
"""Rows over those of the sample from which on it is too thin for a width that is chosen on it."""


def _begin(ascent: Any, problem: Problem, run: Run) -> tuple[Any, Monitor]:
    """Return state and monitor to go on with: those of a checkpoint, those of the last snapshot, or new ones."""
    n = ascent.parts.n_rows
    if run.saved is not None:
        sizes = {"rows": n, "terms": n, "outputs": problem.n_outputs}
        with checking(run.saved.path, FIX):
            state = from_values(ascent.state_type, run.saved.state, sizes, "the state")
            if isinstance(ascent, PartsAscent):
                checked_state.check(ascent, problem, state)
            else:
                state.check(problem, ascent)
            monitor = from_values(Monitor, run.saved.monitor, sizes, "the monitor")
            monitor.check(state, run.stopping.validation_fraction is not None)
            monitor.file = run.saved.path
            run.state, run.monitor, run.saved = state, monitor, None
    assert run.settled is not None
    rng = np.random.default_rng(0)
    rng.bit_generator.state = run.settled.randomness
    if run.state is None:
        state = ascent.start(problem, rng)
    elif run.known_coef is not None:
        former: Any = run.state
        state = ascent.start_from(problem, rng, run.known_coef, getattr(former, "C", problem.C))
        state.epoch, state.step, state.evaluations = former.epoch, former.step, state.evaluations + former.evaluations
    else:
        state = copy.deepcopy(run.state)
        ascent.resume(state)
    monitor = Monitor(first_epoch=state.epoch) if run.monitor is None else run.monitor.taken_up()
    monitor.units = run.units
    return state, monitor


def _hooks(given: Given, run: Run, ascent: Ascent, state: ShardedState, monitor: Monitor) -> Hooks:
    """Return what notes a round's own figures, tells those who listen, and keeps the run at each snapshot."""
    every = 1 if isinstance(state, SharedState) else SNAPSHOT

    def so_far() -> Result:
        ascent.bring_home(state)  # type: ignore[arg-type]
        return _result(given, run, ascent, state, monitor)

    def after_epoch(record: dict[str, Any]) -> bool:
        record |= ascent.figures
        return given.listen is not None and given.listen(monitor.history, so_far)

    def after_step() -> None:
        if state.plan is None and state.epoch % every == 0 and monitor.reason not in COME_TO_ITS_END:
            _note(run, ascent, state, monitor)
            run.keep_if_due(run)

    return Hooks(after_step=after_step, after_epoch=after_epoch)


def _result(given: Given, run: Run, ascent: Ascent, state: ShardedState, monitor: Monitor) -> Result:
    """Return what a run has come to."""
    assert run.settled is not None
    coef, states = state.coef, ascent.states
    if monitor.best_coef is not None:
        coef = monitor.best_coef
        states = ascent.states_with(state, coef)  # type: ignore[arg-type]
    unseen: Unseen | CrossFit | None = ascent.unseen or run.settled.unseen
    if isinstance(monitor.validation, HeldOutRows):
        unseen = monitor.validation.unseen(states)
    elif unseen is None:
        unseen = CrossFit(solve, given.machine, given.sample.for_cross_fits(), run.settled, run.seed, run.stopping)
    held_out = None if given.held_out is None else given.held_out.places
    return Result(ascent, state, coef, states, run.settled, monitor, ascent.parts.objective.C, unseen, held_out)


def _note(run: Run, ascent: Ascent, state: ShardedState, monitor: Monitor) -> None:
    """Note where a run stands, as a value of its own."""
    assert run.settled is not None
    run.settled = replace(run.settled, unseen=ascent.unseen or run.settled.unseen)
    run.state, run.monitor, run.known_coef = copy.deepcopy(state), monitor.paused(), None
