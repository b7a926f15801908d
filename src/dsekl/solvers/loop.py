"""The loop around every solver: epochs, progress, history, and the ways to stop."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .contract import Floats, Problem, Solver, State
from .interrupts import HeldInterrupts
from .monitor import Monitor
from .progress import Progress


@dataclass(frozen=True)
class Hooks:
    """What the loop calls when the state is whole."""

    before_epoch: Callable[[], None] = lambda: None
    after_step: Callable[[], None] = lambda: None
    """Called after each step and each epoch; a checkpoint may be due."""
    after_epoch: Callable[[dict[str, Any]], bool] = lambda record: False
    """Called with each epoch's entry of the history; True ends the run."""


def optimise(
    solver: Solver, problem: Problem, state: State, monitor: Monitor, max_epochs: int, tol: float | None,
    verbose: bool | int | str, hooks: Hooks, warn: bool = True,
) -> Floats:  # fmt: skip
    """Run from ``state``, which moves along, until the monitor's run has had ``max_epochs`` epochs at most.

    Returns the model's coefficients. The monitor's ``reason`` tells why the run stopped: "tol", "validation",
    "max_epochs", "callback" or "interrupted" by Ctrl-C. A run that had stopped for one of the first two stays stopped.
    ``warn`` says whether want of epochs is worth a warning.
    """
    last_epoch = monitor.first_epoch + max_epochs
    name, value, goal = "", np.nan, tol
    if monitor.reason not in ("tol", "validation"):
        monitor.reason = None
    # A diverging run overflows before its solver can say so, in better words than NumPy's warning.
    with (
        Progress(verbose, max_epochs) as progress,
        HeldInterrupts() as interrupts,
        np.errstate(over="ignore", invalid="ignore"),
    ):
        while monitor.reason is None and state.epoch < last_epoch:
            hooks.before_epoch()
            done = state.epoch - monitor.first_epoch
            for fraction in solver.epoch(problem, state):
                progress.advance(done + fraction)
                hooks.after_step()
                if interrupts.pending:
                    break
            if state.plan:
                monitor.reason = "interrupted"
                break
            goal = solver.default_tol(problem, state) if tol is None else tol
            name, value = solver.shortfall(problem, state, goal)
            figures = {"change": state.change, name: value}
            record = monitor.observe(
                solver.coefficients(problem, state),
                counts=bool(np.isfinite(value)),
                epoch=state.epoch,
                kernel_evaluations=state.evaluations,
                training_loss=state.training_loss(),
                **figures,
            )
            progress.report(record, value, goal)
            if value < goal:
                monitor.reason = "tol"
            elif monitor.out_of_patience:
                monitor.reason = "validation"
            if hooks.after_epoch(record):
                monitor.reason = monitor.reason or "callback"
            if interrupts.pending:
                monitor.reason = monitor.reason or "interrupted"
            hooks.after_step()
    if monitor.reason is None:
        monitor.reason = "max_epochs"
        if warn and goal and name and monitor.validation is None:
            reached = f"the {name} is {value:.3g}" if np.isfinite(value) else "not every row has been met"
            warnings.warn(
                f"not converged after max_epochs={max_epochs}: {reached}, tol is {goal:.3g}. Raise max_epochs, or tol "
                "if validation says that the model is good enough.",
                ConvergenceWarning,
                stacklevel=2,
            )
    return solver.coefficients(problem, state) if monitor.best_coef is None else monitor.best_coef
