"""The search for the width and C of one kind of machine, on regions of the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dsekl.search import Region, Setting

from .data import Data
from .kind import Kind
from .region_distances import RegionDistances
from .region_fits import MOST_SWEEPS, SKETCH_SWEEPS, SWEEPS, RegionFits
from .score import DECIDED, Found

FIRST_REGIONS = 3
"""One in so many regions judges first; settings that are clearly behind there are not judged by the others."""

FIRST_ROWS, FIRST_RIDGE_ROWS, FEWEST_SKETCHED = 600, 1_200, 300
"""Held-out rows that show a candidate's width and C, before all of them judge it there; more for ridge, whose sketches
cost little beside the rest; and fitted rows of a region below which half of them would be too few."""

Floats = NDArray[np.float64]

STARTS: list[Setting] = [(0, 0), (-2, 0), (-4, 0)]
"""Where a search looks first: the neighbours' mean likes a narrow kernel, and between a narrow one, which repeats the
nearest row's target, and a good wide one the error may rise."""


class Search:
    """Settings tried for one kind of machine."""

    def __init__(
        self, data: Data, regions: list[Region], kind: Kind, C: float | None,
        distances: RegionDistances | None = None, sweeps: tuple[int, int] = SWEEPS,
    ) -> None:  # fmt: skip
        self.data, self.regions, self.kind, self._C = data, regions, kind, C
        self._distances = RegionDistances(data) if distances is None else distances
        self.lattice = kind.lattice(C, len(data))
        self._sweeps = sweeps
        self._judged: dict[tuple[int, Setting], Floats] = {}
        self._fits = RegionFits(data, regions, kind, self.lattice, self._distances)
        sizes = [(len(region.fitted), len(region.held_out)) for region in regions]
        self.n_held_out = sum(held_out for _, held_out in sizes)
        self._first = range(min(len(regions), max(1, len(regions) // FIRST_REGIONS)))
        self._n_first = sum(held_out for _, held_out in sizes[: len(self._first)])

    def run(self, starts: Sequence[Setting], against: Found | None = None, behind: float = DECIDED) -> Found | None:
        """Walk from the best of ``starts`` to a setting that is better than its neighbours, and judge it everywhere.

        The walk is by the ``sketch``. None where it is behind ``against`` there by so many standard errors, or at once
        where the best start is by one more: a step seldom makes up for that.
        """
        # Where another kind ended may be out of this one's bounds.
        starts = [self.lattice.nearest(start) for start in starts]
        best = self.sketch._walk(starts, against, behind + 1.0)
        if against is not None and self._is_behind(best, against, behind):
            return None
        return self.at(best.setting)

    @cached_property
    def sketch(self) -> Search:
        """The same search by fewer rows: by enough of the regions to judge, and part of the rows to fit.

        Half or a third of the rows lie hardly further apart: the best width grows by less than a step.
        """
        counts = np.cumsum([len(region.held_out) for region in self.regions])
        least = FIRST_RIDGE_ROWS if self.kind.loss.quadratic else FIRST_ROWS
        n_wanted = max(min(least, self.n_held_out), self._n_first)
        first = self.regions[: int(np.searchsorted(counts, n_wanted)) + 1]
        if len(first) == len(self.regions) and max(len(region.fitted) for region in first) < 2 * FEWEST_SKETCHED:
            return self
        few = 2 * FEWEST_SKETCHED
        thin = [part.thinned if len(part.fitted) >= few else part for part in first]
        return Search(self.data, thin, self.kind, self._C, self._distances, SKETCH_SWEEPS)

    def refined(self, start: Setting) -> Found:
        """Walk from ``start`` by all regions."""
        return self._walk([start])

    def at(self, setting: Setting) -> Found:
        """Return the scores of one setting on the held-out rows."""
        return self._found(range(len(self.regions)), [setting])[setting]

    def predictions(self, setting: Setting) -> list[Floats]:
        """Return f of each region's held-out rows, by a machine of the others that starts from nothing."""
        tasks = range(len(self.regions))
        return self.data.workers.map(lambda number: self._fits.at(number, [setting], MOST_SWEEPS)[0], tasks)

    def _walk(self, starts: Sequence[Setting], against: Found | None = None, hopeless: float = 0.0) -> Found:
        found: dict[Setting, Found] = {}
        behind: set[Setting] = set()

        def judge(settings: Iterable[Setting]) -> Found:
            """Judge settings by the first regions, and those that are not clearly behind by all; return the best."""
            new = [s for s in dict.fromkeys(settings) if s in self.lattice and s not in found and s not in behind]
            if new and 0 < len(self._first) < len(self.regions) and len(new) + len(found) > 1:
                partial = self._found(self._first, new)
                known = [each.of_first(self._n_first) for each in found.values()]
                best = min([*known, *partial.values()], key=lambda each: each.rank)
                behind.update(setting for setting in new if partial[setting].is_behind(best))
                new = [setting for setting in new if setting not in behind]
            if new:
                found.update(self._found(range(len(self.regions)), new))
            return min(found.values(), key=lambda each: each.rank)

        best = judge(starts)
        if against is not None and self._is_behind(best, against, hopeless):
            return best
        while not self.data.deadline.passed:
            winner = judge(self.lattice.near(best.setting))
            if winner is best:
                break
            best = winner
        return best

    def _is_behind(self, found: Found, against: Found, doubt: float) -> bool:
        gain = found.gain_over(against, robust=self.data.classes is None)
        return gain.mean < -doubt * gain.standard_error

    def _found(self, numbers: Sequence[int], settings: list[Setting]) -> dict[Setting, Found]:
        return {setting: Found(*setting, *lines) for setting, lines in self.lines(numbers, settings).items()}

    def lines(self, numbers: Sequence[int], settings: list[Setting]) -> dict[Setting, Floats]:
        """Return for each setting the errors, losses and weights of the held-out rows of some regions."""
        wanted = [
            (number, setting) for setting in settings for number in numbers if (number, setting) not in self._judged
        ]
        groups: dict[tuple[int, int], list[Setting]] = {}
        for number, setting in sorted(wanted):
            # Widths of a region are apart where its distances are kept, together where they would be made again.
            groups.setdefault((number, setting[0] if self._fits.keeps else 0), []).append(setting)
        self._fits.prepare(wanted)
        tasks = [(number, group) for (number, _), group in groups.items()]
        data, loss = self.data, self.kind.loss
        for (number, group), found in zip(
            tasks, self.data.workers.map(lambda task: self._fits.at(*task, self._sweeps), tasks), strict=True
        ):
            held_out = self.regions[number].held_out
            for setting, f in zip(group, found, strict=True):
                self._judged[number, setting] = data.judged(held_out, f, loss)
        return {s: np.concatenate([self._judged[number, s] for number in numbers], axis=1) for s in settings}
