"""Exact kernel machines by dual ascent, against the exact solvers of scikit-learn and scikit-learn-intelex.

DSEKL_DATA=... python benchmarks/exact.py [--again] [covertype|skin|mnist|ridge|growth|profile]...

The fits of covertype, skin, mnist and ridge are kept in results/exact.json one by one; those that are there are not
measured again without ``--again``.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import cells
import numpy as np
from report import Section, load, memory, publish, publish_all, table
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
CELLS = cells.RESULTS / "exact.json"
HEADER = ["model", "rows", "fit, s", "predict, s", "test error, %", "support vectors"]
RIDGE_HEADER = ["data", "model", "rows", "fit, s", "test RMSE"]
WORDS = {
    "Covertype, exact": (
        "covertype",
        "Class 2 against the rest, columns scaled to [0, 1], gamma 100, C 4; 20,000 test rows. ± is the standard "
        "deviation over splits.",
    ),
    "Skin, exact": (
        "skin",
        "Columns scaled to [0, 1], gamma 100, C 10; 20,000 test rows. ± is the standard deviation over splits.",
    ),
    "MNIST, exact": (
        "mnist",
        "gamma 0.02, C 5; the usual 10,000 test rows. dsekl's ± is over the seeds of its order of blocks; SVC has no "
        "seed.",
    ),
    "Kernel ridge": ("ridge", "Columns and targets standardised; a fifth of the rows for the test."),
}
"""The sections made from the file of results: the task that measures each, and the words above its table."""

SEEDS = (0, 1, 2)
"""Of the rows' split and of dsekl; what only stands beside has the first alone."""

Data = tuple[tuple[Any, Any], tuple[Any, Any]]


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


@dataclass(frozen=True)
class Fit:
    """One model on one split, before it is measured."""

    model: str
    seed: int
    make: Callable[[], Any]
    data: Callable[[], Data]
    """Is called only if the fit has to be measured."""


def measure(section: str, fits: Iterator[Fit]) -> None:
    """Fit, predict and keep the figures of all models that are not there yet."""
    for fit in fits:
        place = [section, fit.model, str(fit.seed)]
        if cells.has(CELLS, place) or (model := fit.make()) is None:
            continue
        (X, y), (X_test, y_test) = fit.data()
        start = perf_counter()
        model.fit(X, y)
        fitted = perf_counter()
        predicted = model.predict(X_test)
        end = perf_counter()
        cell = dict(rows=len(X), fit_seconds=fitted - start, predict_seconds=end - fitted)
        if isinstance(model, DSEKLRegressor | KernelRidge):
            cell.update(rmse=float(np.sqrt(np.mean((predicted - y_test) ** 2))))
        else:
            cell.update(error=float(np.mean(predicted != y_test)), support_vectors=len(model.support_))
        cells.keep(CELLS, place, cell)
        print("  ", *place, {name: round(value, 4) for name, value in cell.items()}, flush=True)


def lines_of(section: str) -> list[list[str]]:
    """Return the lines of a section's table, from the file of results."""
    lines = []
    for model, runs in cells.read(CELLS)[section].items():
        figures = {name: [run[name] for run in runs.values()] for name in next(iter(runs.values()))}
        errors = [100 * error for error in figures["error"]]
        lines.append([
            model, f"{figures['rows'][0]:,}", cells.span(figures["fit_seconds"], 1),
            cells.span(figures["predict_seconds"], 2), cells.spread(errors, 2),
            f"{round(np.mean(figures['support_vectors'])):,}",
        ])  # fmt: skip
    return lines


def warm_up() -> None:
    """Load the compiled code, which the first fit of a process would otherwise pay for."""
    rng = np.random.default_rng(0)
    for X in (rng.standard_normal((2000, 4)), rng.standard_normal((2000, 300)) * (rng.uniform(size=(2000, 300)) < 0.1)):
        DSEKLClassifier(gamma=1.0, dtype="float32", random_state=0).fit(X, X[:, 0] > 0).predict(X)
        DSEKLRegressor(gamma=1.0, dtype="float32", random_state=0).fit(X, X[:, :5]).predict(X)


