"""Held-out rows decide: weights of the features, kernel, scale of columns, loss, what stands beside it, width and C.

One thing is chosen after the other, each from the usual to the unusual, and the unusual must win by a clear margin of
the same rows. For each candidate a search walks over the lattice of widths and C: each setting is fitted on regions of
the data, by the solver's own coordinate steps, and judged by rows held out in them. Where regions are not the whole of
the data and do not decide, whole fits do, as long as they cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dsekl.losses import Hinge
from dsekl.rows import ReshapedRows
from dsekl.rows.reshaping import ranked, squashed
from dsekl.search import Region, Setting, others, spread_regions
from dsekl.search.regions import REGION_ROWS

from .beyond import beyond_regions
from .comparison import FEW_ROWS, LEAST_GAIN, WHOLE_ROWS, Champion, Comparison, judging_rows
from .kind import Kind
from .scales import deviations, regauged
from .score import CLEAR, DECIDED, DOUBT, EASY, Found
from .search import STARTS

TAIL_ROWS = 36_000
"""Rows that are looked at for heavy tails."""

NOT_ALL = " without the optional"
"""Behind the name of weights that leave out the features which did not earn their place."""

STEPS_BEGIN = {False: (0.6, 0.6, 0.68, 0.73, 0.74, 0.87), True: (0.3, 0.3, 0.36, 0.43, 0.43, 0.62)}
"""Shares of a search's time after which the steps that follow the weights begin, as a bar is told; True for ridge."""

DESCENTS_SHARE = 0.5
"""Share of the time for the weights that goes to the descents."""

HEAVY_TAIL = 6.0
"""Deviations from the median from which on a tail is heavy."""

OVERLAP, OVERLAP_OF_MANY, MUCH_OVERLAP = 0.02, 0.1, 0.3
"""Error from which on other losses are tried: of few rows, and of many, of which smoother losses keep more; and from
which on, of several classes, the hinge has no claim there either."""

DOUBT_OF_MANY = 1.0
"""Standard errors by which another loss must save errors of many rows."""

WEAK = 0.5
"""Share of the error of the most frequent class from which on little is known of the classes."""

MUCH = 0.1
"""Share of the error beyond the other rows that a trend must save there, where it saves nothing among them."""

Floats = NDArray[np.float64]


