"""Width and C, kernel and scale of columns, at full density: chosen on whole regions, each by the worker that has it.

The best width of a kernel shrinks as rows grow denser, so that a sample cannot choose it, nor what depends on it. The
sample chooses all else, and where the search begins.

Each part draws some subtrees of its own rows, holds out a fifth of each, and judges the
settings that it is asked for; only errors, losses and weights of the rows held out travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import metric
from dsekl.blas import one_blas_thread
from dsekl.gram.tree import random_subtrees
from dsekl.kernels import VectorKernel
from dsekl.losses import Loss
from dsekl.metric.candidates import Candidates
from dsekl.metric.choice import Chooser
from dsekl.metric.comparison import Champion, judging_rows
from dsekl.metric.kind import FIRST_C, Kind
from dsekl.metric.scales import deviations, regauged
from dsekl.metric.score import Found
from dsekl.metric.search import FIRST_REGIONS, Search
from dsekl.models import Examples, Machine
from dsekl.models.machine import CHOSEN_KERNELS, SEARCHED_BY
from dsekl.parts import Executor
from dsekl.parts import Region as PartRegion
from dsekl.rows import ArrayRows, ReshapedRows
from dsekl.runs import Run, Settled, Stages
from dsekl.search import Region, Setting, region_rows
from dsekl.search.lattice import C_STEP
from dsekl.search.regions import HELD_OUT
from dsekl.workers import ALONE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """Subtrees of a part: their rows one after the other, and which of them are fitted and held out."""

    X: NDArray[Any]
    targets: Floats
    weights: Floats
    regions: list[Region]


def drawn(region: PartRegion, size: int, n_subtrees: int, seed: int) -> Drawn:
    """Draw some subtrees of at most ``size`` rows of a part, and a fifth of each to be held out."""
    rng = np.random.default_rng([seed, 37, region.number])
    places, regions, start = [], [], 0
    for rows in random_subtrees(region.points.data, size, n_subtrees, rng):
        held_out = np.zeros(len(rows), dtype=np.bool_)
        held_out[rng.permutation(len(rows))[: int(HELD_OUT * len(rows))]] = True
        places.append(np.sort(rows))
        regions.append(Region(start + np.flatnonzero(~held_out), start + np.flatnonzero(held_out), 0))
        start += len(rows)
    found = region.rows.take(np.concatenate(places))
    kept = [one for one in regions if len(one.fitted) and len(one.held_out)]
    return Drawn(found.X, found.targets, found.weights, kept)


Judged = dict[Setting, Floats]
"""For each setting the errors, losses and weights of rows that were held out."""


@one_blas_thread()
def judged(
    found: Drawn, kind: Kind, C: float | None, errors: Callable[[Floats, Floats], Floats], settings: list[Setting]
) -> Judged:
    """Return what the held-out rows of all subtrees of a part say of each setting."""
    data = metric.Data(ArrayRows(found.X), found.targets, found.weights, errors, None, ALONE)
    return Search(data, found.regions, kind, C).lines(range(len(found.regions)), settings)


class SearchOnCluster(Search):
    """A search whose regions are on workers; every setting is judged by all of them, or by those of some parts."""

    def __init__(
        self, executor: Executor, parts: list[Any], data: metric.Data, kind: Kind, C: float | None, n_rows: int
    ) -> None:
        super().__init__(data, [], kind, C)
        self.lattice = kind.lattice(C, n_rows)  # not that of a sample
        self._executor, self._parts, self._n_rows = executor, parts, n_rows

    @cached_property
    def sketch(self) -> Search:
        return SearchOnCluster(
            self._executor, self._parts[::FIRST_REGIONS], self.data, self.kind, self._C, self._n_rows
        )

    def lines(self, numbers: Sequence[int], settings: list[Setting]) -> Judged:
        asked = [
            self._executor.submit(f"judge-{p}", judged, part, self.kind, self._C, self.data.errors, settings)
            for p, part in enumerate(self._parts)
        ]
        found: list[Judged] = self._executor.gather(asked)
        return {setting: np.concatenate([part[setting] for part in found], axis=1) for setting in settings}


class ChooserOnCluster(Chooser):
    """The choice of a kernel and of the columns' scale, with the width and C of each, by regions on workers."""

    def __init__(
        self, executor: Executor, parts: list[Any], data: metric.Data, options: metric.Options, n_rows: int, seed: int
    ) -> None:
        stages = Stages({}, None, lambda: None)
        super().__init__(data, options, [], Candidates(data, [], deviations(data.rows), seed, stages), seed, stages)
        self.regions = []
        self._executor, self._parts, self._n_rows = executor, parts, n_rows

    def chosen(self, kind: Kind, weights: str, start: Setting) -> Champion:
        """Return the champion, from a kind of the usual kernel and of columns as they are."""
        search = self._search([], kind)
        C_steps = search.lattice.C_steps
        found = search.refined((start[0], min(max(start[1], C_steps[0]), C_steps[-1])))
        return self._reshapings(self._kernels(Champion(kind, weights, found)))

    def _search(self, regions: list[Region], kind: Kind) -> Search:
        return SearchOnCluster(self._executor, self._parts, self.data, kind, self.options.C, self._n_rows)

    def _kept(self, name: str, search: Search, run: Callable[[], Found | None]) -> Found | None:
        return run()  # a run that goes on chooses anew, or has all of it


def refined(
    executor: Executor, regions: list[Any], machine: Machine, sample: Examples, settled: Settled, loss: Loss,
    n_rows: int, run: Run,
) -> Settled:  # fmt: skip
    """Return what was settled, with the kernel, the scale, the width and the C that whole regions choose.

    What is given stays. Only the scale's knots and each column's unit are those of the sample.
    """
    assert isinstance(sample.rows, ArrayRows)
    data = metric.Data(
        sample.rows, sample.targets, sample.weights, sample.errors, sample.classes, ALONE, machine.kernel_tol,
        machine.budget, run.budget.deadline(SEARCHED_BY),
    )  # fmt: skip
    options = machine.options(n_rows, sample.classes is not None)
    size = region_rows(loss, data.n_outputs)
    count = max(1, round(2 * judging_rows(10**9) / size / len(regions)))
    parts = [executor.submit(f"draw-{p}", drawn, region, size, count, run.seed) for p, region in enumerate(regions)]
    former = CHOSEN_KERNELS[settled.kernel] if settled.kernel is not None else machine.usual_kernel
    assert isinstance(former, VectorKernel)
    squared = np.asarray(settled.gamma, dtype=np.float64) ** (2.0 * former.gamma_power)
    if settled.reshaping is not None:
        reshaped = deviations(ReshapedRows(sample.rows, settled.reshaping))
        (squared,) = regauged([squared], reshaped, deviations(sample.rows))
    name, kernel = next(iter(options.kernels.items()))
    kind = Kind(name, kernel, settled.loss or "", loss, None, [squared, squared], machine.beside(settled))
    step = 0 if machine.C is not None else round(np.log(settled.C / FIRST_C) / np.log(C_STEP))
    chooser = ChooserOnCluster(executor, parts, data, options, n_rows, run.seed)
    champion = chooser.chosen(kind, settled.metric or "", (0, step))
    best = champion.kind
    gamma, C = best.gamma_and_C(best.gammas[-1], champion.found.setting, machine.C)
    reshaping = best.reshaping
    return replace(
        settled, gamma=gamma, C=C, kernel=best.kernel_name if machine.kernel is None else None,
        scale=None if reshaping is None else reshaping.name,
        knots=None if reshaping is None else reshaping.knots,
        values=None if reshaping is None else reshaping.values,
    )  # fmt: skip
