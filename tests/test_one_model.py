"""One model for one question: data, parameters and random_state decide, and nothing of the process outlives a fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, cross_val_score
from threadpoolctl import threadpool_info, threadpool_limits

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.blas import one_blas_thread

FITS = """
import hashlib, warnings
import numpy as np
from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.solvers import DualAscent

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((2200, 6))
f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
y, label = f + 0.1 * rng.standard_normal(len(X)), np.where(f > 0.5, "a", np.where(f < -0.5, "b", "c"))


def cosine(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return (a @ b.T + 1) ** 2


small, few = slice(0, 900), slice(0, 400)
models = {
    "ridge": DSEKLRegressor(gamma=0.3, C=100.0, tol=1e-6),
    "ridge in float32": DSEKLRegressor(gamma=0.3, C=100.0, dtype="float32"),
    "huber": DSEKLRegressor(loss="huber", gamma=0.3, C=10.0),
    "quantile": DSEKLRegressor(loss="quantile", gamma=0.3, C=10.0, max_epochs=5),
    "hinge": DSEKLClassifier(gamma=0.3, C=10.0),
    "logistic": DSEKLClassifier(loss="logistic", gamma=0.3, C=10.0),
    "least squares": DSEKLClassifier(loss="squared", gamma=0.3, C=10.0, solver=DualAscent(block_size=500)),
    "algorithm 1": DSEKLRegressor(gamma=0.3, solver="doubly_stochastic", max_epochs=3),
    "algorithm 2": DSEKLClassifier(gamma=0.3, solver="shared_memory", max_epochs=3),
    "random features": DSEKLClassifier(
        gamma=0.3, solver="doubly_stochastic", expansion="random_fourier", max_epochs=3
    ),
}
on_few = {
    "a Python kernel": DSEKLRegressor(kernel=cosine, C=1.0),
    "learned ridge": DSEKLRegressor(),
    "learned hinge": DSEKLClassifier(),
}
for name, model in {**models, **on_few}.items():
    part = few if name in on_few else slice(None) if name.startswith("ridge") else small
    targets = label if isinstance(model, DSEKLClassifier) else y
    model.set_params(random_state=0).fit(X[part], targets[part])
    f = model.decision_function(X[:300]) if hasattr(model, "classes_") else model.predict(X[:300])
    print(name, hashlib.sha256(model.dual_coef_.tobytes() + f.tobytes()).hexdigest())
"""


def digests(cores: int | None = None, **environment: str) -> dict[str, str]:
    """Return a digest of each model of FITS, fitted in a process of its own."""
    limit = f"import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])\n" if cores else ""
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", limit + FITS]
    done = subprocess.run(command, env={**inherited, **environment}, capture_output=True, text=True, check=True)
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores are chosen with Linux's sched_setaffinity")
def test_models_are_the_same_to_the_bit_on_any_number_of_cores_and_blas_threads() -> None:
    with ThreadPoolExecutor(2) as pool:
        alone = pool.submit(digests, 1)
        threaded = pool.submit(digests, None, OPENBLAS_NUM_THREADS="2", MKL_NUM_THREADS="2")
        expected = digests(None, OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    assert len(expected) == 13
    assert alone.result() == expected
    assert threaded.result() == expected


def blas_threads() -> dict[str, int]:
    return {
        library["filepath"]: library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture
def three_blas_threads() -> Iterator[None]:
    """Give BLAS a number of threads that nobody else would choose."""
    with threadpool_limits(limits=3, user_api="blas"):
        if set(blas_threads().values()) != {3}:
            pytest.skip("this BLAS does not take three threads")
        yield


@pytest.fixture(scope="module")
def problem() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def test_blas_has_one_thread_within_and_what_it_had_afterwards(three_blas_threads: None) -> None:
    with one_blas_thread():
        assert set(blas_threads().values()) == {1}
        with one_blas_thread():
            assert set(blas_threads().values()) == {1}
        assert set(blas_threads().values()) == {1}
    assert set(blas_threads().values()) == {3}
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        _ = 1 / 0
    assert set(blas_threads().values()) == {3}


def test_fits_at_the_same_time_are_the_fits_alone_and_leave_blas_as_it_was(
    three_blas_threads: None, problem: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> None:
    X, y = problem
    models = [DSEKLRegressor(gamma=0.5, C=10.0 * (1 + k), tol=1e-6, random_state=k) for k in range(8)]
    alone = [model.fit(X, y).predict(X) for model in models]
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(lambda model: model.fit(X, y).predict(X), models))
    np.testing.assert_array_equal(at_once, alone)
    assert set(blas_threads().values()) == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_in_the_middle_of_a_fit_has_its_blas_threads(three_blas_threads: None) -> None:
    with one_blas_thread():
        child = os.fork()
        if child == 0:
            os._exit(0 if set(blas_threads().values()) == {3} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Settings:
    """What a process has one of."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {
            "blas": blas_threads(),
            "warnings": list(warnings.filters),
            "show": warnings.showwarning,
            "errors": np.geterr(),
            "random": repr(np.random.get_state()),  # noqa: NPY002  it is this one that must not move
            "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
            "environment": dict(os.environ),
            "threads": threading.active_count(),
        }


