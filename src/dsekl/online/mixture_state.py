"""The simple models beside a kernel machine as plain values for a file, and back, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dsekl.solvers.state import Floats, Form, can_be_squared

from .mixture import Mixture
from .odds import LOG_SLOPE, check_odds
from .stacking import STACK_LEAST

MOST_VARIANCE = 1e100
"""A step multiplies variances twice; those of columns in units of their spread begin at 1000 and fall."""


ROUNDING = 1e-3
"""Of the correlations in a matrix of variances, after however many rows."""


@dataclass
class SavedMixture:
    """Every array of a mixture, beside what its settings tell."""

    slopes: Annotated[Floats, Form(("linear", "outputs", "columns"))]
    variance: Annotated[Floats, Form(("linear", "columns", "columns"))]
    placement: Annotated[Floats, Form(("two", "placed"))]
    last: Annotated[Floats, Form(("last",))]
    table: Annotated[Floats, Form(("classes", "classes"), least=0.0)]
    stacked: Annotated[Floats, Form(("models",))]
    curvature: Annotated[Floats, Form(("models", "models"))]
    odds: Annotated[Floats, Form(("two", "judged"))]
    regret: Annotated[Floats, Form(("judged",), least=0.0)]
    distances: Annotated[Floats, Form(("two", "outputs"), least=0.0)]


def saved_mixture(mixture: Mixture | None) -> SavedMixture | None:
    """Return it for a file."""
    if mixture is None:
        return None
    return SavedMixture(**{name: getattr(mixture, name) for name in SavedMixture.__dataclass_fields__})


def mixture_of(saved: SavedMixture | None, new: Mixture | None) -> Mixture | None:
    """Return what ``saved_mixture`` described; ``new`` is one that has seen nothing. ValueError if it never did."""
    if saved is None:
        return None
    if new is None:
        raise ValueError("the learner has simple models, which machines of its kind have not")
    diagonals = [np.diagonal(saved.variance, axis1=1, axis2=2), np.diagonal(saved.curvature)]
    if any((diagonal <= 0).any() for diagonal in diagonals) or (saved.placement[1] < 0).any():
        raise ValueError("the simple models' variances or scales are not positive")
    if not all(can_be_squared(part) for part in vars(saved).values()) or any(
        np.abs(part).max(initial=0.0) > MOST_VARIANCE for part in (saved.variance, saved.curvature)
    ):
        raise ValueError("the simple models' numbers are too large to be computed with")
    if not all(map(_can_be_variances, (saved.variance, saved.curvature))):
        raise ValueError("the simple models' variances are no variances: not symmetric, or not positive semi-definite")
    if len(new.table):
        check_odds(saved.odds)
    elif saved.odds[LOG_SLOPE].any():
        raise ValueError("the simple models have odds, which those of numbers have not")
    label = float(saved.last[0])
    most = len(new.table) - 1 if len(new.table) else 0
    if label != int(label) or not -1 <= label <= most:
        raise ValueError(f"the simple models' last label is {label}, and not one of the classes")
    if not np.isclose(np.exp(-saved.regret).sum(), 1.0):
        raise ValueError("the weights of the learner's models do not sum to 1")
    if len(new.table) and ((saved.stacked < STACK_LEAST).any() or (saved.table.sum(axis=1) <= 0).any()):
        raise ValueError("the simple models' weights or counts are not positive")
    arrays: dict[str, Any] = {name: np.array(value, order="C") for name, value in vars(saved).items()}
    return new._replace(**arrays)


def _can_be_variances(matrices: Floats) -> bool:
    """Tell whether matrices with positive diagonals are symmetric and positive semi-definite, but for rounding."""
    size = np.sqrt(np.diagonal(matrices, axis1=-2, axis2=-1))
    correlations = matrices / size[..., :, None] / size[..., None, :]
    if (np.abs(correlations) > 1.0 + ROUNDING).any():
        return False
    skew = np.abs(correlations - np.swapaxes(correlations, -1, -2)).max(initial=0.0)
    lowest = np.linalg.eigvalsh(correlations).min(initial=0.0)
    return bool(skew <= ROUNDING and lowest >= -ROUNDING)
