"""Runs that are interrupted and resumed: the progress bar on a terminal, Ctrl-C, checkpoints, journals."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

import dsekl
from dsekl.cli import main
from dsekl.estimators.files import describe

COMMAND = [sys.executable, "-m", "dsekl"]


def run(arguments: list[str]) -> int:
    """Run the command line in this process and return its exit code."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return csv with labels that nothing explains, on which a fit with tol 0 lasts as long as it may."""
    return write_noise(tmp_path_factory.mktemp("noise") / "noise.csv", 1_500)


def write_noise(path: Path, n_rows: int) -> Path:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n_rows, 3))
    np.savetxt(path, np.column_stack([rows, rng.integers(0, 2, n_rows)]), delimiter=",", fmt="%.4f", header="a,b,c,y",
               comments="")  # fmt: skip
    return path


class Terminal:
    """A command that runs on a terminal, and what it showed there so far; used as a context manager."""

    def __init__(self, arguments: list[str], **environment: str) -> None:
        self.end, other = pty.openpty()
        self.shown = ""
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=other, stdout=other, stderr=other, close_fds=True,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "160", **environment},
        )  # fmt: skip
        os.close(other)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.end)

    def read_until(self, pattern: str, seconds: float = 600.0) -> None:
        """Read until the pattern is shown. A first run compiles, so this may take minutes."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.shown):
            assert time.monotonic() < deadline, f"{pattern!r} was not shown:\n{self.shown[-2000:]}"
            if not self._read(1.0):
                assert re.search(pattern, self.shown), f"ended without {pattern!r}:\n{self.shown[-2000:]}"

    def finish(self) -> int:
        """Read until the command ends, and return its exit code."""
        while self._read(60.0):
            pass
        return self.process.wait(60)

    def _read(self, seconds: float) -> bool:
        """Read what comes within some seconds; False at the end."""
        if not select.select([self.end], [], [], seconds)[0]:
            return True
        try:
            content = os.read(self.end, 65536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.shown += content.decode(errors="replace")
        return bool(content)


ENDLESS = ["--gamma", "5", "--C", "100", "--tol", "0", "--max-epochs", "100000"]


def test_ctrl_c_keeps_the_current_model_and_says_how_to_resume(tmp_path: Path) -> None:
    noise, model = write_noise(tmp_path / "noise.csv", 100_000), tmp_path / "m.dsekl"
    with Terminal(["fit", str(noise), "-t", "y", "-m", str(model), *ENDLESS]) as terminal:
        terminal.read_until(r"epoch \d+ .*gap .*kernel values/s")
        assert re.search(r"\d:\d\d left", terminal.shown)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.finish() == 130
    assert "holds the current model" in terminal.shown
    assert dsekl.load(model).stop_reason_ == "interrupted"


def fit_of(noise: Path, model: Path, *more: object) -> list[str]:
    """Return the arguments of a fit of ten epochs."""
    limits = ["--max-epochs", "10", "--tol", "0", "--gamma", "5", "--C", "100"]
    return ["fit", str(noise), "-t", "y", "-m", str(model), *limits, *map(str, more)]


@pytest.fixture(scope="module")
def whole(noise: Path) -> Any:
    """Return the model of a fit that nobody stopped."""
    model = noise.with_name("whole.dsekl")
    assert run(fit_of(noise, model, "-q")) == 0
    return dsekl.load(model)


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_fit_that_was_stopped_goes_on_to_the_same_model(
    noise: Path, whole: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], sign: signal.Signals, code: int
) -> None:
    checkpoint, model = tmp_path / "run.ckpt", tmp_path / "m.dsekl"
    arguments = fit_of(noise, model, "--checkpoint", checkpoint, "--checkpoint-interval", 0)
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not checkpoint.exists() or not describe(checkpoint)["last_epoch"]:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(sign)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == code
    assert model.exists() == (sign != signal.SIGKILL)
    assert ("resume with the same command and --resume" in printed) == (sign != signal.SIGKILL)
    if sign != signal.SIGKILL:
        assert sorted(path.name for path in tmp_path.iterdir()) == ["m.dsekl", "run.ckpt"]
    assert run(["info", str(checkpoint), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "checkpoint"
    assert run(arguments) == 2
    assert "add --resume to resume from it" in capsys.readouterr().err
    assert run([*arguments, "--resume", "-q"]) == 0
    assert np.array_equal(dsekl.load(model).dual_coef_, whole.dual_coef_)
    assert np.array_equal(dsekl.load(model).support_, whole.support_)


def reading_for_long(folder: Path, **settings: Any) -> subprocess.Popen[str]:
    """Return a process that has begun to read a file which takes many seconds."""
    data = folder / "train.csv"
    data.write_text("a,b,y\n" + "1.25,2.5,0\n3.75,4.5,1\n" * 3_000_000)
    arguments = ["fit", str(data), "-t", "y", "-m", str(folder / "m.dsekl")]
    # Under nohup the end of the terminal is ignored, also by whoever these tests start.
    settings = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL), **settings}
    process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, **settings)
    while not _has_open(process.pid, data):
        assert process.poll() is None
        time.sleep(0.01)
    return process


def _has_open(process_id: int, path: Path) -> bool:
    try:
        return any(os.readlink(handle) == str(path) for handle in Path(f"/proc/{process_id}/fd").iterdir())
    except FileNotFoundError:  # a file that was closed meanwhile
        return False


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_a_file_is_read_writes_nothing_but_a_word(
    tmp_path: Path, sign: signal.Signals, code: int
) -> None:
    process = reading_for_long(tmp_path)
    process.send_signal(sign)
    _, printed = process.communicate(timeout=60)
    assert (process.returncode, printed) == (code, "note: stopped\n")
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_ctrl_c_while_the_command_line_is_loaded_prints_no_traceback() -> None:
    """From the moment that our first line runs; before that it is Python's own start."""
    code = "import dsekl.__main__ as m; print(flush=True); m.main()"
    for delay in (0.0, 0.03, 0.1, 0.2, 0.4):
        process = subprocess.Popen(
            [sys.executable, "-c", code, "info", "nothing"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay + 0.005)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
        assert "Traceback" not in printed
        assert process.returncode in (130, -signal.SIGINT, 2)  # 2: there is no such file, and the signal came late


def test_a_job_in_the_background_heeds_sigterm(tmp_path: Path) -> None:
    """Shells let such jobs ignore Ctrl-C, and SIGTERM is what ends them."""
    process = reading_for_long(tmp_path, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate(timeout=60)
    assert (process.returncode, printed) == (143, "note: stopped\n")


def test_a_terminal_that_is_closed_ends_no_fit(tmp_path: Path) -> None:
    """With nohup, that is: the terminal's end is ignored, and the progress bar has nowhere to go."""
    code = """
import os, pty, sys, time
from dsekl.runs import Progress
end, other = pty.openpty()
os.dup2(other, 2)
os.close(other)
assert sys.stderr.isatty()
before = sys.stdout, sys.stderr
with Progress(1, 10, "fit") as bar:
    for done in range(10):
        bar.advance(done, "far away")
        time.sleep(0.11)
        if done == 4:
            assert b"far away" in os.read(end, 65536)
            os.close(end)
assert (sys.stdout, sys.stderr) == before
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_a_terminal_has_colours_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    colours = re.compile(r"\x1b\[[0-9;]*(3[0-9]|4[0-9])[0-9;]*m")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with Terminal(["demo"]) as coloured, Terminal(["demo"], NO_COLOR="1") as plain:
        assert coloured.finish() == plain.finish() == 0
    assert colours.search(coloured.shown)
    assert not colours.search(plain.shown)


def test_a_tuning_run_that_was_stopped_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = make_moons(99, noise=0.2, random_state=0)
    data = tmp_path / "moons.csv"
    np.savetxt(data, np.column_stack([X, y]), delimiter=",", fmt="%.6f")

    def arguments(name: str) -> list[str]:
        files = ["-m", str(tmp_path / f"{name}.dsekl"), "--journal", str(tmp_path / f"{name}.json")]
        return ["tune", str(data), "-t", "-1", "--json", "-j", "2", *files]

    assert run(arguments("whole")) == 0
    tried = json.loads(capsys.readouterr().out)["tried"]
    journal = tmp_path / "stopped.json"
    for sign, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        before = len(json.loads(journal.read_text())["found"]) if journal.exists() else 0
        process = subprocess.Popen(
            [*COMMAND, *arguments("stopped")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while not journal.exists() or len(json.loads(journal.read_text())["found"]) < before + 8:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(sign)
        _, printed = process.communicate(timeout=60)
        assert process.returncode == code
        assert not (tmp_path / "stopped.dsekl").exists()
    assert "the same command resumes the search" in printed
    assert run(arguments("stopped")) == 0
    assert json.loads(capsys.readouterr().out)["tried"] == tried
    one, other = dsekl.load(tmp_path / "whole.dsekl"), dsekl.load(tmp_path / "stopped.dsekl")
    assert np.array_equal(one.decision_function(X), other.decision_function(X))


def test_ctrl_c_inside_a_callback_is_not_lost() -> None:
    """Compilers call back into Python from where no exception can come out."""
    code = """
import ctypes, signal, time
from dsekl.cli.signals import Request, heeded
heard = []

@ctypes.CFUNCTYPE(None)
def callback():
    heard.append("callback")
    signal.raise_signal(signal.SIGINT)

with heeded(Request()):
    try:
        callback()
        time.sleep(30)
    except KeyboardInterrupt:
        print(heard, "stopped")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['callback'] stopped\n", "")


def test_few_integers_at_a_terminal_are_asked_about_once(tmp_path: Path) -> None:
    data, model = tmp_path / "grades.csv", tmp_path / "m.dsekl"
    data.write_text("\n".join(["a,grade", *(f"{i % 17},{1 + i % 3}" for i in range(60))]))
    with Terminal(["fit", str(data), "-t", "grade", "-m", str(model), "--gamma", "1", "--C", "1"]) as terminal:
        terminal.read_until(r"'grade' holds 3 different integers \(1, 2, 3\)\. Are they classes .*amounts.*--task")
        os.write(terminal.end, b"amounts\n")
        assert terminal.finish() == 0, terminal.shown
    assert terminal.shown.count("different integers") == 1
    assert isinstance(dsekl.load(model), dsekl.DSEKLRegressor)
