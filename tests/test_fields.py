"""States as plain values: what is written comes back to the bit, and what no state can be is refused by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl import ModelFileError, persistence
from dsekl.runs import Monitor, Settled
from dsekl.runs.fields import from_values, to_values
from tests.problems import SOLVER, SolverCase, every_solver


@cache
def states(case: SolverCase) -> list[Any]:
    """Return copies of the state before the first step, within an epoch, and after some."""
    solver, problem = case.solver, case.problem()
    state = solver.start(problem, np.random.default_rng(0))
    seen = [copy.deepcopy(state)]
    for _ in range(3):
        for step, _ in enumerate(solver.epoch(problem, state)):
            if step < 2:
                seen.append(copy.deepcopy(state))
        seen.append(copy.deepcopy(state))
    return seen


@every_solver
def test_every_state_comes_back_to_the_bit(case: SolverCase) -> None:
    sizes = case.problem().sizes
    for state in states(case):
        values = to_values(state)
        read = from_values(case.solver.state_type, copy.deepcopy(values), sizes, "the state")
        assert type(read) is type(state)
        np.testing.assert_equal(to_values(read), values)
        for name, value in vars(state).items():
            assert type(getattr(read, name)) is type(value), name
        assert read.rng.random() == copy.deepcopy(state.rng).random()


def test_what_was_settled_and_the_monitor_come_back() -> None:
    generator = np.random.default_rng(0).bit_generator.state
    for gamma in (None, 0.5, np.array([1.0, 2.0])):
        knots = np.array([[0.3, 0.7], [0.1, 0.2]])
        settled = Settled(
            gamma, 2.0, "learned", "rbf", "hinge", "ranked", knots, knots, True, False, randomness=generator
        )
        read = from_values(Settled, to_values(settled), {"features": 2}, "what was settled")
        np.testing.assert_equal(to_values(read), to_values(settled))
    monitor = Monitor(history=[{"epoch": 1}], best_error=0.5, best_coef=np.ones((3, 1)), reason="tol")
    read_monitor = from_values(Monitor, to_values(monitor), {"terms": 3, "outputs": 1}, "the monitor")
    np.testing.assert_equal(to_values(read_monitor), to_values(monitor))


def with_nan(array: Any) -> Any:
    array = array.copy()
    array.reshape(-1)[0] = np.nan
    return array


def with_index(index: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array = array.copy()
        array.reshape(-1)[-1] = index
        return array

    return change


def of_arrays(value: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield what could be wrong with an array, in words, and how to make it so."""
    yield "dtype", lambda array: array.astype(np.float32 if array.dtype == np.float64 else np.float64)
    yield "dimensions", lambda array: array[None]
    if value.size:
        yield "length", lambda array: array[:-1] if array.ndim == 1 else array[:, :-1]
    yield "type", lambda array: array.tolist()
    yield "text", lambda array: "x"
    if value.dtype.kind == "f" and value.size:
        yield "NaN", with_nan
    if value.dtype.kind == "i" and value.size:
        yield "index below 0", with_index(-1)
        yield "index too large", with_index(10**9)


