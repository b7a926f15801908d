"""The target column: its task, its classes, and its values as codes or numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataFileError
from .field_values import Numbers, is_number, number_as_text
from .table import Chunk, SparseChunk

CLASSIFICATION, REGRESSION = "classification", "regression"

MOST_INFERRED_CLASSES = 20
"""Integers with at most so many different values are classes."""

MOST_CLASSES = 1_000

UNKNOWN = -1
"""The code of a label that the training rows did not have."""

Label = str | int


@dataclass(frozen=True)
class Target:
    """The target: numbers for regression (no classes), a label among ``classes`` for classification."""

    name: str
    classes: Sequence[Label]

    @property
    def task(self) -> str:
        return CLASSIFICATION if self.classes else REGRESSION

    @property
    def is_text(self) -> bool:
        """Tell whether the labels are read as text; labels that are all numbers are read as numbers."""
        return not all(is_number(str(label)) for label in self.classes)

    def numbers(self, chunk: Chunk | SparseChunk) -> Numbers:
        """Return the values to predict; each row must have one."""
        return _present_numbers(chunk, self.name)

    def codes(self, chunk: Chunk | SparseChunk) -> NDArray[np.int32]:
        """Return the code of each row's label, its place among the classes; ``UNKNOWN`` for other labels."""
        places = {str(label): place for place, label in enumerate(self.classes)}
        if self.is_text:
            labels = _present_text(chunk, self.name)
        else:
            labels = [number_as_text(value) for value in _present_numbers(chunk, self.name).tolist()]
        return np.array([places.get(label, UNKNOWN) for label in labels], dtype=np.int32)

    def decoded(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of codes, as estimators are fitted to them; numbers to predict are returned as they are."""
        return np.asarray(np.asarray(self.classes)[y]) if self.classes else y

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"name": self.name, "classes": list(self.classes)}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Target:
        """Return the target that ``to_dict`` described."""
        return cls(str(saved["name"]), list(saved["classes"]))


class TargetLearner:
    """Finds the task and the classes from chunks. ``task`` is given or None; ``is_text`` says how labels are read."""

    def __init__(self, name: str, task: str | None, is_text: bool) -> None:
        self._name, self._task, self._is_text = name, task, is_text
        self._numbers: set[float] = set()
        self._labels: set[str] = set()

    def observe(self, chunk: Chunk | SparseChunk) -> None:
        """Take in more rows."""
        if self._is_text:
            self._labels.update(_present_text(chunk, self._name))
        else:
            values = _present_numbers(chunk, self._name)
            if len(self._numbers) <= MOST_CLASSES:
                self._numbers.update(np.unique(values).tolist())

    def learned(self, where: object) -> Target:
        """Return the target of the table at ``where``."""
        whole = all(value.is_integer() for value in self._numbers)
        few = len(self._numbers) <= MOST_INFERRED_CLASSES
        task = self._task or (CLASSIFICATION if self._is_text or (whole and few) else REGRESSION)
        if task == REGRESSION:
            return Target(self._name, [])
        classes: Sequence[Label]
        if self._is_text:
            classes = sorted(self._labels)
        else:
            # Labels that are text are sorted as text: estimators sort their classes in the same way.
            classes = sorted(map(int, self._numbers)) if whole else sorted(map(number_as_text, self._numbers))
        if len(classes) > MOST_CLASSES:
            raise DataFileError(
                where, f"has more than {MOST_CLASSES:,} different values, too many for classes", self._name,
                "; if it is a number to predict, set {task} to regression",
            )  # fmt: skip
        if len(classes) < 2:
            raise DataFileError(where, f"has one class only, {classes[0]!r}; give rows of at least two", self._name)
        return Target(self._name, classes)


def _present_text(chunk: Chunk | SparseChunk, name: str) -> list[str]:
    if isinstance(chunk, SparseChunk):
        return [number_as_text(value) for value in chunk.labels.tolist()]
    values = chunk.text(name)
    if None in values:
        raise _missing(chunk.where, values.index(None), name)
    return [str(value) for value in values]


def _present_numbers(chunk: Chunk | SparseChunk, name: str) -> Numbers:
    values = chunk.labels if isinstance(chunk, SparseChunk) else chunk.numbers(name)
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        if np.isnan(values[first]):
            raise _missing(chunk.where, first, name)
        raise DataFileError(chunk.where(first), "the number is infinite", name)
    return values


def _missing(where: Callable[[int], str], i: int, name: str) -> DataFileError:
    return DataFileError(where(i), "the target is missing; fill it in, or remove the row", name)
