"""Commands that are killed at random moments, and give the same results when they are run again.

A trial starts one command with two threads in a forked process, ends it by SIGKILL, SIGTERM or SIGINT after a random
part of the time that it takes, and runs the same command again. What it leaves must be what a command leaves that
nobody stopped, to the byte, and nothing beside it. A quarter of the kills come while the metric is learned.
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dsekl
from dsekl import persistence
from dsekl.__main__ import main
from dsekl.estimators.files import describe
from dsekl.persistence import ModelFileError

NAME = "kills"
COUNT = 200
SECONDS = 300.0
"""The longest that a trial may take; most take a few."""

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LOG = "printed.txt"
Contents = dict[str, object]


@dataclass(frozen=True)
class Case:
    """A command, what makes the same command go on, and what it leaves."""

    name: str
    arguments: Callable[[Path, Path], list[object]]
    """From the folder with the data and the folder to work in."""
    again: tuple[str, ...] = ()
    learns_metric: bool = False


def _fit(data: Path, work: Path, *more: object) -> list[object]:
    files = ["-m", work / "m.dsekl", "--checkpoint", work / "run.ckpt", "--checkpoint-interval", 0]
    return ["fit", data / "train.csv", "-t", "y", "-j", 2, *files, *more]


CASES = (
    Case("metric", _fit, ("--resume",), learns_metric=True),
    Case("fit", lambda data, work: _fit(data, work, "--gamma", 5, "-C", 100, "--tol", 1e-6), ("--resume",)),
    Case(
        "tune",
        lambda data, work: [
            "tune", data / "few.csv", "-t", "y", "-j", 2, "-m", work / "m.dsekl", "--journal", work / "journal.json",
        ],
        ("--force",),
    ),
    Case("convert", lambda data, work: ["convert", data / "long.csv", work / "folder", "-t", "y"], ("--force",)),
    Case(
        "predict",
        lambda data, work: ["predict", data / "m.dsekl", data / "long.csv", "-o", work / "out.csv", "-j", 2],
    ),
    Case("evaluate", lambda data, work: ["evaluate", data / "m.dsekl", data / "long.csv", "-j", 2, "--json"]),
    Case(
        "stream",
        lambda data, work: [
            # By a path that is the same in every folder: predictions name the line that they are of.
            "stream", Path("..", "train.csv"), "-t", "y", "--task", "classification", "--budget", 30,
            "-m", work / "m.dsekl", "--checkpoint-interval", 0.02, "-o", work / "out.csv",
        ],
        ("--resume",),
    ),
    Case("reproduce", lambda data, work: ["reproduce", "xor", "--quick", "--jobs", 2, "--output", work / "report"]),
)  # fmt: skip
SHARES = {"metric": 5, "fit": 3, "tune": 3, "convert": 2, "predict": 2, "evaluate": 1, "stream": 2, "reproduce": 2}
ROUND = [case for case in CASES for _ in range(SHARES[case.name])]
"""The cases of twenty trials."""


def prepare(folder: Path, cases: Sequence[Case] = CASES) -> None:
    """Write the data, run each command without a kill, and note what it leaves and how long it takes."""
    for name, n_rows in (("train", 600), ("few", 150), ("long", 30_000)):
        _write_rows(folder / f"{name}.csv", n_rows)
    left = folder / "left"
    left.mkdir()
    model = ["fit", folder / "few.csv", "-t", "y", "-m", folder / "m.dsekl", "--gamma", 1, "-C", 1]
    assert _wait(_start(model, folder)) == 0, _printed(folder)
    times = {}
    dsekl.DSEKLClassifier(n_jobs=2).fit(*_rows(150))  # what is loaded and compiled here, forked processes have
    for case in cases:
        work = folder / f"whole-{case.name}"
        work.mkdir()
        assert _wait(_start(case.arguments(folder, work), work)) == 0, _printed(work)  # which compiles
        _clear(work)
        times[case.name] = _timed(case, folder, work)
        work.rename(left / case.name)
    (folder / "times.json").write_text(json.dumps(times))


def trial(folder: Path, seed: int) -> str:
    """Kill one command, run it again, and compare what it leaves."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)  # in the place of the harness's limit, which is for one file
    rng = random.Random(seed)
    case = ROUND[seed % len(ROUND)]
    seconds = json.loads((folder / "times.json").read_text())[case.name]
    work = folder / f"trial-{seed}"
    work.mkdir()
    number = rng.choice(SIGNALS)
    share = 1.0
    while not _killed(case, folder, work, number, share * rng.uniform(0.0, seconds)):
        share *= 0.7  # the machine is less busy than when the command was timed
        _clear(work)
    code = _wait(_start([*case.arguments(folder, work), *case.again], work))
    assert code == 0, f"{case.name} again: exit code {code}\n{_printed(work)}"
    found, wanted = contents(work), contents(folder / "left" / case.name)
    assert found.keys() == wanted.keys(), f"{case.name}: {sorted(found)} instead of {sorted(wanted)}"
    differing = [name for name in wanted if found[name] != wanted[name]]
    assert not differing, f"{case.name} after {number.name}: {', '.join(differing)} differ"
    shutil.rmtree(work)
    return "right"


