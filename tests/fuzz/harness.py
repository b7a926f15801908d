"""Runs trials in forked processes, under limits of memory and time, and finds the one that failed.

A child runs a batch of trials and reports each by a line. When it dies, the trial without a line is what killed it; the
next child goes on behind it. Each child has a copy of the folder to itself.
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

BATCH = 500
"""Trials a child: forking costs milliseconds, and a copy of the folder."""

CHILDREN = 2

MOST_BYTES = 2**30
"""Memory that a child may take beyond what it has when it starts."""

MOST_SECONDS = 30.0
"""Time of one trial; a hundred times what the slowest should take, as machines may be busy."""

OUTCOMES = ("right", "refused")


class Kind(Protocol):
    """A module for one kind of file."""

    NAME: str
    COUNT: int

    def prepare(self, folder: Path) -> None: ...

    def trial(self, folder: Path, seed: int) -> str: ...


@dataclass
class Result:
    """How the trials of one kind of file ended."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class _Child:
    """A process under way, the trials that it has yet to report, and what it has written of its next line."""

    process: int
    pipe: int
    seeds: list[int]
    text: bytes = b""


def run(kind: Kind, seeds: range) -> Result:
    """Run the trials of all seeds, some at a time."""
    result, started = Result(kind.NAME), time.perf_counter()
    waiting = [list(seeds[start : start + BATCH]) for start in range(0, len(seeds), BATCH)][::-1]
    children: dict[int, _Child] = {}
    with tempfile.TemporaryDirectory(prefix="dsekl-fuzz-") as place:
        folder = Path(place) / "genuine"
        folder.mkdir()
        kind.prepare(folder)
        while waiting or children:
            while waiting and len(children) < CHILDREN:
                child = _fork(kind, folder, waiting.pop())
                children[child.pipe] = child
            for pipe in select.select(list(children), [], [])[0]:
                child = children[pipe]
                if not _listen(child, result):
                    del children[pipe]
                    rest = _bury(child, result)
                    if rest:
                        waiting.append(rest)
    result.seconds = time.perf_counter() - started
    return result


def _fork(kind: Kind, folder: Path, seeds: list[int]) -> _Child:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.close(reading)
            _live(kind, folder, seeds, writing)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    return _Child(process, reading, seeds)


def _live(kind: Kind, folder: Path, seeds: list[int], pipe: int) -> None:
    """Run a batch: what a child does with its life."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process, in compiled code as well
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    most = _data_bytes() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    own = folder.with_name(f"child-{os.getpid()}")
    shutil.copytree(folder, own, symlinks=True)
    try:
        for seed in seeds:
            signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
            outcome = _outcome(kind.trial, own, seed)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            os.write(pipe, json.dumps([seed, outcome]).encode() + b"\n")
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _outcome(trial: Callable[[Path, int], str], folder: Path, seed: int) -> str:
    try:
        return trial(folder, seed)
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error}"[:300]
        return f"{words} ({Path(place.filename).name}:{place.lineno})"


def _data_bytes() -> int:
    """Return what the process has in memory of its own."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return 1024 * int(line.split()[1])
    raise OSError("the system does not tell how much memory the process has")


def _listen(child: _Child, result: Result) -> bool:
    """Take in what a child reports; False when it has ended."""
    text = os.read(child.pipe, 2**16)
    *lines, child.text = (child.text + text).split(b"\n")
    for line in lines:
        seed, outcome = json.loads(line)
        child.seeds.remove(seed)
        _note(result, seed, outcome)
    return bool(text)


def _bury(child: _Child, result: Result) -> list[int]:
    """Note what killed a child that did not come to its end; return the seeds that are left."""
    os.close(child.pipe)
    _, status = os.waitpid(child.process, 0)
    if not child.seeds:
        return []
    seed, *rest = child.seeds
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    if number == signal.SIGALRM:
        words = f"it took more than {MOST_SECONDS:.0f} seconds"
    else:
        words = f"the process died ({'no signal' if number is None else signal.Signals(number).name})"
    _note(result, seed, words)
    return rest


def _note(result: Result, seed: int, outcome: str) -> None:
    known = outcome in OUTCOMES
    result.outcomes[outcome if known else "failed"] += 1
    if not known:
        result.failures[seed] = outcome


def table(results: list[Result]) -> Iterator[str]:
    """Yield the lines of the closing table."""
    yield f"{'':24}{'trials':>9}{'right':>9}{'refused':>9}{'failed':>9}{'seconds':>9}"
    for result in results:
        counts = [result.outcomes.total(), *(result.outcomes[name] for name in (*OUTCOMES, "failed"))]
        yield f"{result.name:24}" + "".join(f"{count:>9,}" for count in counts) + f"{result.seconds:>9.0f}"