def of_values(value: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    if isinstance(value, np.ndarray):
        yield from of_arrays(value)
    elif isinstance(value, dict) and "bit_generator" in value:
        yield "type", lambda state: 3
        yield "other generator", lambda state: {**state, "bit_generator": "nothing"}
        yield "empty", lambda state: {}
        yield "state", lambda state: {**state, "state": {"state": "x", "inc": 1}}
    elif isinstance(value, dict):
        yield "type", lambda plan: 3
        yield "missing field", lambda plan: dict(list(plan.items())[1:])
        yield "extra field", lambda plan: {**plan, "more": 1}
    elif isinstance(value, bool):
        yield "type", int
    elif isinstance(value, int):
        yield "type", str
        yield "fraction", lambda number: number + 0.5
        yield "None", lambda number: None
    elif isinstance(value, float):
        yield "type", str
        yield "array", np.array
        yield "None", lambda number: None


SAID_BY_NO_FORM = {
    *(("DualPlan", name, "length") for name in ("f", "blocks", "ends")),
    *(("DualPlan", "ends", words) for words in ("index below 0", "index too large")),
}
"""What a plan's parts must be to each other; the last test of files is about that."""


def wrongs(case: SolverCase) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a field, what is wrong with it, and the values of a state that is wrong there and nowhere else.

    Taken from a state within an epoch, and from one with all its optional fields after some.
    """
    told = set()
    for state in (next(s for s in states(case) if s.plan is not None), states(case)[-1]):
        values = to_values(state)
        for name, value in values.items():
            for words, change in of_values(value):
                if (name, words) not in told:
                    told.add((name, words))
                    yield name, words, {**values, name: change(value)}
        plan = values["plan"] or {}
        for name, value in plan.items():
            for words, change in of_values(value):
                if (type(state.plan).__name__, name, words) not in SAID_BY_NO_FORM:
                    yield name, f"{words} of the plan", {**values, "plan": {**plan, name: change(value)}}


@every_solver
def test_a_wrong_field_is_named(case: SolverCase) -> None:
    sizes, count = case.problem().sizes, 0
    for name, words, values in wrongs(case):
        with pytest.raises(ValueError, match=name):  # noqa: PT012 - the message is what is examined
            from_values(case.solver.state_type, values, sizes, "the state")
            pytest.fail(f"{name}: {words} was not noticed")
        count += 1
    assert count > 40


@every_solver
def test_a_number_that_is_none_is_named(case: SolverCase) -> None:
    """Figures may be infinite, such as the gap of a growing sample, but never NaN."""
    sizes, values = case.problem().sizes, to_values(states(case)[-1])
    for name in [name for name, value in values.items() if isinstance(value, float)]:
        with pytest.raises(ValueError, match=name):
            from_values(case.solver.state_type, {**values, name: float("nan")}, sizes, "the state")


@every_solver
def test_missing_and_further_fields_are_named(case: SolverCase) -> None:
    sizes, values = case.problem().sizes, to_values(states(case)[-1])
    for wrong in ({k: v for k, v in values.items() if k != "coef"}, {**values, "further": 1}, [1, 2], None):
        with pytest.raises(ValueError, match="the state has the fields"):
            from_values(case.solver.state_type, wrong, sizes, "the state")


class Stop(Exception):
    pass


def stop_at_second_epoch(report: Any) -> None:
    if len(report.history) == 2:
        raise Stop


OF_FILES = [SOLVER[name] for name in ("dual", "ridge", "averaged", "shared memory")]


@cache
def stopped(case: SolverCase, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the content of a checkpoint of a run that has stopped after two epochs."""
    path = folder / f"{case.name}.ckpt"
    with pytest.raises(Stop):
        case.fit(checkpoint=path, callbacks=[stop_at_second_epoch])
    return persistence.read(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


def going_on(case: SolverCase, folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Go on from a checkpoint whose run was changed; whoever did that made the checksums right again."""
    header, arrays = stopped(case, folder)
    run = persistence.decoded(copy.deepcopy(header["run"]), dict(arrays), {})
    change(run)
    forged: dict[str, Any] = {}
    nodes = persistence.encoded(run, "run", forged, {})
    path = folder / "forged.ckpt"
    header = {name: value for name, value in header.items() if name not in ("format", "arrays")}
    persistence.write(path, {**header, "run": nodes}, forged)
    case.fit(checkpoint=path)


@pytest.mark.parametrize("case", OF_FILES, ids=str)
def test_a_checkpoint_with_a_wrong_state_is_a_bad_file(case: SolverCase, folder: Path) -> None:
    """Whatever is wrong with the state in a file, going on from it ends in the error of bad files and in no other."""
    header, arrays = stopped(case, folder)
    values = persistence.decoded(header["run"], arrays, {})["state"]
    found = []
    for name, value in values.items():
        for words, change in of_values(value):
            try:
                going_on(case, folder, lambda run: run["state"].update({name: change(value)}))  # noqa: B023
            except ModelFileError as error:
                if name not in str(error):
                    found.append(f"{name}, {words}: not named")
            except Exception as error:
                found.append(f"{name}, {words}: {type(error).__name__}: {error}")
            else:
                found.append(f"{name}, {words}: went on")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("part", ["seed", "settled", "monitor", "state"])
@pytest.mark.parametrize("wrong", [3.5, "x", [], {}, {"epoch": 1}], ids=repr)
def test_a_checkpoint_with_a_wrong_part_is_a_bad_file(part: str, wrong: Any, folder: Path) -> None:
    with pytest.raises(ModelFileError):
        going_on(SOLVER["averaged"], folder, lambda run: run.update({part: wrong}))


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run["monitor"].update(history=[1]),
        lambda run: run["monitor"].update(history={}),
        lambda run: run["monitor"].update(reason=3),
        lambda run: run["monitor"].update(best_coef=np.ones((1, 1))),
        lambda run: run["monitor"].update(first_epoch="x"),
        lambda run: run["settled"].update(randomness={}),
        lambda run: run["settled"].update(gamma="x"),
        lambda run: run["settled"].update(gamma=np.ones(7)),
        lambda run: run["settled"].update(gamma=float("nan")),
        lambda run: run.pop("monitor"),
    ],
    ids=[
        *("history of numbers", "history", "reason", "best_coef", "first_epoch", "randomness", "gamma", "gammas"),
        *("gamma is NaN", "no monitor"),
    ],
)
def test_a_checkpoint_with_a_wrong_monitor_or_start_is_a_bad_file(change: Any, folder: Path) -> None:
    with pytest.raises(ModelFileError):
        going_on(SOLVER["averaged"], folder, change)


def within_an_epoch() -> dict[str, Any]:
    """Return the values of a state in the middle of an epoch of dual ascent."""
    state = next(s for s in states(SOLVER["dual"]) if s.plan is not None and len(s.plan.ends) > 2)
    return to_values(state)


def put_state(run: dict[str, Any], state: dict[str, Any]) -> None:
    """Put another state into a run, with what the monitor has seen of it."""
    run["state"] = state
    run["monitor"].update(first_epoch=state["epoch"], history=[])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("f", lambda f: f[:-1]),
        ("blocks", lambda blocks: blocks[:-5]),
        ("ends", lambda ends: ends[::-1].copy()),
        ("ends", lambda ends: np.append(ends, 10**9)),
        ("ends", lambda ends: ends - 10**6),
        ("ends", lambda ends: ends[:0]),
    ],
    ids=["f", "blocks", "ends backwards", "ends too far", "ends below 0", "no ends"],
)
def test_a_checkpoint_whose_plan_does_not_fit_together_is_a_bad_file(name: str, change: Any, folder: Path) -> None:
    values = within_an_epoch()

    def put(run: dict[str, Any]) -> None:
        put_state(run, {**values, "plan": {**values["plan"], name: change(values["plan"][name])}})

    with pytest.raises(ModelFileError, match=f"the plan's.*{name}"):
        going_on(SOLVER["dual"], folder, put)


def test_the_forging_itself_changes_nothing(folder: Path) -> None:
    """Or the tests above would be refused for another reason than they say."""
    for case in OF_FILES:
        going_on(case, folder, lambda run: None)
    going_on(SOLVER["dual"], folder, lambda run: put_state(run, within_an_epoch()))


def in_state(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["state"].update({name: value})


def in_settled(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["settled"].update({name: value})


def in_monitor(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["monitor"].update({name: value})


def changed_array(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["state"].update({name: change(run["state"][name])})


def changed_generator(**parts: Any) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["state"]["rng"].update(parts)


IMPOSSIBLE: list[tuple[str, str, Callable[[dict[str, Any]], None]]] = [
    ("dual", "C", in_settled("C", -1.0)),
    ("dual", "C", in_settled("C", 2.0)),
    ("dual", "gamma", in_settled("gamma", 4.0)),
    ("dual", "gamma", in_settled("gamma", -4.0)),
    ("dual", "whole", in_settled("whole", False)),
    ("dual", "sigmoid", in_settled("kernel", "sigmoid")),
    ("dual", "epsilon_insensitive", in_settled("loss", "epsilon_insensitive")),
    ("dual", "C", in_state("C", 2.0)),
    ("dual", "epoch", in_state("epoch", -5)),
    ("dual", "epoch", in_state("epoch", 10**15)),
    ("dual", "size", in_state("size", 0)),
    ("dual", "size", in_state("size", 10**9)),
    ("dual", "active", in_state("size", 5)),
    ("dual", "threshold", in_state("threshold", -1.0)),
    ("dual", "threshold", in_state("threshold", float("inf"))),
    ("dual", "scale", in_state("scale", float("inf"))),
    ("dual", "evaluations", in_state("evaluations", -1)),
    ("dual", "rank", changed_array("rank", np.zeros_like)),
    ("dual", "diagonal", changed_array("diagonal", np.zeros_like)),
    ("dual", "coef", changed_array("coef", lambda coef: coef + 1e6)),
    ("dual", "F", changed_array("F", lambda F: F + 1e6)),
    ("dual", "rng", changed_generator(uinteger=2**40)),
    ("dual", "rng", changed_generator(has_uint32=5)),
    ("dual", "rng", changed_generator(state={"state": -1, "inc": 1})),
    ("ridge in blocks", "past_coef", changed_array("past_coef", lambda past: past[:-1])),
    ("shared memory", "rate", in_state("rate", 0.0)),
    ("shared memory", "rate", in_state("rate", -1.0)),
    ("shared memory", "late", in_state("late", None)),
    ("shared memory", "late", changed_array("late", lambda late: late + 1e300)),
    ("shared memory", "averaged", in_state("averaged", 10**6)),
    ("shared memory, paper's steps", "averaged", in_state("averaged", 1)),
    ("shared memory", "G", changed_array("G", np.zeros_like)),
    ("averaged", "unit", in_state("unit", 0.0)),
    ("averaged", "unit", in_state("unit", -1.0)),
    ("averaged", "late", in_state("late", None)),
    ("averaged", "averaged", in_state("averaged", 10**6)),
    ("averaged", "coef", changed_array("coef", lambda coef: coef + 1e300)),
    ("averaged", "first_epoch", in_monitor("first_epoch", -1)),
    ("averaged", "history", in_monitor("history", [])),
    ("averaged", "history", in_monitor("history", [{"epoch": "x"}, {"epoch": 2}])),
    ("averaged", "reason", in_monitor("reason", "because")),
    ("averaged", "best_error", in_monitor("best_error", 0.5)),
    ("averaged", "earlier_seconds", in_monitor("earlier_seconds", float("inf"))),
    ("averaged", "seed", lambda run: run.update(seed=-1)),
    ("averaged", "settled", lambda run: run.update(settled=None)),
]


@pytest.mark.parametrize(("solver", "field", "change"), IMPOSSIBLE, ids=[f"{s}-{f}" for s, f, _ in IMPOSSIBLE])
def test_a_number_that_no_run_can_have_is_named(solver: str, field: str, change: Any, folder: Path) -> None:
    with pytest.raises(ModelFileError, match=field) as caught:
        going_on(SOLVER[solver], folder, change)
    assert str(caught.value).startswith(f"{folder / 'forged.ckpt'}: ")


def test_a_run_that_cannot_go_on_blames_the_file_it_came_from(folder: Path) -> None:
    """Each number could be; together they overflow, and the error of the solver would blame the user's settings."""
    with pytest.raises(ModelFileError, match=r"going on from it failed .*if a fit from the start fails as well"):
        going_on(SOLVER["averaged"], folder, lambda run: run["state"]["coef"].fill(1e100))
