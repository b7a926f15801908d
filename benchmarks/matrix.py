"""One weight per feature against a matrix of weights: does the distance gain by mixing features?

The same descent (Adam on the loss of the neighbours' mean, random rows and centres) learns the weights, the weights
and five directions beside them, or a whole matrix; each starts from the learned weights and has as many further steps.
A support vector machine with tuned width and C then scores each on test rows. Everything here is plain NumPy and
scikit-learn, independent of the rest of the library.

DSEKL_DATA=... python benchmarks/matrix.py
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from report import publish, table
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import LabelBinarizer, StandardScaler
from sklearn.svm import SVC, SVR
from tabular_data import panel_data

SETS = (
    "covertype", "ijcnn1", "california-housing", "protein-casp", "digits", "wdbc", "hastie", "classification",
    "friedman1", "diabetes",
)  # fmt: skip
ROWS, TEST_ROWS = 2_000, 2_000
STEPS, RATE, LAST_RATE = 100, 0.1, 0.02
N_ROWS, N_COLS = 400, 1_600
DIRECTIONS = 5


@dataclass
class Diagonal:
    """A logarithm for each feature."""

    logs: Any

    def parameters(self) -> list[Any]:
        return [self.logs]

    def matrix(self) -> Any:
        return np.diag(np.exp(0.5 * self.logs))

    def gradients(self, of_matrix: Any) -> list[Any]:
        return [0.5 * np.diag(of_matrix) * np.exp(0.5 * self.logs)]


@dataclass
class WithDirections:
    """The diagonal, and columns for a few directions beside it."""

    diagonal: Diagonal
    directions: Any

    def parameters(self) -> list[Any]:
        return [*self.diagonal.parameters(), self.directions]

    def matrix(self) -> Any:
        return np.hstack([self.diagonal.matrix(), self.directions])

    def gradients(self, of_matrix: Any) -> list[Any]:
        d = len(self.directions)
        return [*self.diagonal.gradients(of_matrix[:, :d]), of_matrix[:, d:]]


@dataclass
class Full:
    """Any matrix."""

    entries: Any

    def parameters(self) -> list[Any]:
        return [self.entries]

    def matrix(self) -> Any:
        return self.entries

    def gradients(self, of_matrix: Any) -> list[Any]:
        return [of_matrix]


def gradient(A: Any, rows: Any, row_targets: Any, cols: Any, col_targets: Any) -> Any:
    """Return the derivative with respect to A of the mean squared error of the neighbours' mean in X A."""
    z, u = rows @ A, cols @ A
    distances = (z**2).sum(1)[:, None] + (u**2).sum(1)[None] - 2 * z @ u.T
    closeness = np.exp(distances.min(axis=1, keepdims=True) - distances)
    closeness /= closeness.sum(axis=1, keepdims=True)
    predicted = closeness @ col_targets
    residual = 2 * (predicted - row_targets) / len(rows)
    pull = -closeness * (residual @ col_targets.T - (residual * predicted).sum(axis=1, keepdims=True))
    of_z = 2 * (pull.sum(axis=1)[:, None] * z - pull @ u)
    of_u = 2 * (pull.sum(axis=0)[:, None] * u - pull.T @ z)
    return rows.T @ of_z + cols.T @ of_u


def learn(weights: Any, rates: list[float], X: Any, targets: Any, seed: int) -> Any:
    """Run Adam on the parameters of ``weights``, which move; ``rates`` are shares of the rate for each."""
    rng = np.random.default_rng(seed)
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in weights.parameters()]
    for step in range(1, STEPS + 1):
        drawn = rng.permutation(len(X))[: N_ROWS + N_COLS]
        rows, cols = drawn[: min(N_ROWS, len(X) // 5)], drawn[min(N_ROWS, len(X) // 5) :]
        of_matrix = gradient(weights.matrix(), X[rows], targets[rows], X[cols], targets[cols])
        rate = RATE + (LAST_RATE - RATE) * step / STEPS
        for p, g, (mean, square), share in zip(
            weights.parameters(), weights.gradients(of_matrix), moments, rates, strict=True
        ):
            mean += 0.1 * (g - mean)
            square += 0.001 * (g**2 - square)
            p -= share * rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-12)
    return weights


def judge(A: Any, train: tuple[Any, Any], test: tuple[Any, Any], regression: bool) -> float:
    """Return the error on the test rows of a machine whose width and C were cross-validated in X A."""
    grid = {"gamma": 2.0 ** np.arange(-7, 3, 2), "C": [1.0, 8.0, 64.0]}
    search = GridSearchCV(SVR() if regression else SVC(), grid, cv=3, n_jobs=2).fit(train[0] @ A, train[1])
    predicted = search.predict(test[0] @ A)
    return float(np.sqrt(np.mean((predicted - test[1]) ** 2)) if regression else np.mean(predicted != test[1]))


def compare(regression: bool, X: Any, y: Any, seed: int) -> dict[str, float]:
    """Return the error of each kind of weights."""
    chosen = np.random.default_rng(seed).permutation(len(X))[: ROWS + TEST_ROWS]
    train, test = train_test_split(chosen, test_size=0.5, random_state=seed, stratify=None if regression else y[chosen])
    scaler = StandardScaler().fit(X[train])
    X = scaler.transform(X)
    if regression:
        y = (y - y[train].mean()) / y[train].std()
    targets = y[:, None] if regression else LabelBinarizer().fit(y).transform(y).astype(float)
    d = X.shape[1]
    begun = learn(Diagonal(np.full(d, np.log(8.0 / d))), [1.0], X[train], targets[train], seed).logs
    size = np.exp(0.5 * begun).mean()
    directions = 0.1 * size * np.random.default_rng(seed).standard_normal((d, DIRECTIONS)) / np.sqrt(d)
    found = {}
    for name, weights, rates in [
        ("one per feature", Diagonal(begun.copy()), [1.0]),
        ("and five directions", WithDirections(Diagonal(begun.copy()), directions), [1.0, 0.3 * size]),
        ("whole matrix", Full(np.diag(np.exp(0.5 * begun))), [0.3 * size]),
    ]:
        A = learn(weights, rates, X[train], targets[train], seed + 1).matrix()
        found[name] = judge(A, (X[train], y[train]), (X[test], y[test]), regression)
    return found


def main() -> None:
    rows = []
    data = panel_data()
    for name in SETS:
        regression, X, y = data[name]
        found = [compare(regression, np.asarray(X, dtype=np.float64), np.asarray(y), seed) for seed in range(3)]
        cells = []
        for kind in found[0]:
            errors = np.array([one[kind] for one in found])
            cells.append(f"{100 * errors.mean():.2f} ± {100 * errors.std():.2f}")
        rows.append([name, X.shape[1], *cells])
        print("  ", *rows[-1], flush=True)
    publish(
        "A matrix of weights", "DSEKL_DATA=... python benchmarks/matrix.py",
        f"Test error in per cent (regression: of the targets' deviation) and its deviation over three splits; at most "
        f"{ROWS:,} training rows.\n\n"
        + table(["data", "columns", "one per feature", "and five directions", "whole matrix"], rows),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
