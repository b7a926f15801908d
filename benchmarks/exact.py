"""Exact kernel machines by dual ascent, against the exact solvers of scikit-learn and scikit-learn-intelex.

DSEKL_DATA=... python benchmarks/exact.py [covertype|skin|mnist|ridge|growth|profile]...
"""

from __future__ import annotations

import cProfile
import json
import pstats
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from report import load, memory, publish, table
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dsekl import DSEKLClassifier, DSEKLRegressor, gram
from dsekl.gram.dense import DenseGram
from dsekl.kernels import RBF
from dsekl.rows import as_rows
from dsekl.solvers.dual import ascent, block, certificate
from dsekl.workers import Threads

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
    rng = np.random.default_rng(0)
    for X in (rng.standard_normal((2000, 4)), rng.standard_normal((2000, 300)) * (rng.uniform(size=(2000, 300)) < 0.1)):
        DSEKLClassifier(gamma=1.0, dtype="float32", random_state=0).fit(X, X[:, 0] > 0).predict(X)
        DSEKLRegressor(gamma=1.0, dtype="float32", random_state=0).fit(X, X[:, :5]).predict(X)


def covertype_rows() -> tuple[Any, Any, Any, Any]:
    """Return X in [0, 1], the seven classes, test rows and training rows, as the paper splits them."""
    X, y = load("covertype")
    order = np.random.default_rng(0).permutation(len(X))
    return unit(X), y, order[:20_000], order[21_122:]


