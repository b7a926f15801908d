"""What stands beside the sum over points as plain values for a file, and back, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from dsekl.rows import Reshaping
from dsekl.solvers.state import Floats, Form

from .beside import Beside


@dataclass
class SavedReshaping:
    """Knots of the columns, and their values."""

    name: Literal["squashed", "ranked"]
    knots: Annotated[Floats, Form(("features", "any"))]
    values: Annotated[Floats, Form(("features", "any"))]


@dataclass
class SavedBeside:
    """An intercept, a trend, and the scales of columns."""

    intercept: Annotated[Floats, Form(("outputs",))]
    trend: Annotated[Floats, Form(("features", "outputs"))]
    reshaping: SavedReshaping | None


def saved_beside(beside: Beside | None) -> SavedBeside | None:
    """Return it for a file."""
    if beside is None:
        return None
    reshaping = None if beside.reshaping is None else SavedReshaping(**vars(beside.reshaping))
    return SavedBeside(beside.intercept, beside.trend, reshaping)


def beside_of(saved: SavedBeside | None, n_features: int) -> Beside | None:
    """Return what ``saved_beside`` described; ValueError if it never did."""
    if saved is None:
        return None
    reshaping = None if saved.reshaping is None else Reshaping(**vars(saved.reshaping))
    if reshaping is not None:
        reshaping.check(n_features)
    return Beside(saved.intercept, saved.trend, reshaping)
