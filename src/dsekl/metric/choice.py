"""Held-out rows decide: which weights of the features, how wide a kernel, which C.

Each setting is fitted whole on regions of the data, by the solver's own coordinate steps, and judged by rows held out
in them. A search walks over the lattice of widths and C, from where the neighbours' mean would have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsekl import gram
from dsekl.kernels import VectorKernel
from dsekl.losses import Loss
from dsekl.rows import ArrayRows, DenseRows
from dsekl.search import Lattice, Region, Setting, draw_regions, region_rows
from dsekl.search.regions import Places, Scaled
from dsekl.solvers.dual.block import descend, solve_squared
from dsekl.workers import Workers

from .distance import Distance

FEW_ROWS, MANY_ROWS = 9_000, 36_000
"""Rows, in all regions together, that decide on the weights, and on the width and C."""

FIRST_C = 4.0
WIDEST, NARROWEST, MOST_C_STEPS = -9, 4, 5
"""How far from where the neighbours' mean would have it a search may go."""

SWEEPS = 30
SMALL = 1e-3

MARGIN_WEIGHT = 1e-2
"""Weight of the mean loss beside the error, which alone often ties."""

DOUBT = 1.0
"""Standard errors of the difference by which weights must beat simpler ones."""

Floats = NDArray[np.float64]

STARTS: list[Setting] = [(0, 0), (-2, 0), (-4, 0)]
"""Where a search looks first: the neighbours' mean likes a narrow kernel, and between a narrow one, which repeats the
nearest row's target, and a good wide one the error may rise."""


@dataclass(frozen=True)
class Data:
    """What is fitted, and how it is judged: ``errors(targets, predictions)`` says how wrong each held-out row is."""

    kernel: VectorKernel
    rows: DenseRows
    targets: Floats
    weights: Floats
    loss: Loss
    errors: Callable[[Floats, Floats], Floats]
    workers: Workers


@dataclass(frozen=True)
class Score:
    """What a setting made of the held-out rows: how wrong each is, and by what settings are ranked, row by row."""

    errors: Floats
    ranks: Floats
    weights: Floats

    @property
    def error(self) -> float:
        return float(np.average(self.errors, weights=self.weights))

    @property
    def rank(self) -> float:
        return float(np.average(self.ranks, weights=self.weights))

    def clearly_better(self, other: Score) -> bool:
        """Tell whether the same rows rank lower by more than doubt."""
        gain = other.ranks - self.ranks
        mean = float(np.average(gain, weights=self.weights))
        deviation = float(np.sqrt(np.average((gain - mean) ** 2, weights=self.weights) / len(gain)))
        return mean > DOUBT * deviation


