"""The candidates for the weights: equal, each feature in its own unit or all in one; half-way to learned ones; learned;
and learned ones of the heaviest features alone.

Weights are learned from both kinds of equal ones, since from one of them a descent may never find what matters: a
column of large numbers has all of the distance in one unit, and a rim of dark pixels has too much of it in units of
its own. They are also learned from what each column says alone (``relevance``), since of many columns with a weak
signal no neighbours say enough. Held-out rows say which of the ends predicts best. A descent makes the weights of
useless features small, not 0, and hundreds of small ones add up: so the heaviest features alone are a candidate, as
many as predict best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dsekl.search.regions import Places
from dsekl.solvers.state import Form

from .data import Data, Stages
from .descent import HALFWAY, N_BATCHES, N_STEPS, WIDTHS, Descent, Learner, learner
from .scales import common_unit, own_units
from .score import DECIDED

Floats = NDArray[np.float64]

EQUAL, ONE_UNIT, PARTLY, LEARNED, SELECTED = "equal", "isotropic", "partly learned", "learned", "selected"

ALONE = "alone"
"""The start whose weights are what each column says alone."""

CLEARLY = 1.0
"""Standard errors by which the descent from there must end better than those from equal weights."""

MANY_COLUMNS = 10
"""Columns from which on distances may drown in those that say nothing."""

FLOOR = 0.1
"""Share of a typical column's weight that one which says nothing alone starts with, so that it can return."""

WIDTHS_SHARE = N_BATCHES * len(WIDTHS) / (N_STEPS + N_BATCHES * len(WIDTHS))
"""Share of a start's time that goes to its width."""

ENOUGH_ROWS = 500
"""Held-out rows after which one start is descended from, and not both."""

N_DESCENTS, MOST_REPEATED = 3, 100_000
"""Descents whose mean the weights are where there is one split; and rows up to which: of more, each costs seconds."""

SAME_UNITS = 1.5
"""Ratio of the columns' deviations up to which one unit is each column's own."""


@dataclass(frozen=True)
class Losses:
    """The neighbours' loss at each of ``WIDTHS``, summed over the splits."""

    of_widths: Annotated[Floats, Form(("widths",))]

    def check(self) -> None:
        """Nothing but its form can be wrong."""


