"""The certificate of dual ascent: the duality gap, a bound on how far the objective is from its optimum.

It holds for coefficients that the dual allows, which ``feasible`` makes of others, and for the predictions that it is
measured with. Those that a run keeps are rounded, so ``audited`` measures the gap of an ending run with predictions
computed anew in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl.gram import Reference
from dsekl.kernels import known_definite

from ..solver import Problem
from ..state import Floats
from .definite import indefinite
from .dual_state import DualState

TINY = float(np.finfo(np.float64).tiny)

NEGATIVE = 1e-3
"""How far below 0 coef' K coef may be found, as a share of the objective, before the kernel is to blame."""

FREE_WORK = 100_000_000
"""Kernel values that an audit may always take: some tenths of a second."""

SHARE_OF_WORK = 1 / 50
"""Kernel values that an audit may take of those that the run has taken; a float64 value costs about two others."""

FEWEST_AUDITED = 2_000
"""Rows that an audit looks at where it does not look at all."""

STANDARD_ERRORS = 3.0
"""What an audit of some rows adds to its estimate for all: one in a thousand such estimates is further off."""


@dataclass(frozen=True)
class Certificate:
    """The gap between primal and dual, the primal objective, and the summed loss of the rows with its weight."""

    excess: float
    primal: float
    loss: float
    weight: float

    def __add__(self, other: Certificate) -> Certificate:
        """Return the certificate of two sets of rows."""
        return Certificate(
            self.excess + other.excess, self.primal + other.primal, self.loss + other.loss, self.weight + other.weight
        )

    @property
    def gap(self) -> float:
        """The relative gap, (primal - dual) / primal, which no optimum can be further away than."""
        return self.excess / max(abs(self.primal), TINY)


def certify(problem: Problem, state: DualState) -> Certificate:
    """Measure the gap with the predictions that the run keeps.

    Every row adds a part that is not negative, and 0 where the row is settled; so predictions that are out of date for
    settled rows give a fair estimate, and those of today the bound.
    """
    found = _hard(problem, state) if problem.hard else _soft(problem, state, np.arange(problem.n_rows))
    if not (np.isfinite(found.excess) and np.isfinite(found.primal)):
        raise overflow(problem)
    quadratic = float((state.coef * state.F).sum())
    known = known_definite(problem.gram.kernel)
    if state.active.all() and not known and quadratic < -NEGATIVE * abs(found.primal):
        raise indefinite(problem.gram.kernel, f"coef' K coef = {quadratic:.3g}")
    return found


def certify_sample(problem: Problem, state: DualState) -> Certificate:
    """Measure the gap of the problem on the rows of a growing sample: an estimate where some are not active."""
    return _soft(problem, state, np.flatnonzero(state.rank < state.size))


def audited(problem: Problem, state: DualState, reference: Reference, goal: float) -> Certificate:
    """Measure the gap in float64 with nothing left out, for the coefficients as they are.

    Where predicting all rows anew costs little beside the run, that is done, and F is then the new predictions. Else
    some rows are drawn: what they say of all, and three standard errors, are added to the gap. Only where that does not
    meet the goal are all rows predicted, so that the run goes on from true predictions. With C = inf every row counts,
    and all are predicted.
    """
    support = np.flatnonzero(state.coef.any(axis=1))
    affordable = int(max(FREE_WORK, SHARE_OF_WORK * state.evaluations)) // max(1, len(support))
    n_audited = max(FEWEST_AUDITED, affordable)
    if n_audited < problem.n_rows and not problem.hard:
        rows = np.sort(state.rng.choice(problem.n_rows, n_audited, replace=False, shuffle=False))
        found = _extrapolated(problem, state, rows, reference.product(rows, support, state.coef[support]))
        if found.gap < goal:
            return found
    everyone = np.arange(problem.n_rows)
    state.F = reference.product(everyone, support, state.coef[support])
    # Differences to predictions of another precision are no directions.
    state.past_coef = state.past_F = None
    return certify(problem, state)


def feasible(problem: Problem, coef: Floats, former_C: float) -> Floats:
    """Return coefficients of a problem with ``former_C`` as ones that the dual of this problem allows.

    Bounds grow and shrink with C, so what is out of bounds shrinks as C did; what still is starts again from 0.
    """
    C = problem.C * problem.weights[:, None]
    for otherwise in (coef * min(1.0, problem.C / former_C), np.zeros_like(coef)):
        coef = np.where(np.isfinite(problem.loss.conjugate(problem.targets, coef, C)), coef, otherwise)
    return coef


