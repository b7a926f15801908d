"""Held-out rows decide: weights of the features, kernel, scale of columns, loss, what stands beside it, width and C.

One thing is chosen after the other, each from the usual to the unusual, and the unusual must win by a clear margin of
the same rows. For each candidate a search walks over the lattice of widths and C: each setting is fitted on regions of
the data, by the solver's own coordinate steps, and judged by rows held out in them. Where regions are not the whole of
the data and do not decide, whole fits do, as long as they cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dsekl.rows import ReshapedRows, Reshaping
from dsekl.rows.reshaping import ranked, squashed
from dsekl.search import Region, Setting, draw_regions, region_rows, spread_regions
from dsekl.search.regions import FOLDS, Places, Scaled

from .beyond import beyond_regions
from .data import Data, Options, Stages
from .scales import deviations
from .score import CLEAR, CLEAR_LOSS, DECIDED, DOUBT, Found
from .search import STARTS, Kind, Search
from .whole import whole_fits

FEW_ROWS, MORE_ROWS, MOST_ROWS = 9_000, 18_000, 36_000
"""Rows, in all regions together, that decide between candidates where whole fits help; at least and at most where they
do not. Twice as many decide on the last width and C."""

JUDGING_SHARE = 1 / 8
"""Share of many rows that decides: a choice costs a part of the fit that it serves."""

MOST_SPLITS = 3
"""Splits of more rows than a region has, as far as ``FEW_ROWS`` go: each holds out a part of its own."""

WHOLE_ROWS = 10_000
"""Rows up to which whole fits decide where regions do not."""

TAIL_ROWS = 36_000
"""Rows that are looked at for heavy tails."""

NOT_ALL = " without the optional"
"""Behind the name of weights that leave out the features which did not earn their place."""

WEIGHTS_SHARE = 0.5
"""Share of a choice's time that goes to the weights, as a bar is told."""

HEAVY_TAIL = 6.0
"""Deviations from the median from which on a tail is heavy."""

OVERLAP, MUCH_OVERLAP = 0.1, 0.3
"""Error from which on other losses are tried: below it, hardly a row has no class with a probability of one half; and
from which on, of several classes, the best is taken without a margin."""

LEAST_GAIN = 0.02
"""Share of the error that another loss must save, or what stands beside the kernel."""

