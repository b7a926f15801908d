"""A state is whole after every step, so a run that is stopped and goes on ends where the run left alone does."""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from dsekl import DSEKLClassifier, ModelFileError, losses
from dsekl.estimators import files
from dsekl.expansions import FixedSubset, RandomFourier
from dsekl.kernels import RBF, DotProduct, Radial
from dsekl.runs import Hooks, Monitor, optimise
from dsekl.runs.fields import from_values, to_values
from dsekl.solvers import DoublyStochastic, DualAscent, Problem, State
from dsekl.solvers.dual.certificate import certify
from tests.oracles import build
from tests.problems import SOLVERS, SolverCase, every_solver, exact_solvers, xor


def run(solver: Any, problem: Problem, state: State, epochs: int, hooks: Hooks | None = None) -> Any:
    return optimise(solver, problem, state, Monitor(), epochs, hooks=hooks)


class Enough(Exception):
    pass


def stop_after(steps: int) -> Hooks:
    left = [steps]

    def after_step() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Enough

    return Hooks(after_step=after_step)


@pytest.fixture(autouse=True)
def _ctrl_c_works() -> None:
    """Shells start background jobs with Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_solver
def test_a_run_goes_on_from_any_step_to_the_bit(case: SolverCase) -> None:
    """From a copy of its state, and from its state as plain values, as a checkpoint has them."""
    solver, problem = case.solver, case.problem()
    left_alone = run(solver, problem, solver.start(problem, np.random.default_rng(0)), epochs=4)
    for steps in (1, 3, 5, 8):
        state = solver.start(problem, np.random.default_rng(0))
        with pytest.raises(Enough):
            run(solver, problem, state, 4, stop_after(steps))
        read = from_values(solver.state_type, copy.deepcopy(to_values(state)), problem.sizes, "the state")
        np.testing.assert_array_equal(run(solver, problem, copy.deepcopy(state), epochs=4), left_alone)
        np.testing.assert_array_equal(run(solver, problem, read, epochs=4), left_alone)


@exact_solvers
def test_predictions_belong_to_their_coefficients_after_every_step(case: SolverCase) -> None:
    solver, problem = case.solver, case.problem()
    state = solver.start(problem, np.random.default_rng(0))
    K = problem.gram.block(slice(None), slice(None)) if problem.n_rows < 5000 else None
    for _ in range(3):
        for _ in solver.epoch(problem, state):
            playing = np.flatnonzero(state.active)
            f = K @ state.coef if K is not None else problem.gram.product(slice(None), slice(None), state.coef)
            left_out = 2e-6 * np.abs(state.coef).sum()  # the kernel values that pruning leaves out
            np.testing.assert_allclose(state.F[playing], f[playing], rtol=0, atol=left_out)


def interrupted(**settings: Any) -> Any:
    """Return a classifier that gets Ctrl-C from within its third step."""
    X, y = xor(1200, seed=0)
    model = DSEKLClassifier(gamma=5.0, C=2.0, tol=1e-4, random_state=0, max_epochs=300, **settings)
    steps = iter(range(10**6))
    original = DualAscent.epoch

    def epoch(self: Any, problem: Problem, state: State) -> Any:
        for fraction in original(self, problem, state):
            if next(steps) == 2:
                signal.raise_signal(signal.SIGINT)
            yield fraction

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DualAscent, "epoch", epoch)
        with pytest.raises(KeyboardInterrupt, match="stopped by Ctrl-C after 0 whole epochs"):
            model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.score(X, y) > 0.5
    return model


def test_after_ctrl_c_in_mid_epoch_a_warm_start_ends_where_the_straight_run_does(tmp_path: Path) -> None:
    X, y = xor(1200, seed=0)
    solver = DualAscent(block_size=200)
    straight = DSEKLClassifier(gamma=5.0, C=2.0, tol=1e-4, random_state=0, max_epochs=300, solver=solver).fit(X, y)
    for model in (
        interrupted(solver=solver, warm_start=True),
        interrupted(solver=solver, checkpoint=tmp_path / "run", checkpoint_interval=1000),
    ):
        model.fit(X, y)
        np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)
        np.testing.assert_array_equal(model.support_, straight.support_)
        assert model.n_iter_ == straight.n_iter_


def interrupting(epoch: int) -> Callable[[Any], None]:
    """Return a callback that sends Ctrl-C after an epoch, the first time it comes to it."""
    left = [epoch]

    def callback(report: Any) -> None:
        if report.record["epoch"] in left:
            left.clear()
            signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.filterwarnings("ignore:not converged")
@pytest.mark.parametrize("with_file", [False, True], ids=["warm start", "warm start and checkpoint"])
@pytest.mark.parametrize(
    "settings",
    [
        dict(tol=0.01, max_epochs=50),
        dict(tol=1e-9, max_epochs=4),
        dict(tol=1e-9, max_epochs=50, early_stopping=True, n_iter_no_change=2),
    ],
    ids=["tol", "max_epochs", "validation"],
)
def test_after_ctrl_c_a_warm_start_goes_no_further_than_the_straight_run(
    settings: dict[str, Any], with_file: bool, tmp_path: Path
) -> None:
    """Stopped in its last step, the run has come to its end; stopped before, it counts on and keeps its best epoch."""
    X, y = xor(600, seed=0)
    settings = {**settings, "gamma": 5.0, "C": 2.0, "random_state": 0, "solver": DualAscent(block_size=100)}
    straight = DSEKLClassifier(**settings).fit(X, y)
    assert straight.n_iter_ > 1
    for epoch in (1, straight.n_iter_ - 1, straight.n_iter_):
        path = tmp_path / f"run {epoch}" if with_file else None
        model = DSEKLClassifier(**settings, warm_start=True, checkpoint=path, callbacks=[interrupting(epoch)])
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        copied = copy.copy(model)
        model.fit(X, y)
        assert len(copied.history_) == epoch
        np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)
        assert (model.n_iter_, model.stop_reason_) == (straight.n_iter_, straight.stop_reason_)
        assert [record["epoch"] for record in model.history_] == list(range(1, straight.n_iter_ + 1))
        further = model.set_params(callbacks=None).fit(X, y)  # a fit that has ended is gone on from
        assert further.n_iter_ > straight.n_iter_


def test_a_second_ctrl_c_is_let_through_at_once_and_leaves_no_state_behind() -> None:
    X, y = xor(1000, seed=0)
    model = DSEKLClassifier(gamma=1.0, solver="doubly_stochastic", max_epochs=10**6, warm_start=True, random_state=0)

    def twice(report: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[twice]).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_fit_in_another_thread_leaves_signals_alone() -> None:
    X, y = xor(300, seed=0)
    models = []
    thread = threading.Thread(target=lambda: models.append(DSEKLClassifier(gamma=1.0).fit(X, y)))
    thread.start()
    thread.join()
    assert models[0].score(X, y) > 0.9


@pytest.mark.parametrize("change", ["smaller C", "larger C", "labels", "weights", "loss"])
def test_a_warm_start_on_a_changed_problem_finds_its_optimum(change: str) -> None:
    """The certificate, computed from scratch, must hold; stale predictions or coefficients out of bounds break it."""
    X, y = xor(1500, seed=0)
    solver = DualAscent(block_size=256)
    model = DSEKLClassifier(gamma=5.0, C=2.0, solver=solver, tol=1e-3, max_epochs=300, warm_start=True, random_state=0)
    model.fit(X, y)
    weights, labels = np.ones(1500), y
    if change == "labels":
        labels = np.where(np.arange(1500) % 7 == 0, -y, y)
    elif change == "weights":
        weights = np.linspace(0.1, 3.0, 1500)
    else:
        model.set_params(
            **{"smaller C": {"C": 0.3}, "larger C": {"C": 20.0}, "loss": {"loss": "squared_hinge"}}[change]
        )
    model.fit(X, labels, sample_weight=weights)
    assert model.stop_reason_ == "tol"

    loss = losses.resolve(model.loss_, "classification")
    gram = build(RBF(), X, 5.0, "float64")
    problem = Problem(gram, labels.astype(float)[:, None], weights, loss, model.C_)
    coef = np.zeros((1500, 1))
    coef[model.support_] = model.dual_coef_
    state = DualAscent().start(problem, np.random.default_rng(0))
    state.coef, state.F = coef, gram.product(slice(None), slice(None), coef)
    assert certify(problem, state).gap < 2e-3


def test_a_warm_start_refuses_other_rows_and_other_terms() -> None:
    X, y = xor(300, seed=0)
    model = DSEKLClassifier(gamma=1.0, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start=True .* differs in X; .* warm_start=False"):
        model.fit(X[::-1], y)
    with pytest.raises(ValueError, match=r"differs in gamma"):
        model.set_params(gamma=2.0).fit(X, y)
    with pytest.raises(ValueError, match=r"differs in the solver's class"):
        model.set_params(gamma=1.0, solver="shared_memory").fit(X, y)
    model.set_params(solver=DualAscent(100)).fit(X, y)


@pytest.mark.parametrize("expansion", [FixedSubset(40), RandomFourier(40)])
def test_a_warm_start_keeps_the_terms_it_drew(expansion: Any) -> None:
    X, y = xor(1200, seed=5)
    settings: dict[str, Any] = dict(gamma=1.0, solver=DoublyStochastic(20, 20), expansion=expansion)
    straight = DSEKLClassifier(max_epochs=6, random_state=0, **settings).fit(X, y)
    stepwise = DSEKLClassifier(max_epochs=2, warm_start=True, random_state=0, **settings)
    for _ in range(3):
        stepwise.fit(X, y)
    np.testing.assert_array_equal(stepwise.decision_function(X), straight.decision_function(X))


class Crash(Exception):
    pass


def crash_after(epochs: int) -> Any:
    def callback(report: Any) -> None:
        if len(report.history) == epochs:
            raise Crash

    return callback


def no_more_steps(*arguments: Any) -> None:
    raise AssertionError("a run that has ended takes no step")


def same(model: Any, other: Any) -> None:
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    assert model.n_iter_ == other.n_iter_
    assert model.stop_reason_ == other.stop_reason_
    without_time = [[{**record, "seconds": 0} for record in m.history_] for m in (model, other)]
    np.testing.assert_equal(*without_time)  # there is no training loss while a sample grows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("random_state", [0, None])
@every_solver
def test_a_fit_goes_on_from_its_checkpoint(case: SolverCase, random_state: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    with pytest.raises(Crash):
        case.fit(random_state=random_state, checkpoint=path, callbacks=[crash_after(2)])
    told = files.describe(path)
    assert told["kind"] == "checkpoint"
    assert told["run"]["state"]["epoch"] == told["last_epoch"]["epoch"] == 2
    resumed = case.fit(random_state=random_state, checkpoint=path)
    if random_state is not None:
        same(resumed, case.fit())
    assert files.describe(path)["run"]["monitor"]["reason"] == resumed.stop_reason_
    # Finished: the same fit has its model at once, whatever happens to steps.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(case.solver), "epoch", no_more_steps)
        same(case.fit(random_state=random_state, checkpoint=path), resumed)


def test_a_checkpoint_of_another_fit_is_refused_by_name(tmp_path: Path) -> None:
    X, y = xor(400, seed=0)
    path = tmp_path / "run.ckpt"
    settings: dict[str, Any] = dict(gamma=1.0, random_state=0, checkpoint=str(path))
    settings |= dict(solver="doubly_stochastic", max_epochs=3)
    with pytest.raises(Crash):
        DSEKLClassifier(callbacks=[crash_after(1)], **settings).fit(X, y)
    for change, words in (({"gamma": 2.0}, r"gamma \(was 1.0, is 2.0\)"), ({"solver": DualAscent(7)}, "solver")):
        with pytest.raises(ValueError, match=words + ".*delete the file, or give checkpoint another path"):
            DSEKLClassifier(**{**settings, **change}).fit(X, y)
    with pytest.raises(ValueError, match="differs in X"):
        DSEKLClassifier(**settings).fit(X + 1e-12, y)
    with pytest.raises(ValueError, match="differs in y;"):
        DSEKLClassifier(**settings).fit(X, -y)
    with pytest.raises(ValueError, match="differs in sample_weight"):
        DSEKLClassifier(**settings).fit(X, y, sample_weight=np.full(400, 2.0))
    assert files.describe(path)["run"]["state"]["epoch"] == 1, "what was refused has spoilt nothing"
    assert DSEKLClassifier(**{**settings, "n_jobs": 1, "verbose": False}).fit(X, y).n_iter_ == 3
    # A finished run makes way for any other.
    assert DSEKLClassifier(**{**settings, "gamma": 3.0}).fit(X, y).gamma_ == 3.0
    assert files.describe(path)["parameters"]["gamma"] == "3.0"


def test_more_epochs_go_on_with_a_run_that_had_too_few(tmp_path: Path) -> None:
    X, y = xor(600, seed=0)
    settings: dict[str, Any] = dict(gamma=1.0, solver=DoublyStochastic(50, 50), random_state=0)
    path = tmp_path / "run.ckpt"
    short = DSEKLClassifier(max_epochs=3, checkpoint=path, **settings).fit(X, y)
    same(DSEKLClassifier(max_epochs=3, checkpoint=path, **settings).fit(X, y), short)
    longer = DSEKLClassifier(max_epochs=7, checkpoint=path, **settings).fit(X, y)
    same(longer, DSEKLClassifier(max_epochs=7, **settings).fit(X, y))


def test_bad_checkpoints_are_refused_with_a_fix(tmp_path: Path) -> None:
    X, y = xor(200, seed=0)
    path = tmp_path / "run.ckpt"
    with pytest.raises(ValueError, match=r"checkpoint=.*no folder that can be written to"):
        DSEKLClassifier(checkpoint=tmp_path / "nowhere" / "run").fit(X, y)
    with pytest.raises(ValueError, match="'checkpoint_interval'"):
        DSEKLClassifier(checkpoint=path, checkpoint_interval=-1.0).fit(X, y)
    path.write_bytes(b"nonsense, but long enough")
    with pytest.raises(ModelFileError, match="delete the file, or give checkpoint another path"):
        DSEKLClassifier(checkpoint=path).fit(X, y)
    assert path.read_bytes() == b"nonsense, but long enough"
    DSEKLClassifier(gamma=1.0).fit(X, y).save(path)
    with pytest.raises(ModelFileError, match="it is a model, no checkpoint"):
        DSEKLClassifier(checkpoint=path).fit(X, y)


def test_checkpoints_are_written_at_their_interval(tmp_path: Path) -> None:
    X, y = xor(500, seed=0)
    path = tmp_path / "run.ckpt"
    stamps: list[int] = []

    def look(report: Any) -> None:
        stamps.append(path.stat().st_mtime_ns)

    settings: dict[str, Any] = dict(gamma=1.0, solver=DoublyStochastic(50, 50), max_epochs=5, callbacks=[look])
    DSEKLClassifier(checkpoint=path, checkpoint_interval=0.0, **settings).fit(X, y)
    assert len(set(stamps)) == 5
    stamps.clear()
    path.unlink()
    DSEKLClassifier(checkpoint=path, checkpoint_interval=3600.0, **settings).fit(X, y)
    assert len(set(stamps)) == 1


def test_a_full_disk_is_reported_and_spoils_nothing(tmp_path: Path) -> None:
    """The limit on the size of a file stands for the disk: the write fails half-way, as it would there."""
    code = """
        import resource, sys, warnings
        from pathlib import Path
        from dsekl import DSEKLClassifier
        from dsekl.estimators import files
        from tests.problems import xor
        X, y = xor(1500, seed=0)
        path = Path(sys.argv[1])
        before = []

        def fill_the_disk(report):
            if len(report.history) == 2:
                before.append(path.read_bytes())
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

        settings = dict(gamma=1.0, solver="doubly_stochastic", max_epochs=4, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = DSEKLClassifier(
                checkpoint=path, checkpoint_interval=0.0, callbacks=[fill_the_disk], **settings
            ).fit(X, y)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert all("could not be written" in str(w.message) and "Make room" in str(w.message) for w in caught), caught
        assert len(caught) > 3
        assert path.read_bytes() == before[0]
        assert [p.name for p in path.parent.iterdir()] == [path.name]
        assert files.describe(path)["run"]["state"]["epoch"] in (1, 2)
        straight = DSEKLClassifier(**settings).fit(X, y)
        assert (model.dual_coef_ == straight.dual_coef_).all()
        resumed = DSEKLClassifier(checkpoint=path, **settings).fit(X, y)
        assert (resumed.dual_coef_ == straight.dual_coef_).all()
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "run.ckpt")], capture_output=True, text=True
    )
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow)], ids=["some kills", "many kills"])
@pytest.mark.parametrize("half", [0, 1])
def test_a_run_killed_at_random_moments_ends_with_the_model_of_the_run_left_alone(
    half: int, kills: int, tmp_path: Path
) -> None:
    """Sixty kills in all, fifty for each fit in the slow tests; two processes of their own do the killing."""
    names = [case.name for case in SOLVERS[half::2]]
    command = [sys.executable, "-m", "tests.killing", str(kills), str(tmp_path), *names]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.count(f" {kills} kills\n") == len(names), done.stdout + done.stderr


