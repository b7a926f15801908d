"""The feature maps that the paper compares, each for several gammas at once.

====================== ============================================= ===============================
``empirical``          a kernel function on every training point      Emp; J centres drawn each step
``fixed_subset``       on J training points, drawn once               Emp_Fix
``random_fourier``     J cosines at random frequencies                RKS, random kitchen sinks
``nystroem``           J training points, whitened (scikit-learn)     Nyström
====================== ============================================= ===============================

The first three draw what ``dsekl.expansions`` draws from the same generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances

from dsekl.kernels import RBF

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureMap:
    """``at(X)`` returns features (n_gammas, n, n_terms).

    ``one_a_point`` says that there is a term for each training point, and that steps draw some of them.
    """

    at: Callable[[Floats], Floats]
    one_a_point: bool = False


MakeMap = Callable[[Floats, Floats, int, np.random.Generator], FeatureMap]
"""Makes a map from training rows, gammas, the number of terms J, and a generator."""


def empirical(X: Floats, gammas: Floats, n_terms: int, rng: np.random.Generator) -> FeatureMap:
    """One term a training point; ``n_terms`` of them move each step."""
    return replace(_kernel_functions(X, gammas), one_a_point=True)


def fixed_subset(X: Floats, gammas: Floats, n_terms: int, rng: np.random.Generator) -> FeatureMap:
    chosen = np.sort(rng.choice(len(X), min(n_terms, len(X)), replace=False))
    return _kernel_functions(X[chosen], gammas)


def random_fourier(X: Floats, gammas: Floats, n_terms: int, rng: np.random.Generator) -> FeatureMap:
    frequencies = RBF().sample_frequencies(rng, X.shape[1], n_terms)
    phases = rng.uniform(0.0, 2.0 * np.pi, n_terms)
    widths = np.sqrt(gammas)[:, None, None]
    center = X.mean(axis=0)

    def at(rows: Floats) -> Floats:
        return np.asarray(np.sqrt(2.0 / n_terms) * np.cos(widths * ((rows - center) @ frequencies) + phases))

    return FeatureMap(at)


def nystroem(X: Floats, gammas: Floats, n_terms: int, rng: np.random.Generator) -> FeatureMap:
    seed = int(rng.integers(2**31 - 1))
    size = min(n_terms, len(X))
    maps = [Nystroem(gamma=gamma, n_components=size, random_state=seed).fit(X) for gamma in gammas]
    return FeatureMap(lambda rows: np.stack([each.transform(rows) for each in maps]))


def squared_distances(X: Floats, Z: Floats) -> Floats:
    """Return the squared distances (n, m) between two sets of rows."""
    return np.asarray(euclidean_distances(X, Z, squared=True))


def _kernel_functions(points: Floats, gammas: Floats) -> FeatureMap:
    return FeatureMap(lambda rows: np.exp(-gammas[:, None, None] * squared_distances(rows, points)))
