"""A record of some thirty fits, to hold equal to the bit while code moves.

``python -m tests.record write FILE`` before a change, ``python -m tests.record compare FILE`` after it, on the same
machine: coefficients, predictions, histories and fitted attributes of every solver, loss family, kernel family,
expansion and kind of rows. Only public names are used, so that the same record fits both sides of a change.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, make_friedman1, make_moons

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor, tuning
from dsekl.expansions import FixedSubset, RandomFourier
from dsekl.kernels import DotProduct, Matern, Polynomial, Radial
from dsekl.losses import EpsilonInsensitive, Huber, Quantile
from dsekl.solvers import DoublyStochastic, DualAscent, SharedMemory
from tests.problems import xor

ATTRIBUTES = (
    *("dual_coef_", "support_", "n_support_", "gamma_", "C_", "metric_", "feature_importances_", "n_iter_"),
    *("stop_reason_", "intercept_", "validation_rows_", "classes_"),
)

FITS: dict[str, Callable[[], dict[str, Any]]] = {}


def fit(function: Callable[[], Any]) -> Callable[[], Any]:
    """Add a function that returns a fitted model and rows to predict."""

    def recorded() -> dict[str, Any]:
        found = function()
        return found if isinstance(found, dict) else of_model(*found)

    FITS[function.__name__.replace("_", " ")] = recorded
    return function


def of_model(model: Any, rows: Any) -> dict[str, Any]:
    """Return all that a model knows and says."""
    known = {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    known["history"] = [{name: value for name, value in line.items() if name != "seconds"} for line in model.history_]
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            known[method] = getattr(model, method)(rows)
    return known


def waves(n: int = 900) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)


def counts(n: int = 500, n_features: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.poisson(0.4, (n, n_features)).astype(float)
    return X, X[:, :3].sum(axis=1) > X[:, 3:6].sum(axis=1)


@fit
def hinge_that_grows_and_shrinks() -> Any:
    X, y = xor(14_000, 0)
    return DSEKLClassifier(gamma=20.0, C=1.0, tol=0.01, random_state=0).fit(X, y), X[::7]


@fit
def hinge_with_a_wide_kernel() -> Any:
    X, y = xor(12_000, 1)
    return DSEKLClassifier(gamma=0.5, C=10.0, random_state=0, n_jobs=2).fit(X, y), X[::7]


@fit
def defaults_on_digits() -> Any:
    X, y = load_digits(return_X_y=True)
    return DSEKLClassifier(random_state=0).fit(X[:700], y[:700]), X[700:]


@fit
def defaults_on_many_rows() -> Any:
    X, y = make_moons(9000, noise=0.25, random_state=0)
    X = np.column_stack([X, np.random.default_rng(0).standard_normal((9000, 3)) * [1, 100, 0.01]])
    return DSEKLClassifier(random_state=1).fit(X, y), X[::9]


@fit
def defaults_of_the_regressor() -> Any:
    X, y = make_friedman1(2000, 8, noise=0.5, random_state=0)
    return DSEKLRegressor(random_state=0).fit(X, y), X[::4]


@fit
def learned_laplacian_with_weights() -> Any:
    X, y = load_diabetes(return_X_y=True)
    model = DSEKLRegressor("laplacian", gamma="learn", loss=EpsilonInsensitive(5.0), C=10.0, random_state=0)
    return model.fit(X, y, sample_weight=np.linspace(0, 2, len(y))), X


@fit
def ridge_over_blocks() -> Any:
    X, y = waves(3000)
    model = DSEKLRegressor(gamma=0.1, C=10.0, solver=DualAscent(block_size=512), tol=1e-4, random_state=0)
    return model.fit(X, y), X[::5]


@fit
def ridge_in_single_precision() -> Any:
    X, y = waves(2500)
    model = DSEKLRegressor(gamma=1.0, C=3.0, solver=DualAscent(400), dtype="float32", random_state=0)
    return model.fit(X, np.column_stack([y, y**2])), X[::5]


@fit
def quantile_regression() -> Any:
    X, y = waves()
    return DSEKLRegressor(gamma=2.0, C=1.0, loss=Quantile(0.8), tol=0.01, random_state=0).fit(X, y), X


@fit
def huber_with_matern() -> Any:
    X, y = waves()
    return DSEKLRegressor(Matern(2.5), gamma=1.0, loss=Huber(0.2), random_state=0).fit(X, y), X


@fit
def logistic_with_classes_and_weights() -> Any:
    X, y = make_moons(900, noise=0.2, random_state=0)
    model = DSEKLClassifier(
        "rational_quadratic", gamma=[1.0, 3.0], loss="logistic", class_weight="balanced", random_state=0
    )
    return model.fit(X, np.array(["a", "b", "c"])[y + (X[:, 0] > 1)], sample_weight=np.linspace(0, 2, 900)), X


@fit
def squared_hinge_on_sparse_rows() -> Any:
    X, y = counts()
    model = DSEKLClassifier(gamma=0.05, loss="squared_hinge", early_stopping=True, random_state=0)
    return model.fit(sparse.csr_array(X), y), sparse.csr_array(X)


@fit
def linear_on_sparse_rows() -> Any:
    X, y = counts()
    return DSEKLClassifier("linear", random_state=0).fit(sparse.csr_array(X), y), sparse.csr_array(X)


@fit
def mostly_zero_rows() -> Any:
    X, y = counts(600, 300)
    X *= np.random.default_rng(0).uniform(size=X.shape) < 0.5
    return DSEKLClassifier(gamma="scale", random_state=0).fit(X, y), X


@fit
def polynomial_and_squared() -> Any:
    X, y = xor(1500, 3)
    return DSEKLClassifier(Polynomial(2), gamma="scale", loss="squared", random_state=0).fit(X, y), X


@fit
def chi2_on_histograms() -> Any:
    X, y = counts()
    return DSEKLClassifier("chi2", gamma="median", random_state=0).fit(X, y), X


@njit
def cauchy(s: float) -> float:
    return 1 / (1 + s)


@fit
def own_radial_kernel() -> Any:
    X, y = make_moons(500, noise=0.2, random_state=1)
    return DSEKLClassifier(Radial(cauchy), gamma=1.0, random_state=0).fit(X, y), X


@fit
def own_radial_kernel_learned() -> Any:
    X, y = make_moons(500, noise=0.2, random_state=1)
    return DSEKLClassifier(Radial(cauchy), gamma="learn", random_state=0).fit(X, y), X


@njit
def cube(s: float) -> float:
    return (1 + s) ** 3


@fit
def own_dot_product_kernel() -> Any:
    X, y = make_moons(500, noise=0.2, random_state=1)
    return DSEKLClassifier(DotProduct(cube), gamma=1.0, random_state=0).fit(X, y), X


@fit
def precomputed() -> Any:
    X, y = waves(400)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = DSEKLRegressor("precomputed", random_state=0).fit(K, y, sample_weight=np.arange(400) % 3)
    return model, K[::3]


def letters(a: Any, b: Any) -> Any:
    return np.array([[sum(min(s.count(c), t.count(c)) for c in "abcd") for t in b] for s in a], dtype=float)


@fit
def strings() -> Any:
    words = ["".join(np.random.default_rng(i).choice(list("abcd"), 3 + i % 5)) for i in range(150)]
    y = [word.count("a") > word.count("b") for word in words]
    return DSEKLClassifier(letters, random_state=0).fit(words, y), words


@fit
def algorithm_1() -> Any:
    X, y = xor(700, 5)
    model = DSEKLClassifier(
        gamma=1.0, solver=DoublyStochastic(60, 80, average=True), early_stopping=True, max_epochs=20, random_state=0
    )
    return model.fit(X, y), X


@fit
def algorithm_1_on_a_fixed_subset() -> Any:
    X, y = waves()
    model = DSEKLRegressor(
        gamma="median", solver=DoublyStochastic(60, 40, schedule="inverse_sqrt"), expansion=FixedSubset(90),
        max_epochs=15, random_state=0,
    )  # fmt: skip
    return model.fit(X, y), X


@fit
def algorithm_1_on_fourier_features() -> Any:
    X, y = xor(1300, 5)
    settings: dict[str, Any] = dict(gamma=1.0, expansion=RandomFourier(70), max_epochs=8, random_state=0)
    return DSEKLClassifier(solver=DoublyStochastic(step_size=0.5), **settings).fit(X, y), X


@fit
def algorithm_2_pruned() -> Any:
    X, y = xor(3000, 0)
    model = DSEKLClassifier(
        gamma=100.0, solver=SharedMemory(700, 400, n_workers=2), max_epochs=3, tol=0, random_state=0
    )
    return model.fit(X, y), X


@fit
def algorithm_2_on_sparse_rows() -> Any:
    X, y = counts()
    model = DSEKLClassifier(gamma="scale", solver=SharedMemory(90, 120), random_state=0)
    return model.fit(sparse.csr_array(X), y), sparse.csr_array(X)


@fit
def algorithm_2_local() -> Any:
    X, y = waves()
    solver = SharedMemory(200, 150, gradient="local", n_workers=3)
    return DSEKLRegressor("matern32", gamma=1.0, solver=solver, max_epochs=6, tol=0, random_state=0).fit(X, y), X


def mapped(X: Any, folder: str) -> Any:
    path = Path(folder) / "X.npy"
    np.save(path, np.asarray(X, dtype=np.float32))
    return np.load(path, mmap_mode="r")


@fit
def mapped_file() -> Any:
    rng = np.random.default_rng(0)
    X, y = xor(6000, 2)
    X = np.column_stack([X, rng.standard_normal((6000, 30))])
    with tempfile.TemporaryDirectory() as folder:
        rows = mapped(X, folder)
        model = DSEKLClassifier(gamma=[4.0] * 2 + [0.01] * 30, memory_budget=1, random_state=0).fit(rows, y)
        return of_model(model, rows)


@fit
def mapped_file_with_defaults() -> Any:
    X, y = xor(5000, 2)
    X = np.column_stack([X, np.random.default_rng(0).standard_normal((5000, 20))])
    with tempfile.TemporaryDirectory() as folder:
        rows = mapped(X, folder)
        model = DSEKLClassifier(memory_budget=1, early_stopping=True, random_state=0).fit(rows, y)
        return of_model(model, rows)


@fit
def mapped_file_by_algorithm_2() -> Any:
    X, y = xor(4000, 2)
    X = np.column_stack([X, np.random.default_rng(0).standard_normal((4000, 20))])
    with tempfile.TemporaryDirectory() as folder:
        rows = mapped(X, folder)
        solver = SharedMemory(900, 700)
        model = DSEKLClassifier(gamma=0.5, memory_budget=1, solver=solver, max_epochs=3, tol=0, random_state=0)
        return of_model(model.fit(rows, y), rows)


@fit
def warm_start_on_another_problem() -> Any:
    X, y = xor(1500, 0)
    model = DSEKLClassifier(gamma=5.0, C=2.0, solver=DualAscent(256), tol=1e-3, warm_start=True, random_state=0)
    model.fit(X, y).set_params(C=20.0).fit(X, y)
    model.set_params(C=0.5, loss="squared_hinge").fit(X, np.where(np.arange(1500) % 7 == 0, -y, y))
    return model, X


@fit
def warm_start_of_algorithm_2() -> Any:
    X, y = xor(900, 0)
    model = DSEKLClassifier(
        gamma=5.0, solver=SharedMemory(200, 200), max_epochs=2, tol=0, warm_start=True, random_state=0
    )
    return model.fit(X, y).set_params(C=3.0).fit(X, y), X


def resumed(folder: str, X: Any, y: Any, **settings: Any) -> Any:
    """Return a fit that an exception ended after two epochs, and that went on from its checkpoint."""

    def crash(report: Any) -> None:
        if len(report.history) == 2:
            raise RuntimeError

    path = Path(folder) / "run.ckpt"
    try:
        DSEKLClassifier(checkpoint=path, callbacks=[crash], random_state=0, **settings).fit(X, y)
    except RuntimeError:
        return DSEKLClassifier(checkpoint=path, random_state=0, **settings).fit(X, y)
    raise AssertionError


@fit
def resumed_dual_ascent() -> Any:
    X, y = xor(12_000, 4)
    with tempfile.TemporaryDirectory() as folder:
        return of_model(resumed(folder, X, y, gamma=10.0, tol=1e-3), X[::7])


@fit
def resumed_with_learned_metric() -> Any:
    X, y = xor(1100, 4)
    with tempfile.TemporaryDirectory() as folder:
        return of_model(resumed(folder, X, y, tol=1e-4, solver=DualAscent(200), early_stopping=True), X)


@fit
def resumed_algorithm_1() -> Any:
    X, y = xor(1100, 4)
    with tempfile.TemporaryDirectory() as folder:
        return of_model(resumed(folder, X, y, gamma="median", solver="doubly_stochastic", max_epochs=6), X)


@fit
def compacted() -> Any:
    X, y = xor(2000, 0)
    model = DSEKLClassifier(gamma=1.0, C=1.0, random_state=0).fit(X, y).compact(0.05, X)
    return {**of_model(model, X), "compaction": model.compaction_}


@fit
def saved_and_loaded() -> Any:
    X, y = waves()
    with tempfile.TemporaryDirectory() as folder:
        DSEKLRegressor(random_state=0, early_stopping=True).fit(X, y).save(Path(folder) / "m.dsekl")
        return of_model(dsekl.load(Path(folder) / "m.dsekl"), X)


@fit
def files_of_format_1() -> Any:
    folder = Path(__file__).parent / "files"
    X = np.random.default_rng(0).standard_normal((50, 3))
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*-1.dsekl")):
        model = dsekl.load(path)
        found |= {f"{path.stem} {name}": value for name, value in of_model(model, X[:, : model.n_features_in_]).items()}
    return found


@fit
def epochs_as_callbacks_see_them() -> Any:
    X, y = xor(800, 0)
    seen = []

    def look(report: Any) -> None:
        seen.append(report.model().decision_function(X[:50]))

    DSEKLClassifier(gamma=3.0, tol=1e-5, solver=DualAscent(150), callbacks=[look], random_state=0).fit(X, y)
    return {"seen": np.array(seen)}


@fit
def tuned() -> Any:
    X, y = xor(500, 0)
    found = tuning.tune([DSEKLClassifier(), DSEKLClassifier("laplacian")], X, y, seed=0)
    outcomes = [(o.candidate.settings(), o.error, o.rows, o.rung) for o in found.outcomes]
    return {**of_model(found.estimator, X), "outcomes": outcomes}


def differences(was: Any, now: Any, where: str) -> Iterator[str]:
    """Yield the places in which two recorded values differ by a bit or more."""
    if isinstance(was, dict):
        for name in {**was, **now}:
            if name not in was or name not in now:
                yield f"{where}.{name} is {'gone' if name in was else 'new'}"
            else:
                yield from differences(was[name], now[name], f"{where}.{name}")
    elif isinstance(was, list | tuple):
        if len(was) != len(now):
            yield f"{where} has length {len(now)}, had {len(was)}"
        for place, (one, other) in enumerate(zip(was, now, strict=False)):
            yield from differences(one, other, f"{where}[{place}]")
    elif not (type(was) is type(now) and np.array_equal(was, now, equal_nan=isinstance(was, float))):
        yield f"{where} is {now!r:.80}, was {was!r:.80}"


def main(verb: str, path: Path, *wanted: str) -> None:
    recorded: dict[str, Any] = {}
    for name, function in FITS.items():
        if wanted and name not in wanted:
            continue
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recorded[name] = function()
        print(f"{time.perf_counter() - started:6.1f} s  {name}", flush=True)
    if verb == "write":
        path.write_bytes(pickle.dumps(recorded))
        return
    known = pickle.loads(path.read_bytes())
    found = [line for name in recorded for line in differences(known.get(name, {}), recorded[name], name)]
    print("\n".join(found) or f"{len(recorded)} fits: equal to the bit")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
