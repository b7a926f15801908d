"""What ``seconds.py`` measures: for each task its words, its rival's name, and how each of the two is run.

Data are the same for all who take part. Compiled code is loaded before a task is timed, by fits of some of its own
rows, but for the first fit on a new machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from report import load

Figures = dict[str, float]
Data = tuple[Any, Any, Any, Any]

LOADING_ROWS, MORE_LOADING_ROWS = 1_500, 9_000
"""Rows of the fits that load compiled code: small fits and large ones use other parts of it."""

FAST_TREES: dict[str, Any] = dict(n_estimators=500, learning_rate=0.05)
RIDGE = {"california-housing": (0.5, 10.0), "protein-casp": (1.0, 1.0)}
MOST_RIDGE_ROWS = 20_000
"""KernelRidge holds the kernel matrix of all rows several times: this many are what a usual machine has room for."""


def timed(model: Any, data: Data, regression: bool = False, loading: tuple[Any, ...] = ()) -> Figures:
    """Fit and predict; the error is a share of wrong labels, or the root of the mean squared error.

    ``loading`` are models that are fitted first, to some of the rows.
    """
    X, y, X_test, y_test = data
    for one in loading:
        for n in [LOADING_ROWS] + [MORE_LOADING_ROWS] * (len(X) > MORE_LOADING_ROWS):
            one.fit(X[:n], y[:n]).predict(X_test[:100])
    start, busy = perf_counter(), process_time()
    model.fit(X, y)
    seconds, busy = perf_counter() - start, process_time() - busy
    found = model.predict(X_test)
    error = np.sqrt(np.mean((found - y_test) ** 2)) if regression else np.mean(found != y_test)
    return {"seconds": seconds, "cpu": busy, "error": float(error)}


def ours(regression: bool = False, **settings: Any) -> Any:
    """Return a model of the version that is imported."""
    from dsekl import DSEKLClassifier, DSEKLRegressor

    return (DSEKLRegressor if regression else DSEKLClassifier)(**settings, random_state=0)


def our_fit(data: Data, regression: bool = False, **settings: Any) -> Figures:
    """Time a fit of the version that is imported."""
    few = ours(regression, **{**settings, "max_epochs": 3})
    return timed(ours(regression, **settings), data, regression, loading=(few,))


def boosting(regression: bool = False, **settings: Any) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if regression else LGBMClassifier)(verbose=-1, **settings)


def halves(X: Any, y: Any, n_train: int | None = None, n_test: int | None = None) -> Data:
    """Return random training and test rows, a fifth for the test where no number is given."""
    order = np.random.default_rng(0).permutation(len(X))
    n_test = len(X) // 5 if n_test is None else n_test
    test, train = order[:n_test], order[n_test:][:n_train]
    return X[train], y[train], X[test], y[test]


def standard(name: str, n_train: int | None = None) -> Data:
    """Return a table of regression, columns and targets standardised."""
    X, y = load(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return halves(X.astype(np.float32), (y - y.mean()) / y.std(), n_train)


def columns_table(n_columns: int) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, n_columns)).astype(np.float32)
    return halves(X, X[:, 0] * X[:, 1] > 0, 10_000, 2_000)


def small_table() -> Data:
    from sklearn.datasets import make_classification

    X, y = make_classification(5_000, 57, n_informative=20, random_state=0)
    return halves(X.astype(np.float32), y, 3_000, 2_000)


def covertype(scaled: bool) -> Data:
    X, y = load("covertype")
    X = X.astype(np.float32)
    if scaled:
        X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:20_000], order[21_122:]
    return X[train], y[train] == 2, X[test], y[test] == 2


def mnist() -> Data:
    X, y = load("mnist")
    X = X.astype(np.float32) / 255
    return X[:60_000], y[:60_000], X[60_000:], y[60_000:]


def intel_svc(**settings: Any) -> Any:
    from sklearnex.svm import SVC

    return SVC(**settings)


def kernel_ridge(gamma: float, C: float) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=gamma, alpha=1 / C)


def first(make: Callable[[], Any]) -> Figures:
    """From the import to a model of digits; whoever calls gives an empty folder to the compiler's cache."""
    start, busy = perf_counter(), process_time()
    from sklearn.datasets import load_digits

    found = timed(make(), halves(*load_digits(return_X_y=True)))
    return {**found, "seconds": perf_counter() - start, "cpu": process_time() - busy}