def failing(report: Any) -> None:
    raise ZeroDivisionError


def stopping(report: Any) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("settings", "error"),
    [({}, None), ({"callbacks": [failing]}, ZeroDivisionError), ({"callbacks": [stopping]}, KeyboardInterrupt)],
    ids=["whole", "an exception", "Ctrl-C"],
)
def test_nothing_of_the_process_outlives_a_fit(
    settings: dict[str, Any],
    error: type[BaseException] | None,
    three_blas_threads: None,
    problem: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = problem
    before = Settings()
    model = DSEKLRegressor(random_state=0, early_stopping=True, **settings)
    if error is None:
        model.fit(X[:150], y[:150]).predict(X)
        model.compact(0.5, X)
    else:
        with pytest.raises(error):
            model.fit(X[:150], y[:150])
    assert Settings().found == before.found


class InterruptedOnce:
    """A callback that sends Ctrl-C at the first epoch it sees."""

    def __init__(self) -> None:
        self.fits = 0

    def __call__(self, report: Any) -> None:
        self.fits += 1
        signal.raise_signal(signal.SIGINT)

    def __deepcopy__(self, memo: Any) -> InterruptedOnce:
        return self


@pytest.mark.parametrize("kept", ["", "warm_start", "checkpoint"])
@pytest.mark.parametrize("search", [False, True], ids=["cross_val_score", "GridSearchCV"])
def test_ctrl_c_ends_a_search_at_once(search: bool, kept: str, tmp_path: Any) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = X[:, 0] * X[:, 1] > 0
    pressed = InterruptedOnce()
    settings = {"": {}, "warm_start": {"warm_start": True}, "checkpoint": {"checkpoint": tmp_path / "run"}}[kept]
    model = DSEKLClassifier(gamma=1.0, C=100.0, tol=1e-9, callbacks=[pressed], random_state=0, **settings)
    grid = GridSearchCV(model, {"C": [1.0, 10.0]}, cv=3, error_score=0.0)
    scored = grid.fit if search else partial(cross_val_score, model, cv=3, error_score=0.0)
    with pytest.raises(KeyboardInterrupt):
        scored(X, y)
    assert pressed.fits == 1


def test_ctrl_c_in_the_very_last_step_is_not_lost() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    settings: dict[str, Any] = dict(gamma=1.0, C=1.0, tol=0.5, random_state=0)
    y = X[:, 0] > 0
    whole = DSEKLClassifier(**settings).fit(X, y)
    assert (whole.stop_reason_, whole.n_iter_) == ("tol", 1)
    model = DSEKLClassifier(**settings, callbacks=[stopping])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stop_reason_ == "tol"
    np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
