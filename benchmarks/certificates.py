"""Certificates held against the truth: the gap that a fit claims, and the gap from scratch in extended precision.

DSEKL_DATA=... python benchmarks/certificates.py [gaps|cost]...
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from report import load, publish, table

from dsekl import DSEKLClassifier, DSEKLRegressor, losses
from dsekl.kernels import RBF, Laplacian, Matern, Polynomial
from dsekl.solvers.dual import ascent

COMMAND = "DSEKL_DATA=... python benchmarks/certificates.py"
FITS = 200
ROWS = 600
MOST_EPOCHS = 150
SHARE = 1e-6
"""Of the claimed gap, and at least 1e-9 of the objective: by so much a true gap may be larger."""

Data = tuple[str, Any, Any]


Extended = np.longdouble
"""80 bits on x86: the truth must not round as what is held against it."""


def whole_matrix(kernel: Any, gamma: float, X: Any) -> Any:
    """Return the kernel matrix of the rows."""
    X, gamma = X.astype(Extended), Extended(gamma)
    if isinstance(kernel, Polynomial):
        return (gamma * (X @ X.T) + 1) ** kernel.degree
    distances = np.zeros((len(X), len(X)), Extended)
    for column in X.T:
        apart = np.abs(column[:, None] - column)
        distances += apart if isinstance(kernel, Laplacian) else apart * apart
    if isinstance(kernel, Matern):
        r = np.sqrt(3 * gamma * distances)
        return (1 + r) * np.exp(-r)
    return np.exp(-gamma * distances)


KERNELS: list[Any] = [RBF(), Laplacian(), Matern(1.5), Polynomial(2)]
LABELS = [losses.Hinge(), losses.SquaredHinge(), losses.Logistic(), losses.Squared()]
NUMBERS = [losses.Squared(), losses.EpsilonInsensitive(0.1), losses.Huber(0.5), losses.Quantile(0.3)]


def tables() -> list[tuple[Data, Data]]:
    """Return pairs of a table with labels and one with numbers: real rows of large norm, and generated ones."""
    X, y = load("covertype")
    rows = np.random.default_rng(0).permutation(len(X))[:ROWS]
    X = X[rows].astype(np.float64)
    X = (X - X.min(axis=0)) / np.maximum(X.max(axis=0) - X.min(axis=0), 1e-12)
    houses, prices = load("california-housing")
    some = np.random.default_rng(0).permutation(len(houses))[:ROWS]
    houses = houses[some].astype(np.float64)
    houses = (houses - houses.mean(axis=0)) / houses.std(axis=0)
    prices = (prices[some] - prices[some].mean()) / prices[some].std()
    rng = np.random.default_rng(1)
    made = rng.standard_normal((ROWS, 4))
    waves = np.sin(2 * made[:, 0]) + made[:, 1] ** 2 + 0.3 * rng.standard_normal(ROWS)
    waves = (waves - waves.mean()) / waves.std()
    return [
        (("covertype", X, np.where(y[rows] == 2, 1.0, -1.0)), ("california", houses, prices)),
        (("waves", made, np.where(waves > 0, 1.0, -1.0)), ("waves", made, waves)),
    ]


def fits() -> Iterator[tuple[Data, Any, Any, Any]]:
    """Yield data, estimator, loss and the whole kernel matrix, every choice in turn."""
    rng, pairs = np.random.default_rng(2), tables()
    while True:
        for kernel in KERNELS:
            for k in range(len(LABELS)):
                labels = bool(rng.integers(2))
                data = pairs[rng.integers(2)][0 if labels else 1]
                loss = (LABELS if labels else NUMBERS)[k]
                gamma = float(10.0 ** rng.uniform(-1.5, 1.5)) if not isinstance(kernel, Polynomial) else 0.1
                settings: dict[str, Any] = dict(
                    kernel=kernel, gamma=gamma, loss=loss, C=float(10.0 ** rng.uniform(-3, 6)),
                    tol=[None, 1e-1, 1e-2, 1e-3][rng.integers(4)], dtype=["float32", "float64"][rng.integers(2)],
                    max_epochs=MOST_EPOCHS, random_state=0, verbose=False,
                )  # fmt: skip
                model = DSEKLClassifier(**settings) if labels else DSEKLRegressor(fit_intercept=False, **settings)
                yield data, model, loss, whole_matrix(kernel, gamma, data[1])


def true_gap(model: Any, K: Any, y: Any, loss: Any) -> float:
    """Return the relative gap of the model's coefficients."""
    coef, y, C = np.zeros((len(K), 1), Extended), y[:, None].astype(Extended), Extended(model.C_)
    coef[model.support_] = model.dual_coef_
    # In units of y, coefficients at the end of their interval may be beyond it by the last digit.
    coef = np.where(np.isfinite(conjugate(loss, y, coef, C)), coef, coef * Extended(1.0 - 1e-14))
    f = (K + of_intercept(model, coef)) @ coef
    excess = (coef * f + C * loss.value(y, f) + conjugate(loss, y, coef, C)).sum()
    return float(excess / (0.5 * coef * f + C * loss.value(y, f)).sum())


