"""Exact kernel machines by dual ascent, against the exact solvers of scikit-learn and scikit-learn-intelex.

DSEKL_DATA=... python benchmarks/exact.py [covertype|skin|mnist|ridge]...
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from report import load, publish, table
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, DSEKLRegressor

COMMAND = "DSEKL_DATA=... python benchmarks/exact.py"
HEADER = ["model", "rows", "fit, s", "predict, s", "test error", "support vectors"]


def unit(X: Any) -> Any:
    """Scale columns to [0, 1]."""
    X = X.astype(np.float32)
    X -= X.min(axis=0)
    return X / np.maximum(X.max(axis=0), 1e-12)


def intel_svc(**settings: Any) -> Any:
    """Return scikit-learn-intelex's SVC, or None where it cannot be had."""
    try:
        from sklearnex.svm import SVC as IntelSVC
    except ImportError:
        return None
    return IntelSVC(**settings)


def measure(name: str, model: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> list[str]:
    """Fit, predict and return a row of the table."""
    start = perf_counter()
    model.fit(*train)
    fitted = perf_counter()
    error = np.mean(model.predict(test[0]) != test[1])
    predicted = perf_counter()
    print(f"  {name}: {fitted - start:.1f} s, {100 * error:.2f} %", flush=True)
    support = f"{len(model.support_):,}"
    return [
        name,
        f"{len(train[0]):,}",
        f"{fitted - start:.1f}",
        f"{predicted - fitted:.2f}",
        f"{100 * error:.2f} %",
        support,
    ]


def warm_up() -> None:
    """Load the compiled code, which the first fit of a process would otherwise pay for."""
    X = np.random.default_rng(0).standard_normal((2000, 4))
    DSEKLClassifier(random_state=0).fit(X, X[:, 0] > 0).predict(X)
    DSEKLRegressor(random_state=0).fit(X, X[:, 0]).predict(X)


def covertype() -> None:
    X, y = load("covertype")
    X = unit(X)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:20_000], order[21_122:]
    binary = np.where(y == 2, 1, -1)
    rows = []
    for name, model, labels, n in [
        ("dsekl, all rows", DSEKLClassifier(gamma=100.0, C=4.0, random_state=0), binary, len(train)),
        ("dsekl, 7 classes", DSEKLClassifier(gamma=100.0, C=4.0, random_state=0), y, len(train)),
        ("scikit-learn-intelex SVC", intel_svc(gamma=100.0, C=4.0), binary, 50_000),
        ("scikit-learn SVC", SVC(gamma=100.0, C=4.0), binary, 20_000),
    ]:
        if model is not None:
            some = train[:n]
            rows.append(measure(name, model, (X[some], labels[some]), (X[test], labels[test])))
    publish(
        "Covertype, exact", COMMAND + " covertype",
        "Class 2 against the rest, columns scaled to [0, 1], gamma 100, C 4; 20,000 test rows.\n\n"
        + table(HEADER, rows),
    )  # fmt: skip


def skin() -> None:
    X, y = load("skin")
    X = unit(X)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:20_000], order[20_000:]
    models = [
        ("dsekl", DSEKLClassifier(gamma=100.0, C=10.0, random_state=0)),
        ("scikit-learn-intelex SVC", intel_svc(gamma=100.0, C=10.0)),
    ]
    data = (X[train], y[train]), (X[test], y[test])
    rows = [measure(name, model, *data) for name, model in models if model is not None]
    publish("Skin, exact", COMMAND + " skin", "[0, 1], gamma 100, C 10; 20,000 test rows.\n\n" + table(HEADER, rows))


def mnist() -> None:
    X, y = load("mnist")
    X = X.astype(np.float32) / 255
    data = (X[:60_000], y[:60_000]), (X[60_000:], y[60_000:])
    models = [
        ("dsekl, tol 0.3", DSEKLClassifier(gamma=0.02, C=5.0, tol=0.3, random_state=0)),
        ("scikit-learn-intelex SVC", intel_svc(gamma=0.02, C=5.0)),
    ]
    rows = [measure(name, model, *data) for name, model in models if model is not None]
    publish("MNIST, exact", COMMAND + " mnist", "gamma 0.02, C 5; 10,000 test rows.\n\n" + table(HEADER, rows))


def ridge() -> None:
    rows = []
    for name, gamma, C in [("california-housing", 0.5, 10.0), ("protein-casp", 1.0, 1.0)]:
        X, y = load(name)
        X, y = StandardScaler().fit_transform(X).astype(np.float32), (y - y.mean()) / y.std()
        order = np.random.default_rng(0).permutation(len(X))
        test, train = order[: len(X) // 5], order[len(X) // 5 :]
        some = train[:15_000]
        for model, label, chosen in [
            (KernelRidge(kernel="rbf", gamma=gamma, alpha=1 / C), "scikit-learn KernelRidge", some),
            (DSEKLRegressor(gamma=gamma, C=C, random_state=0), "dsekl", some),
            (DSEKLRegressor(gamma=gamma, C=C, random_state=0), "dsekl, all rows", train),
        ]:
            start = perf_counter()
            model.fit(X[chosen], y[chosen])
            seconds = perf_counter() - start
            error = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
            print(f"  {name}, {label}: {seconds:.1f} s, RMSE {error:.4f}", flush=True)
            rows.append([name, label, f"{len(chosen):,}", f"{seconds:.1f}", f"{error:.4f}"])
    publish(
        "Kernel ridge", COMMAND + " ridge",
        "Columns and targets standardised; a fifth of the rows for the test.\n\n"
        + table(["data", "model", "rows", "fit, s", "test RMSE"], rows),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    warm_up()
    for task in sys.argv[1:] or ["covertype", "skin", "mnist", "ridge"]:
        globals()[task]()
