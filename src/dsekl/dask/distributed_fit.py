"""A fit on a cluster: from blocks to regions, from regions to parts, and rounds until the gap is small enough."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import dask
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
from dsekl.models.fitting import SOLVED_BY, solve
from dsekl.models.machine import CHOSEN_KERNELS, CHOSEN_LOSSES, MOST_DOUBLE_ROWS, warn_of_unequal_scales
from dsekl.parts import PartsAscent, Planes, Region, Task, build, n_parts_of
from dsekl.parts.ascent_in_parts import CUT
from dsekl.persistence import checking
from dsekl.rows import ArrayRows
from dsekl.runs import Course, Hooks, Interrupted, Monitor, Progress, Run, Settled, optimise
from dsekl.runs.fields import from_values
from dsekl.runs.run import FIX
from dsekl.solvers import DualAscent, Problem
from dsekl.solvers.dual.dual_state import DualState
from dsekl.workers import ALONE

from .blocks import Blocks
from .cluster import DaskHands, rebuilding
from .overview import Overview
from .partitions import Encoding, routed
from .width import refined

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Given:
    """What is fitted to what."""

    machine: Machine
    blocks: Blocks
    overview: Overview
    encoding: Encoding
    sample: Examples
    n_parts: int | None


@dataclass(frozen=True)
class Result:
    """What a fit gives, but for the model, whose terms are where the parts are."""

    ascent: PartsAscent
    state: DualState
    settled: Settled
    monitor: Monitor
    C: float
    unseen: Unseen | CrossFit


@one_blas_thread()
def fit(client: Client, given: Given, run: Run, keep: Callable[[Result], None]) -> Result:
    """Fit a machine to the rows of a cluster, and ``keep`` what it comes to. ``run`` moves along, to be kept.

    Where the cluster has lost all that it held, it is built again, and the fit goes on from the last cut.
    """
    machine, deadline = given.machine, run.budget.deadline(SOLVED_BY)
    with Progress(run.verbose) as progress:
        course = Course(progress, None, deadline)
        sampled = run.settled
        if sampled is None:
            rng = np.random.default_rng(run.seed)
            n_rows = given.overview.n_rows
            sampled = machine.settle(given.sample.for_search(), run, rng, course, n_rows)[0]
            run.stages = {}

        def kept(hands: DaskHands) -> Result:
            found = _solved(hands, given, run, sampled, deadline, course)
            keep(found)
            return found

        return rebuilding(kept, client)


def _solved(hands: DaskHands, given: Given, run: Run, sampled: Settled, deadline: Deadline, course: Course) -> Result:
    ascent, problem = _in_parts(hands, given, run, sampled)
    state, monitor = _begin(ascent, problem, run)
    hooks = _hooks(run, ascent, state, monitor)
    with suppress(Interrupted):  # the monitor says so
        optimise(ascent, problem, state, monitor, run.stopping.max_epochs, hooks, True, deadline, course)
    ascent.bring_home(state)
    if monitor.reason == "tol":
        _note(run, ascent, state, monitor)
        run.keep(run)
    assert run.settled is not None
    cross = CrossFit(solve, given.machine, given.sample.for_cross_fits(), run.settled, run.seed, run.stopping)
    return Result(ascent, state, run.settled, monitor, problem.C, ascent.unseen or run.settled.unseen or cross)


def task_of(given: Given, settled: Settled) -> tuple[Task, Problem]:
    """Return what all parts fit, and the problem of the sample."""
    machine, rows = given.machine, given.sample.rows
    kernel = machine.usual_kernel if settled.kernel is None else CHOSEN_KERNELS[settled.kernel]
    loss = machine.usual_loss if settled.loss is None else CHOSEN_LOSSES[settled.loss]
    dtype = machine.dtype
    if dtype == "auto":
        dtype = "float64" if given.overview.n_rows <= MOST_DOUBLE_ROWS else "float32"
    assert isinstance(kernel, VectorKernel)
    assert isinstance(rows, ArrayRows)
    gamma = 1.0 if settled.gamma is None else settled.gamma
    if np.ndim(gamma) == 0:
        warn_of_unequal_scales(rows, machine.names)
    own = DenseGram.of(kernel, rows, gamma, dtype, machine.budget, ALONE, machine.kernel_tol, settled.reshaping)
    gram = metric.with_plane(own, rows, machine.beside(settled), settled.reshaping)
    C = settled.C if machine.C is None else machine.C
    plane = gram.plane if isinstance(gram, AffineGram) else None
    task = Task(own.kernel, own.placement, loss, C, machine.kernel_tol, machine.budget, plane)
    return task, Problem(gram, given.sample.targets, given.sample.weights, loss, C, tol=None)


def _in_parts(hands: DaskHands, given: Given, run: Run, sampled: Settled) -> tuple[PartsAscent, Problem]:
    """Return the ascent of all parts; width and C are chosen first, by whole regions of the rows, unless they are."""
    n_parts = n_parts_of(given.overview.n_rows) if given.n_parts is None else given.n_parts
    if run.settled is None:
        run.settled = sampled
        if sampled.metric is not None and given.overview.n_rows > SPARSE * len(given.sample):
            task, problem = task_of(given, sampled)
            regions = regions_of(hands, given, task, n_parts)
            run.settled = refined(hands, regions, given.machine, given.sample, sampled, problem.loss, run.seed)
        run.keep(run)
    task, problem = task_of(given, run.settled)
    parts = build(hands, task, regions_of(hands, given, task, n_parts))
    assert isinstance(given.machine.solver, DualAscent)
    return PartsAscent(hands, parts, given.machine.solver, run.seed), replace(problem, tol=run.stopping.tol)


def regions_of(hands: DaskHands, given: Given, task: Task, n_parts: int) -> list[Any]:
    """Return the regions of all rows: each block's rows go to their regions."""
    blocks, starts = given.blocks, given.overview.starts
    sample = task.placement.dense(np.asarray(given.sample.rows.values))
    planes = Planes.of(sample, n_parts)
    groups = _groups(given.overview.lengths)
    routes = hands.compute(
        [
            dask.delayed(routed, pure=False)(
                *blocks.of(group),
                starts[group.start : group.stop],
                task,
                planes,
                given.encoding,
                dask_key_name=hands.key("route"),
            )
            for group in groups
        ]
    )
    return [
        hands.submit(
            "region", Region.of, part, task, [hands.submit("rows", itemgetter(part), route) for route in routes]
        )
        for part in range(planes.n_parts)
    ]


