"""A machine for rows that are dicts: features come and go, and classes come up when they do."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from .buffer import Floats
from .growth import add_output, widen
from .large import LargeLearner
from .learner import Learner
from .odds import probabilities
from .slots import LARGEST, Slots
from .stream_settings import MOST_BUDGET, Settings

MOST_CLASSES = 1000
"""Classes that there may be, so that memory stays bounded; a file has no more."""

LONGEST_LABEL = 1000


@dataclass
class DictMachine:
    """A learner, the columns of its features, and the codes of its classes, in the order in which they came up."""

    settings: Settings
    seed: int
    slots: Slots = field(default_factory=Slots)
    codes: dict[Hashable, int] = field(default_factory=dict)
    learner: Learner | LargeLearner | None = None

    def learn(self, x: Mapping[Any, Any], y: Any, weight: float = 1.0) -> None:
        """Learn from a row; ``y`` is a label, or a number for regression. A row that is refused changes nothing."""
        target = None if self.settings.classes else np.array([[_finite(y, "target")]])
        if target is None and (y is None or y != y):  # NaN is unlike itself, and would be a new class each time
            raise ValueError(f"the label is {y!r}; leave such rows out, or give them a label")
        if _finite(weight, "weight") < 0:
            raise ValueError(f"the weight is {weight!r}; give a number from 0 on")
        if target is None and y not in self.codes:
            self._require_room(y)
        row = self.slots.rows([x], grow=True)
        if not row.shape[1]:
            raise ValueError("no row has had a feature yet; give at least one number or text beside the target")
        code = 0
        if target is None:
            code = self._code(y)
            target = self._targets(code)
        if self.learner is None:
            kind = LargeLearner if self.settings.budget > MOST_BUDGET else Learner
            self.learner = kind.start(self.settings, row.shape[1], target.shape[1], self.seed)
        widen(self.learner, row.shape[1])
        self.learner.learn(row, target, np.array([float(weight)]), np.array([code], dtype=np.int64))

    def _require_room(self, label: Hashable) -> None:
        """Raise ValueError for a label that would be one class too many, or is too long for a name."""
        if len(self.codes) >= MOST_CLASSES:
            raise ValueError(
                f"the label is {label!r:.60}, and there are {MOST_CLASSES:,} classes already; is the target a number, "
                "for a regression?"
            )
        if isinstance(label, str) and len(label) > LONGEST_LABEL:
            raise ValueError(f"the label has {len(label):,} characters; give a name of up to {LONGEST_LABEL:,}")

    def _code(self, label: Hashable) -> int:
        """Return the code of a label, which may be new."""
        if label not in self.codes:
            self.codes[label] = len(self.codes)
            if len(self.codes) > 2 and self.learner is not None:
                add_output(self.learner)
        return self.codes[label]

    def _targets(self, code: int) -> Floats:
        if len(self.codes) <= 2:
            return np.array([[1.0 if code == 1 else -1.0]])
        return np.where(np.arange(len(self.codes)) == code, 1.0, -1.0)[None, :]

    def evaluate(self, dicts: Sequence[Mapping[Any, Any]]) -> Floats | None:
        """Return the predictions of rows, (n, n_outputs); None before any row."""
        return None if self.learner is None else self.learner.evaluate(self.slots.rows(dicts, grow=False))

    def likeliest(self, x: Mapping[Any, Any]) -> Hashable | None:
        """Return the likeliest class of a row, of equal ones the first; None before any row.

        Slopes without offsets make probabilities, so that f has the same largest class.
        """
        f = self.evaluate([x])
        if f is None:
            return None
        positive = len(self.codes) == 2 and f[0, 0] > 0.0
        code = int(f[0].argmax()) if len(self.codes) > 2 else int(positive)
        return next(islice(self.codes, code, None))

    def probabilities(self, dicts: Sequence[Mapping[Any, Any]]) -> Floats | None:
        """Return the probability of each class, in the order of the codes; None before any row."""
        f = self.evaluate(dicts)
        if f is None:
            return None
        if len(self.codes) == 1:
            return np.ones((len(f), 1))
        assert self.learner is not None
        return probabilities(self.learner.settled().odds, f)


def _finite(value: Any, name: str) -> float:
    """Return a number; ValueError for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"the {name} is {value!r:.60}, no finite number; leave such rows out")
    if abs(number) > LARGEST:
        raise ValueError(f"the {name} is {value!r:.60}, too large for squares; divide it by a constant")
    return number
