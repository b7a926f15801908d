"""What the river classes share: their parameters, checked, and the machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsekl import kernels
from dsekl.kernels import VectorKernel
from dsekl.online import Settings
from dsekl.online.dicts import DictMachine
from dsekl.online.maintenance import WAYS
from dsekl.online.stream_settings import MOST_COLS, stream_losses

DEFAULT_SEED = 0


class Streamed:
    """A machine of rows that are dicts; the parameters are those of the class that has this one as a base."""

    kernel: Any
    gamma: Any
    C: float | str
    budget: int
    maintenance: str
    half_life: Any
    n_cols: int
    seed: int | None
    _machine: DictMachine

    def _start(self, loss: Any, task: str, supervised: bool = True) -> None:
        """Check the parameters, and begin with nothing."""
        kernel = kernels.resolve(self.kernel)
        if not isinstance(kernel, VectorKernel):
            raise ValueError(f"kernel={self.kernel!r} compares no rows of numbers; choose 'rbf', or another of columns")
        named = isinstance(self.gamma, str) and self.gamma in ("auto", "scale")
        if not named and not (isinstance(self.gamma, int | float) and 0 < self.gamma < np.inf):
            raise ValueError(f"gamma={self.gamma!r} must be 'auto', 'scale' or a positive number, e.g. 1.0")
        if self.maintenance not in WAYS:
            raise ValueError(f"maintenance={self.maintenance!r} is not known; choose one of {', '.join(WAYS)}")
        C = self.C if isinstance(self.C, str) else float(self.C)
        if C != "auto" and (isinstance(C, str) or not 0 < C < np.inf):
            raise ValueError(f"C={self.C!r} must be 'auto' or positive and finite, e.g. 1.0")
        for name, least in (("budget", 1), ("n_cols", 0)):
            if not (isinstance(getattr(self, name), int) and getattr(self, name) >= least):
                raise ValueError(f"{name}={getattr(self, name)!r} must be a whole number from {least} on")
        if self.n_cols > MOST_COLS:
            raise ValueError(f"n_cols={self.n_cols!r} must be at most {MOST_COLS}: so many points step with each row")
        if not (self.half_life in ("auto", None) or (not isinstance(self.half_life, str) and self.half_life >= 1)):
            raise ValueError(f"half_life={self.half_life!r} must be 'auto', None or a number of rows from 1 on")
        known, beyond_two = stream_losses(loss, task)
        settings = Settings(
            kernel, known, self.gamma, C, self.budget, self.maintenance,
            self.half_life, self.n_cols, task == "classification", supervised, beyond_two,
        )  # fmt: skip
        self._machine = DictMachine(settings, DEFAULT_SEED if self.seed is None else self.seed)

    @property
    def n_seen(self) -> int:
        """How many rows it has learned from."""
        learner = self._machine.learner
        return 0 if learner is None else learner.n_seen

    @property
    def progressive_loss(self) -> float:
        """The mean loss of all rows so far, each predicted before it was learned from."""
        learner = self._machine.learner
        return float("nan") if learner is None else learner.progressive_loss


def dicts_of(X: Any) -> list[dict[Any, Any]]:
    """Return the rows of a frame as dicts; None stands for what is missing, however the frame says so."""
    X = X.astype(object).where(X.notna(), None)
    return [dict(zip(X.columns, row, strict=True)) for row in X.itertuples(index=False, name=None)]


def values_of(y: Any) -> list[Any]:
    """Return the values of a series; None stands for what is missing."""
    return list(y.astype(object).where(y.notna(), None))