def overlap(a: Any, b: Any) -> Any:
    return np.array([[float(len(set(s) & set(t))) for t in b] for s in a])


def overlap_and_one(a: Any, b: Any) -> Any:
    return overlap(a, b) + 1.0


overlap_and_one.__qualname__ = "overlap"


def overlap_by(a: Any, b: Any, width: int) -> Any:
    return overlap(a, b) + np.array([[float(s == t == "q" * width) for t in b] for s in a])


def overlap_in_other_words(a: Any, b: Any) -> Any:
    return overlap(a, b) + np.array([[float(s == "q" and t == "q") for t in b] for s in a])


overlap_in_other_words.__qualname__ = "overlap"


class Bag:
    """An object that says nothing of what it holds."""

    def __init__(self, letters: str) -> None:
        self.letters = letters

    def __iter__(self) -> Any:
        return iter(self.letters)


WORDS = ["ab", "abc", "bcd", "cde", "de", "ef", "efg", "fg"] * 5
SIDES = [0, 0, 0, 1, 1, 1, 1, 0] * 5
OBJECTS: dict[str, Any] = {
    "texts": list,
    "tuples": lambda words: [tuple(word) for word in words],
    "sets": lambda words: [set(word) for word in words],
    "dicts": lambda words: [dict.fromkeys(word, 1) for word in words],
    "arrays": lambda words: [np.array(list(word)) for word in words],
    "objects": lambda words: [Bag(word) for word in words],
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_other_objects_and_other_functions_make_another_run(kind: str, tmp_path: Path) -> None:
    """A checkpoint, and a warm start, is not taken up by a function of the same name or as many other objects."""
    others = [*WORDS[:-1], "xyz"]
    X, Z = OBJECTS[kind](WORDS), OBJECTS[kind](others)
    path = tmp_path / "run.ckpt"
    settings: dict[str, Any] = dict(solver=DoublyStochastic(10, 10), max_epochs=3, random_state=0, checkpoint=path)
    with pytest.raises(Crash):
        DSEKLClassifier(overlap, callbacks=[crash_after(1)], **settings).fit(X, SIDES)
    with pytest.raises(
        ValueError, match=r"differs in kernel \(was overlap code \w+ of Python 3\.\d+, values \w+, is overlap code"
    ):
        DSEKLClassifier(overlap_and_one, **settings).fit(X, SIDES)
    with pytest.raises(ValueError, match=r"differs in .*X"):
        DSEKLClassifier(overlap, **settings).fit(Z, SIDES)
    assert DSEKLClassifier(overlap, **settings).fit(OBJECTS[kind](WORDS), SIDES).n_iter_ == 3

    warm = DSEKLClassifier(overlap, warm_start=True, random_state=0).fit(X, SIDES)
    with pytest.raises(ValueError, match="differs in kernel"):
        warm.set_params(kernel=overlap_and_one).fit(X, SIDES)
    with pytest.raises(ValueError, match=r"differs in .*X"):
        warm.set_params(kernel=overlap).fit(Z, SIDES)


def within(width: float) -> Any:
    """Return a kernel that is its own only for words that no row is."""

    def kernel(a: Any, b: Any) -> Any:
        return overlap(a, b) + width * np.array([[float(s == t == "q") for t in b] for s in a])

    kernel.__qualname__ = "kernel"
    return kernel


class Overlap:
    """A kernel with a setting that matters for few words, and a memory of its own."""

    def __init__(self, width: float) -> None:
        self.width, self.memory, self._calls = width, {}, 0  # type: ignore[var-annotated]

    def __call__(self, a: Any, b: Any) -> Any:
        self._calls += 1
        self.memory[len(self.memory)] = len(a)
        return within(self.width)(a, b)


CAUCHY, BUMP = njit(lambda s: 1 / (1 + s)), njit(lambda s: 1 / (1 + s) + (0.1 if 0.11 < s < 0.111 else 0.0))


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        (within(0.5), within(0.7), within(0.5)),
        (Overlap(0.5), Overlap(0.7), Overlap(0.5)),
        (partial(overlap_by, width=1), partial(overlap_by, width=2), partial(overlap_by, width=1)),
        (overlap, overlap_in_other_words, overlap),
    ],
    ids=["closure", "setting of an object", "partial", "code"],
)
def test_functions_that_agree_at_the_places_where_they_are_asked_are_told_apart(
    first: Any, second: Any, again: Any
) -> None:
    model = DSEKLClassifier(first, warm_start=True, random_state=0).fit(WORDS, SIDES)
    with pytest.raises(ValueError, match="differs in kernel"):
        copy.deepcopy(model).set_params(kernel=second).fit(WORDS, SIDES)
    model.set_params(kernel=again).fit(WORDS, SIDES)


