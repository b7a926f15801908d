"""Width and C at full density: chosen on whole regions of the rows, each by the worker that has it.

The best width of a kernel shrinks as rows grow denser, so that a sample cannot choose it. The sample chooses all else,
and where the search begins. Each part draws some subtrees of its own rows, holds out a fifth of each, and judges the
settings that it is asked for; only errors, losses and weights of the rows held out travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import metric
from dsekl.blas import one_blas_thread
from dsekl.gram.tree import random_subtrees
from dsekl.kernels import VectorKernel
from dsekl.losses import Loss
from dsekl.metric.comparison import judging_rows
from dsekl.metric.kind import FIRST_C, MANY_ROWS, Kind
from dsekl.metric.search import Search
from dsekl.models import Examples, Machine
from dsekl.models.machine import CHOSEN_KERNELS
from dsekl.parts import Executor
from dsekl.parts import Region as PartRegion
from dsekl.rows import ArrayRows
from dsekl.runs import Settled
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
    """A search whose regions are on workers; every setting is judged by all of them."""

    def __init__(self, executor: Executor, parts: list[Any], data: metric.Data, kind: Kind, C: float | None) -> None:
        super().__init__(data, [], kind, C)
        self.lattice = kind.lattice(C, MANY_ROWS + 1)  # whatever the size of the sample
        self._executor, self._parts = executor, parts

    def lines(self, numbers: Sequence[int], settings: list[Setting]) -> Judged:
        asked = [
            self._executor.submit(f"judge-{p}", judged, part, self.kind, self._C, self.data.errors, settings)
            for p, part in enumerate(self._parts)
        ]
        found: list[Judged] = self._executor.gather(asked)
        return {setting: np.concatenate([part[setting] for part in found], axis=1) for setting in settings}


def refined(
    executor: Executor, regions: list[Any], machine: Machine, sample: Examples, settled: Settled, loss: Loss, seed: int
) -> Settled:
    """Return what was settled, with the width and C that whole regions choose; a C that is given stays."""
    kernel = CHOSEN_KERNELS[settled.kernel] if settled.kernel is not None else machine.usual_kernel
    assert isinstance(kernel, VectorKernel)
    assert isinstance(sample.rows, ArrayRows)
    squared = np.asarray(settled.gamma, dtype=np.float64) ** (2.0 * kernel.gamma_power)
    kind = Kind("", kernel, "", loss, settled.reshaping, [squared, squared], machine.beside(settled))
    data = metric.Data(
        sample.rows, sample.targets, sample.weights, sample.errors, sample.classes, ALONE, machine.kernel_tol,
        machine.budget,
    )  # fmt: skip
    size = region_rows(loss, data.n_outputs)
    count = max(1, round(2 * judging_rows(10**9) / size / len(regions)))
    parts = [executor.submit(f"draw-{p}", drawn, region, size, count, seed) for p, region in enumerate(regions)]
    step = 0 if machine.C is not None else round(np.log(settled.C / FIRST_C) / np.log(C_STEP))
    search = SearchOnCluster(executor, parts, data, kind, machine.C)
    found = search.refined((0, min(step, search.lattice.C_steps[-1])))
    gamma, C = kind.gamma_and_C(squared, found.setting, machine.C)
    return replace(settled, gamma=gamma, C=C)