class Chooser(Comparison):
    """Chooses one thing after the other; the champion of each is the start of the next."""

    def run(self, advance: Callable[[float], None]) -> Champion:
        """Return the champion."""
        steps: list[Callable[[Champion], Champion]] = [
            self._without_optional, self._kernels, self._reshapings, self._losses, self._planes, self._refined
        ]  # fmt: skip
        begins = STEPS_BEGIN[self.options.losses[self.options.loss].quadratic]
        champion = self._weights(lambda done: advance(begins[0] * done))
        for step, begin in zip(steps, begins, strict=True):
            advance(begin)
            champion = step(champion)
        return champion

    def predictions(self, champion: Champion) -> list[Floats | None]:
        """Return f of each split's held-out rows by the champion without them, where they are few."""
        n = len(self.data)
        if n > REGION_ROWS or self.data.deadline.passed:
            return [None] * len(self.splits)
        if self._one_region:
            whole = self.regions
        else:
            whole = [Region(others(n, part), part, k) for k, part in enumerate(self.splits)]
        return [*self._search(whole, champion.kind).predictions(champion.found.setting)]

    def _weights(self, advance: Callable[[float], None]) -> Champion:
        self._advance = lambda done: advance(DESCENTS_SHARE * done)
        champion = self._best_weights(self.candidates.simple, None)
        if self._one_region and not champion.found.leaves(EASY):
            return champion
        return self._best_weights(self._learned, champion)

    def _best_weights(self, candidates: dict[str, list[Floats]], champion: Champion | None) -> Champion:
        options = self.options
        kernel, loss = options.kernels[options.kernel], options.losses[options.loss]
        # Many rows cannot be overfitted by one weight per column, so that the simpler weights have no claim.
        doubt = DOUBT if len(self.data) <= WHOLE_ROWS else 0.0
        for name, gammas in candidates.items():
            if champion is not None and self.data.deadline.passed:
                break
            kind = Kind(options.kernel, kernel, options.loss, loss, None, gammas, options.beside[0])
            starts = STARTS if champion is None else [champion.found.setting, *STARTS]
            found = self._searched(name, kind, starts, champion, doubt)
            if found is None:
                continue
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
        found = self._searched(name, kind, self._starts(champion), champion, 0.0)
        if found is None:
            return champion
        without = Champion(kind, name, found)
        return champion if self._beats(champion, without, 0.0) else without

    def _kernels(self, champion: Champion) -> Champion:
        first = champion
        for name, kernel in list(self.options.kernels.items())[1:]:
            kind = replace(first.kind, kernel_name=name, kernel=kernel)
            # Where rows are few, no kernel costs much more than another; of many, a heavier tail must be worth it.
            champion = self._challenged(champion, kind, 0.0 if self._few else CLEAR, self._starts(champion))
        return champion

    def _reshapings(self, champion: Champion) -> Champion:
        if not (self.options.reshape and self._has_heavy_tails()):
            return champion
        first, plain = champion, deviations(self.data.rows)
        for make in (squashed, ranked):
            reshaping = make(self.data.rows)
            gammas = regauged(first.kind.gammas, plain, deviations(ReshapedRows(self.data.rows, reshaping)))
            kind = replace(first.kind, reshaping=reshaping, gammas=gammas)
            # What was best under heavy tails may be far from what is best without them.
            champion = self._challenged(champion, kind, CLEAR, [*self._starts(champion), *STARTS])
        return champion

    def _has_heavy_tails(self) -> bool:
        some = np.asarray(self.data.rows.sample(TAIL_ROWS), dtype=np.float64)
        deviation = deviations(self.data.rows)
        far = np.abs(some - np.median(some, axis=0)).max(axis=0)
        return bool((far > HEAVY_TAIL * deviation).any())

    def _losses(self, champion: Champion) -> Champion:
        """Let smoother losses challenge the usual one, where classes overlap."""
        first = champion
        # Where many rows have no class with a probability of one half, one hinge per class is inconsistent; and where
        # rows of one class are seldom the more likely ones, f is nearly constant. The hinge has no claim then.
        weak = isinstance(first.kind.loss, Hinge) and self._knows_little(first.found.error)
        if first.found.error < (OVERLAP if self._few else OVERLAP_OF_MANY) and not weak:
            return champion
        for name, loss in list(self.options.losses.items())[1:]:
            kind = replace(first.kind, loss_name=name, loss=loss)
            challenger = self._challenged(champion, kind, 0.0, [champion.found.setting])
            saved = challenger.found.saved_errors(champion.found)
            # Smoother losses keep more rows: of many, they must make up for it by fewer errors.
            if self._few or weak or saved.exceeds(DOUBT_OF_MANY, LEAST_GAIN * champion.found.error):
                champion = challenger
        return champion

    @property
    def _few(self) -> bool:
        return len(self.data) <= WHOLE_ROWS

    def _knows_little(self, error: float) -> bool:
        """Tell whether classes overlap much, or less than half of the most frequent class's errors are saved."""
        data = self.data
        if data.classes is None:
            return False
        shares = np.bincount(data.classes, data.weights) / data.weights.sum()
        many_overlap = data.n_outputs > 1 and error >= MUCH_OVERLAP
        return many_overlap or error >= WEAK * (1.0 - float(shares.max()))

    def _planes(self, champion: Champion) -> Champion:
        """Let an intercept, and a trend with it, challenge the kernel alone."""
        first = champion
        for beside in self.options.beside[1:]:
            if self.data.deadline.passed or not first.found.leaves(CLEAR):
                break
            kind = replace(first.kind, beside=beside)
            challenger = replace(first, kind=kind)
            if self._one_region or self.whole:
                found = self._searched(first.weights, kind, self._starts(first), first, DOUBT)
                if found is None:
                    continue
                challenger = replace(challenger, found=found)
            if self._is_better_everywhere(challenger, champion):
                champion = challenger
        return champion

    def _is_better_everywhere(self, challenger: Champion, champion: Champion) -> bool:
        """Tell whether what stands beside the kernel is clearly wanted, or costs nothing and goes on much better."""
        robust = self.data.classes is None

        def saves(new: Found, old: Found, doubt: float, least: float) -> bool:
            return new.gain_over(old, robust).exceeds(doubt, least * old.rank)

        old = self._everywhere(champion)
        new = self._everywhere(challenger, old)
        if saves(new, old, CLEAR, LEAST_GAIN):
            return True
        if not challenger.kind.beside.trend or not new.gain_over(old, robust).exceeds(-DOUBT):
            return False
        return saves(self._beyond(challenger), self._beyond(champion), DECIDED, MUCH)

    def _beyond(self, champion: Champion) -> Found:
        """Return what rows beyond the others say of a setting."""
        rng, size = np.random.default_rng([self.seed, 17]), self._region_rows
        regions = beyond_regions(self.data, champion.kind.reshaping, size, rng)
        search, setting = self._search(regions, champion.kind), champion.found.setting
        found = self._kept(f"beyond, {champion.weights}, {champion.kind.name}", search, lambda: search.at(setting))
        assert found is not None
        return found

    def _everywhere(self, champion: Champion, against: Found | None = None) -> Found:
        """Return what rows from everywhere say: a part of the space would have a plane of its own."""
        if self._one_region:
            return champion.found
        if self.whole:
            return self._whole(champion)
        size, rng = self._region_rows, np.random.default_rng([self.seed, 13])
        count = max(1, FEW_ROWS // (size * len(self.splits)))
        regions = spread_regions(self.splits, len(self.data), size, count, rng)
        search = self._search(regions, champion.kind)
        width, C = champion.found.setting
        # Fewer rows lie further apart, and want a wider kernel.
        starts = [(width, C), (width - 2, C), (width - 4, C)] if against is None else [against.setting]
        name = f"everywhere, {champion.weights}, {champion.kind.name}"
        found = self._kept(name, search, lambda: search.run(starts))
        assert found is not None
        return found

    def _refined(self, champion: Champion) -> Champion:
        """Choose the width and C of the champion by all regions, and by more of them where there are more."""
        if self.data.deadline.passed:
            return champion
        gamma, n_rows = champion.kind.gammas[0], 2 * judging_rows(len(self.data))
        regions = self.regions if self._one_region else self._regions(gamma, n_rows, 1)
        search = self._search(regions, champion.kind)
        found = self._kept("refined", search, lambda: search.refined(champion.found.setting))
        assert found is not None
        return replace(champion, found=found)

    def _challenged(self, champion: Champion, kind: Kind, doubt: float, starts: Iterable[Setting]) -> Champion:
        """Return the challenger of another kind if it clearly beats the champion, else the champion."""
        if self.data.deadline.passed or not champion.found.leaves(CLEAR):
            return champion
        found = self._searched(champion.weights, kind, starts, champion, doubt)
        if found is None:
            return champion
        challenger = Champion(kind, champion.weights, found)
        return challenger if self._beats(challenger, champion, doubt) else champion

    def _starts(self, champion: Champion) -> list[Setting]:
        width, C = champion.found.setting
        return [(width, C), (width - 2, C), (width + 2, C)]
