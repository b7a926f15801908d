"""The paper's two algorithms: what they reach, what two workers gain, what a fit weighs.

DSEKL_DATA=... python benchmarks/algorithms.py [beside]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
from report import best_of, load, publish, table
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, DSEKLRegressor, gram, losses
from dsekl.kernels import RBF
from dsekl.rows import as_rows
from dsekl.solvers import DoublyStochastic, Problem, SharedMemory

COMMAND = "DSEKL_DATA=... python benchmarks/algorithms.py"


def covertype() -> tuple[Any, Any]:
    """Class 2 against the rest, rows in random order; the ten numeric columns standardised on the first 20,000 rows."""
    X, y = load("covertype")
    order = np.random.default_rng(0).permutation(len(X))
    X = X[order].astype(np.float32)
    X[:, :10] = StandardScaler().fit(X[:20_000, :10]).transform(X[:, :10])
    return X, np.where(y[order] == 2, 1, -1)


def epochs(X: Any, y: Any) -> None:
    """Test error of both readings of Algorithm 2 on 20,000 rows."""
    train, test = slice(0, 20_000), slice(20_000, 40_000)
    rows = []
    for reading in ("local", "global"):
        errors = np.zeros((3, 8))
        for seed in range(3):
            solver = SharedMemory(1000, 1000, gradient=reading, steps="paper")
            model = DSEKLClassifier(gamma=1.0, solver=solver, max_epochs=1, tol=0.0, warm_start=True, random_state=seed)
            for epoch in range(8):
                model.fit(X[train], y[train])
                errors[seed, epoch] = 100 * (1 - model.score(X[test], y[test]))
        rows.append([reading, *(f"{error:.2f} %" for error in errors.mean(axis=0))])
    publish(
        "Algorithm 2 on 20,000 covertype rows", COMMAND,
        "Test error (20,000 other rows) after each epoch, mean of three seeds; gamma 1, C 1, batches of 1,000 x 1,000; "
        "the numeric columns standardised, the one-hot codes left as they are.\n\n"
        + table(["gradient", *map(str, range(1, 9))], rows),
    )  # fmt: skip


SPLITS = {"breast-cancer": 40, "diabetes": 40, "digits": 5, "mushrooms": 3, "ijcnn1": 3, "california-housing": 3}
"""Data sets, and how many splits: many where there are hardly 200 test rows, of which one is half a point, and fewer of
those that take minutes."""


def beside_the_exact_machine() -> None:
    """Both algorithms with default settings, I = J = 500 and ten epochs, beside scikit-learn's exact machines."""
    rows = []
    for name, n_splits in SPLITS.items():
        X, y = load_digits(return_X_y=True) if name == "digits" else load(name)
        scores = np.array([_scores(np.asarray(X, dtype=np.float64), y, name, seed) for seed in range(n_splits)])
        behind = 100 * (scores[:, 1:3] - scores[:, :1])
        doubts = behind.std(axis=0, ddof=1) / np.sqrt(n_splits)
        rows.append([
            name, n_splits, *(f"{score:.2f}" for score in 100 * scores.mean(axis=0)),
            *(f"{mean:+.2f} ± {doubt:.2f}" for mean, doubt in zip(behind.mean(axis=0), doubts, strict=True)),
        ])  # fmt: skip
        print(rows[-1], flush=True)
    publish(
        "Algorithms 1 and 2 beside exact machines", f"{COMMAND} beside",
        "Accuracy in % (R2 for california-housing), mean over splits: 75 % of the rows for training, at most "
        "10,000, and at most 4,000 of the others for the test; columns standardised, gamma 1 / n_features, C 1. SVC, "
        "or KernelRidge with alpha 1, and the paper's algorithms with I = J = 500 after ten epochs: by default "
        "(preconditioned), and with the paper's steps. The last columns are what the former have more or less than the "
        "exact machine on the same splits, and its standard error.\n\n"
        + table(
            ["data", "splits", "exact", "Algorithm 1", "Algorithm 2", "1, paper's", "2, paper's", "1 less exact",
             "2 less exact"],
            rows,
        ),
    )  # fmt: skip