def _soft(problem: Problem, state: DualState, rows: NDArray[np.intp]) -> Certificate:
    """Return the sums over some rows."""
    return parts_of(problem, state.coef, state.diagonal, rows, state.F[rows]).summed()


def _hard(problem: Problem, state: DualState) -> Certificate:
    """Return the certificate for C = inf: the least ``1/2 |f|^2`` of all f without a loss.

    Rounding leaves some rows a trace of a loss, so the primal objective is infinite and says nothing. The gap is the
    larger of two: ``1/2 |f|^2`` less the dual, which bounds how far it is above the least, as a share of it; and the
    worst row's loss as a share of the mean loss of f = 0.
    """
    counted = state.diagonal > 0
    coef, y, F = state.coef[counted], problem.targets[counted], state.F[counted]
    loss, weights = problem.loss.value(y, F), problem.weights[counted]
    nothing = float(problem.loss.value(y, np.zeros_like(F)).mean()) if len(y) else 0.0
    half_square = max(0.5 * abs(float((coef * F).sum())), TINY)
    # Each row's part is 0 at the optimum; those of rows with a loss may be negative, and cancel nothing here.
    excess = float(np.abs(coef * F + problem.loss.conjugate(y, coef, np.inf)).sum())
    worst = float(loss.max(initial=0.0)) / max(nothing, TINY)
    gap = max(excess / half_square, worst)
    return Certificate(gap * half_square, half_square, float((weights[:, None] * loss).sum()), float(weights.sum()))


@dataclass(frozen=True)
class RowParts:
    """What each of some rows adds to the gap and to the primal objective; its loss, and its weight."""

    excess: Floats
    primal: Floats
    loss: Floats
    weights: Floats

    def summed(self) -> Certificate:
        """Return the sums over the rows."""
        loss = float((self.weights * self.loss).sum())
        return Certificate(float(self.excess.sum()), float(self.primal.sum()), loss, float(self.weights.sum()))


def parts_of(problem: Problem, coef: Floats, diagonal: Floats, rows: NDArray[np.intp], F: Floats) -> RowParts:
    """Return what some rows add to the certificate with predictions ``F``.

    A row with k(x, x) = 0, such as an empty one under the linear kernel, moves no prediction: whatever its coefficient
    should be, it adds the same to both sides, and is left out.
    """
    own, y, C = coef[rows], problem.targets[rows], problem.C * problem.weights[rows, None]
    loss = problem.loss.value(y, F)
    excess = own * F + C * loss + problem.loss.conjugate(y, own, C)
    primal = 0.5 * own * F + C * loss
    counted = diagonal[rows] > 0
    sums = [np.where(counted, part.sum(axis=1), 0.0) for part in (excess, primal, loss)]
    return RowParts(sums[0], sums[1], sums[2], np.where(counted, problem.weights[rows], 0.0))


def _extrapolated(problem: Problem, state: DualState, rows: NDArray[np.intp], F: Floats) -> Certificate:
    """Return the certificate for all rows, from those that were predicted anew."""
    kept, true = (parts_of(problem, state.coef, state.diagonal, rows, f) for f in (state.F[rows], F))
    return extrapolated(certify(problem, state), kept, true, problem.n_rows)


def extrapolated(whole: Certificate, kept: RowParts, true: RowParts, n_rows: int) -> Certificate:
    """Return the certificate for all rows, from some with the predictions that were kept and with true ones."""
    n_drawn = len(kept.excess)
    share = n_drawn / n_rows

    def total(differences: Floats, sign: float) -> float:
        error = float(differences.std(ddof=1)) * np.sqrt((1.0 - share) / n_drawn)
        return n_rows * (float(differences.mean()) + sign * STANDARD_ERRORS * float(error))

    return Certificate(
        whole.excess + total(true.excess - kept.excess, 1.0),
        whole.primal + total(true.primal - kept.primal, -1.0),
        whole.loss,
        whole.weight,
    )


def overflow(problem: Problem) -> ValueError:
    """Return the error for numbers so large that the objective has none."""
    largest, heaviest = float(np.abs(problem.targets).max()), float(problem.weights.max())
    return ValueError(
        f"the objective is not finite, with targets y of up to {largest:.3g}, C={problem.C!r} and weights of up to "
        f"{heaviest:.3g}. Scale y, or lower C or sample_weight."
    )