def conjugate(loss: Any, y: Any, coef: Any, C: Any) -> Any:
    """Return the conjugate of the loss; that of the library is in float64 where it takes SciPy's functions."""
    if not isinstance(loss, losses.Logistic):
        return loss.conjugate(y, coef, C)
    size = y * coef
    with np.errstate(all="ignore"):
        entropy = sum(np.where(part > 0, part * np.log(part), 0) for part in (size, C - size)) - C * np.log(C)
    return np.where((size >= 0) & (size <= C), entropy, np.inf)


def of_intercept(model: Any, coef: Any) -> float:
    """Return what the kernel has beside it: an intercept is a constant kernel, times the sum of the coefficients."""
    assert "trend_" not in vars(model)
    intercept = float(np.atleast_1d(model.intercept_)[0])
    constant = 0.0 if intercept == 0.0 else intercept / float(coef.sum())
    assert constant >= 0.0
    return constant


def gaps() -> None:
    """Compare claimed and true gaps."""
    worst = {"float32": [0.0, 0, 0, 0], "float64": [0.0, 0, 0, 0]}
    start = perf_counter()
    for (name, X, y), model, loss, K in islice(fits(), FITS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        row = worst[model.dtype]
        row[3] += 1
        if model.stop_reason_ != "tol":
            continue
        claimed, true = model.history_[-1]["gap"], true_gap(model, K, y, loss)
        over = (true - claimed) / max(claimed, 1e-9 / SHARE)
        row[0], row[1], row[2] = max(row[0], over), row[1] + 1, row[2] + (over > SHARE)
        if over > SHARE:
            print(f"  {name} {model!r}: claimed {claimed}, true {true}", flush=True)
    seconds = perf_counter() - start
    rows = [
        [dtype, total, certified, broken, f"{largest:.1e}"]
        for dtype, (largest, certified, broken, total) in worst.items()
    ]
    publish(
        "Certificates", COMMAND + " gaps",
        f"{FITS} fits of {ROWS:,} rows (covertype, california housing, generated): 8 losses, 4 kernels, C from 1e-3 to "
        "1e6, tol None, 0.1, 0.01 or 0.001. Of the fits that ended by `tol` (certified) within "
        f"{MOST_EPOCHS} epochs, the gap that is claimed is compared with the gap of the same coefficients from the "
        f"whole kernel matrix in extended precision. Broken: the true gap is larger by more than {SHARE:.0e} of the "
        f"claimed one and by more than 1e-9 of the objective. {seconds:.0f} s.\n\n"
        + table(["dtype", "fits", "certified", "broken", "largest excess over the claimed gap"], rows),
    )  # fmt: skip


def cost() -> None:
    """Measure what the audit takes of a fit to all covertype rows."""
    X, y = load("covertype")
    X = X.astype(np.float32)
    X = (X - X.min(axis=0)) / np.maximum(X.max(axis=0) - X.min(axis=0), 1e-12)
    taken, audited = [0.0], ascent.audited

    def timed(*arguments: Any) -> Any:
        start = perf_counter()
        found = audited(*arguments)
        taken[0] += perf_counter() - start
        return found

    ascent.audited = timed
    start = perf_counter()
    model = DSEKLClassifier(gamma=100.0, C=4.0, random_state=0, verbose=False).fit(X, np.where(y == 2, 1, -1))
    seconds = perf_counter() - start
    publish(
        "What a certificate costs", COMMAND + " cost",
        f"All {len(X):,} covertype rows, columns in [0, 1], gamma 100, C 4, default tol: the audit takes "
        f"{taken[0]:.2f} s of {seconds:.1f} s (**{100 * taken[0] / seconds:.1f} %**); the gap is "
        f"{model.history_[-1]['gap']:.3f}.",
    )  # fmt: skip


if __name__ == "__main__":
    for name in sys.argv[1:] or ["gaps", "cost"]:
        {"gaps": gaps, "cost": cost}[name]()
