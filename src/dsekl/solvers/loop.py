"""The loop around every solver: epochs, progress, history, and the ways to stop."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .contract import Floats, Problem, Solver, State
from .monitor import Monitor
from .progress import Progress


def optimise(
    solver: Solver, problem: Problem, state: State, monitor: Monitor, max_epochs: int, tol: float | None,
    verbose: bool | int | str,
) -> tuple[Floats, str]:  # fmt: skip
    """Run ``max_epochs`` more epochs at most, from ``state``, which moves along.

    Returns the model's coefficients and why the run stopped: "tol", "validation", "max_epochs" or "interrupted".
    """
    goal = tol
    last_epoch = state.epoch + max_epochs
    reason = "max_epochs"
    try:
        # A diverging run overflows before its solver can say so, in better words than NumPy's warning.
        with Progress(verbose, max_epochs) as progress, np.errstate(over="ignore", invalid="ignore"):
            while state.epoch < last_epoch:
                before = state.coef.copy()
                done = max_epochs - (last_epoch - state.epoch)
                for fraction in solver.epoch(problem, state):
                    progress.advance(done + fraction)
                state.epoch += 1
                change = float(np.linalg.norm(state.coef - before))
                tol = solver.default_tol(problem, state) if goal is None else goal
                name, value = solver.shortfall(problem, state, change, tol)
                figures = {"change": change, name: value}
                record = monitor.observe(
                    solver.coefficients(problem, state),
                    counts=bool(np.isfinite(value)),
                    epoch=state.epoch,
                    kernel_evaluations=state.evaluations,
                    training_loss=state.training_loss(),
                    **figures,
                )
                progress.report(record, value, tol)
                if value < tol:
                    reason = "tol"
                    break
                if monitor.out_of_patience:
                    reason = "validation"
                    break
    except KeyboardInterrupt:
        reason = "interrupted"
        warnings.warn(
            f"stopped by Ctrl-C after {state.epoch} whole epochs; the model so far is kept. To go on from it, set "
            "warm_start=True before such a fit and call fit again.",
            UserWarning,
            stacklevel=2,
        )
    if reason == "max_epochs" and tol and monitor.validation is None:
        reached = f"the {name} is {value:.3g}" if np.isfinite(value) else "not every row has been met"
        warnings.warn(
            f"not converged after max_epochs={max_epochs}: {reached}, tol is {tol:.3g}. Raise max_epochs, or tol if "
            "validation says that the model is good enough.",
            ConvergenceWarning,
            stacklevel=2,
        )
    coef = solver.coefficients(problem, state) if monitor.best_coef is None else monitor.best_coef
    return coef, reason