def _scores(X: Any, y: Any, name: str, seed: int) -> list[float]:
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(10_000, 3 * len(X) // 4)
    train, test = order[:n], order[n : n + 4_000]
    X = StandardScaler().fit(X[train]).transform(X)
    gamma, numbers = 1 / X.shape[1], name == "california-housing"
    y = y - y[train].mean() if numbers else y
    exact = KernelRidge(alpha=1.0, kernel="rbf", gamma=gamma) if numbers else SVC(gamma=gamma)
    settings: dict[str, Any] = dict(gamma=gamma, max_epochs=10, tol=0.0, random_state=0, verbose=False)
    kind = DSEKLRegressor if numbers else DSEKLClassifier
    solvers = [
        DoublyStochastic(500, 500),
        SharedMemory(500, 500),
        DoublyStochastic(500, 500, steps="paper"),
        SharedMemory(500, 500, steps="paper"),
    ]
    models = [exact, *(kind(solver=solver, **settings) for solver in solvers)]
    return [float(model.fit(X[train], y[train]).score(X[test], y[test])) for model in models]


def speed_up(X: Any, y: Any) -> None:
    """One batch of 10,000 rows against all batches of 10,000 centres, by one worker and by two."""
    n = 100_000
    kernel_matrix = gram.build(RBF(), as_rows(X[:n]), 1.0)
    problem = Problem(kernel_matrix, y[:n, None].astype(float), np.ones(n), losses.Hinge(), 1.0)
    rows = []
    for reading in ("local", "global"):

        def one_batch(n_workers: int, reading: str = reading) -> None:
            solver = SharedMemory(10_000, 10_000, n_workers=n_workers, gradient=reading, steps="paper")
            next(solver.epoch(problem, solver.start(problem, np.random.default_rng(0))))

        one, two = best_of(lambda: one_batch(1), lambda: one_batch(2), rounds=3)
        rows.append([reading, f"{one:.2f}", f"{two:.2f}", f"**{one / two:.2f}**"])
    publish(
        "Two workers against one", COMMAND,
        "Seconds for one batch of 10,000 rows and ten batches of 10,000 centres of covertype.\n\n"
        + table(["gradient", "one worker, s", "two workers, s", "speed-up"], rows),
    )  # fmt: skip


def memory() -> None:
    """Peak resident memory of a process that fits all rows, batches of 10,000 x 10,000, one row batch."""
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); from algorithms import peak_memory_of_a_fit; "
        "print(peak_memory_of_a_fit())"
    )
    peak = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()[-1]
    publish(
        "Memory", COMMAND,
        "Peak resident memory of a process that loads covertype (581,012 x 54) and fits it by Algorithm 2 with batches "
        f"of 10,000 x 10,000: **{float(peak):.2f} GB**, data and interpreter included.",
    )  # fmt: skip


def peak_memory_of_a_fit() -> float:
    """Fit all covertype rows until the first batches are through; return the peak in GB."""
    X, y = load("covertype")
    X = X.astype(np.float32)
    X /= X.std(axis=0) + 1e-9
    labels = np.where(y == 2, 1, -1)
    model = DSEKLClassifier(
        gamma=1.0, solver=SharedMemory(10_000, 10_000, steps="paper"), max_epochs=1, tol=0.0, random_state=0
    )
    _stop_after_seconds(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, labels)
        model.predict(X[:20_000])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _stop_after_seconds(seconds: int) -> None:
    """Press Ctrl-C later: the fit ends with the model so far, after the work that decides its memory."""
    import _thread
    import threading

    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    if sys.argv[1:] == ["beside"]:
        beside_the_exact_machine()
        raise SystemExit
    beside_the_exact_machine()
    X, y = covertype()
    epochs(X, y)
    speed_up(X, y)
    memory()
