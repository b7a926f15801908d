"""The search for the width and C of one kind of machine, on regions of the data.

The distances of a region are made once for all widths, and the kernel matrix of a width once for all C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsekl import gram
from dsekl.gram.affine import Plane
from dsekl.kernels import VectorKernel
from dsekl.losses import Loss
from dsekl.rows import ArrayRows, Reshaping
from dsekl.search import Lattice, Region, Setting
from dsekl.solvers.dual.block import descend, solve_squared

from .data import Data
from .distance import Distance
from .planes import NOTHING, Beside, plane_of
from .score import DECIDED, Found

FIRST_C = 4.0
WIDEST, NARROWEST, MOST_C_STEPS, MOST_RIDGE_STEPS = -9, 4, 5, 12
"""How far from where the neighbours' mean would have it a search may go; ridge without noise may want a C of 1e8."""

MANY_ROWS, C_STEPS_OF_MANY = 10_000, 2
"""Rows from which on C goes no further than so many steps, but for ridge: with a large C a fit of many rows takes more
epochs than it is given, and a few thousand held-out rows do not see that."""

FIRST_REGIONS = 3
"""One in so many regions judges first; settings that are clearly behind there are not judged by the others."""

SWEEPS = 30
SMALL = 1e-3

KEPT_BYTES = 2**27
"""Distances of all regions up to which they are kept from one step of the search to the next."""

Floats = NDArray[np.float64]

STARTS: list[Setting] = [(0, 0), (-2, 0), (-4, 0)]
"""Where a search looks first: the neighbours' mean likes a narrow kernel, and between a narrow one, which repeats the
nearest row's target, and a good wide one the error may rise."""


@dataclass(frozen=True)
class Kind:
    """A machine but for its width and C; ``gammas`` weigh squared distances: one array a split, the model's last."""

    kernel_name: str
    kernel: VectorKernel
    loss_name: str
    loss: Loss
    reshaping: Reshaping | None
    gammas: list[Floats]
    beside: Beside = NOTHING

    @property
    def scale(self) -> str:
        """The name of the columns' scale."""
        return "raw" if self.reshaping is None else self.reshaping.name

    @property
    def name(self) -> str:
        own = f"{self.kernel_name}, {self.loss_name}, {self.scale}"
        return own if self.beside == NOTHING else f"{own}, {self.beside.name}"

    def lattice(self, C: float | None, many: bool = False) -> Lattice:
        """Return the widths and C that are searched, of ``many`` rows or few; C alone where it is given."""
        most = MOST_RIDGE_STEPS if self.loss.quadratic else C_STEPS_OF_MANY if many else MOST_C_STEPS
        C_steps = range(-MOST_C_STEPS, most + 1) if C is None else range(1)
        return Lattice(FIRST_C if C is None else C, range(WIDEST, NARROWEST + 1), C_steps)

    def gamma(self, squared: Floats, factor: float = 1.0) -> Floats:
        """Return the kernel's own gamma for points scaled as a squared distance of ``factor * squared`` asks."""
        return np.asarray((factor * squared) ** (0.5 / self.kernel.gamma_power))

    def gamma_and_C(self, squared: Floats, setting: Setting, C: float | None) -> tuple[Floats, float]:
        """Return what a setting of the lattice stands for; a given C stays."""
        factor, chosen_C = self.lattice(C).width_and_C(setting)
        return self.gamma(squared, factor), chosen_C