def covertype_rows(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Return X in [0, 1], the seven classes, test rows and training rows, in sizes of the paper's split."""
    X, y = load("covertype")
    order = np.random.default_rng(seed).permutation(len(X))
    return unit(X), y, order[:20_000], order[21_122:]


def covertype_data(seed: int, n: int | None, several: bool) -> Data:
    X, y, test, train = covertype_rows(seed)
    labels = y if several else np.where(y == 2, 1, -1)
    some = train[:n]
    return (X[some], labels[some]), (X[test], labels[test])


def covertype_fits() -> Iterator[Fit]:
    settings: dict[str, Any] = dict(gamma=100.0, C=4.0)

    def ours(seed: int, tol: float | None = None) -> DSEKLClassifier:
        return DSEKLClassifier(**settings, tol=tol, random_state=seed)

    for model, seeds, make, n, several in [
        ("dsekl", SEEDS, ours, None, False),
        ("scikit-learn-intelex SVC", SEEDS, lambda seed: intel_svc(**settings), 50_000, False),
        ("scikit-learn SVC", SEEDS[:1], lambda seed: SVC(**settings), 20_000, False),
        ("dsekl, tol 1e-3", SEEDS[:1], partial(ours, tol=1e-3), None, False),
        ("dsekl, 7 classes", SEEDS[:1], ours, None, True),
    ]:  # fmt: skip
        for seed in seeds:
            yield Fit(model, seed, partial(make, seed), partial(covertype_data, seed, n, several))


def covertype() -> None:
    measure("covertype", covertype_fits())
    publish_all(sections("Covertype, exact"))


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


def skin_data(seed: int) -> Data:
    X, y = load("skin")
    X = unit(X)
    order = np.random.default_rng(seed).permutation(len(X))
    test, train = order[:20_000], order[20_000:]
    return (X[train], y[train]), (X[test], y[test])


def skin_fits() -> Iterator[Fit]:
    settings: dict[str, Any] = dict(gamma=100.0, C=10.0)
    for seed in SEEDS:
        data = partial(skin_data, seed)
        yield Fit("dsekl", seed, partial(DSEKLClassifier, **settings, random_state=seed), data)
        yield Fit("scikit-learn-intelex SVC", seed, partial(intel_svc, **settings), data)


def skin() -> None:
    measure("skin", skin_fits())
    publish_all(sections("Skin, exact"))


def mnist_data() -> Data:
    X, y = load("mnist")
    X = X.astype(np.float32) / 255
    return (X[:60_000], y[:60_000]), (X[60_000:], y[60_000:])


def mnist_fits() -> Iterator[Fit]:
    settings: dict[str, Any] = dict(gamma=0.02, C=5.0)
    for seed in SEEDS:
        yield Fit("dsekl", seed, partial(DSEKLClassifier, **settings, random_state=seed), mnist_data)
    yield Fit("scikit-learn-intelex SVC", 0, partial(intel_svc, **settings), mnist_data)
    yield Fit("scikit-learn SVC", 0, partial(SVC, **settings), mnist_data)


def mnist() -> None:
    measure("mnist", mnist_fits())
    publish_all(sections("MNIST, exact"))


RIDGE_SETS = {"california-housing": dict(gamma=0.5, C=10.0), "protein-casp": dict(gamma=1.0, C=1.0)}


def ridge_data(name: str, n: int | None) -> Data:
    X, y = load(name)
    X, y = StandardScaler().fit_transform(X).astype(np.float32), (y - y.mean()) / y.std()
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[: len(X) // 5], order[len(X) // 5 :][:n]
    return (X[train], y[train]), (X[test], y[test])


def ridge_fits(name: str) -> Iterator[Fit]:
    gamma, C = RIDGE_SETS[name].values()
    ours = partial(DSEKLRegressor, gamma=gamma, C=C, random_state=0)
    some = partial(ridge_data, name, 20_000)
    yield Fit("scikit-learn KernelRidge", 0, partial(KernelRidge, kernel="rbf", gamma=gamma, alpha=1 / C), some)
    yield Fit("dsekl", 0, ours, some)
    yield Fit("dsekl, all rows", 0, ours, partial(ridge_data, name, None))


def ridge() -> None:
    for name in RIDGE_SETS:
        measure(f"ridge, {name}", ridge_fits(name))
    publish_all(sections("Kernel ridge"))


def ridge_lines() -> Iterator[list[str]]:
    """Yield the lines of the table of ridge, from the file of results."""
    for name in RIDGE_SETS:
        for model, runs in cells.read(CELLS)[f"ridge, {name}"].items():
            run = runs["0"]
            yield [name, model, f"{run['rows']:,}", f"{run['fit_seconds']:.1f}", f"{run['rmse']:.4f}"]


def sections(*titles: str) -> Iterator[Section]:
    """Yield the sections that are made from the file of results: those of these titles, or all."""
    for title, (task, words) in WORDS.items():
        if not titles or title in titles:
            header = RIDGE_HEADER if task == "ridge" else HEADER
            lines = list(ridge_lines()) if task == "ridge" else lines_of(task)
            yield Section(title, f"{COMMAND} {task}", f"{words}\n\n{table(header, lines)}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    if sys.argv[1:2] == ["one_size"]:
        one_size(sys.argv[2])
    else:
        named = [word for word in sys.argv[1:] if word != "--again"]
        warm_up()
        for task in named or ["covertype", "skin", "mnist", "ridge", "growth", "profile"]:
            for section in list(cells.read(CELLS)) if "--again" in sys.argv else ():
                if section.split(",")[0] == task:
                    cells.forget(CELLS, section)
            globals()[task]()
