"""The progress bar: its time left, its words, where it is shown."""

from __future__ import annotations

import math
import re
import sys
from queue import Empty
from typing import Any

import numpy as np
import pytest

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.compiled import njit, told_of_compiling
from dsekl.deadline import NEVER, Deadline
from dsekl.models import Examples, Machine
from dsekl.models.forecast import foretold
from dsekl.rows import as_rows
from dsekl.runs import Course, Progress, Work
from dsekl.runs.course import REST

MAX_EPOCHS = 100


class Bar(Progress):
    """A bar with a clock of its own, which notes the times left that it is to show."""

    now = 0.0

    def __init__(self) -> None:
        super().__init__(False)
        self.left: list[float] = []

    @property
    def seconds(self) -> float:
        return self.now

    def show(self, left: float, words: str | None = None) -> None:
        self.left.append(left)


def replayed(work: Work, search: float, gaps: list[float], epoch: float, deadline: Deadline = NEVER) -> list[float]:
    """Return estimates over the truth: in a search at an even pace, and in epochs, each of which ends with a gap."""
    bar, moments = Bar(), []
    course = Course(bar, work, deadline)
    end = (search + epoch * len(gaps)) * (1 + (REST if search else 0.0))
    for share in np.linspace(0.1, 1.0, 10) if search else ():
        bar.now = share * search
        course.search(share)
        moments.append(bar.now)
    for done, gap in enumerate(gaps):
        bar.now = search + epoch * (done + 0.5)
        course.step(done + 0.5, MAX_EPOCHS)
        moments.append(bar.now)
        bar.now = search + epoch * (done + 1)
        course.report({"epoch": done + 1}, gap, goal=0.05)
    return [left / (end - moment) for left, moment in zip(bar.left, moments, strict=True)]


def test_the_time_left_is_that_of_search_and_solver_together() -> None:
    ratios = replayed(Work(2.0, 1.0), search=20.0, gaps=[0.8 * 0.75**k for k in range(11)], epoch=1.0)
    assert len(ratios) == 21
    assert all(0.8 < ratio < 1.25 for ratio in ratios)


def test_a_wrong_foretelling_is_corrected_by_how_the_gap_falls() -> None:
    gaps = [0.8 * 0.75**k for k in range(11)]
    for wrong in (0.25, 4.0):
        ratios = replayed(Work(2.0, wrong), search=20.0, gaps=gaps, epoch=1.0)
        assert abs(math.log(ratios[-2])) < 0.5 < 1.0 < abs(math.log(ratios[10]))


def test_where_nothing_was_searched_the_time_to_grow_foretells_the_rest() -> None:
    gaps = [math.inf] * 3 + [0.8 * 0.73**k for k in range(9)]
    ratios = replayed(Work(), search=0.0, gaps=gaps, epoch=1.0)
    assert all(math.isinf(ratio) for ratio in ratios[:4])
    assert all(0.5 < ratio < 2.0 for ratio in ratios[4:-1])


def test_nothing_is_said_before_anything_is_known() -> None:
    ratios = replayed(Work(), search=0.0, gaps=[0.8 * 0.75**k for k in range(11)], epoch=1.0)
    assert math.isinf(ratios[0])
    assert math.isinf(ratios[1])
    assert all(0.8 < ratio < 2.1 for ratio in ratios[2:])


def test_a_solver_without_a_goal_runs_all_of_its_epochs() -> None:
    bar = Bar()
    course = Course(bar)
    for done in range(1, 4):
        course.report({"epoch": done})
        bar.now = 2.0 * done
        course.step(done, 10)
    assert bar.left == [math.inf, pytest.approx(2.0 * 8), pytest.approx(2.0 * 7)]


def test_no_more_time_is_left_than_there_is() -> None:
    bar = Bar()
    course = Course(bar, Work(1.0, 100.0), Deadline(30.0, lambda: 20.0))
    bar.now = 5.0
    course.search(0.5)
    assert bar.left[-1] == pytest.approx(10.0, rel=0.05)


