"""Kernel products against plain and against tiled, threaded NumPy, in one run.

python benchmarks/gram.py
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from report import best_of, publish, table
from threadpoolctl import threadpool_limits

from dsekl import gram, kernels
from dsekl.rows import as_rows
from dsekl.workers import Threads

N = 10_000
THREADS = 2
WORKERS = Threads(THREADS)
EVERY = slice(None)
NAMES = [
    "rbf",
    "laplacian",
    "matern12",
    "matern32",
    "matern52",
    "rational_quadratic",
    "linear",
    "poly",
    "sigmoid",
    "chi2",
]


def plain(X: Any, gamma: float, v: Any) -> Any:
    """The whole kernel matrix at once."""
    norms = gamma * (X * X).sum(axis=1)
    K = X @ X.T
    K *= 2 * gamma
    K -= norms[:, None]
    K -= norms
    np.minimum(K, 0, out=K)
    return np.exp(K, out=K) @ v


def tiled(X: Any, gamma: float, v: Any, size: int, pool: ThreadPoolExecutor) -> Any:
    """Tiles small enough for the cache, one BLAS thread each, spread over a pool."""
    norms = gamma * (X * X).sum(axis=1)
    out = np.zeros((len(X), 1), dtype=X.dtype)

    def task(start: int) -> None:
        rows = slice(start, start + size)
        for left in range(0, len(X), size):
            cols = slice(left, left + size)
            K = X[rows] @ X[cols].T
            K *= 2 * gamma
            K -= norms[rows, None]
            K -= norms[cols]
            np.minimum(K, 0, out=K)
            out[rows] += np.exp(K, out=K) @ v[cols]

    list(pool.map(task, range(0, len(X), size)))
    return out


def against_numpy(n_features: int, pool: ThreadPoolExecutor) -> list[str]:
    """Time the rbf product for one width."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, n_features)).astype(np.float32)
    v = rng.standard_normal((N, 1)).astype(np.float32)
    gamma = 1.0 / n_features
    ours = gram.build(kernels.RBF(), as_rows(X), gamma, workers=WORKERS)
    np.testing.assert_allclose(ours.product(EVERY, EVERY, v), plain(X, gamma, v), rtol=1e-3, atol=0.1)

    def tiled_of(size: int) -> Any:
        def task() -> None:
            with threadpool_limits(1):
                tiled(X, gamma, v, size, pool)

        return task

    fused, whole, *tiles = best_of(
        lambda: ours.product(EVERY, EVERY, v), lambda: plain(X, gamma, v), *(tiled_of(s) for s in (250, 500, 1000))
    )
    best = min(tiles)
    ratios = [f"**{rival / fused:.1f}**" for rival in (whole, best)]
    return [f"{n_features}", f"{fused:.3f}", f"{whole:.3f}", f"{best:.3f}", *ratios]


def every_kernel() -> list[list[str]]:
    """Time each kernel's product at 54 features, one output and ten."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((N, 54))).astype(np.float32)
    ones, ten = np.ones((N, 1)), np.ones((N, 10))
    rows = []
    for name in NAMES:
        some = gram.build(kernels.resolve(name), as_rows(X), 1 / 54, workers=WORKERS)
        double = gram.build(kernels.resolve(name), as_rows(X), 1 / 54, "float64", workers=WORKERS)
        seconds = best_of(
            lambda some=some: some.product(EVERY, EVERY, ones),
            lambda some=some: some.product(EVERY, EVERY, ten),
            lambda double=double: double.product(EVERY, EVERY, ones),
            rounds=2,
        )
        rows.append([name, *(f"{s:.3f}" for s in seconds)])
    return rows


if __name__ == "__main__":
    with ThreadPoolExecutor(THREADS) as pool:
        rows = [against_numpy(n_features, pool) for n_features in (54, 5, 784)]
    header = ["features", "fused, s", "plain NumPy, s", "tiled NumPy, s", "times plain", "times tiled"]
    publish(
        "Kernel products",
        "python benchmarks/gram.py",
        f"`K @ v` for {N:,} x {N:,} rbf, float32, {THREADS} threads; NumPy's plain product has BLAS on all cores, the "
        "tiled one the best of three tile sizes.\n\n" + table(header, rows),
    )
    header = ["kernel", "float32, 1 output, s", "float32, 10 outputs, s", "float64, 1 output, s"]
    publish(
        "Every kernel",
        "python benchmarks/gram.py",
        f"The same product at 54 features, {THREADS} threads.\n\n" + table(header, every_kernel()),
    )
