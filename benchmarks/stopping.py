"""What the default stopping rule and shrinking give and cost, on the test rows of the benchmarks.

DSEKL_DATA=... python benchmarks/stopping.py
"""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
from exact import covertype_rows, warm_up
from report import load, publish, table
from sklearn.exceptions import ConvergenceWarning

from dsekl import DSEKLClassifier
from dsekl.solvers import DualAscent

COMMAND = "DSEKL_DATA=... python benchmarks/stopping.py"


def compare(name: str, settings: dict[str, Any], train: tuple[Any, Any], test: tuple[Any, Any]) -> list[list[str]]:
    """Return lines for the default rule, a gap of 0.05 and, with the default rule, no shrinking."""
    lines = []
    for rule, more in [
        ("default", {}),
        ("tol 0.05", dict(tol=0.05)),
        ("default, every row plays on", dict(solver=DualAscent(shrink=False))),
    ]:
        start = perf_counter()
        model = DSEKLClassifier(**settings, **more, random_state=0).fit(*train)
        seconds = perf_counter() - start
        last = model.history_[-1]
        error = np.mean(model.predict(test[0]) != test[1])
        squares = last["kernel_evaluations"] / len(train[0]) ** 2
        lines.append([name, rule, f"{last['gap']:.3f}", f"{100 * error:.2f} %", f"{seconds:.1f}", f"{squares:.4f}"])
        print("  ", *lines[-1], flush=True)
    return lines


def main() -> None:
    X, y, test, train = covertype_rows()
    labels = np.where(y == 2, 1, -1)
    data = (X[train], labels[train]), (X[test], labels[test])
    rows = compare("covertype, gamma 100, C 4", dict(gamma=100.0, C=4.0), *data)
    learned = DSEKLClassifier(random_state=0).fit(*data[0])
    rows += compare(f"covertype, learned gamma, C {learned.C_:g}", dict(gamma=learned.gamma_, C=learned.C_), *data)
    X, y = load("mnist")
    X = X.astype(np.float32) / 255
    data = (X[:60_000], y[:60_000]), (X[60_000:], y[60_000:])
    rows += compare("MNIST, gamma 0.02, C 5", dict(gamma=0.02, C=5.0), *data)
    publish(
        "When to stop", COMMAND,
        "The default stopping rule against a plain gap of 0.05, and against the default rule without shrinking; one "
        "seed. Seconds are of the solver alone, with gamma and C given.\n\n"
        + table(["data", "rule", "gap", "test error", "fit, s", "kernel evaluations, N^2"], rows),
    )  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    warm_up()
    main()
