"""What watches a run: history, validation, patience, and the reason it stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import numpy as np

from dsekl.gram import Gram
from dsekl.solvers.state import INFINITY, Count, Floats, NotNegative, PerTerm, Range, State, can_be_squared

UNSAVED = {"saved": False}
"""Of fields that a checkpoint leaves out."""


Figure = int | Annotated[float, Range(-INFINITY, most=INFINITY, nan=True)]
"""An entry of the history: the gap of a growing sample is infinite, and a loss that was not measured is NaN."""

Reason = Literal["tol", "validation", "max_epochs", "max_seconds", "callback", "interrupted"]


class ErrorMeasure(Protocol):
    """How wrong each row's prediction ``f`` is for its targets ``y``; smaller is better."""

    def __call__(self, y: Floats, f: Floats, /) -> Floats: ...


@dataclass(frozen=True)
class Units:
    """What a loss and a coefficient of 1 are to the user, where targets are fitted in a unit of their own."""

    loss: float = 1.0
    coef: float = 1.0

    def of_user(self, figures: dict[str, Any]) -> dict[str, Any]:
        """Return an epoch's figures in the user's units."""
        units = {"training_loss": self.loss, "validation_error": self.loss, "change": self.coef}
        units["validation_rmse"] = self.coef
        # Nothing is nothing in any unit, also in one whose square is not finite.
        return {name: value * units.get(name, 1.0) if value else value for name, value in figures.items()}


class Judge(Protocol):
    """Who judges the model after each epoch."""

    def measure(self, coef: Floats) -> dict[str, float]:
        """Return the error of the model with these coefficients."""


@dataclass(frozen=True)
class Validation:
    """Rows held out of the training, at which the model is judged each epoch."""

    gram: Gram
    targets: Floats
    errors: ErrorMeasure
    real: bool = False
    """Whether targets are numbers, so that there is a root mean squared error beside the loss."""

    def measure(self, coef: Floats) -> dict[str, float]:
        """Return the error of the model with these coefficients."""
        moved = np.flatnonzero(coef.any(axis=1))
        return errors_at(self.targets, self.gram.product(slice(None), moved, coef[moved]), self.errors, self.real)


def errors_at(targets: Floats, f: Floats, errors: ErrorMeasure, real: bool) -> dict[str, float]:
    """Return the error of predictions of rows that were held out; targets are numbers where they are ``real``."""
    found = {"validation_error": float(errors(targets, f).mean())}
    if real:
        found["validation_rmse"] = float(np.sqrt(np.mean((targets - f) ** 2)))
    return found


@dataclass
class Monitor:
    """Collects what each epoch did and says when validation has stopped to improve."""

    validation: Judge | None = field(default=None, metadata=UNSAVED)
    patience: int = field(default=5, metadata=UNSAVED)
    first_epoch: Count = 0
    """The epochs before this run, which a warm start goes on from."""
    history: list[dict[str, Figure]] = field(default_factory=list)
    best_error: Annotated[float, Range(most=INFINITY)] = INFINITY
    best_coef: PerTerm | None = None
    epochs_since_best: Count = 0
    reason: Reason | None = None
    """Why the run stopped, once it has."""
    earlier_seconds: NotNegative = 0.0
    """How long the parts of the run before this one took."""
    units: Units = field(default=Units(), metadata=UNSAVED)
    started: float = field(default_factory=time.perf_counter, metadata=UNSAVED)
    file: Path | None = field(default=None, metadata=UNSAVED)
    """The checkpoint that the run was taken up from."""

    def paused(self) -> Monitor:
        """Return a copy to keep of a run that was stopped."""
        return replace(
            self, validation=None, history=list(self.history), earlier_seconds=self.seconds, file=None
        )  # fmt: skip

    def taken_up(self) -> Monitor:
        """Return a copy of a paused monitor that counts its seconds from now on."""
        return replace(self, history=list(self.history), started=time.perf_counter())

    def check(self, state: State, validated: bool) -> None:
        """Raise ValueError where what was seen of a run does not fit its state, or whether rows were held out."""
        counted = all(record.get("epoch") == n for n, record in enumerate(self.history, self.first_epoch + 1))
        if not counted or self.first_epoch + len(self.history) != state.epoch:
            raise ValueError(f"the monitor's history and first_epoch do not lead to the state's epoch {state.epoch}")
        if self.best_coef is not None and not can_be_squared(self.best_coef):
            raise ValueError("the monitor's best_coef is too large for its squares to be added up")
        if (self.best_coef is None) != (self.best_error == INFINITY) or (self.best_coef is not None and not validated):
            raise ValueError(
                "the monitor's best_coef and best_error are not those of a run with held-out rows, or none"
            )

    def observe(self, coef: Floats, counts: bool = True, **figures: Any) -> dict[str, Any]:
        """Record an epoch that ended with the model ``coef``; one that has not met all rows costs no patience."""
        record = {"seconds": self.seconds, **figures}
        if self.validation is not None:
            record |= self.validation.measure(coef)
            error = record["validation_error"]
            self.epochs_since_best += counts
            if error < self.best_error:
                self.best_error, self.best_coef, self.epochs_since_best = error, coef.copy(), 0
        record = self.units.of_user(record)
        self.history.append(record)
        return record

    @property
    def seconds(self) -> float:
        """How long the run has taken, without the time between its parts."""
        return self.earlier_seconds + time.perf_counter() - self.started

    @property
    def out_of_patience(self) -> bool:
        """True when validation has not improved for ``patience`` epochs."""
        return self.validation is not None and self.epochs_since_best >= self.patience