def covertype() -> None:
    X, y, test, train = covertype_rows()
    binary = np.where(y == 2, 1, -1)
    settings: dict[str, Any] = dict(gamma=100.0, C=4.0, random_state=0)
    rows = []
    for name, model, labels, n in [
        ("dsekl, all rows", DSEKLClassifier(**settings), binary, len(train)),
        ("dsekl, tol 1e-3", DSEKLClassifier(**settings, tol=1e-3), binary, len(train)),
        ("dsekl, 7 classes", DSEKLClassifier(**settings), y, len(train)),
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


def one_size(rows: str) -> None:
    """Fit the rows in a file and print seconds and peak memory: what ``growth`` runs in processes of their own."""
    data = np.load(rows)
    X, labels = data["X"], data["labels"]
    warm_up()
    start = perf_counter()
    model = DSEKLClassifier(gamma=100.0, C=4.0, random_state=0).fit(X, labels)
    seconds = perf_counter() - start
    evaluations, megabytes = model.history_[-1]["kernel_evaluations"], memory("VmHWM")
    # Once more, slower, with every allocation counted: freed memory that is used again cannot hide any of them.
    tracemalloc.start()
    DSEKLClassifier(gamma=100.0, C=4.0, random_state=0).fit(X, labels)
    allocated = tracemalloc.get_traced_memory()[1] / 2**20
    print(json.dumps(dict(seconds=seconds, megabytes=megabytes, allocated=allocated, evaluations=evaluations)))


def growth() -> None:
    sizes = [70_000, 140_000, 280_000, 559_890]
    rows, seconds, peaks, fits = [], [], [], []
    X, y, _, train = covertype_rows()
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            np.savez(path, X=X[train[:n]], labels=y[train[:n]] == 2)
            command = [sys.executable, __file__, "one_size", str(path)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = json.loads(printed.splitlines()[-1])
        seconds.append(found["seconds"])
        peaks.append(found["megabytes"])
        fits.append(found["allocated"])
        work = f"{found['evaluations']:.2e}", f"{found['evaluations'] / n**2:.4f}"
        rows.append([f"{n:,}", f"{seconds[-1]:.1f}", f"{fits[-1]:.0f}", f"{peaks[-1]:.0f}", *work])
        print("  ", *rows[-1], flush=True)
    time_exponent, memory_exponent = (np.polyfit(np.log(sizes), np.log(part), 1)[0] for part in (seconds, fits))
    each_row = 2**20 * (fits[-1] - fits[-2]) / (sizes[-1] - sizes[-2])
    publish(
        "Cost against N", COMMAND + " growth",
        "Covertype, binary, gamma 100, C 4, default tolerance, each size in a process of its own. The memory of the "
        "fit is the most that it had allocated at once, beside the rows; that of the process has Python, the "
        "libraries and the rows in it.\n\n"
        + table(["rows", "fit, s", "fit, MB", "process, MB", "kernel evaluations", "of N^2"], rows)
        + f"\n\nFitted exponents: time {time_exponent:.2f}, memory of the fit {memory_exponent:.2f}. "
        f"From {sizes[-2]:,} rows on, the fit takes {each_row:.0f} bytes for each further row, which has 216 itself.",
    )  # fmt: skip


PREDICTIONS = "predictions of rows that join or are reactivated"
PARTS: dict[str, Any] = {
    "tree and placement": gram.build,
    PREDICTIONS: ascent._predict,
    "K[block, block]": DenseGram.block,
    "coordinate descent": block.descend,
    "F += K[:, block] change": DenseGram.add_product,
    "the gap": certificate.certify,
}


def profile() -> None:
    X, y, _, train = covertype_rows()
    X, labels = X[train], y[train] == 2
    profiler = cProfile.Profile()
    start = perf_counter()
    profiler.enable()
    model = DSEKLClassifier(gamma=100.0, C=4.0, random_state=0).fit(X, labels)
    profiler.disable()
    total = perf_counter() - start
    found: Any = pstats.Stats(profiler)
    spent = {}
    for part, function in PARTS.items():
        code = function.__code__
        spent[part] = found.stats[code.co_filename, code.co_firstlineno, code.co_name][3]
    product = spent["F += K[:, block] change"]
    spent["F += K[:, block] change"] -= spent[PREDICTIONS]
    spent["the rest: checks, gathers, thread pools, profiler"] = total - sum(spent.values())
    evaluations = model.history_[-1]["kernel_evaluations"]
    some = np.random.default_rng(0).choice(len(X), 10_000, replace=False)
    dense = gram.build(RBF(), as_rows(X[some]), 100.0, workers=Threads(2))
    V, everything = np.ones((10_000, 1)), slice(None)
    rates = {"in the fit": evaluations / (product + spent["K[block, block]"])}
    for _ in range(3):
        start = perf_counter()
        dense.product(everything, everything, V)
        rates["unpruned product"] = max(rates.get("unpruned product", 0.0), 1e8 / (perf_counter() - start))
    A = np.ones((4096, 4096), dtype=np.float32)
    start = perf_counter()
    A @ A
    multiplications = 4096**3 / (perf_counter() - start)
    rates["a matrix product alone, without the kernel function"] = multiplications / X.shape[1]
    text = table(["part", "s", "share"], [[k, f"{v:.1f}", f"{100 * v / total:.0f} %"] for k, v in spent.items()])
    speed = table(["", "million kernel values a second"], [[k, f"{v / 1e6:.0f}"] for k, v in rates.items()])
    publish(
        "Where the seconds go", COMMAND + " profile",
        f"Covertype, binary, all rows: {total:.1f} s under the profiler, {evaluations:.2e} kernel evaluations, "
        f"{len(model.history_)} epochs.\n\n{text}\n\n{speed}\n\nThe last line is the machine's limit: a float32 "
        "matrix product over 54 features. The kernel function and the product with V come on top, and in the fit the "
        "packing of blocks, the boxes, and runs that are only partly filled.",
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
    publish(
        "Skin, exact", COMMAND + " skin",
        "Columns scaled to [0, 1], gamma 100, C 10; 20,000 test rows.\n\n" + table(HEADER, rows),
    )  # fmt: skip


def mnist() -> None:
    X, y = load("mnist")
    X = X.astype(np.float32) / 255
    data = (X[:60_000], y[:60_000]), (X[60_000:], y[60_000:])
    models = [
        ("dsekl", DSEKLClassifier(gamma=0.02, C=5.0, random_state=0)),
        ("scikit-learn-intelex SVC", intel_svc(gamma=0.02, C=5.0)),
        ("scikit-learn SVC", SVC(gamma=0.02, C=5.0)),
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
        some = train[:20_000]
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
    if sys.argv[1:2] == ["one_size"]:
        one_size(sys.argv[2])
    else:
        warm_up()
        for task in sys.argv[1:] or ["covertype", "skin", "mnist", "ridge", "growth", "profile"]:
            globals()[task]()
