"""Algorithm 2 on covertype, one batch of rows at a time, kept after every epoch so that it goes on from there."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from dsekl import gram, losses
from dsekl.kernels import RBF
from dsekl.solvers import Problem, SharedMemory, State

from .progress import bar
from .results import Row, Table, write_whole
from .settings import Settings
from .splits import Parts

ALGORITHM_2 = "Algorithm 2"
PASSES_WATCHED = 3
"""Epochs in which every batch of rows is followed by a look at the validation rows, as in the paper's figure."""


def algorithm_2(table: Table, data: Parts, settings: Settings, checkpoint: Path) -> None:
    """Run Algorithm 2 until its stopping rule or ``settings.epochs``, from the checkpoint if there is one."""
    run = _Run(data, settings)
    state = _load(checkpoint) if checkpoint.exists() else run.start()
    if not table.rows or not table.where(model=ALGORITHM_2):
        table.add([run.row(state, batch=0, change=0.0, evaluate=True)])
    steps_an_epoch = -(-run.problem.n_rows // data.batch)
    if table.where(model=ALGORITHM_2, finished="yes"):
        return
    with bar("covertype", settings.epochs * steps_an_epoch, state.epoch * steps_an_epoch) as advance:
        while state.epoch < settings.epochs:
            started, epoch = time.perf_counter(), state.epoch
            new = []
            for batch, _ in enumerate(run.solver.epoch(run.problem, state), start=1):
                if epoch < PASSES_WATCHED and batch < steps_an_epoch:
                    new.append(run.row(state, batch, change=float("nan"), evaluate=False))
                advance(f"{ALGORITHM_2}: epoch {epoch + 1}")
            state.training_loss()
            last = run.row(state, batch=0, change=state.change, evaluate=True)
            last |= dict(seconds=time.perf_counter() - started, finished="yes" if state.change < 1.0 else "no")
            table.add([*new, last])
            _save(checkpoint, state)
            if state.change < 1.0:
                break


class _Run:
    """The solver, its problem, and the rows that judge the model between its steps."""

    def __init__(self, data: Parts, settings: Settings) -> None:
        X, y = data.X["training"], data.y["training"]
        self.kernel_matrix: Any = gram.build(RBF(), X, gamma=1.0, n_threads=settings.n_jobs, kernel_tol=1e-6)
        order = getattr(self.kernel_matrix, "order", None)
        targets = (y if order is None else y[order]).astype(np.float64)[:, None]
        self.problem = Problem(self.kernel_matrix, targets, np.ones(len(y)), losses.Hinge(), 1.0, settings.n_jobs)
        self.solver = SharedMemory(data.batch, data.batch, n_workers=settings.n_jobs, learning_rate=1.0)
        self._judges = {
            part: (self.kernel_matrix.at(data.X[part]), data.y[part]) for part in ("validation", "evaluation")
        }
        self._seed = settings.seed

    def start(self) -> State:
        return self.solver.start(self.problem, np.random.default_rng(self._seed))

    def row(self, state: State, batch: int, change: float, evaluate: bool) -> Row:
        """Return how the model stands after ``batch`` batches of the epoch that runs, or 0 between epochs."""
        return dict(
            model=ALGORITHM_2, epoch=state.epoch + (batch > 0), batch=batch,
            points=state.evaluations / self.problem.n_rows,
            validation_error=self._error("validation", state),
            evaluation_error=self._error("evaluation", state) if evaluate else "",
            change=change, seconds="", finished="no",
        )  # fmt: skip

    def _error(self, part: str, state: State) -> float:
        basis, y = self._judges[part]
        coef = self.solver.coefficients(self.problem, state)
        moved = np.flatnonzero(coef.any(axis=1))
        f = basis.product(slice(None), moved, coef[moved])[:, 0]
        return float(np.mean(np.where(f > 0, 1, -1) != y))


def _save(path: Path, state: State) -> None:
    """Keep a state as plain arrays; the generator's state is text."""
    buffer = io.BytesIO()
    generator = np.frombuffer(json.dumps(state.rng.bit_generator.state).encode(), dtype=np.uint8)
    counts = np.array([state.epoch, state.step, state.evaluations], dtype=np.int64)
    memory = {f"memory_{name}": array for name, array in state.memory.items()}
    np.savez(buffer, allow_pickle=False, coef=state.coef, counts=counts, generator=generator, **memory)
    write_whole(path, buffer.getvalue())


def _load(path: Path) -> State:
    with np.load(path, allow_pickle=False) as arrays:
        rng = np.random.default_rng()
        rng.bit_generator.state = json.loads(arrays["generator"].tobytes())
        epoch, step, evaluations = (int(count) for count in arrays["counts"])
        memory = {name.removeprefix("memory_"): arrays[name] for name in arrays if name.startswith("memory_")}
        return State(arrays["coef"], rng, epoch, step, evaluations, memory)