MUCH = 0.1
"""Share of the error beyond the other rows that a trend must save there, where it saves nothing among them."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Champion:
    """The best so far: its names, gammas of squared distances for each split, and what the regions found."""

    kind: Kind
    weights: str
    found: Found


class Chooser:
    """Chooses one thing after the other; the champion of each is the start of the next."""

    def __init__(
        self, data: Data, options: Options, splits: list[Places], candidates: dict[str, list[Floats]], middle: str,
        seed: int, stages: Stages,
    ) -> None:  # fmt: skip
        self.data, self.options, self.splits, self.stages = data, options, splits, stages
        self.candidates, self.middle, self.seed = candidates, middle, seed
        # The same regions for all, or the luck of the draw would decide; they are cut by the most middling of weights.
        self.regions = self._regions(candidates[middle][0], judging_rows(len(data)), 0)
        self.whole = len(splits) == 1 and len(data) <= WHOLE_ROWS
        self._wholes: dict[str, Found] = {}

    def run(self, advance: Callable[[float], None]) -> Champion:
        """Return the champion."""
        steps: list[Callable[[Champion], Champion]] = [
            self._without_optional, self._kernels, self._reshapings, self._losses, self._planes, self._refined
        ]  # fmt: skip
        champion = self._weights(lambda done: advance(WEIGHTS_SHARE * done))
        for done, step in enumerate(steps):
            advance(WEIGHTS_SHARE + (1 - WEIGHTS_SHARE) * done / len(steps))
            champion = step(champion)
        return champion

    def _weights(self, advance: Callable[[float], None]) -> Champion:
        options = self.options
        kernel, loss = options.kernels[options.kernel], options.losses[options.loss]
        # Many rows cannot be overfitted by one weight per column, so that the simpler weights have no claim.
        doubt = DOUBT if len(self.data) <= WHOLE_ROWS else 0.0
        champion: Champion | None = None
        for done, (name, gammas) in enumerate(self.candidates.items()):
            advance(done / len(self.candidates))
            if champion is not None and self.data.deadline.passed:
                break
            kind = Kind(options.kernel, kernel, options.loss, loss, None, gammas, options.beside[0])
            found = self._searched(name, kind, STARTS if champion is None else [champion.found.setting, *STARTS])
            challenger = Champion(kind, name, found)
            if champion is None or self._beats(challenger, champion, doubt):
                champion = challenger
        assert champion is not None
        return champion

    def _without_optional(self, champion: Champion) -> Champion:
        """Leave out the features that must earn their place, unless rows that are held out are better off with them."""
        optional = self.data.optional
        if optional is None or not optional.any() or self.data.deadline.passed:
            return champion
        gammas = [np.where(optional, 0.0, gamma) for gamma in champion.kind.gammas]
        if not all(gamma.any() for gamma in gammas):
            return champion
        kind, name = replace(champion.kind, gammas=gammas), f"{champion.weights}{NOT_ALL}"
        without = Champion(kind, name, self._searched(name, kind, self._starts(champion)))
        return champion if self._beats(champion, without, 0.0) else without

    def _kernels(self, champion: Champion) -> Champion:
        first = champion
        for name, kernel in list(self.options.kernels.items())[1:]:
            kind = replace(first.kind, kernel_name=name, kernel=kernel)
            champion = self._challenged(champion, kind, CLEAR)
        return champion

    def _reshapings(self, champion: Champion) -> Champion:
        if not (self.options.reshape and self._has_heavy_tails()):
            return champion
        first, plain = champion, deviations(self.data.rows)
        for make in (squashed, ranked):
            reshaping = make(self.data.rows)
            kind = replace(first.kind, reshaping=reshaping, gammas=self._regauged(first.kind.gammas, plain, reshaping))
            # What was best under heavy tails may be far from what is best without them.
            champion = self._challenged(champion, kind, CLEAR, STARTS)
        return champion

    def _regauged(self, gammas: list[Floats], plain: Floats, reshaping: Reshaping) -> list[Floats]:
        """Return gammas under which each reshaped column counts as much as it did before."""
        reshaped = deviations(ReshapedRows(self.data.rows, reshaping))
        ratio = np.where(reshaped > 0, plain / np.where(reshaped > 0, reshaped, 1.0), 0.0)
        return [gamma * ratio**2 for gamma in gammas]

    def _has_heavy_tails(self) -> bool:
        some = np.asarray(self.data.rows.sample(TAIL_ROWS), dtype=np.float64)
        deviation = deviations(self.data.rows)
        far = np.abs(some - np.median(some, axis=0)).max(axis=0)
        return bool((far > HEAVY_TAIL * deviation).any())

    def _losses(self, champion: Champion) -> Champion:
        """Let smoother losses challenge the usual one, where classes overlap."""
        first = champion
        if first.found.error < OVERLAP:
            return champion
        # Where many rows have no class with a probability of one half, one hinge per class has no claim to be usual.
        usual = self.data.n_outputs == 1 or first.found.error < MUCH_OVERLAP
        for name, loss in list(self.options.losses.items())[1:]:
            kind = replace(first.kind, loss_name=name, loss=loss)
            champion = self._challenged(champion, kind, DOUBT if usual else 0.0)
        return champion

    def _planes(self, champion: Champion) -> Champion:
        """Let an intercept, and a trend with it, challenge the kernel alone."""
        first = champion
        for beside in self.options.beside[1:]:
            if self.data.deadline.passed:
                break
            kind = replace(first.kind, beside=beside)
            challenger = replace(first, kind=kind)
            if self._one_region or self.whole:
                challenger = replace(challenger, found=self._searched(first.weights, kind, self._starts(first)))
            if self._is_better_everywhere(challenger, champion):
                champion = challenger
        return champion

    def _is_better_everywhere(self, challenger: Champion, champion: Champion) -> bool:
        """Tell whether what stands beside the kernel is clearly wanted, or costs nothing and goes on much better."""
        robust = self.data.classes is None

        def saves(new: Found, old: Found, doubts: tuple[float, float], least: float) -> bool:
            gain = new.gain_over(old, robust)
            saved_loss = gain.ties and new.loss_gain_over(old, robust).exceeds(doubts[1], least * old.loss)
            return gain.exceeds(doubts[0], least * old.error) or saved_loss

        old = self._everywhere(champion)
        new = self._everywhere(challenger, old)
        if saves(new, old, (CLEAR, CLEAR_LOSS), LEAST_GAIN):
            return True
        if not challenger.kind.beside.trend or not new.gain_over(old, robust).exceeds(-DOUBT):
            return False
        return saves(self._beyond(challenger), self._beyond(champion), (DECIDED, DECIDED), MUCH)

    def _beyond(self, champion: Champion) -> Found:
        """Return what rows beyond the others say of a setting."""
        rng, size = np.random.default_rng([self.seed, 17]), self._region_rows
        regions = beyond_regions(self.data, champion.kind.reshaping, size, rng)
        search, setting = Search(self.data, regions, champion.kind, self.options.C), champion.found.setting
        return self._kept(f"beyond, {champion.weights}, {champion.kind.name}", search, lambda: search.at(setting))

    def _everywhere(self, champion: Champion, against: Found | None = None) -> Found:
        """Return what rows from everywhere say: a part of the space would have a plane of its own."""
        if self._one_region:
            return champion.found
        if self.whole:
            return self._whole(champion)
        size, rng = self._region_rows, np.random.default_rng([self.seed, 13])
        count = max(1, FEW_ROWS // (size * len(self.splits)))
        regions = spread_regions(self.splits, len(self.data), size, count, rng)
        search = Search(self.data, regions, champion.kind, self.options.C)
        width, C = champion.found.setting
        # Fewer rows lie further apart, and want a wider kernel.
        starts = [(width, C), (width - 2, C), (width - 4, C)] if against is None else [against.setting]
        name = f"everywhere, {champion.weights}, {champion.kind.name}"
        return self._kept(name, search, lambda: search.run(starts, against))

    @property
    def _region_rows(self) -> int:
        return region_rows(self.options.losses[self.options.loss], self.data.n_outputs)

    @property
    def _one_region(self) -> bool:
        """Whether every region is all the rows."""
        return all(len(region.fitted) + len(region.held_out) == len(self.data) for region in self.regions)

    def _refined(self, champion: Champion) -> Champion:
        """Choose the width and C of the champion by more rows, where there are more."""
        if len(self.data) <= FEW_ROWS or self.data.deadline.passed:
            return champion
        regions = self._regions(champion.kind.gammas[0], 2 * judging_rows(len(self.data)), 1)
        search = Search(self.data, regions, champion.kind, self.options.C)
        found = self._kept("refined", search, lambda: search.run([champion.found.setting]))
        return replace(champion, found=found)

    def _challenged(self, champion: Champion, kind: Kind, doubt: float, further: Iterable[Setting] = ()) -> Champion:
        """Return the challenger of another kind if it clearly beats the champion, else the champion."""
        if self.data.deadline.passed:
            return champion
        starts = [*self._starts(champion), *further]
        found = self._searched(champion.weights, kind, starts, against=champion.found)
        challenger = Champion(kind, champion.weights, found)
        return challenger if self._beats(challenger, champion, doubt) else champion

    def _starts(self, champion: Champion) -> list[Setting]:
        width, C = champion.found.setting
        return [(width, C), (width - 2, C), (width + 2, C)]

    def _searched(self, weights: str, kind: Kind, starts: Iterable[Setting], against: Found | None = None) -> Found:
        search = Search(self.data, self.regions, kind, self.options.C)
        return self._kept(f"{weights}, {kind.name}", search, lambda: search.run(list(starts), against))

    def _kept(self, name: str, search: Search, run: Callable[[], Found]) -> Found:
        found = self.stages.take(name, Found, {"held out": search.n_held_out})
        if found is not None:
            search.lattice.require(found.setting)
            return found
        found = run()
        self.stages.put(name, found)
        return found

    def _beats(self, challenger: Champion, champion: Champion, doubt: float) -> bool:
        """Tell whether the challenger is better by so many standard errors of the difference."""
        robust = self.data.classes is None
        new, old = challenger.found, champion.found
        if self.whole and not new.gain_over(old, robust).decided and not self.data.deadline.passed:
            new, old = self._whole(challenger), self._whole(champion)
        gain = new.gain_over(old, robust)
        if challenger.kind.loss_name != champion.kind.loss_name:
            return gain.exceeds(doubt, LEAST_GAIN * old.error if doubt else -np.inf)
        return gain.exceeds(doubt) or (gain.ties and new.loss_gain_over(old, robust).exceeds(CLEAR_LOSS))

    def _whole(self, champion: Champion) -> Found:
        name = f"whole, {champion.weights}, {champion.kind.name}"
        if name not in self._wholes:
            found = self.stages.take(name, Found, {"held out": sum(len(part) for part in self.splits)})
            if found is None:
                setting, C = champion.found.setting, self.options.C
                found = whole_fits(self.data, self.splits, champion.kind, setting, C, self.seed)
                self.stages.put(name, found)
            self._wholes[name] = found
        return self._wholes[name]

    def _regions(self, gamma: Floats, n_rows: int, number: int) -> list[Region]:
        """Return regions of ``n_rows`` rows in all, neighbours by the metric ``gamma``."""

        def points() -> Scaled:
            return Scaled(self.data.rows, np.sqrt(gamma).astype(np.float32))

        n, size = len(self.data), self._region_rows
        # The tree halves the rows until they are few enough for a region.
        usual_size = n / 2 ** max(0, int(np.ceil(np.log2(n / size))))
        rng = np.random.default_rng([self.seed, 7, number])
        count = max(1, round(n_rows / usual_size / len(self.splits)))
        return draw_regions(self.splits, n, points, size, count, rng)


def n_splits(n: int, size: int) -> int:
    """Return how many splits of so many rows ``FEW_ROWS`` pay for, where a region has up to ``size``."""
    return max(1, min(FOLDS if n <= size else MOST_SPLITS, FEW_ROWS // n))


def judging_rows(n: int) -> int:
    """Return how many of ``n`` rows, in all regions together, decide between candidates."""
    return FEW_ROWS if n <= WHOLE_ROWS else int(np.clip(JUDGING_SHARE * n, MORE_ROWS, MOST_ROWS))
