"""A machine with some of its points, and other coefficients for them."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .buffer import FACTOR, N_SCRATCH, SIZE, Buffer, Floats
from .large import LargeLearner
from .learner import Learner

LEAST_SHARE = 1e-9
"""Weight of the kernel machine among all models below which its coefficients stay as they are."""


def restricted(learner: Learner | LargeLearner, kept: NDArray[np.intp], coef: Floats) -> Learner | LargeLearner:
    """Return a copy with the points ``kept`` and coefficients (n_kept, n_outputs) for them, in the user's units."""
    share = learner.kernel_share
    own = coef / (share * learner.unit) if share > LEAST_SHARE else learner.dual_coef()[kept] / learner.unit
    if isinstance(learner, LargeLearner):
        return replace(learner, points=learner.points.at(kept), coef=own, _shown=None, _model=None)
    new, old, n = copy.deepcopy(learner), learner.buffer, len(kept)
    b = Buffer.empty(len(old.points), old.outputs, old.machines.shape[1], learner.settings.budget, 0)
    b.machines[...], b.counts[...] = old.machines, old.counts
    b.counts[SIZE] = n
    b.points[:, :n] = old.points[:, kept]
    b.kernel[:n, :n] = old.kernel[np.ix_(kept, kept)]
    b.lines[:-N_SCRATCH, :n] = old.lines[:-N_SCRATCH, kept]
    factors = np.repeat(b.machines[FACTOR], old.outputs)[:, None]
    parts = b.parts
    parts.coef[:, :n] = parts.average[:, :n] = np.tile(own.T, (old.machines.shape[1], 1)) / factors
    parts.f[:, :n] = parts.coef[:, :n] @ b.kernel[:n, :n]
    new.buffer = b
    return new