def test_more_rows_and_outputs_are_more_work_for_the_solver() -> None:
    def work(n: int, n_outputs: int) -> Work:
        return foretold(Machine(None, None), Examples.of(as_rows(np.zeros((n, 5))), np.zeros((n, n_outputs))))

    assert work(2_000, 1).solver < work(2_000, 10).solver < work(20_000, 10).solver
    small, large = work(20_000, 1), work(200_000, 1)
    assert large.solver / large.search > 5 * small.solver / small.search


def test_compiling_is_told_of_once_however_it_nests() -> None:
    heard: list[bool] = []

    @njit()
    def inner(x: Any) -> Any:
        return np.sqrt(x) + x**2

    @njit()
    def outer(x: Any) -> Any:
        return inner(x) + inner(x + 1.0)

    with told_of_compiling(heard.append):
        outer(1.0)
        outer(2.0)
    outer(1)
    assert heard == [True, False]


def test_a_bar_that_compiles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Recorded:
        def __init__(self, label: str) -> None: ...

        def draw(self, share: Any, seconds: float, left: str, words: str) -> None:
            shown.append(words)

        def close(self) -> None: ...

    monkeypatch.setattr("dsekl.runs.progress.TerminalBar", Recorded)
    monkeypatch.setattr("dsekl.runs.progress.on_terminal", lambda: True)

    @njit()
    def something(x: Any) -> Any:
        return x + 1.0

    with Progress(True, 2) as bar:
        bar.advance(1, "at work")
        something(1.0)
    assert shown[:2] == ["at work", "compiling, once for this machine"]


@pytest.mark.parametrize("kind", [DSEKLClassifier, DSEKLRegressor])
def test_held_out_rows_have_the_error_of_the_field(kind: Any) -> None:
    X = np.random.default_rng(0).standard_normal((300, 3))
    y = 100 * (X[:, 0] * X[:, 1]) if kind is DSEKLRegressor else X[:, 0] * X[:, 1] > 0
    model = kind(gamma=1.0, C=10.0, early_stopping=True, random_state=0).fit(X, y)
    rows = model.validation_rows_
    best = min(record["validation_error"] for record in model.history_)
    if kind is DSEKLClassifier:
        assert best == pytest.approx((model.predict(X[rows]) != y[rows]).mean())
        return
    rmse = np.sqrt(np.mean((model.predict(X[rows]) - y[rows]) ** 2))
    assert min(record["validation_rmse"] for record in model.history_) == pytest.approx(rmse)


def in_a_kernel(code: str) -> list[dict[str, Any]]:
    """Run code in a notebook's kernel; return the messages that a notebook would show."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    messages = []
    try:
        client.execute(code)
        while True:
            message = client.get_iopub_msg(timeout=120)
            messages.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return messages
    except Empty:
        raise AssertionError(f"no end of {messages}") from None
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.skipif(sys.platform == "win32", reason="kernels take long to start there")
def test_a_notebook_shows_a_line_that_changes() -> None:
    pytest.importorskip("ipykernel", reason="notebooks need ipykernel, of the extra 'test'")
    messages = in_a_kernel("""
import numpy as np
from dsekl import DSEKLClassifier
X = np.random.default_rng(0).standard_normal((300, 3))
DSEKLClassifier(verbose=False, random_state=0).fit(X, X[:, 0] > 0)
DSEKLClassifier(verbose=True, random_state=0).fit(X, X[:, 0] > 0);
""")
    kinds = [message["msg_type"] for message in messages]
    assert "error" not in kinds
    assert kinds.count("display_data") == 1
    updates = [m["content"]["data"]["text/plain"] for m in messages if m["msg_type"] == "update_display_data"]
    assert updates
    assert re.match(r"fit  [█░]{24}  \d:\d\d", updates[-1])
