"""A fit as a value that can be kept and gone on from: what it may cost, what is settled, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np

from dsekl.calibration import Unseen
from dsekl.deadline import Budget
from dsekl.persistence import checking
from dsekl.rows import Reshaping
from dsekl.solvers import Problem, Solver, State
from dsekl.solvers.state import Floats, Form, Positive, PositiveOrInfinite
from dsekl.workers import ALONE, Workers

from .fields import from_values, generator
from .identity import Identity
from .monitor import Monitor, Units

Knots = Annotated[Floats, Form(("features", "any"))]

FIX = "delete the file, or give checkpoint another path"


@dataclass(frozen=True)
class Stopping:
    """When a run ends: the solver's tolerance (None: its own rule), the most epochs, and rows that judge each epoch."""

    tol: float | None = None
    max_epochs: int = 100
    validation_fraction: float | None = None
    """Share, or number, of the rows that are held out; None for none."""
    patience: int = 5
    """Epochs without an improvement on the held-out rows that end the run."""


Weights = Annotated[Floats, Form(("features",), least=0.0)]


@dataclass(frozen=True)
class Settled:
    """What is settled before the first step: enough to start the same run again on the same data."""

    gamma: Positive | Weights | None = None
    C: PositiveOrInfinite = 1.0
    metric: str | None = None
    """Which weights of the features were chosen, where gamma was learned."""
    kernel: str | None = None
    """The name of the kernel, where it was chosen; None for the machine's own."""
    loss: str | None = None
    """The name of the loss, where it was chosen; None for the machine's own."""
    scale: str | None = None
    """The name of the columns' scale, where they are reshaped, and the reshaping's knots and values."""
    knots: Knots | None = None
    values: Knots | None = None
    intercept: bool = False
    trend: bool = False
    """Whether there is an intercept, and a trend, beside the kernel."""
    cut_short: bool = False
    """Whether the search for all this ended because its time was over."""
    randomness: Mapping[str, Any] = field(default_factory=dict)
    """State of the random numbers after all that."""
    unseen: Unseen | None = None
    """Predictions of rows that were held out, where the search had some that cost little."""

    @property
    def reshaping(self) -> Reshaping | None:
        """What the columns go through, None for columns as they are."""
        if self.scale is None or self.knots is None or self.values is None:
            return None
        return Reshaping(self.scale, self.knots, self.values)

    def check(self) -> None:
        """Raise ValueError where fields that are right by themselves do not fit each other."""
        generator(self.randomness, "what was settled's randomness")
        if isinstance(self.gamma, np.ndarray) and not self.gamma.any():
            raise ValueError("what was settled's gamma is 0 for every feature")
        if not ((self.scale is None) == (self.knots is None) == (self.values is None)):
            raise ValueError("what was settled's scale, knots and values are not all there")
        if self.reshaping is not None and self.knots is not None:
            self.reshaping.check(len(self.knots))


class Watcher(Protocol):
    """Who is told of a fit as it goes."""

    def before_epoch(self) -> None:
        """Hear that an epoch begins."""

    def after_epoch(self, history: list[dict[str, Any]], fitted: Callable[[], Any]) -> bool:
        """Hear of an epoch; ``fitted`` makes the fit as if it had ended here. True ends the run."""


@dataclass(frozen=True)
class SavedState:
    """State and monitor as a checkpoint file has them, not checked yet."""

    path: Path
    state: Any
    monitor: Any

    @property
    def epochs_done(self) -> int:
        """Epochs that were done, as far as the file can be believed."""
        found = self.state.get("epoch") if isinstance(self.state, dict) else None
        return found if isinstance(found, int) else 0

    @property
    def reason(self) -> str | None:
        """Why the run stopped, as far as the file can be believed."""
        found = self.monitor.get("reason") if isinstance(self.monitor, dict) else None
        return found if isinstance(found, str) else None

    def checked(self, solver: Solver[Any], problem: Problem, validated: bool) -> tuple[State, Monitor]:
        """Return the two as what the solver needs for the problem; ModelFileError names what cannot be."""
        with checking(self.path, FIX):
            state = from_values(solver.state_type, self.state, problem.sizes, "the state")
            state.check(problem, solver)
            monitor = from_values(Monitor, self.monitor, problem.sizes, "the monitor")
            monitor.check(state, validated)
            monitor.file = self.path
            return state, monitor


@dataclass
class Run:
    """One run: its seed, when it ends, who works and who watches; and where it stands."""

    seed: int = 0
    stopping: Stopping = field(default_factory=Stopping)
    workers: Workers = ALONE
    verbose: bool | int | str = False
    units: Units = field(default_factory=Units)
    """Those of the history."""
    budget: Budget = field(default_factory=Budget)
    """The time that all of it may take."""
    watcher: Watcher | None = None
    keep: Callable[[Run], None] = lambda run: None
    """Called where the state is whole, so that a checkpoint can be written."""
    keep_if_due: Callable[[Run], None] = lambda run: None

    identity: Identity | None = None
    stages: dict[str, Any] = field(default_factory=dict)
    """What the search before the first epoch has found so far."""
    file: Path | None = None
    """The checkpoint that the run was read from."""
    settled: Settled | None = None
    known_coef: Floats | None = None
    """Coefficients of the rows of X in a model of most of them, to start from."""
    state: State | None = None
    monitor: Monitor | None = None
    saved: SavedState | None = None
    """State and monitor in a checkpoint, until their problem is there to check them against."""
    shape: tuple[int, ...] = ()
    """Rows and outputs."""
    solver: type | None = None
    changed: bool = False
    """Whether the state is one of another problem on the same rows."""

    def blaming_its_file(self) -> AbstractContextManager[None]:
        """Turn what goes wrong with what was read from a checkpoint into its error."""
        return nullcontext() if self.file is None else checking(self.file, FIX)

    @property
    def finished(self) -> bool:
        """True for a run that came to its end, for good or for want of epochs or time."""
        reason = None if self.saved is None else self.saved.reason
        if self.monitor is not None:
            reason = self.monitor.reason
        return reason in ("tol", "validation", "max_epochs", "max_seconds")

    def take_up(
        self, solver: Solver[Any], problem: Problem, rng: np.random.Generator, known: Floats | None = None
    ) -> tuple[State, Monitor]:
        """Return the state and the monitor to go on with: those of a checkpoint, of the last fit, or new ones.

        ``known`` are coefficients of a problem like this one, for a new state to start from.
        """
        if self.saved is not None:
            self.state, self.monitor = self.saved.checked(
                solver, problem, self.stopping.validation_fraction is not None
            )
            self.saved = None
        if self.state is None:
            self.state = solver.start(problem, rng)
            if known is not None:
                self.state = solver.adapt(problem, replace(self.state, coef=known))
        elif self.changed:
            self.state = solver.adapt(problem, self.state)
        if self.monitor is None:
            self.monitor = Monitor(first_epoch=self.state.epoch, file=self.file)
        self.monitor.units = self.units
        return self.state, self.monitor
