"""Commands where the usual things are missing: a cache, a home, streams, threads, room on the disk, letters.

Every case is a process of its own, in which the thing is really missing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsekl
from dsekl.estimators.files import describe

SOURCE = Path(dsekl.__file__).parent
DSEKL = [sys.executable, "-m", "dsekl"]
LIMITED = """
import resource, signal, sys
from dsekl.__main__ import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
main()
"""
"""The command line where no file can be longer than so many bytes, as on a disk that is full."""


def environment(**changes: str | None) -> dict[str, str]:
    """Return this environment with changes; None takes a variable away."""
    return {name: value for name, value in {**os.environ, **changes}.items() if value is not None}


def start(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [*DSEKL, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def shell(redirections: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a shell, with its redirections."""
    command = ["bash", "-c", f'"$@" {redirections}', "bash", *DSEKL, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def predicted(bought: Path) -> str:
    """Return the predictions of a command that lacks nothing."""
    done = start("predict", bought / "m.dsekl", bought / "test.csv")
    assert done.returncode == 0
    return done.stdout


def test_a_read_only_installation_without_a_home_compiles_anew_and_says_so_once(
    bought: Path, predicted: str, tmp_path: Path
) -> None:
    installed = tmp_path / "dsekl"
    shutil.copytree(SOURCE, installed, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [installed, *(path for path in installed.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # a file: no folder can be made there, not even by root
    bare = environment(PYTHONPATH=str(tmp_path), HOME="/dev/null", XDG_CACHE_HOME=None, NUMBA_CACHE_DIR="/dev/null/no")
    done = start("predict", bought / "m.dsekl", bought / "test.csv", env=bare)
    assert (done.returncode, done.stdout) == (0, predicted), done.stderr
    assert done.stderr.count("note: Numba's cache cannot be written") == 1
    assert "set NUMBA_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr
    quiet = start("evaluate", "nothing.dsekl", "nothing.csv", "-q", env=bare)
    assert quiet.stderr == "dsekl: nothing.dsekl: there is no such file\n"


def test_a_cache_that_is_full_or_damaged_costs_time_alone(tmp_path: Path) -> None:
    (tmp_path / "doubling.py").write_text(
        "from dsekl.compiled import njit\n@njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    )
    code = """
import resource, signal, sys, warnings
from doubling import double
if "full" in sys.argv:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert (double(2), double(2.5)) == (4, 5.0)
print([str(warning.message)[:31] for warning in caught], sum(double.stats.cache_hits.values()))
"""
    here = environment(PYTHONPATH=f"{tmp_path}:{SOURCE.parent}", NUMBA_CACHE_DIR=str(tmp_path / "cache"))

    def call(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, env=here, check=True
        )
        return done.stdout.strip()

    assert call("full") == '["Numba\'s cache cannot be written"] 0'
    assert call() == "[] 0"
    assert call() == "[] 2"
    for damaged in ("*.nbi", "*.nbc"):
        for path in (tmp_path / "cache").rglob(damaged):
            path.write_bytes(path.read_bytes()[:10])  # a power cut
        assert call() == "[] 0"
        assert call() == "[] 2"


def test_every_compiled_function_uses_the_cache_that_is_optional() -> None:
    """Numba's own decorator fails where it finds no folder for its cache."""
    caching = {path: path.read_text() for path in SOURCE.rglob("*.py") if "@njit(cache=True" in path.read_text()}
    assert len(caching) > 5
    assert [path for path, text in caching.items() if re.search("^from numba import .*njit", text, re.M)] == []


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_closed_stream_fails_nothing(bought: Path, closed: str) -> None:
    done = shell(closed, "info", bought / "m.dsekl")
    assert done.returncode == 0
    assert done.stderr == ""
    assert ("DSEKLClassifier" in done.stdout) == (closed != ">&-")


def test_a_fit_without_any_stream_writes_its_model(bought: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.dsekl"
    arguments = ["fit", bought / "train.csv", "-t", "buys", "-m", model, "--gamma", 0.1, "-C", 1, "--checkpoint"]
    assert shell("<&- >&- 2>&-", *arguments, tmp_path / "run.ckpt").returncode == 0
    assert len(dsekl.load(model).dual_coef_) > 0
    assert describe(tmp_path / "run.ckpt")["kind"] == "checkpoint"


def test_a_stream_of_rows_without_any_standard_stream_writes_its_files(bought: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "m.dsekl", tmp_path / "out.csv"
    arguments = ["stream", bought / "train.csv", "-t", "buys", "--budget", 20, "-m", model, "-o", out]
    assert shell("<&- >&- 2>&-", *arguments).returncode == 0
    assert describe(model)["kind"] == "stream"
    assert len(out.read_text().splitlines()) == len((bought / "train.csv").read_text().splitlines())
    assert {path.name for path in tmp_path.iterdir()} == {"m.dsekl", "out.csv"}


def test_predictions_need_a_stream_that_is_open(bought: Path) -> None:
    done = shell(">&-", "predict", bought / "m.dsekl", bought / "test.csv")
    assert done.returncode == 2
    assert done.stderr == "dsekl: standard output is closed; write the predictions to a file with --output\n"


@pytest.mark.parametrize("command", [["info"], ["info", "--json"], ["predict"]], ids=" ".join)
def test_a_full_disk_under_standard_output_is_said_in_one_line(bought: Path, command: list[str]) -> None:
    files = {"info": [bought / "m.dsekl"], "predict": [bought / "m.dsekl", bought / "test.csv"]}
    done = shell("> /dev/full", command[0], *files.get(command[0], []), *command[1:])
    assert done.returncode == 1
    assert done.stderr.startswith("dsekl: standard output: No space left on device\n")
    assert done.stderr.count("\n") == 1
    helped = shell("> /dev/full", "--help")
    assert (helped.returncode, helped.stderr) == (1, "dsekl: No space left on device\n")


def test_notes_that_cannot_be_printed_fail_nothing(bought: Path, predicted: str) -> None:
    for lost in ("2> /dev/full", "2> >(exec true)"):
        done = shell(lost, "predict", bought / "m.dsekl", bought / "test.csv")
        assert (done.returncode, done.stdout) == (0, predicted)
        assert shell(lost, "info", "nothing.dsekl").returncode == 2


def test_a_reader_that_has_gone_ends_the_command_quietly(bought: Path, tmp_path: Path) -> None:
    header, *rows = (bought / "test.csv").read_text().splitlines(keepends=True)
    (tmp_path / "many.csv").write_text(header + "".join(rows) * 200)
    done = shell("| head -1; exit ${PIPESTATUS[0]}", "predict", bought / "m.dsekl", tmp_path / "many.csv", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (1, "prediction\n", "")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["fit", "{}/train.csv", "-t", "buys", "-m", "m.dsekl", "--gamma", "1", "-C", "1", "-q"], "m.dsekl: "),
        (["predict", "{}/m.dsekl", "{}/test.csv", "-o", "out.csv", "-q"], "out.csv: "),
        (["stream", "{}/train.csv", "-t", "buys", "-m", "m.dsekl", "-q"], "m.dsekl: "),
        (["stream", "{}/train.csv", "-t", "buys", "-o", "out.csv", "-q"], "out.csv"),
        (["demo"], "temporary directory"),
    ],
    ids=["fit", "predict", "stream", "predictions of a stream", "demo"],
)
def test_a_full_disk_names_the_file_and_leaves_nothing(
    bought: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    command = [sys.executable, "-B", "-c", LIMITED, "0", *(text.format(bought) for text in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode in (1, 2)
    assert list(tmp_path.iterdir()) == []
    *before, last = done.stderr.splitlines()
    assert last.startswith("dsekl: ")
    if imports_need_temporary_files():
        assert "temporary directory" in last
    else:
        assert named in last
        assert not before


def imports_need_temporary_files() -> bool:
    """Tell whether SciPy cannot even be imported where none can be written: old versions, which complain at length."""
    code = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nimport scipy.stats"
    return subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, check=False).returncode != 0


def test_without_threads_the_work_is_done_by_the_one_that_there_is(bought: Path, tmp_path: Path) -> None:
    code = """
import sys, threading
threading.stack_size(2**46)  # more than any machine has: no thread can be started
try:
    threading.Thread(target=print).start()
except RuntimeError as error:
    print(error, file=sys.stderr)
from dsekl.__main__ import main
main()
"""
    made = {}
    for name, how in (("alone", ["-c", code]), ("usual", ["-m", "dsekl"])):
        arguments = ["fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / name, "-j", 4, "-q"]
        done = subprocess.run([sys.executable, *how, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert ("can't start new thread" in done.stderr) == (name == "alone")
        made[name] = dsekl.load(tmp_path / name)
    assert np.array_equal(made["alone"].dual_coef_, made["usual"].dual_coef_)
    assert np.array_equal(made["alone"].support_, made["usual"].support_)


ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": None}


def test_a_locale_without_letters_loses_none(tmp_path: Path) -> None:
    rows = [f"{i % 7},{i % 5},{'süß' if i % 2 else '甘い'}" for i in range(60)]
    (tmp_path / "tee.csv").write_text("\n".join(["größe,b,τ", *rows]) + "\n", encoding="utf-8")
    ascii_only = environment(**ASCII)
    fitted = start("fit", tmp_path / "tee.csv", "-t", -1, "-m", tmp_path / "m", "--gamma", 1, "-C", 1, env=ascii_only)
    assert fitted.returncode == 0, fitted.stderr
    predictions = [
        subprocess.run(
            [*DSEKL, "predict", tmp_path / "m", tmp_path / "tee.csv"], capture_output=True, env=env, check=True
        )
        for env in (ascii_only, environment())
    ]
    assert predictions[0].stdout == predictions[1].stdout
    assert "甘い" in predictions[0].stdout.decode()
    for command in (["info", tmp_path / "m"], ["evaluate", tmp_path / "m", tmp_path / "tee.csv"]):
        done = subprocess.run([*DSEKL, *command], capture_output=True, env=ascii_only, check=True)
        assert "süß" in done.stdout.decode() or command[0] == "info"


ODD: list[dict[str, str | None]] = [
    {"COLUMNS": "0"},
    {"COLUMNS": "1"},
    {"COLUMNS": "many", "LINES": "0"},
    {"COLUMNS": "-5", "TERM": "dumb"},
    {"TERM": None, "HOME": None, "LANG": None, "PATH": None},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_odd_terminals_and_no_home(odd: dict[str, str | None]) -> None:
    done = start("fit", "--help", env=environment(**odd))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage" in done.stdout.replace("\n", "")


def test_a_bare_process_shows_a_model(bought: Path) -> None:
    """No environment at all but what finds the package."""
    bare = {"PYTHONPATH": str(SOURCE.parent), "COLUMNS": "1"}
    done = start("info", bought / "m.dsekl", env=bare)
    assert (done.returncode, done.stderr) == (0, "")
    assert "DSEKLClassifier" in done.stdout


def test_a_compiler_that_is_switched_off_is_named(bought: Path) -> None:
    done = start("predict", bought / "m.dsekl", bought / "tee.csv", env=environment(NUMBA_DISABLE_JIT="1"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "dsekl: dsekl is compiled by Numba, and NUMBA_DISABLE_JIT is set; unset it\n"
