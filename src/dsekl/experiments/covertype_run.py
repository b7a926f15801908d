"""Algorithm 2 on covertype, one batch of rows at a time, kept after every epoch so that it goes on from there."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsekl import gram, losses
from dsekl.kernels import RBF
from dsekl.rows import as_rows
from dsekl.solvers import Problem, SharedMemory
from dsekl.solvers.shared_memory import SharedState
from dsekl.workers import Threads, Workers

from .results import Row, Table
from .runner import bar
from .settings import Settings
from .solver_state import load_state, save_state
from .splits import Parts, Rows

ALGORITHM_2, LOCAL = "Algorithm 2", "Algorithm 2, local"
READINGS = {ALGORITHM_2: "global", LOCAL: "local"}
PASSES_WATCHED = 3
"""Epochs in which every batch of rows is followed by a look at the validation rows, as in the paper's figure."""


def algorithm_2(
    table: Table, data: Parts, settings: Settings, checkpoint: Path, model: str = ALGORITHM_2, epochs: int | None = None
) -> None:
    """Run Algorithm 2 until its stopping rule or the last of its epochs, from the checkpoint if there is one.

    ``model`` names the reading of the gradient; ``epochs`` is ``settings.epochs`` if nothing else is said.
    """
    epochs = settings.epochs if epochs is None else epochs
    done = table.where(model=model, batch=0)
    if any(row["finished"] == "yes" or int(row["epoch"]) >= epochs for row in done):
        return
    run = _Run(data, settings, model)
    state = load_state(checkpoint, SharedState, run.problem) if checkpoint.exists() else run.start()
    if not done:
        table.add([run.row(state, batch=0, change=0.0, evaluate=True)])
    steps_an_epoch = -(-run.problem.n_rows // data.batch)
    with bar("covertype", epochs * steps_an_epoch, state.epoch * steps_an_epoch) as progress:
        while state.epoch < epochs:
            started, epoch = time.perf_counter(), state.epoch
            new = []
            for batch, _ in enumerate(run.solver.epoch(run.problem, state), start=1):
                if epoch < PASSES_WATCHED and batch < steps_an_epoch:
                    new.append(run.row(state, batch, change=float("nan"), evaluate=False))
                progress.advance(
                    epoch * steps_an_epoch + batch, f"{model}: epoch {epoch + 1}, batch {batch} of {steps_an_epoch}"
                )
            state.training_loss()
            last = run.row(state, batch=0, change=state.change, evaluate=True)
            last |= dict(seconds=time.perf_counter() - started, finished="yes" if state.change < 1.0 else "no")
            table.add([*new, last])
            save_state(checkpoint, state)
            if state.change < 1.0:
                break


def papers_problem(X: Rows, y: NDArray[np.int64], workers: Workers) -> Problem:
    """Return the problem that the paper sets for covertype: the RBF kernel with gamma 1, the hinge loss, and C = 1."""
    kernel_matrix = gram.build(RBF(), as_rows(X), gamma=1.0, workers=workers, kernel_tol=1e-6)
    targets = (y if kernel_matrix.order is None else y[kernel_matrix.order]).astype(np.float64)[:, None]
    return Problem(kernel_matrix, targets, np.ones(len(y)), losses.Hinge(), 1.0, workers)


class _Run:
    """The solver, its problem, and the rows that judge the model between its steps."""

    def __init__(self, data: Parts, settings: Settings, model: str) -> None:
        self._model = model
        self.problem = papers_problem(data.X["training"], data.y["training"], Threads(settings.n_jobs))
        self.solver = SharedMemory(
            data.batch, data.batch, settings.n_jobs, learning_rate=1.0, gradient=READINGS[model], steps="paper"
        )
        self._judges = {
            part: (self.problem.gram.at(as_rows(data.X[part])), data.y[part]) for part in ("validation", "evaluation")
        }
        self._seed = settings.seed

    def start(self) -> SharedState:
        return self.solver.start(self.problem, np.random.default_rng(self._seed))

    def row(self, state: SharedState, batch: int, change: float, evaluate: bool) -> Row:
        """Return how the model stands after ``batch`` batches of the epoch that runs, or 0 between epochs."""
        return dict(
            model=self._model, epoch=state.epoch + (batch > 0), batch=batch,
            points=state.evaluations / self.problem.n_rows,
            validation_error=self._error("validation", state),
            evaluation_error=self._error("evaluation", state) if evaluate else "",
            change=change, seconds="", finished="no",
        )  # fmt: skip

    def _error(self, part: str, state: SharedState) -> float:
        kernel_matrix, y = self._judges[part]
        coef = self.solver.coefficients(self.problem, state)
        moved = np.flatnonzero(coef.any(axis=1))
        f = kernel_matrix.product(slice(None), moved, coef[moved])[:, 0]
        return float(np.mean(np.where(f > 0, 1, -1) != y))
