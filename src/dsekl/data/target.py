"""The target column: its task, its classes, and its values as codes or numbers.

Labels are read as text. Numbers are one label however they are written (3, 3.0), to the last digit, unless one of them
has leading zeros: then all stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import saved_values as saved_value
from .errors import DataFileError, quoted
from .field_values import Column, Numbers, as_numbers, as_text, is_number, is_padded, number_label
from .number_spelling import POINT
from .table import Chunk, SparseChunk

CLASSIFICATION, REGRESSION = "classification", "regression"

MOST_INFERRED_CLASSES = 20
"""Integers with at most so many different values are classes."""

MOST_CLASSES = 1_000

UNKNOWN = -1
"""The code of a label that the training rows did not have."""

INTEGERS = np.iinfo(np.int64)
"""Labels that are integers in this range are integers to estimators; all others are text."""

Label = str | int

TaskChoice = Callable[[str, Sequence[Label]], str]
"""Decides what a column of so many integers is: its name and its values in, a task out."""


def takes_classes(name: str, values: Sequence[Label]) -> str:
    """Take few integers for classes."""
    return CLASSIFICATION


@dataclass(frozen=True)
class Target:
    """The target: numbers for regression (no classes), a label among ``classes`` for classification."""

    name: str
    classes: Sequence[Label]

    @property
    def task(self) -> str:
        return CLASSIFICATION if self.classes else REGRESSION

    @cached_property
    def is_text(self) -> bool:
        """Tell whether labels are compared as they are written, not as numbers."""
        return not all(is_number(label) and number_label(label) == label for label in map(str, self.classes))

    def numbers(self, chunk: Chunk | SparseChunk) -> Numbers:
        """Return the values to predict; each row must have one."""
        return _present_numbers(chunk, self.name)

    def codes(self, chunk: Chunk | SparseChunk) -> NDArray[np.int32]:
        """Return the code of each row's label, its place among the classes; ``UNKNOWN`` for other labels."""
        places = {str(label): place for place, label in enumerate(self.classes)}
        if not self.is_text:
            _present_numbers(chunk, self.name)
        fields = _present_text(chunk, self.name)
        codes = {
            field: places.get(field if self.is_text else number_label(field, chunk.decimal), UNKNOWN)
            for field in dict.fromkeys(fields)
        }
        return np.array([codes[field] for field in fields], dtype=np.int32)

    def decoded(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of codes, as estimators are fitted to them; numbers to predict are returned as they are."""
        return np.asarray(np.asarray(self.classes)[y]) if self.classes else y

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"name": self.name, "classes": list(self.classes)}

    @classmethod
    def from_dict(cls, saved: object) -> Target:
        """Return the target that ``to_dict`` described; ValueError if it never did."""
        entries = saved_value.entries(saved, "target", {"name", "classes"})
        classes = saved_value.items(entries["classes"], "target.classes")
        if classes and not 2 <= len(classes) <= MOST_CLASSES:
            raise ValueError(f"target.classes: {len(classes)} classes, not 2 to {MOST_CLASSES:,}")
        if {type(label) for label in classes} not in (set(), {str}, {int}):
            raise ValueError("target.classes are neither all texts nor all integers")
        if any(isinstance(label, int) and not INTEGERS.min <= label <= INTEGERS.max for label in classes):
            raise ValueError("target.classes has an integer of more than 64 bits")
        if len(set(classes)) < len(classes):
            raise ValueError("target.classes has a class twice")
        return cls(saved_value.text(entries["name"], "target.name"), classes)


class TargetLearner:
    """Finds the task and the classes from chunks. ``task`` is given or None; ``is_text`` says that labels are words."""

    def __init__(self, name: str, task: str | None, is_text: bool) -> None:
        self._name, self._task, self._is_text = name, task, is_text
        self._fields: set[str] = set()
        self._decimal = POINT

    def observe(self, chunk: Chunk | SparseChunk) -> None:
        """Take in more rows."""
        self._decimal = chunk.decimal
        if not self._is_text:
            self._check_numbers(chunk)
        if len(self._fields) <= MOST_CLASSES:
            self._fields.update(_present_text(chunk, self._name))

    def join(self, other: TargetLearner) -> None:
        """Take in what another learner has seen of further rows."""
        self._fields |= other._fields
        self._is_text |= other._is_text

    def _check_numbers(self, chunk: Chunk | SparseChunk) -> None:
        """Check that labels are numbers; where the task is known to be classification, they may as well be texts."""
        try:
            _present_numbers(chunk, self._name)
        except DataFileError:
            if self._task != CLASSIFICATION or isinstance(chunk, SparseChunk):
                raise
            self._is_text = True

    def learned(self, where: object, choose: TaskChoice = takes_classes) -> Target:
        """Return the target of the table at ``where``; of more than two integers, ``choose`` tells what they are."""
        as_written = self._is_text or any(map(is_padded, self._fields))
        labels = set() if self._is_text else {number_label(field, self._decimal) for field in self._fields}
        whole = not self._is_text and all(label.removeprefix("-").isdigit() for label in labels)
        few = len(labels) <= MOST_INFERRED_CLASSES
        task = self._task or (CLASSIFICATION if self._is_text or (whole and few) else REGRESSION)
        if self._task is None and whole and not as_written and 2 < len(labels) <= MOST_INFERRED_CLASSES:
            task = choose(self._name, _classes(labels, whole))
        if task == REGRESSION:
            return Target(self._name, [])
        if len(self._fields) > MOST_CLASSES:
            raise DataFileError(
                where, f"has more than {MOST_CLASSES:,} different values, too many for classes", self._name,
                "; if it is a number to predict, set {task} to regression",
            )  # fmt: skip
        classes = _classes(self._fields if as_written else labels, whole and not as_written)
        if len(classes) < 2:
            shown = quoted(classes[0]) if isinstance(classes[0], str) else classes[0]
            raise DataFileError(where, f"has one class only, {shown}; give rows of at least two", self._name)
        return Target(self._name, classes)


def _classes(labels: set[str], whole: bool) -> Sequence[Label]:
    """Return the classes in the order in which estimators sort them: as integers where they are, else as text."""
    if whole:
        integers = sorted(map(int, labels))
        if INTEGERS.min <= integers[0] and integers[-1] <= INTEGERS.max:
            return integers
    return sorted(labels)


def _column(chunk: Chunk | SparseChunk, name: str) -> Column:
    return chunk.labels if isinstance(chunk, SparseChunk) else chunk.column(name)


def _present_text(chunk: Chunk | SparseChunk, name: str) -> list[str]:
    values = as_text(_column(chunk, name))
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        raise _missing(chunk.where, values.index(None), name)
    return present


def _present_numbers(chunk: Chunk | SparseChunk, name: str) -> Numbers:
    def error_for(i: int, field: str) -> DataFileError:
        words = f"{quoted(field.strip())} is not a number, as the targets of the first rows are; correct it"
        return DataFileError(chunk.where(i), words, name, "; labels of both kinds need {task} as classification")

    values = as_numbers(_column(chunk, name), error_for, chunk.decimal)
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        if np.isnan(values[first]):
            raise _missing(chunk.where, first, name)
        raise DataFileError(chunk.where(first), "the number is infinite", name)
    return values


def _missing(where: Callable[[int], str], i: int, name: str) -> DataFileError:
    return DataFileError(where(i), "the target is missing; fill it in, or remove the row", name)