SPARSE = 2
"""Rows over those of the sample from which on it is too thin for a width that is chosen on it."""

ROUTED_ROWS = 2**16
"""Rows that a task sends to their parts, at least: small blocks go together."""


def _groups(lengths: list[int]) -> list[range]:
    """Return consecutive blocks that are sent together."""
    groups, start, n = [], 0, 0
    for block, length in enumerate(lengths):
        n += length
        if n >= ROUTED_ROWS or block + 1 == len(lengths):
            groups.append(range(start, block + 1))
            start, n = block + 1, 0
    return groups


def _begin(ascent: PartsAscent, problem: Problem, run: Run) -> tuple[DualState, Monitor]:
    """Return state and monitor to go on with: those of a checkpoint, those of the last cut, or new ones."""
    n = ascent.parts.n_rows
    if run.saved is not None:
        sizes = {"rows": n, "terms": n, "outputs": problem.n_outputs}
        with checking(run.saved.path, FIX):
            state = from_values(DualState, run.saved.state, sizes, "the state")
            monitor = from_values(Monitor, run.saved.monitor, sizes, "the monitor")
            monitor.check(state, False)
            run.state, run.monitor, run.saved = state, monitor, None
    if run.state is not None and run.monitor is not None:
        assert isinstance(run.state, DualState)
        state, monitor = copy.deepcopy(run.state), run.monitor.taken_up()
        ascent.resume(state)
    else:
        assert run.settled is not None
        rng = np.random.default_rng(0)
        rng.bit_generator.state = run.settled.randomness
        state, monitor = ascent.start(problem, rng), Monitor()
    monitor.units = run.units
    return state, monitor


def _hooks(run: Run, ascent: PartsAscent, state: DualState, monitor: Monitor) -> Hooks:
    """Return what notes a round's own figures, and keeps the run at each cut."""

    def after_epoch(record: dict[str, Any]) -> bool:
        record |= ascent.figures
        return False

    def after_step() -> None:
        if state.epoch % CUT == 0 and monitor.reason != "tol":
            _note(run, ascent, state, monitor)
            run.keep_if_due(run)

    return Hooks(after_step=after_step, after_epoch=after_epoch)


def _note(run: Run, ascent: PartsAscent, state: DualState, monitor: Monitor) -> None:
    """Note where a run stands, as a value of its own."""
    assert run.settled is not None
    run.settled = replace(run.settled, unseen=ascent.unseen or run.settled.unseen)
    run.state, run.monitor = copy.deepcopy(state), monitor.paused()
