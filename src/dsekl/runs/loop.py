"""The loop around every solver: epochs, progress, history, and the ways to stop."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dsekl.deadline import NEVER, Deadline
from dsekl.persistence import ModelFileError
from dsekl.solvers import Problem, Solver, Verdict
from dsekl.solvers.solver import StateOf
from dsekl.solvers.state import Floats

from .course import Course
from .interrupts import HeldInterrupts
from .monitor import Monitor
from .progress import Progress
from .run import FIX


@dataclass(frozen=True)
class Hooks:
    """What the loop calls when the state is whole."""

    before_epoch: Callable[[], None] = lambda: None
    after_step: Callable[[], None] = lambda: None
    """Called after each step and each epoch; a checkpoint may be due."""
    after_epoch: Callable[[dict[str, Any]], bool] = lambda record: False
    """Called with each epoch's entry of the history; True ends the run."""


def optimise(
    solver: Solver[StateOf],
    problem: Problem,
    state: StateOf,
    monitor: Monitor,
    max_epochs: int,
    hooks: Hooks | None = None,
    warn: bool = True,
    deadline: Deadline = NEVER,
    course: Course | None = None,
) -> Floats:
    """Run from ``state``, which moves along, until the monitor's run has had ``max_epochs`` epochs at most.

    No step is begun that would not be over by the ``deadline``, if it took as long as the longest so far; but as many
    are as it takes to have a model at all.

    Returns the model's coefficients. The monitor's ``reason`` tells why the run stopped: "tol", "validation",
    "max_epochs", "max_seconds", "callback" or "interrupted" by Ctrl-C. A run that had stopped for one of the first two
    stays stopped. Ctrl-C raises ``Interrupted`` when the step under way is done: state and monitor are then whole.
    ``warn`` says whether want of epochs is worth a warning, ``course`` who is told how far the run is.
    """
    hooks, course = hooks or Hooks(), course or Course(Progress(False))
    last_epoch = monitor.first_epoch + max_epochs
    verdict: Verdict | None = None
    pace = _Pace(deadline)
    if monitor.reason not in ("tol", "validation"):
        monitor.reason = None
    # A diverging run overflows before its solver can say so, in better words than NumPy's warning.
    with HeldInterrupts() as interrupts, np.errstate(over="ignore", invalid="ignore"):
        while monitor.reason is None and state.epoch < last_epoch:
            hooks.before_epoch()
            done = state.epoch - monitor.first_epoch
            for fraction in _steps(solver, problem, state, monitor.file):
                course.step(done + fraction, max_epochs)
                hooks.after_step()
                # Conjugate gradients move at the end of an epoch only: a model of the first steps alone would be 0.
                if interrupts.pending or not (pace.allows_another() or not state.coef.any()):
                    break
            if state.plan is not None:
                monitor.reason = "interrupted" if interrupts.pending else "max_seconds"
                break
            verdict = solver.judge(problem, state)
            record = monitor.observe(
                solver.coefficients(problem, state),
                counts=bool(np.isfinite(verdict.value)),
                epoch=state.epoch,
                kernel_evaluations=state.evaluations,
                training_loss=state.training_loss(),
                **{"change": state.change, verdict.name: verdict.value},
            )
            course.report(record, verdict.value, verdict.goal)
            if verdict.met:
                monitor.reason = "tol"
            elif monitor.out_of_patience:
                monitor.reason = "validation"
            if hooks.after_epoch(record):
                monitor.reason = monitor.reason or "callback"
            if interrupts.pending:
                monitor.reason = monitor.reason or "interrupted"
            if not pace.allows_another():
                monitor.reason = monitor.reason or "max_seconds"
            hooks.after_step()
        monitor.reason = monitor.reason or "max_epochs"
    if warn and monitor.reason == "max_epochs" and verdict is not None and verdict.goal and monitor.validation is None:
        _warn_of_too_few_epochs(verdict, max_epochs, problem)
    return solver.coefficients(problem, state) if monitor.best_coef is None else monitor.best_coef


class _Pace:
    """The longest time between two questions so far, and a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline, self._longest, self._left = deadline, 0.0, deadline.left

    def allows_another(self) -> bool:
        """Tell whether as long a time as any before would end in time."""
        left = self._deadline.left
        if left < math.inf:
            self._longest, self._left = max(self._longest, self._left - left), left
        return left > self._longest


def _steps(solver: Solver[StateOf], problem: Problem, state: StateOf, file: Path | None) -> Iterator[float]:
    """Run one epoch; if it fails after the run was taken up from a checkpoint, the file may be to blame, and is named.

    Only a fit from the start can tell: numbers that are each as they may be can still be no solver's.
    """
    try:
        yield from solver.epoch(problem, state)
        if file is not None and not np.isfinite(state.coef).all():
            raise FloatingPointError("the coefficients are not finite")
    except (ValueError, ArithmeticError) as error:
        if file is None:
            raise
        words = f"going on from it failed ({error}); if a fit from the start fails as well, it is not to blame"
        raise ModelFileError(file, f"{words}. {FIX.capitalize()}") from error


def _warn_of_too_few_epochs(verdict: Verdict, max_epochs: int, problem: Problem) -> None:
    finite = np.isfinite(verdict.value)
    reached = f"the {verdict.name} is {verdict.value:.3g}" if finite else "not every row has been met"
    first = np.arange(1)
    coarse = verdict.name == "gap" and problem.gram.block(first, first).dtype == np.float32
    large = " Where C is large, kernel values in float32 are too coarse to come nearer: set dtype='float64'."
    warnings.warn(
        f"not converged after max_epochs={max_epochs}: {reached}, tol is {verdict.goal:.3g}. Raise max_epochs, or tol "
        f"if validation says that the model is good enough.{large if coarse else ''}",
        ConvergenceWarning,
        stacklevel=3,
    )