def contents(folder: Path) -> Contents:
    """Return what a command left, each file by name, without times and drafts' names."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def _content(path: Path) -> object:
    if path.suffix in (".dsekl", ".ckpt", ".refit"):
        header, arrays = persistence.read(path)
        if path.suffix != ".dsekl":  # a checkpoint is written last where the run was stopped last
            return sorted(arrays)
        return _timeless(header), {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in arrays.items()}
    if path.name == "journal.json":
        return _timeless(json.loads(path.read_text()))
    if path.parent.name == "report":
        if path.suffix != ".csv":
            return "a part of the report"  # pictures, and when they were made
        with path.open(newline="") as file:
            return sorted(sorted(row.items()) for row in csv.DictReader(file))
    if path.name == LOG:
        text = path.read_text()
        return text if text.startswith("{") else "for people"
    return path.read_bytes()


def _timeless(value: Any) -> Any:
    """Return JSON without what tells the time or the command; a header has a dict as a list of pairs."""
    if isinstance(value, dict):
        return {key: _timeless(part) for key, part in value.items() if key not in ("seconds", "provenance", "digest")}
    if isinstance(value, list):
        return [_timeless(part) for part in value if not (isinstance(part, list) and part[:1] == ["seconds"])]
    return value


def _killed(case: Case, folder: Path, work: Path, number: signal.Signals, delay: float) -> bool:
    """Start a command and kill it after some seconds; False if it had ended, or had learned the metric."""
    child = _start(case.arguments(folder, work), work)
    time.sleep(delay)
    os.kill(child, number)
    code = _wait(child)
    assert "Traceback" not in _printed(work), f"{case.name} after {number.name}:\n{_printed(work)}"
    if code == 0:
        return False
    stopped = {signal.SIGKILL: (-9,), signal.SIGTERM: (143, -15), signal.SIGINT: (130, -2)}[number]
    assert code in stopped, f"{case.name} after {number.name}: exit code {code}\n{_printed(work)}"
    if number is not signal.SIGKILL:
        drafts = [path.name for path in work.iterdir() if path.name.startswith(".")]
        assert not drafts, f"{case.name} after {number.name} left {drafts}"
    return not (case.learns_metric and _settled(work / "run.ckpt"))


def _settled(checkpoint: Path) -> bool:
    """Tell whether a run has learned its metric."""
    try:
        return describe(checkpoint)["run"]["settled"] is not None
    except FileNotFoundError:
        return False


def _timed(case: Case, folder: Path, work: Path) -> float:
    """Return the seconds that a command takes, or takes to learn its metric."""
    started = time.perf_counter()
    child = _start(case.arguments(folder, work), work)
    learned = 0.0
    while case.learns_metric and not learned:
        time.sleep(0.01)
        try:
            learned = time.perf_counter() - started if _settled(work / "run.ckpt") else 0.0
        except ModelFileError as error:
            raise AssertionError("a checkpoint that is not whole") from error
    assert _wait(child) == 0, _printed(work)
    return learned or time.perf_counter() - started


def _start(arguments: list[object], work: Path) -> int:
    """Fork a process that runs the command line, and return its number."""
    child = os.fork()
    if child:
        return child
    try:
        os.chdir(work)
        log = os.open(work / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        sys.argv = ["dsekl", *map(str, arguments)]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        main()
    except SystemExit as left:
        sys.stdout.flush()
        os._exit(left.code if isinstance(left.code, int) else 0)
    except KeyboardInterrupt:  # before the command line had begun
        os._exit(130)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(99)


def _wait(child: int) -> int:
    """Return the exit code of a process, or minus the signal that ended it."""
    status = os.waitpid(child, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _printed(work: Path) -> str:
    return (work / LOG).read_text() if (work / LOG).exists() else ""


def _clear(work: Path) -> None:
    shutil.rmtree(work)
    work.mkdir()


def _rows(n_rows: int) -> tuple[Any, Any]:
    """Return rows of which the first two columns tell the label, more or less."""
    rng = np.random.default_rng(n_rows)
    X = rng.standard_normal((n_rows, 5))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n_rows) > 0).astype(int)


def _write_rows(path: Path, n_rows: int) -> None:
    X, y = _rows(n_rows)
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.5g", header="a,b,c,d,e,y", comments="")
