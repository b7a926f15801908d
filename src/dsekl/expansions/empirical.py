"""Expansions in kernel functions on training points: all of them, or a fixed few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from dsekl.gram import Gram


@dataclass
class Empirical(BaseEstimator):
    """The empirical kernel map: one term per training point."""

    def expand(self, gram: Gram, rng: np.random.Generator) -> Gram:
        """Return the gram itself."""
        return gram


@dataclass
class FixedSubset(BaseEstimator):
    """Kernel functions on some training points, drawn once (the paper's Emp_Fix).

    Parameters
    ----------
    n_terms : int, default=100
        How many; all, if there are fewer.

    See Also
    --------
    Empirical : All training points, the default.
    RandomFourier : Features that need no training points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.expansions import FixedSubset
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DSEKLClassifier(
    ...     gamma=0.5, C=10.0, expansion=FixedSubset(50), solver="doubly_stochastic", random_state=0
    ... ).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    """

    n_terms: int = 100

    def expand(self, gram: Gram, rng: np.random.Generator) -> Gram:
        """Return the gram with the chosen columns alone."""
        if not self.n_terms >= 1:
            raise ValueError(f"n_terms={self.n_terms!r} of FixedSubset must be at least 1, e.g. 100")
        n_chosen = min(self.n_terms, gram.n_terms)
        chosen = np.sort(rng.choice(gram.n_terms, n_chosen, replace=False))
        return gram if n_chosen == gram.n_terms else gram.restricted(chosen)
