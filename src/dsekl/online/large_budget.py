"""Over a large budget: the points of the smallest coefficients go, and their nearest neighbours take over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dsekl.kernels import Pairwise, VectorKernel

from .batch import Batch
from .buffer import Floats
from .stream_settings import Settings

NEAR = 32
"""Points on either side in the spatial order among which the nearest is looked for."""


def shrunk(points: Batch, coef: Floats, settings: Settings, gamma: Floats) -> tuple[Batch, Floats]:
    """Return points, which are in their spatial order, and coefficients within the budget."""
    over = len(coef) - settings.budget
    if over <= 0:
        return points, coef
    sizes = np.square(coef).sum(axis=1)
    goes = np.sort(np.argpartition(sizes, over)[:over])
    coef, mass = coef.copy(), points.weights.copy()
    scaled = points.rows * np.sqrt(gamma)
    stays = np.ones(len(coef), dtype=bool)
    stays[goes] = False
    for i in goes.tolist():
        near = np.arange(max(0, i - NEAR), min(len(coef), i + NEAR + 1))
        near = near[stays[near] & (points.labels[near] == points.labels[i])]
        if len(near):
            s = np.square(scaled[near] - scaled[i]).sum(axis=1)
            j = near[s.argmin()]
            coef[j] += coef[i] * kernel_value(settings.kernel, float(s.min()))
            mass[j] += mass[i]
    return replace(points, weights=mass).at(stays), coef[stays]


def kernel_value(kernel: VectorKernel, s: float) -> float:
    """Return the kernel at a squared distance; 0 for kernels of anything else."""
    if kernel.pairwise is not Pairwise.SQUARED_DISTANCE:
        return 0.0
    tile = np.array([[s]])
    kernel.profile()(tile, kernel.params())
    return float(tile[0, 0])