@dataclass(frozen=True)
class Candidates:
    """Makes gammas, one per feature, without each split's held-out rows: one array a split, and one for the model."""

    data: Data
    splits: list[Places]
    deviation: Floats
    seed: int
    stages: Stages

    @cached_property
    def simple(self) -> dict[str, list[Floats]]:
        """Equal weights, and those in one unit where neighbours predict better with them."""
        losses = {name: loss for name, (_, loss) in self._starts.items() if name != ALONE}
        names = dict.fromkeys((EQUAL, min(losses, key=losses.__getitem__)))
        return {name: [*self._starts[name][0], self._starts[name][0][0]] for name in names}

    def learned(self, advance: Callable[[float], None]) -> dict[str, list[Floats]]:
        """Return what descents make of them, the simplest first."""
        starts = {name: start for name, (start, _) in self._starts.items()}
        start, ends, loss = self._ends(starts, advance)
        learned, began = [*ends, _middle(ends)], [*starts[start], _middle(starts[start])]
        found = {PARTLY: [np.sqrt(end * first) for end, first in zip(learned, began, strict=True)], LEARNED: learned}
        n_selected = self._n_selected(ends, loss)
        if n_selected is not None:
            found[SELECTED] = [self._heaviest(gamma, n_selected) for gamma in learned]
        return found

    @cached_property
    def _starts(self) -> dict[str, tuple[list[Floats], float]]:
        """Return the weights to start from, one array a split, and the loss of the neighbours' mean there."""
        equal = self.data.tied(own_units(self.deviation))
        n_splits = len(self.splits)
        units = {EQUAL: [equal] * n_splits, ONE_UNIT: [common_unit(self.deviation)] * n_splits}
        varying = self.deviation[self.deviation > 0]
        if varying.max() <= SAME_UNITS * varying.min():
            del units[ONE_UNIT]
        if len(varying) >= MANY_COLUMNS:
            alone = [self._learner(number).relevances() for number in range(n_splits)]
            if any(relevance.any() for relevance in alone):
                units[ALONE] = [equal * _with_floor(relevance, equal > 0) for relevance in alone]
        starts = {}
        for name, of_splits in units.items():
            # One width for all splits, so that a factor of it means the same in each.
            of_widths = self._losses_of_widths(name, of_splits)
            width = WIDTHS[np.argmin(of_widths)]
            starts[name] = [width * unit for unit in of_splits], float(np.min(of_widths))
        return starts

    def _ends(
        self, starts: dict[str, list[Floats]], advance: Callable[[float], None]
    ) -> tuple[str, list[Floats], float]:
        """Return the start whose descents end best, where they end, one a split, and their loss.

        Once there are rows enough to tell, one start goes on: those that end alike are as good as each other. One that
        is decidedly behind, halfway or after a split, goes no further.
        """
        starts = self._not_behind_halfway(starts)
        ends: dict[str, list[Floats]] = {name: [] for name in starts}
        losses = {name: np.zeros(0) for name in starts}
        n_splits = len(self.splits)
        n_more = n_repeated(n_splits, len(self.data)) - 1

        for number in range(n_splits):
            share = 1 / len(ends)
            for place, name in enumerate(list(ends)):
                if place and self.data.deadline.passed:
                    del ends[name], losses[name]
                    continue

                def tell(done: float, before: float = number + place * share, share: float = share) -> None:
                    advance(WIDTHS_SHARE + (1 - WIDTHS_SHARE) * (before + share * done) / (n_splits + n_more))

                tell(0.0)
                ends[name].append(self._descended(name, number, starts[name][number], tell))
                losses[name] = np.append(losses[name], self._held_out_losses(number, ends[name][-1]))
            best = _best(losses)
            left = [name for name in ends if not _more(losses[name], losses[best], DECIDED)]
            left = [best] if len(losses[best]) >= ENOUGH_ROWS else left
            ends, losses = {name: ends[name] for name in left}, {name: losses[name] for name in left}
        best = _best(losses)
        for again in range(1, n_more + 1):
            if self.data.deadline.passed:
                break
            advance(WIDTHS_SHARE + (1 - WIDTHS_SHARE) * again / (1 + n_more))
            ends[best].append(self._descended(best, 0, starts[best][0], lambda _: None, again=again))
        if n_more:
            ends[best] = [_middle(ends[best])]
            losses[best] = self._held_out_losses(0, ends[best][0])
        return best, ends[best], float(losses[best].sum())

    def _not_behind_halfway(self, starts: dict[str, list[Floats]]) -> dict[str, list[Floats]]:
        """Return the starts that the first split's rows do not rule out after some steps."""
        if len(starts) == 1 or len(self.splits[0]) < ENOUGH_ROWS:
            return starts
        losses = {
            name: self._held_out_losses(0, self._descended(name, 0, start[0], lambda _: None, HALFWAY))
            for name, start in starts.items()
        }
        least = min(losses.values(), key=np.sum)
        return {name: start for name, start in starts.items() if not _more(losses[name], least, DECIDED)}

    def _n_selected(self, ends: list[Floats], loss: float) -> int | None:
        """Return how many of the heaviest features predict held-out rows best, a power of 2; None for all of them."""
        losses: dict[int | None, float] = {None: loss}
        count = 1
        while count < np.count_nonzero(self.deviation) and not self.data.deadline.passed:
            gammas = [self._heaviest(end, count) for end in ends]
            losses[count] = sum(self._held_out_losses(number, gamma).sum() for number, gamma in enumerate(gammas))
            count *= 2
        return min(losses, key=losses.__getitem__)

    def _heaviest(self, gamma: Floats, count: int) -> Floats:
        """Return the weights of the columns that have the largest shares of the typical distance, 0 for others.

        The features of one group are one column, of which two rows differ in two.
        """
        shares = gamma * self.deviation**2
        groups = np.arange(len(gamma)) if self.data.groups is None else self.data.groups
        of_column = np.zeros(groups.max() + 1)
        np.maximum.at(of_column, groups, shares)
        heaviest = np.argsort(-of_column, kind="stable")[:count]
        return np.where(np.isin(groups, heaviest), gamma, 0.0)

    def _held_out_losses(self, number: int, gamma: Floats) -> Floats:
        return self._learner(number).held_out_losses(gamma)

    def _learner(self, number: int) -> Learner:
        return learner(self.data, self.splits[number], (self.seed, number))

    def _losses_of_widths(self, name: str, units: list[Floats]) -> Floats:
        found = self.stages.take(f"widths, {name}", Losses, {"widths": len(WIDTHS)})
        if found is None:
            each = [self._learner(number).losses_of_widths(unit) for number, unit in enumerate(units)]
            found = Losses(np.sum(each, axis=0))
            self.stages.put(f"widths, {name}", found)
        return found.of_widths

    def _descended(
        self, name: str, number: int, start: Floats, tell: Callable[[float], None], n_steps: int = N_STEPS,
        again: int = 0,
    ) -> Floats:  # fmt: skip
        """Return where a descent ends; ``again`` is the number of one by other batches."""
        # What stood after the first steps is kept beside what came of it: a fit that goes on asks for it again.
        stage = f"descent {number}, {name}, again {again}" if again else f"descent {number}, {name}"
        first = f"{stage}, first steps"
        stages = (stage, first) if n_steps == N_STEPS else (first,)
        kept = [self.stages.take(each, Descent, {"features": len(start)}) for each in stages]
        descent = next((each for each in kept if each is not None), Descent.of(start))
        seed = (self.seed, number, crc32(name.encode()), *([again] if again else []))
        of_start = learner(self.data, self.splits[number], seed)

        def keep(now: Descent) -> None:
            self.stages.put(stages[0], now)
            tell(now.step / N_STEPS)

        return of_start.descend(start, descent, keep, n_steps)


