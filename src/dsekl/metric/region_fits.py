"""Regions fitted at some settings: distances made once for all widths, the kernel matrix of a width once for all C."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dsekl.gram.affine import Plane
from dsekl.losses import Loss
from dsekl.search import Lattice, Region, Setting
from dsekl.solvers.dual.block import descend, solve_squared
from dsekl.workers import chunks

from .data import Data
from .kind import FIRST_C, Kind
from .planes import NOTHING, plane_of
from .region_distances import KEPT_BYTES, Blocks, RegionDistances

Floats = NDArray[np.float64]

CACHED_ENTRIES = 2**16
"""Entries of a kernel matrix that stay in a core's cache from one operation to the next."""

MOST_SINGLE_C = 1024.0
"""The largest C for which the kernel of ridge is in single precision."""

SKETCH_SWEEPS, SWEEPS, MOST_SWEEPS = (20, 30), (30, 30), (100, 300)
"""Of a fit that shows the way, of one that is compared, and of one whose predictions are used: with a C of up to
``FIRST_C``, and with a larger one, which takes more sweeps and, left early, would look like a smaller one."""

SMALL, SMALLER = 1e-2, 1e-3
"""Share of a typical target that no row's prediction moves any more in the last sweep of a fit, of either."""


class RegionFits:
    """Fits of one kind of machine on regions of the data."""

    def __init__(
        self, data: Data, regions: list[Region], kind: Kind, lattice: Lattice, distances: RegionDistances
    ) -> None:
        self.data, self.regions, self.kind, self.lattice = data, regions, kind, lattice
        self._distances = distances
        entries = sum(len(region.fitted) * (len(region.fitted) + len(region.held_out)) for region in regions)
        # Of ridge they may be there in both precisions.
        self.keeps = (12 if kind.loss.quadratic else 4) * entries <= KEPT_BYTES
        """Whether distances are kept."""

    def prepare(self, wanted: list[tuple[int, Setting]]) -> None:
        """Make the distances that some settings of some regions need, if they are kept."""
        if self.keeps:
            dtypes = sorted({(number, self._dtype(setting)) for number, setting in wanted})
            self._distances.prepare(self.kind, [(self.regions[number], dtype) for number, dtype in dtypes])

    def at(self, number: int, settings: list[Setting], sweeps: tuple[int, int] = SWEEPS) -> list[Floats]:
        """Fit a region at some settings, and return f of its held-out rows for each.

        The settings of one width start from each other, from the smallest C on. Those of another start from nothing: a
        fit of few sweeps from a setting that was tried before would be better for that, and not for its width.
        """
        data, region, loss = self.data, self.regions[number], self.kind.loss
        y, weights = data.targets[region.fitted], data.weights[region.fitted]
        found: dict[Setting, Floats] = {}
        blocks: Blocks | None = None
        made: tuple[int, str] | None = None
        coef = np.zeros_like(y)
        for setting in sorted(settings):
            width, dtype = setting[0], self._dtype(setting)
            if made is None or made[0] != width:
                coef = np.zeros_like(y)
            if made != (width, dtype):
                made, blocks = (width, dtype), self._kernel_blocks(number, width, dtype, blocks)
            assert blocks is not None
            C, least = self.lattice.width_and_C(setting)[1], SMALLER if sweeps is MOST_SWEEPS else SMALL
            _fit(blocks[0], y, C * weights, coef, loss, sweeps[C > FIRST_C], least)
            found[setting] = _product(blocks[1], coef)
        return [found[setting] for setting in settings]

    def _dtype(self, setting: Setting) -> str:
        """Return the type of a kernel: ridge with a large C needs every digit of it."""
        C = self.lattice.width_and_C(setting)[1]
        return "float64" if self.kind.loss.quadratic and C > MOST_SINGLE_C else "float32"

    def _kernel_blocks(self, number: int, width: int, dtype: str, out: Blocks | None) -> Blocks:
        """Return the kernel between a region's fitted rows, and from its held-out rows to them; ``out`` is used."""
        distances = self._distances.of(self.kind, self.regions[number], dtype)
        if out is None or out[0].dtype != dtype:
            out = np.empty_like(distances[0]), np.empty_like(distances[1])
        kernel, factor = self.kind.kernel, self.lattice.width_and_C((width, 0))[0]
        scale, profile, params = factor ** (0.5 / kernel.gamma_power), kernel.profile(), kernel.params()
        for block, distance in zip(out, distances, strict=True):
            for part in chunks(len(block), max(1, CACHED_ENTRIES // max(1, block.shape[1]))):
                np.multiply(distance[part], distance.dtype.type(scale), out=block[part])
                profile(block[part], params)
        if self._plane is not None:
            K, K_out = out
            size = float(np.linalg.norm(K)) / np.sqrt(K.size)
            features, held_out = (np.sqrt(size) * Z for Z in self._plane_features(number))
            right = features.astype(dtype).T
            K += features.astype(dtype) @ right
            K_out += held_out.astype(dtype) @ right
        return out

    def _plane_features(self, number: int) -> tuple[Floats, Floats]:
        """Return features whose products stand beside the kernel, in units of its typical value."""
        assert self._plane is not None
        region, reshaping, plane = self.regions[number], self.kind.reshaping, self._plane
        rows = self.data.rows.without(region.held_out)
        raw = [rows[places] for places in (region.fitted, region.held_out)]
        parts = [plane.features(X if reshaping is None else reshaping(X)) for X in raw]
        fitted, held_out = (np.column_stack([Z, np.full(len(Z), np.sqrt(plane.constant))]) for Z in parts)
        return fitted, held_out

    @cached_property
    def _plane(self) -> Plane | None:
        kind = self.kind
        if kind.beside == NOTHING:
            return None
        plane = plane_of(self.data.rows, kind.beside, reshaping=kind.reshaping)
        # Columns without weight have no slope in a gram either.
        return plane if plane.scale is None else replace(plane, scale=plane.scale * (kind.gammas[-1] > 0))


def _product(K: NDArray[Any], coef: Floats) -> Floats:
    """Return K times coefficients, in K's own type: the other way round, all of K would be converted."""
    return np.asarray(K @ coef.astype(K.dtype), dtype=np.float64)


def _fit(K: NDArray[Any], y: Floats, C: Floats, coef: Floats, loss: Loss, sweeps: int, least: float) -> None:
    """Fit a region, from ``coef`` on, which moves."""
    if loss.quadratic:
        coef[:] = _solved(K, y, C)
        return
    targets, lines = np.ascontiguousarray(y.T), np.array(coef.T, order="C")
    f = np.ascontiguousarray(_product(K, coef).T, dtype=K.dtype)
    descend(K, targets, C, lines, f, loss, sweeps, least * float(np.abs(y).mean()))
    coef[:] = lines.T


def _solved(K: NDArray[Any], y: Floats, C: Floats) -> Floats:
    """Return the coefficients of ridge; a kernel that is not definite for rounding gets a trace of a ridge more."""
    system = K.copy()
    system[np.diag_indices_from(system)] += 1.0 / C
    solve = lapack.sposv if K.dtype == np.float32 else lapack.dposv
    _, coef, failed = solve(system.T, y.astype(K.dtype), lower=1, overwrite_a=1)
    if not failed:
        return np.asarray(coef, dtype=np.float64)
    coef = np.zeros_like(y)
    solve_squared(K, y, C, coef, np.zeros_like(y))
    return coef
