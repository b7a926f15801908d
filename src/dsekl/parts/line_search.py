"""How far along its change a round goes: the exact minimum of the dual, from a few sums over the parts.

With coefficients c, predictions F = K c, a change d and G = K d, the dual at c + s d is
``1/2 s^2 d'G + s d'F + sum_i conjugate(c_i + s d_i)`` up to a constant. The parts add up the three sums, the last one
at a few s between 0 and 1. Each output of the model has a line of its own. For most losses the sum of conjugates is a
parabola, and the minimum exact; for others it is that of the parabola through the best of the few s and its neighbours.

For the squared loss all is a parabola in several directions too: those of past rounds, whose G are differences of
predictions that are known. The minimum over the span of all of them is a small linear system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.losses import Loss
from dsekl.solvers.dual.acceleration import lowest

Floats = NDArray[np.float64]

STEPS = np.linspace(0.0, 1.0, 17)
"""Step lengths at which conjugates are added up."""


@dataclass(frozen=True)
class LineSums:
    """Sums over the rows of a part, or of all parts; one column for each output."""

    slope: Floats
    curvature: Floats
    conjugates: Floats

    @staticmethod
    def of(loss: Loss, y: Floats, C: Floats, ends: tuple[Floats, Floats], F: Floats, G: Floats) -> LineSums:
        """Return the sums of some rows whose coefficients change from the first of the ``ends`` to the second."""
        # Rows that stay where they are add a constant, which no step length depends on.
        moved = np.flatnonzero((ends[0] != ends[1]).any(axis=1))
        before, after, y, C, F, G = ends[0][moved], ends[1][moved], y[moved], C[moved], F[moved], G[moved]
        change = after - before
        along = [
            loss.conjugate(y, between(before, after, np.full(y.shape[1], s)), C[:, None]).sum(axis=0) for s in STEPS
        ]
        return LineSums((change * F).sum(axis=0), (change * G).sum(axis=0), np.array(along))

    def __add__(self, other: LineSums) -> LineSums:
        return LineSums(self.slope + other.slope, self.curvature + other.curvature, self.conjugates + other.conjugates)

    def best_steps(self) -> Floats:
        """Return the step length of each output at which the dual is least."""
        s = STEPS[:, None]
        objective = 0.5 * s**2 * self.curvature + s * self.slope + self.conjugates
        return np.array([_least(column) for column in objective.T])


def between(before: Floats, after: Floats, steps: Floats) -> Floats:
    """Return coefficients on the way from before to after, never beyond either by rounding.

    Owners and those who hold copies of a row compute the same bits.
    """
    moved = before + steps * (after - before)
    return np.asarray(np.clip(moved, np.minimum(before, after), np.maximum(before, after)))


def _least(objective: Floats) -> float:
    """Return where the parabola through the least of the values and its neighbours is least."""
    best = int(np.argmin(objective))
    middle = min(max(best, 1), len(STEPS) - 2)
    low, mid, high = objective[middle - 1 : middle + 2]
    bend = low - 2.0 * mid + high
    if not bend > 0:
        return float(STEPS[best])
    at = STEPS[middle] + 0.5 * (low - high) / bend * (STEPS[1] - STEPS[0])
    return float(np.clip(at, STEPS[middle - 1], STEPS[middle + 1]))


@dataclass(frozen=True)
class SubspaceSums:
    """For the squared loss: sums over the rows of all pairs of directions, (n_outputs, n, n) and (n_outputs, n)."""

    curvature: Floats
    slope: Floats

    @staticmethod
    def of(directions: Floats, products: Floats, y: Floats, C: Floats, coef: Floats, F: Floats) -> SubspaceSums:
        """Return the sums of some rows, for directions (n, n_rows, n_outputs) and their products with K."""
        counted = C > 0
        directions, products, y, coef, F = (
            directions[:, counted],
            products[:, counted],
            y[counted],
            coef[counted],
            F[counted],
        )
        ridge = 1.0 / C[counted, None]
        return SubspaceSums(
            np.einsum("ano,bno->oab", directions, products + directions * ridge),
            np.einsum("ano,no->oa", directions, F + coef * ridge - y),
        )

    def __add__(self, other: SubspaceSums) -> SubspaceSums:
        return SubspaceSums(self.curvature + other.curvature, self.slope + other.slope)

    def best_steps(self) -> Floats:
        """Return how far to go in each direction, (n, n_outputs)."""
        symmetric = 0.5 * (self.curvature + self.curvature.transpose(0, 2, 1))
        found = [lowest(A, b) for A, b in zip(symmetric, self.slope, strict=True)]
        return np.array(found).T
