"""How candidates are compared: by the same regions, by whole fits where these do not decide, and by what margin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dsekl.search import Region, Setting, draw_regions, region_rows
from dsekl.search.regions import FOLDS, Places, Scaled

from .candidates import EQUAL, PARTLY, Candidates
from .data import Data, Options, Stages
from .kind import Kind
from .region_distances import RegionDistances
from .score import BEHIND, HOPELESS, Found
from .search import Search
from .whole import whole_fits

FEW_ROWS, MORE_ROWS, MOST_ROWS = 6_000, 18_000, 36_000
"""Rows, in all regions together, that decide between candidates where whole fits help; at least and at most where they
do not. Twice as many decide on the last width and C."""

JUDGING_SHARE = 1 / 8
"""Share of many rows that decides: a choice costs a part of the fit that it serves."""

MOST_SPLITS = 3
"""Splits of more rows than a region has, as far as ``FEW_ROWS`` go: each holds out a part of its own."""

WHOLE_ROWS = 10_000
"""Rows up to which whole fits decide where regions do not."""

LEAST_GAIN = 0.02
"""Share of the error that another loss must save, or what stands beside the kernel."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Champion:
    """The best so far: its names, gammas of squared distances for each split, and what the regions found."""

    kind: Kind
    weights: str
    found: Found


class Comparison:
    """What all comparisons of a choice share: the data, what may be chosen, the regions, and what was found before."""

    def __init__(
        self, data: Data, options: Options, splits: list[Places], candidates: Candidates, seed: int, stages: Stages
    ) -> None:
        self.data, self.options, self.splits, self.stages = data, options, splits, stages
        self.candidates, self.seed = candidates, seed
        self.whole = len(splits) == 1 and len(data) <= WHOLE_ROWS
        self.cut_short = False
        """Whether weights were learned no further because time was over."""
        self._advance: Callable[[float], None] = lambda done: None
        """Who is told how far the descents are."""
        self._wholes: dict[str, Found] = {}
        self._sketch: tuple[Champion, Found] | None = None
        self._distances = RegionDistances(data)

    @cached_property
    def regions(self) -> list[Region]:
        """The same regions for all, or the luck of the draw would decide; cut by the most middling of weights."""
        few = len(self.data) <= self._region_rows
        gamma = self.candidates.simple[EQUAL] if few else self._learned[PARTLY]
        return self._regions(gamma[0], judging_rows(len(self.data)), 0)

    @cached_property
    def _learned(self) -> dict[str, list[Floats]]:
        found = self.candidates.learned(self._advance)
        self.cut_short = self.candidates.data.deadline.passed
        return found

    @property
    def _region_rows(self) -> int:
        return region_rows(self.options.losses[self.options.loss], self.data.n_outputs)

    @property
    def _one_region(self) -> bool:
        """Whether every region is all the rows."""
        return all(len(region.fitted) + len(region.held_out) == len(self.data) for region in self.regions)

    def _search(self, regions: list[Region], kind: Kind) -> Search:
        """Return a search that shares distances with all others."""
        return Search(self.data, regions, kind, self.options.C, self._distances)

    def _searched(
        self, weights: str, kind: Kind, starts: Iterable[Setting], champion: Champion | None, doubt: float
    ) -> Found | None:
        """Return what the regions say of a kind of machine; None where it would hardly beat the champion."""
        search = self._search(self.regions, kind)
        # Where whole fits may overrule regions, more must tell against it.
        behind = min(HOPELESS, BEHIND - doubt) + (1.0 if self.whole else 0.0)
        return self._kept(
            f"{weights}, {kind.name}", search, lambda: search.run(list(starts), self._sketched(champion), behind)
        )

    def _sketched(self, champion: Champion | None) -> Found | None:
        """Return what the few rows that a search walks by say of the champion."""
        if champion is None:
            return None
        if self._sketch is None or self._sketch[0] is not champion:
            search = self._search(self.regions, champion.kind)
            self._sketch = champion, search.sketch.at(champion.found.setting)
        return self._sketch[1]

    def _kept(self, name: str, search: Search, run: Callable[[], Found | None]) -> Found | None:
        found = self.stages.take(name, Found, {"held out": search.n_held_out})
        if found is not None:
            search.lattice.require(found.setting)
            return found
        found = run()
        if found is not None:
            self.stages.put(name, found)
        return found

    def _beats(self, challenger: Champion, champion: Champion, doubt: float) -> bool:
        """Tell whether the challenger is better by so many standard errors of the difference."""
        robust = self.data.classes is None
        new, old = challenger.found, champion.found
        if self.whole and not new.gain_over(old, robust).decided and not self.data.deadline.passed:
            new, old = self._whole(challenger), self._whole(champion)
        return new.gain_over(old, robust).exceeds(doubt)

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
