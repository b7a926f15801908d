"""The unit of the targets: they are fitted in units of their own spread, and the model is given in the user's.

With ``y = s y'`` and ``f = s f'``, a loss of degree d has ``loss(y, f) = s^d loss'(y', f')``, where loss' has its own
parameter in units of s. So the machine of y' with loss' and ``C s^(d - 2)`` is the machine of y, with coefficients
divided by s. What is searched for, and where it is searched, is then the same for metres and for kilometres, and
targets of any size are numbers of size 1 within.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsekl.losses import HomogeneousLoss, Loss
from dsekl.models import Fitted, Model
from dsekl.runs import Units

Floats = NDArray[np.float64]

NORMAL_RANGE = 1.349
"""The interquartile range of a normal distribution, in standard deviations."""

LARGEST = 1e100
"""The largest targets for solvers that do not scale them."""

ROUNDING = 1e-12
"""Share of all weight by which a sum of weights may miss a quarter of it."""


@dataclass(frozen=True)
class Unit:
    """The size of each target's unit, the degree of the loss, and what was taken off the targets, in that unit."""

    size: Floats
    degree: int = 2
    constants: Floats | float = 0.0

    @property
    def C(self) -> float:
        """What a C of 1 for targets in this unit is to the user."""
        return 1.0 if self.degree == 2 else float(self.size[0])

    def fitted(self, fitted: Fitted) -> Fitted:
        """Return what was fitted in this unit as that of the user's targets."""
        found = fitted.model
        trend = None if found.trend is None else found.trend * self.size
        model = Model(found.gram, found.coef * self.size, (found.intercept + self.constants) * self.size, trend)
        return replace(fitted, model=model, C=fitted.C * self.C)

    @property
    def figures(self) -> Units:
        """The units of the history; targets with units of their own have none in common."""
        size = float(self.size[0])
        if (self.size != size).any():
            return Units()
        return Units(size * size if self.degree == 2 else size, size)


NO_UNIT = Unit(np.ones(1))


def unit_of(targets: Floats, weights: Floats, loss: Loss, named: bool, exact: bool) -> tuple[Unit, Loss]:
    """Return the unit in which targets (n_rows, n_targets) are fitted, and the loss for targets in it.

    Each target has its own unit where the loss allows it, else all have that of the widest. The parameter of a loss
    that is ``named`` is in units of the spread, that of a loss object in units of y. Fits that are not ``exact`` have
    step sizes and tolerances in units of y, and stay in it.
    """
    if not isinstance(loss, HomogeneousLoss):
        return Unit(np.ones(targets.shape[1])), loss
    size = spreads(targets, weights)
    widest = float(size.max())
    if not exact and np.abs(targets).max() > LARGEST:
        raise ValueError(
            f"y holds numbers as large as {np.abs(targets).max():.3g}, too large for this solver's steps; divide y by "
            "a constant, or set solver='dual'"
        )
    if not np.isfinite(widest):
        raise ValueError(f"y spreads further than a number, up to {np.abs(targets).max():.3g}; divide y by a constant")
    if not exact:
        return Unit(np.ones(len(size))), loss.in_unit(1.0 / widest) if named else loss
    size = size if loss.degree == 2 and loss.shape == 0 else np.full(len(size), widest)
    return Unit(size, loss.degree), loss if named else loss.in_unit(widest)


def spreads(targets: Floats, weights: Floats) -> Floats:
    """Return how far each target spreads: the standard deviation of a normal one, found by the interquartile range.

    Outliers do not stretch it. Where half of the values or more are the same, it is the mean deviation from them; where
    all are, it is 1.
    """
    counted = weights > 0
    return np.array([_spread(column, weights[counted]) for column in targets[counted].T])


def _spread(y: Floats, weights: Floats) -> float:
    order = np.argsort(y, kind="stable")
    y, weights = y[order], weights[order]
    share = np.cumsum(weights)
    low, median, high = y[np.searchsorted(share, np.array([0.25, 0.5, 0.75]) * share[-1] * (1 - ROUNDING))]
    if high > low:
        return float(high) / NORMAL_RANGE - float(low) / NORMAL_RANGE
    deviation = np.abs(y - median)
    largest = float(deviation.max())
    return largest * float(np.average(deviation / largest, weights=weights)) if largest > 0 else 1.0