def n_repeated(n_splits: int, n_rows: int) -> int:
    """Return how many descents of one start are averaged.

    A descent is led astray by the batches it happens to draw: a useless feature may end with a large weight.
    Several splits even that out; one split needs several descents.
    """
    return N_DESCENTS if n_splits == 1 and n_rows <= MOST_REPEATED else 1


def _with_floor(relevance: Floats, varying: NDArray[np.bool_]) -> Floats:
    """Return factors of equal weights: the relevance in units of a typical one, and a little for every column."""
    typical = relevance[varying].mean()
    return (relevance / typical if typical > 0 else np.ones_like(relevance)) + FLOOR


def _best(losses: dict[str, Floats]) -> str:
    """Return the start whose losses are least; what columns say alone must have clearly less than equal weights."""
    usual = min(losses, key=lambda name: (name == ALONE, losses[name].sum()))
    return ALONE if ALONE in losses and _more(losses[usual], losses[ALONE], CLEARLY) else usual


def _more(losses: Floats, least: Floats, doubt: float) -> bool:
    """Tell whether the sum over the same rows is larger by more than so many standard errors."""
    more = losses - least
    return bool(more.sum() > doubt * np.sqrt(len(more)) * more.std() > 0)


def _middle(gammas: list[Floats]) -> Floats:
    """Return the geometric mean of weights.

    With few rows there are several splits, and which of many columns a descent discards varies by split: the mean of
    descents, each without other rows, is better than one on all of them.
    """
    with np.errstate(divide="ignore"):  # a column without weight has none in any of them
        return np.asarray(np.exp(np.mean(np.log(gammas), axis=0)))