class Search:
    """Settings tried for one kind of machine."""

    def __init__(self, data: Data, regions: list[Region], kind: Kind, C: float | None) -> None:
        self.data, self.regions, self.kind = data, regions, kind
        self.lattice = kind.lattice(C, len(data) > MANY_ROWS)
        self.found: dict[Setting, Found] = {}
        self._behind: set[Setting] = set()
        self._judged: dict[tuple[int, Setting], Floats] = {}
        self._distances: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
        sizes = [(len(region.fitted), len(region.held_out)) for region in regions]
        # Ridge with a large C needs every digit of its kernel.
        self._dtype = "float64" if kind.loss.quadratic else "float32"
        self._keeps = (
            np.dtype(self._dtype).itemsize * sum(fitted * (fitted + held_out) for fitted, held_out in sizes)
            <= KEPT_BYTES
        )
        self.n_held_out = sum(held_out for _, held_out in sizes)

    def run(self, starts: Sequence[Setting], against: Found | None = None) -> Found:
        """Walk from the best of ``starts`` to a setting that is better than its neighbours.

        It ends at once where the best start is far behind ``against``: a step seldom makes up for that.
        """
        self._try([setting for setting in dict.fromkeys(starts) if setting in self.lattice])
        best = self._best()
        if against is not None:
            gain = best.gain_over(against, robust=self.data.classes is None)
            if gain.mean < -DECIDED * gain.standard_error and best.rank > HOPELESS * against.rank:
                return best
        while not self.data.deadline.passed:
            self._try(self.lattice.near(best.setting))
            winner = self._best()
            if winner is best:
                break
            best = winner
        return best

    def at(self, setting: Setting) -> Found:
        """Return what the held-out rows say of one setting."""
        if setting not in self.found:
            self._judge_everywhere([setting])
        return self.found[setting]

    def _best(self) -> Found:
        return min(self.found.values(), key=lambda found: found.rank)

    def _try(self, settings: Sequence[Setting]) -> None:
        """Judge settings by the first regions, and those that are not clearly behind by all of them."""
        new = [setting for setting in settings if setting not in self.found and setting not in self._behind]
        if not new:
            return
        first = self._first_regions
        if len(new) > 1 or self.found:
            partial = {setting: Found(*setting, *lines) for setting, lines in self.lines(first, new).items()}
            n_rows = sum(len(self.regions[number].held_out) for number in first)
            known = [found.of_first(n_rows) for found in self.found.values()]
            best = min([*known, *partial.values()], key=lambda found: found.rank)
            self._behind |= {setting for setting in new if partial[setting].is_behind(best)}
        self._judge_everywhere([setting for setting in new if setting not in self._behind])

    def _judge_everywhere(self, settings: list[Setting]) -> None:
        for setting, lines in self.lines(range(len(self.regions)), settings).items():
            self.found[setting] = Found(*setting, *lines)

    @property
    def _first_regions(self) -> range:
        return range(max(1, len(self.regions) // FIRST_REGIONS))

    def lines(self, numbers: Sequence[int], settings: list[Setting]) -> dict[Setting, Floats]:
        """Return for each setting the errors, losses and weights of the held-out rows of some regions."""
        wanted = [
            (number, setting) for setting in settings for number in numbers if (number, setting) not in self._judged
        ]
        groups: dict[tuple[int, int], list[Setting]] = {}
        for number, setting in sorted(wanted):
            # Widths of a region are apart where its distances are kept, together where they would be made again.
            groups.setdefault((number, setting[0] if self._keeps else 0), []).append(setting)
        if self._keeps:
            self.data.workers.map(self._region_distances, sorted({number for number, _ in groups}))
        tasks = [(number, group) for (number, _), group in groups.items()]
        for (number, group), lines in zip(
            tasks, self.data.workers.map(lambda task: self._judge(*task), tasks), strict=True
        ):
            self._judged.update({(number, setting): line for setting, line in zip(group, lines, strict=True)})
        return {s: np.concatenate([self._judged[number, s] for number in numbers], axis=1) for s in settings}

    def _judge(self, number: int, settings: list[Setting]) -> list[Floats]:
        """Return three lines for each setting: errors, losses and weights of the held-out rows."""
        data, region, loss = self.data, self.regions[number], self.kind.loss
        within, across = self._region_distances(number)
        beside, beside_out = self._region_planes(number)
        y, y_out = data.targets[region.fitted], data.targets[region.held_out]
        judged: dict[Setting, Floats] = {}
        K, K_out = np.empty_like(within), np.empty_like(across)  # of one width after the other
        for width in sorted({setting[0] for setting in settings}):
            factor = self.lattice.width_and_C((width, 0))[0]
            self._fill_kernel(within, factor, K)
            self._fill_kernel(across, factor, K_out)
            if beside is not None and beside_out is not None:
                size = K.dtype.type(np.linalg.norm(K) / np.sqrt(K.size))
                K += size * beside
                K_out += size * beside_out
            coef = np.zeros_like(y)
            for setting in sorted(s for s in settings if s[0] == width):
                _fit(K, y, self.lattice.width_and_C(setting)[1] * data.weights[region.fitted], coef, loss)
                f = _product(K_out, coef)
                losses = loss.value(y_out, f).mean(axis=1)
                judged[setting] = np.stack([data.errors(y_out, f), losses, data.weights[region.held_out]])
        return [judged[setting] for setting in settings]

    def _region_distances(self, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return distances within the fitted rows of a region, and between those held out and them."""
        if number in self._distances:
            return self._distances[number]
        region, kind = self.regions[number], self.kind
        places = np.concatenate([region.fitted, region.held_out])
        fitted, held_out = np.arange(len(region.fitted)), np.arange(len(region.fitted), len(places))
        gamma = kind.gamma(kind.gammas[region.split])
        rows = ArrayRows(self.data.rows[places])
        distances = gram.build(Distance(kind.kernel), rows, gamma, self._dtype, reshaping=kind.reshaping)
        made = distances.block(fitted, fitted), distances.block(held_out, fitted)
        if self._keeps:
            self._distances[number] = made
        return made

    def _region_planes(self, number: int) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Return what stands beside the kernel, in units of its typical value, for the same pairs as the distances.

        A product of few columns costs little beside the fits, so it is made each time.
        """
        if self._plane is None:
            return None, None
        region, reshaping = self.regions[number], self.kind.reshaping
        raw = [self.data.rows[places] for places in (region.fitted, region.held_out)]
        fitted, held_out = (self._plane.features(X if reshaping is None else reshaping(X)) for X in raw)
        constant = self._plane.constant
        within = np.asarray(fitted @ fitted.T + constant, dtype=self._dtype)
        return within, np.asarray(held_out @ fitted.T + constant, dtype=self._dtype)

    @cached_property
    def _plane(self) -> Plane | None:
        kind = self.kind
        if kind.beside == NOTHING:
            return None
        plane = plane_of(self.data.rows, kind.beside, reshaping=kind.reshaping)
        # Columns without weight have no slope in a gram either.
        return plane if plane.scale is None else replace(plane, scale=plane.scale * (kind.gammas[-1] > 0))

    def _fill_kernel(self, distances: NDArray[Any], factor: float, out: NDArray[Any]) -> None:
        kernel = self.kind.kernel
        np.multiply(distances, distances.dtype.type(factor ** (0.5 / kernel.gamma_power)), out=out)
        kernel.profile()(out, kernel.params())


HOPELESS = 1.1
"""Rank of the best start over the champion's from which on a search ends at once."""


def _product(K: NDArray[Any], coef: Floats) -> Floats:
    """Return K times coefficients, in K's own type: the other way round, all of K would be converted."""
    return np.asarray(K @ coef.astype(K.dtype), dtype=np.float64)


def _fit(K: NDArray[Any], y: Floats, C: Floats, coef: Floats, loss: Loss) -> None:
    """Fit a region, from ``coef`` on, which moves."""
    f = _product(K, coef)
    if loss.quadratic:
        solve_squared(K, y, C, coef, f)
        return
    for o in range(y.shape[1]):
        column, targets = np.ascontiguousarray(coef[:, o]), np.ascontiguousarray(y[:, o])
        descend(K, targets, C, column, f[:, o].astype(K.dtype), loss, SWEEPS, SMALL * float(np.abs(y).mean()))
        coef[:, o] = column