def test_a_compiled_function_that_differs_between_the_places_is_told_apart() -> None:
    X, y = xor(100, seed=0)
    model = DSEKLClassifier(Radial(CAUCHY), gamma=1.0, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="differs in kernel"):
        model.set_params(kernel=Radial(BUMP)).fit(X, y)


class Shifted(losses.Hinge):
    """A loss of one's own, with a setting."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def value(self, y: Any, f: Any) -> Any:
        return super().value(y, f + self.shift)


class Twice(losses.Hinge):
    def value(self, y: Any, f: Any) -> Any:
        return 2.0 * super().value(y, f)


Twice.__qualname__ = "Hinge"


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (dict(kernel=Radial(njit(lambda s: 1 / (1 + s)))), dict(kernel=Radial(njit(lambda s: 1 / (2 + s)))), "kernel"),
        (dict(kernel=DotProduct(njit(lambda s: s))), dict(kernel=DotProduct(njit(lambda s: abs(s)))), "kernel"),
        (dict(loss=Shifted(0.0)), dict(loss=Shifted(0.5)), "loss"),
        (dict(loss=losses.Hinge()), dict(loss=Twice()), "loss"),
    ],
    ids=["radial", "dot product", "setting of a loss", "loss"],
)  # fmt: skip
def test_functions_of_one_name_are_told_apart_by_their_values(
    first: dict[str, Any], second: dict[str, Any], name: str, tmp_path: Path
) -> None:
    X, y = xor(200, seed=0)
    settings: dict[str, Any] = dict(
        gamma=1.0, solver=DoublyStochastic(50, 50), random_state=0, checkpoint=tmp_path / "run"
    )
    with pytest.raises(Crash):
        DSEKLClassifier(**first, **settings, callbacks=[crash_after(1)]).fit(X, y)
    with pytest.raises(ValueError, match=f"differs in {name}"):
        DSEKLClassifier(**second, **settings).fit(X, y)
    DSEKLClassifier(**first, max_epochs=2, **settings).fit(X, y)
