"""What an experiment hands to the report: words, figures, tables, and a verdict on each of the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGREES, PARTLY, DIFFERS, NO_CLAIM = "agrees", "agrees in part", "does not agree", "beyond the paper"
NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Finding:
    """One claim, what was found here, the verdict, and why."""

    claim: str
    found: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of matplotlib, its file's name, and what it shows in words."""

    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True)
class Numbers:
    """A table of text; the first column is the row's name."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """One experiment in the report."""

    name: str
    title: str
    setting: str
    findings: Sequence[Finding]
    pictures: Sequence[Picture] = field(default_factory=tuple)
    tables: Sequence[Numbers] = field(default_factory=tuple)


def untested(findings: Sequence[Finding]) -> list[Finding]:
    """Return what was found without verdicts on the paper: a quick run is too small for them."""
    return [each if each.verdict == NO_CLAIM else replace(each, verdict=NOT_TESTED) for each in findings]


def per_cent(value: float, digits: int = 1) -> str:
    """Return a share as text."""
    return f"{100 * value:.{digits}f} %"


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    numbers = np.asarray(values, dtype=np.float64)
    spread = numbers.std(ddof=1) / np.sqrt(len(numbers)) if len(numbers) > 1 else 0.0
    return float(numbers.mean()), float(spread)


def in_words(values: Sequence[float], digits: int = 1) -> str:
    """Return mean and standard error as text."""
    mean, error = mean_and_error(values)
    if len(values) < 2:
        return per_cent(mean, digits)
    return f"{100 * mean:.{digits}f} ± {100 * error:.{digits}f} %"
