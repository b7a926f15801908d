"""Predictions of training rows by models that have not seen them, where a fit has none of its own: a few further fits.

Few rows are cut into parts, each predicted by a machine fitted on the others. Of many rows one half predicts the other.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dsekl.calibration import Unseen
from dsekl.deadline import Budget
from dsekl.metric import Fold
from dsekl.rows import CrossRows, Rows, SquareRows
from dsekl.runs import Run, Settled, Stopping
from dsekl.search import draw_splits, others
from dsekl.workers import ALONE, Workers

from .examples import Examples
from .machine import Machine
from .model import Model

MANY_ROWS = 8_000
"""Rows from which on one half predicts the other."""

FOLDS = 5

Floats = NDArray[np.float64]


class HasModel(Protocol):
    """What a fit gives, as far as it is wanted here."""

    @property
    def model(self) -> Model: ...


@dataclass(frozen=True)
class CrossFit:
    """What cross-fitting needs: how a part is fitted, and all that the model was fitted with."""

    solve: Callable[[Machine, Examples, Run], HasModel]
    machine: Machine
    examples: Examples
    settled: Settled
    seed: int
    stopping: Stopping
    seconds: float = math.inf
    """What all these fits together may take, but for a step of the solver in each."""

    def unseen(self, workers: Workers = ALONE, folds: Sequence[Fold] | None = None) -> Unseen:
        """Return predictions of rows by models without them: of all ``folds``, or of parts drawn by the seed."""
        parts, folds = [], self._folds() if folds is None else folds
        budget, n_left = Budget(self.seconds), sum(fold.f is None for fold in folds)
        for number, fold in enumerate(folds):
            f = fold.f
            if f is None:
                f = self._predicted(number, fold, workers, Budget(budget.deadline().left / n_left))
                n_left -= 1
            held_out = self.examples.take(fold.held_out)
            parts.append(Unseen(f, held_out.targets, held_out.weights, held_out.places))
        return Unseen(*(np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])))

    def _predicted(self, number: int, fold: Fold, workers: Workers, budget: Budget) -> Floats:
        """Return f of a fold's rows by a machine that is fitted on the others."""
        rest = others(len(self.examples), fold.held_out)
        examples = self.examples.without(fold.held_out)
        settled = replace(self.settled, gamma=fold.gamma, randomness=self._rng(number).bit_generator.state)
        run = Run(self.seed, replace(self.stopping, validation_fraction=None), workers, settled=settled, budget=budget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit itself has told the user
            model = self.solve(self.machine, examples.take(rest), run).model
        return model.evaluate(_queries(examples.rows, rest, fold.held_out), workers, self.machine.budget)

    def _folds(self) -> list[Fold]:
        n, rng = len(self.examples), self._rng(FOLDS)
        if n > MANY_ROWS:
            return [Fold(np.sort(rng.permutation(n)[: n // 2]), self.settled.gamma)]
        parts = draw_splits(n, n, rng, self.examples.classes, FOLDS)
        return [Fold(part, self.settled.gamma) for part in parts if 0 < len(part) < n]

    def _rng(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, 13, number])


def _queries(rows: Rows, rest: NDArray[np.intp], held_out: NDArray[np.intp]) -> Rows:
    """Return rows that are held out as a model of the rest takes them."""
    if isinstance(rows, SquareRows):
        return CrossRows(rows.values[np.ix_(held_out, rest)])
    return rows.take(held_out)