def one_row(model: Any, method: str = "predict") -> Figures:
    """Predict single rows with a model of 5,000 rows; the median call."""
    X, y, X_test, _ = standard("california-housing", 5_000)
    model.fit(X, y if method == "predict" else y > 0)
    seconds = []
    for k in range(300):
        start = perf_counter()
        getattr(model, method)(X_test[k : k + 1])
        seconds.append(perf_counter() - start)
    return {"seconds": median(seconds)}


def panel(model: Any, loading: Any, path: Path) -> Figures:
    """Fit one table of the panel, from the file that whoever calls has written."""
    table = np.load(path, allow_pickle=False)
    data = tuple(table[name] for name in ("X", "y", "X_test", "y_test"))
    return timed(model, data, bool(table["regression"]), loading)  # type: ignore[arg-type]


Task = tuple[str, str, Callable[[], Figures], Callable[[], Figures] | None]


def ridge(name: str) -> tuple[Callable[[], Figures], Callable[[], Figures]]:
    gamma, C = RIDGE[name]
    return (
        lambda: our_fit(standard(name, MOST_RIDGE_ROWS), True, gamma=gamma, C=C),
        lambda: timed(kernel_ridge(gamma, C), standard(name, MOST_RIDGE_ROWS), True),
    )


def columns_task(n: int) -> tuple[Callable[[], Figures], Callable[[], Figures]]:
    return lambda: our_fit(columns_table(n)), lambda: timed(boosting(**FAST_TREES), columns_table(n))


TASKS: dict[str, Task] = {
    "first": (
        "first fit on a new machine: import to a model of digits", "LightGBM",
        lambda: first(ours), lambda: first(boosting),
    ),
    "small": (
        "3,000 x 57, all defaults", "LightGBM 500 x .05",
        lambda: our_fit(small_table()), lambda: timed(boosting(**FAST_TREES), small_table()),
    ),
    "one_row": (
        "one row predicted, a regressor of 5,000 rows (n_jobs=1)", "LightGBM 500 x .05",
        lambda: one_row(ours(True, gamma=0.5, C=10.0, n_jobs=1)),
        lambda: one_row(boosting(True, n_jobs=1, **FAST_TREES)),
    ),
    "one_row_proba": (
        "probabilities of one row, a classifier of 5,000 rows (n_jobs=1)", "LightGBM 500 x .05",
        lambda: one_row(ours(gamma=0.5, C=10.0, n_jobs=1), "predict_proba"),
        lambda: one_row(boosting(n_jobs=1, **FAST_TREES), "predict_proba"),
    ),
    "columns10": ("10,000 rows, 10 columns, all defaults", "LightGBM 500 x .05", *columns_task(10)),
    "columns100": ("10,000 rows, 100 columns, all defaults", "LightGBM 500 x .05", *columns_task(100)),
    "columns1000": ("10,000 rows, 1,000 columns, all defaults", "LightGBM 500 x .05", *columns_task(1000)),
    "california": ("ridge, california, 16,512 rows, gamma 0.5, C 10", "KernelRidge", *ridge("california-housing")),
    "protein": ("ridge, protein, 20,000 rows, gamma 1, C 1", "KernelRidge", *ridge("protein-casp")),
    "quantile": (
        "quantile loss, california, 12,000 rows, gamma 0.5, C 10", "",
        lambda: our_fit(standard("california-housing", 12_000), True, loss="quantile", gamma=0.5, C=10.0), None,
    ),
    "covertype": (
        "exact SVM, covertype, gamma 100, C 4", "", lambda: our_fit(covertype(True), gamma=100.0, C=4.0), None,
    ),
    "defaults": (
        "all defaults, covertype", "LightGBM 1000 x 255", lambda: our_fit(covertype(False)),
        lambda: timed(boosting(n_estimators=1000, num_leaves=255), covertype(False)),
    ),
    "mnist": (
        "exact SVM, MNIST, gamma 0.02, C 5", "scikit-learn-intelex SVC",
        lambda: our_fit(mnist(), gamma=0.02, C=5.0), lambda: timed(intel_svc(gamma=0.02, C=5.0), mnist()),
    ),
    "mnist_defaults": (
        "all defaults, MNIST", "LightGBM", lambda: our_fit(mnist()), lambda: timed(boosting(), mnist()),
    ),
}  # fmt: skip
