"""What the river classes share: dicts as rows, and a learner that grows with what comes up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import kernels, losses
from dsekl.kernels import VectorKernel
from dsekl.online import Learner, Settings
from dsekl.online.maintenance import WAYS
from dsekl.online.slots import Slots

Floats = NDArray[np.float64]

DEFAULT_SEED = 0


class Streamed:
    """A learner of rows that are dicts; the parameters are those of the class that has it as a base."""

    kernel: Any
    gamma: Any
    C: float
    budget: int
    maintenance: str
    half_life: Any
    n_cols: int
    seed: int | None

    def _start(self, loss: Any, task: str, learns_weights: bool = True) -> None:
        """Check the parameters, and begin with nothing."""
        kernel = kernels.resolve(self.kernel)
        if not isinstance(kernel, VectorKernel):
            raise ValueError(f"kernel={self.kernel!r} compares no rows of numbers; choose 'rbf' or another kernel of columns")
        if not (isinstance(self.gamma, str) and self.gamma in ("auto", "scale")) and not (
            isinstance(self.gamma, int | float) and 0 < self.gamma < np.inf
        ):
            raise ValueError(f"gamma={self.gamma!r} must be 'auto', 'scale' or a positive number, e.g. 1.0")
        if self.maintenance not in WAYS:
            raise ValueError(f"maintenance={self.maintenance!r} is not known; choose one of {', '.join(WAYS)}")
        for name, least in (("C", 1e-300), ("budget", 1), ("n_cols", 0)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name}={getattr(self, name)!r} must be at least {least}")
        if not (self.half_life in ("auto", None) or (not isinstance(self.half_life, str) and self.half_life >= 1)):
            raise ValueError(f"half_life={self.half_life!r} must be 'auto', None or a number of rows from 1 on")
        self._settings = Settings(
            kernel, losses.resolve(loss, task), self.gamma, float(self.C), int(self.budget), self.maintenance,
            self.half_life, int(self.n_cols), task == "classification", learns_weights,
        )  # fmt: skip
        self._slots = Slots()
        self._learner: Learner | None = None

    def _learn(self, rows: Floats, targets: Floats, labels: NDArray[np.int64], weight: float) -> Floats:
        """Learn from rows, whose columns may be more than before; return what was predicted."""
        if self._learner is None:
            seed = DEFAULT_SEED if self.seed is None else self.seed
            self._learner = Learner.start(self._settings, rows.shape[1], targets.shape[1], seed)
        self._learner.widen(rows.shape[1])
        return self._learner.learn(rows, targets, np.full(len(rows), float(weight)), labels)

    def _evaluate(self, dicts: Iterable[Mapping[Any, Any]]) -> Floats | None:
        """Return the predictions of rows, (n, n_outputs); None before any row."""
        if self._learner is None:
            return None
        return self._learner.evaluate(self._slots.rows(dicts, grow=False))

    @property
    def n_seen(self) -> int:
        """How many rows it has learned from."""
        return 0 if self._learner is None else self._learner.n_seen

    @property
    def progressive_loss(self) -> float:
        """The mean loss of all rows so far, each predicted before it was learned from."""
        return float("nan") if self._learner is None else self._learner.progressive_loss


def dicts_of(X: Any) -> list[dict[Any, Any]]:
    """Return the rows of a frame as dicts."""
    return [dict(zip(X.columns, row, strict=True)) for row in X.itertuples(index=False, name=None)]