class Search:
    """Settings tried for one kind of weights, given as the gammas that were learned without each split's rows."""

    def __init__(self, data: Data, regions: list[Region], gammas: list[Floats], C: float | None) -> None:
        self.data, self.regions, self.gammas = data, regions, gammas
        C_steps = range(-MOST_C_STEPS, MOST_C_STEPS + 1) if C is None else range(1)
        self.lattice = Lattice(FIRST_C if C is None else C, range(WIDEST, NARROWEST + 1), C_steps)
        self.scores: dict[Setting, Score] = {}

    def run(self, starts: Sequence[Setting] = STARTS) -> Setting:
        """Walk from the best of ``starts`` to a setting that is better than its neighbours."""
        self._try(list(starts))
        best = self._best()
        while True:
            self._try(self.lattice.near(best))
            winner = self._best()
            if winner == best:
                return best
            best = winner

    def _best(self) -> Setting:
        return min(self.scores, key=lambda setting: self.scores[setting].rank)

    def _try(self, settings: list[Setting]) -> None:
        new = [setting for setting in settings if setting not in self.scores]
        if not new:
            return
        found = self.data.workers.map(lambda region: self._judge(region, new), self.regions)
        for k, setting in enumerate(new):
            errors, losses, weights = np.concatenate([judged[k] for judged in found], axis=1)
            self.scores[setting] = Score(errors, errors + MARGIN_WEIGHT * losses, weights)

    def _judge(self, region: Region, settings: list[Setting]) -> list[Floats]:
        """Return three lines for each setting: errors, losses and weights of the held-out rows."""
        data = self.data
        places = np.concatenate([region.fitted, region.held_out])
        fitted, held_out = np.arange(len(region.fitted)), np.arange(len(region.fitted), len(places))
        rows = ArrayRows(data.rows[places])
        distances = gram.build(Distance(data.kernel), rows, self.gammas[region.split], "float32")
        within, across = distances.block(fitted, fitted), distances.block(held_out, fitted)
        y, y_out = data.targets[region.fitted], data.targets[region.held_out]
        judged: dict[Setting, Floats] = {}
        for width in sorted({setting[0] for setting in settings}):
            factor = self.lattice.width_and_C((width, 0))[0]
            K, K_out = self._kernel(within, factor), self._kernel(across, factor)
            coef = np.zeros_like(y)
            for setting in sorted(s for s in settings if s[0] == width):
                C = self.lattice.width_and_C(setting)[1] * data.weights[region.fitted]
                _fit(K, y, C, coef, data.loss)
                f = K_out @ coef
                losses = data.loss.value(y_out, f).mean(axis=1)
                judged[setting] = np.stack([data.errors(y_out, f), losses, data.weights[region.held_out]])
        return [judged[setting] for setting in settings]

    def _kernel(self, distances: NDArray[np.float32], factor: float) -> NDArray[np.float32]:
        K = np.asarray(distances * np.float32(factor), dtype=np.float32)
        self.data.kernel.profile()(K, self.data.kernel.params())
        return K


def choose(
    data: Data,
    splits: list[Places],
    candidates: dict[str, list[Floats]],
    middle: str,
    C: float | None,
    rng: np.random.Generator,
    advance: Callable[[float], None],
) -> tuple[str, float, float, float]:
    """Return the name of the best weights, the factor of their gamma, C, and the error on held-out rows.

    The candidates go from the simplest on; weights that are not simpler must be clearly better. ``middle`` names the
    candidate that lies between the others.
    """
    # The same regions for all, or the luck of the draw would decide; they are cut by the most middling of the metrics.
    regions = _regions(data, splits, candidates[middle][0], FEW_ROWS, rng)
    winner, best, search = "", (0, 0), None
    for done, (name, gammas) in enumerate(candidates.items()):
        advance(done / (len(candidates) + 1))
        trial = Search(data, regions, gammas, C)
        setting = trial.run()
        if search is None or trial.scores[setting].clearly_better(search.scores[best]):
            winner, best, search = name, setting, trial
    assert search is not None
    if len(splits) == 1:
        advance(len(candidates) / (len(candidates) + 1))
        search = Search(data, _regions(data, splits, candidates[winner][0], MANY_ROWS, rng), candidates[winner], C)
        best = search.run([best])
    return winner, *search.lattice.width_and_C(best), search.scores[best].error


def _regions(data: Data, splits: list[Places], gamma: Floats, n_rows: int, rng: np.random.Generator) -> list[Region]:
    """Return regions of ``n_rows`` rows in all, neighbours by the metric ``gamma``."""

    def points() -> Scaled:
        return Scaled(data.rows, (gamma**data.kernel.gamma_power).astype(np.float32))

    n, size = len(data.targets), region_rows(data.loss, data.targets.shape[1])
    # The tree halves the rows until they are few enough for a region.
    usual_size = n / 2 ** max(0, int(np.ceil(np.log2(n / size))))
    return draw_regions(splits, n, points, size, round(n_rows / usual_size), rng)


def _fit(K: NDArray[np.float32], y: Floats, C: Floats, coef: Floats, loss: Loss) -> None:
    """Fit a region, from ``coef`` on, which moves."""
    f = K @ coef
    if loss.quadratic:
        solve_squared(K, y, C, coef, f)
        return
    for o in range(y.shape[1]):
        column, targets = np.ascontiguousarray(coef[:, o]), np.ascontiguousarray(y[:, o])
        descend(K, targets, C, column, f[:, o].astype(np.float32), loss, SWEEPS, SMALL * float(np.abs(y).mean()))
        coef[:, o] = column
