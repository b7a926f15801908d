"""Generated tables of every make: what a signal, columns, targets and splits may be like, drawn by a table's number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TEST_ROWS = 3_000
FEWEST_ROWS, MOST_ROWS = 60, 6_000
FEWEST_COLUMNS, MOST_COLUMNS = 2, 120

SIGNALS = ("smooth", "rough", "additive", "high frequency", "sparse", "linear", "steps", "products", "clusters")
COLUMNS = ("normal", "uniform", "heavy tails", "counts", "codes", "mixed", "units")
TASKS = ("numbers", "numbers", "two classes", "two classes", "classes", "rare class", "skewed numbers", "heavy noise")
EXTRAS = ("nothing", "nothing", "irrelevant", "duplicates", "nearly constant", "ordered by time")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Made:
    """A table: training rows, test rows, and what was drawn."""

    train: tuple[Any, Any]
    test: tuple[Any, Any]
    regression: bool
    kind: str


def generated(number: int) -> Made:
    """Return the table of a number."""
    rng = np.random.default_rng([number, 2024])
    signal, columns, task, extra = (str(rng.choice(names)) for names in (SIGNALS, COLUMNS, TASKS, EXTRAS))
    n_train = int(np.exp(rng.uniform(np.log(FEWEST_ROWS), np.log(MOST_ROWS))))
    d = int(np.exp(rng.uniform(np.log(FEWEST_COLUMNS), np.log(MOST_COLUMNS))))
    n = n_train + TEST_ROWS
    Z = _correlated(n, d, rng)
    if extra == "ordered by time":
        Z[:, 0] += np.where(np.arange(n) < n_train, 0.0, 0.5)
    f = _signal(signal, Z, rng)
    f = (f - f[:n_train].mean()) / (f[:n_train].std() or 1.0)
    noise = float(rng.choice([0.05, 0.3, 1.0]))
    X = _columns(columns, Z, rng)
    if extra == "irrelevant":
        X = np.column_stack([X, rng.normal(size=(n, min(2 * d, 100)))])
    elif extra == "duplicates":
        X = np.column_stack([X, X[:, :1], X[:, :1], X[:, : max(1, d // 2)]])
    elif extra == "nearly constant":
        rare = (rng.uniform(size=(n, 3)) < 3 / n_train).astype(float)
        X = np.column_stack([X, rare * [1.0, 100.0, 1e-3]])
    y = _targets(task, f, noise, n_train, rng)
    order = np.arange(n)
    regression = task in ("numbers", "skewed numbers", "heavy noise")
    kind = f"{signal}, {columns}, {task}, {extra}, noise {noise:g}, {n_train} x {X.shape[1]}"
    train, test = order[:n_train], order[n_train:]
    return Made((X[train], y[train]), (X[test], y[test]), regression, kind)


def _correlated(n: int, d: int, rng: np.random.Generator) -> Floats:
    mix = np.eye(d) + rng.choice([0.0, 0.3, 1.0]) * rng.normal(size=(d, d)) / np.sqrt(d)
    Z = rng.normal(size=(n, d)) @ mix
    return np.asarray(Z / Z.std(axis=0))


def _signal(name: str, Z: Floats, rng: np.random.Generator) -> Floats:
    d = Z.shape[1]
    some = rng.permutation(d)[: max(1, min(d, int(rng.integers(1, 9))))]
    U = Z[:, some]
    k = U.shape[1]
    if name == "linear":
        return np.asarray(Z @ rng.normal(size=d))
    if name == "additive":
        return np.asarray(sum(rng.normal() * np.sin(rng.uniform(1, 3) * U[:, j]) + U[:, j] ** 2 / 4 for j in range(k)))
    if name == "steps":
        cuts = rng.normal(size=(6, k))
        return np.asarray(sum(rng.normal() * (cut < U).all(axis=1) + rng.normal() * (U[:, 0] > cut[0]) for cut in cuts))
    if name == "sparse":
        return np.asarray(np.abs(U[:, 0]) + U[:, -1] * (U[:, 0] > 0))
    if name == "products":
        return np.asarray(U[:, 0] * U[:, -1] + np.prod(U[:, :3], axis=1) + 0.5 * U[:, 0])
    if name == "high frequency":
        return np.asarray(np.sin(4 * U[:, 0]) + np.sin(5 * U[:, -1] + U[:, 0]))
    if name == "clusters":
        centres = 1.5 * rng.normal(size=(20, k))
        near = ((U[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        return np.asarray(rng.normal(size=20)[near])
    frequency = {"smooth": 0.7, "rough": 2.5}[name] / np.sqrt(k)
    W = rng.standard_t(2 if name == "rough" else 30, size=(k, 60)) * frequency
    return np.asarray(np.sin(U @ W + rng.uniform(0, 2 * np.pi, 60)) @ rng.normal(size=60))


def _columns(name: str, Z: Floats, rng: np.random.Generator) -> Floats:
    """Return what is seen of the columns."""
    kinds: dict[str, Callable[[Floats], Floats]] = {
        "normal": lambda z: z,
        "uniform": lambda z: np.argsort(np.argsort(z)) / len(z),
        "heavy tails": lambda z: np.sign(z) * np.expm1(1.5 * np.abs(z)),
        "counts": lambda z: np.floor(np.exp(1.0 + 0.8 * z)),
        "codes": lambda z: np.digitize(z, [-1.0, -0.3, 0.3, 1.0]).astype(float),
        "units": lambda z: z * 10.0 ** rng.integers(-4, 5) + 10.0 ** rng.integers(-2, 4),
    }
    names = list(kinds) if name == "mixed" else [name]
    return np.column_stack([kinds[str(rng.choice(names))](z) for z in Z.T])


def _targets(name: str, f: Floats, noise: float, n_train: int, rng: np.random.Generator) -> Any:
    n = len(f)
    if name == "numbers":
        return 100.0 + 7.0 * (f + noise * rng.normal(size=n))
    if name == "skewed numbers":
        return np.exp(f + noise * rng.normal(size=n))
    if name == "heavy noise":
        return f + noise * rng.standard_t(2.2, size=n)
    g = f + 0.5 * noise * rng.normal(size=n)
    if name == "rare class":
        return (g > np.quantile(g, 0.98)).astype(int) if n_train >= 300 else (g > np.quantile(g, 0.9)).astype(int)
    count = 2 if name == "two classes" else int(rng.integers(3, 21 if n_train > 600 else 6))
    cuts = np.quantile(g, np.sort(rng.uniform(0.05, 0.95, count - 1)))
    labels = rng.permutation(count)[np.digitize(g, cuts)]
    flipped = rng.uniform(size=n) < float(rng.choice([0.0, 0.0, 0.1]))
    return np.where(flipped, rng.integers(0, count, n), labels)
