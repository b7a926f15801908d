"""Fill Numba's cache, by one small fit of each kind: ``python -m tests.warm_up``, before tests run side by side."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from dsekl import DSEKLClassifier, DSEKLRegressor

SOLVERS = ("dual", "doubly_stochastic", "shared_memory")


def main() -> None:
    X = np.random.default_rng(0).standard_normal((300, 3))
    y, rows = X[:, 0] * X[:, 1], sparse.csr_array(X)
    for dtype in ("float32", "float64"):
        for solver in SOLVERS:
            settings = dict(solver=solver, dtype=dtype, max_epochs=2, random_state=0)
            DSEKLClassifier(**settings).fit(X, y > 0).predict(X)
            DSEKLRegressor(**settings).fit(X, y).predict(X)
        DSEKLClassifier(gamma=1.0, dtype=dtype, max_epochs=2).fit(rows, y > 0).predict(rows)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two epochs are few
        main()
