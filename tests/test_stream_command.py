"""``dsekl stream``: formats, going on, kills, broken lines."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl.online import stream_file

COMMAND = [sys.executable, "-m", "dsekl", "stream"]
N = 900


def rows() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((N, 2))
    kinds = rng.choice(["u", "v", "w"], N)
    return [
        {"a": a, "b": b, "kind": str(kind), "y": "yes" if (a * b > 0) != (kind == "u") else "no"}
        for (a, b), kind in zip(numbers.tolist(), kinds, strict=True)
    ]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    lines = [",".join(map(str, row.values())) for row in rows()]
    path.write_text("\n".join(["a,b,kind,y", *lines]) + "\n")
    return path


def run(*arguments: Any, given: str | None = None, code: int = 0) -> Any:
    done = subprocess.run([*COMMAND, *map(str, arguments)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


def same(a: Path, b: Path) -> bool:
    one, other = (stream_file.read(path)[0].learner for path in (a, b))
    assert one is not None
    assert other is not None
    return all(np.array_equal(x, y) for x, y in zip(one.buffer[:5], other.buffer[:5], strict=True))


def test_csv_json_lines_and_standard_input_give_one_model(table: Path, tmp_path: Path) -> None:
    options = ["--target", "y", "--budget", 30, "--json"]
    figures = run(table, "-m", tmp_path / "csv", *options, "-o", tmp_path / "p.csv")
    assert figures["rows"] == N
    assert figures["accuracy"] > 0.75 > figures["accuracy of the last label"] + 0.15
    assert figures["points"] == 30
    assert len((tmp_path / "p.csv").read_text().splitlines()) == N + 1
    text = "\n".join(map(json.dumps, rows()))
    run("-", "-m", tmp_path / "json", *options, given=text)
    assert same(tmp_path / "csv", tmp_path / "json")


def test_large_budgets_stream_too(table: Path, tmp_path: Path) -> None:
    figures = run(table, "-m", tmp_path / "m", "--target", "y", "--budget", 5000, "--json")
    assert figures["accuracy"] > 0.75
    assert figures["points"] > 100
    assert "absorb" in run(table, "--target", "y", "--budget", 5000, "--maintenance", "oldest", "--json", code=2)


def test_a_stream_goes_on_from_a_model(table: Path, tmp_path: Path) -> None:
    options, lines = ["--target", "y", "--budget", 30, "--json"], table.read_text().splitlines(keepends=True)
    run(table, "-m", tmp_path / "whole", *options)
    run("-", "-m", tmp_path / "first", *options, given="".join(lines[:400]))
    run("-", "-m", tmp_path / "second", "--from", tmp_path / "first", *options, given="".join(lines[:1] + lines[400:]))
    assert same(tmp_path / "whole", tmp_path / "second")
    figures = run(table, "-m", tmp_path / "first", "--resume", *options)
    assert same(tmp_path / "whole", tmp_path / "first")
    assert figures["rows"] == N
    assert "--target" in run(table, "-m", tmp_path / "first", "--resume", "-t", "a", "--json", code=2)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_stream_that_was_killed_and_resumed_ends_with_the_same_model(table: Path, tmp_path: Path) -> None:
    options = ["--target", "y", "--budget", "30", "--json", "--checkpoint-interval", "0.01"]
    model, lines, rng = tmp_path / "m", table.read_text().splitlines(keepends=True), random.Random(0)
    run(table, "-m", tmp_path / "whole", *options)
    for cut in (300, 700):  # the pipe stays open, so that the command cannot be done before it is killed
        before = model.stat().st_mtime_ns if model.exists() else 0
        process = subprocess.Popen(
            [*COMMAND, "-", "-m", str(model), *options, "--resume"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert process.stdin is not None
        process.stdin.write("".join(lines[:cut]).encode())
        process.stdin.flush()
        while not model.exists() or model.stat().st_mtime_ns == before:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        process.stdin.close()
    run(table, "-m", model, *options, "--resume")
    assert same(tmp_path / "whole", model)


def test_broken_lines_are_named_and_skipped_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,yes\n2,no\n3\n4,\n5,yes\n1e300,no\n6,no\n")
    words = run(path, "-m", tmp_path / "m", "-t", "y", "--json", code=2)
    assert f"{path}:4" in words
    assert "1 field" in words
    figures = run(path, "-m", tmp_path / "m", "-t", "y", "--json", "--skip-broken")
    assert (figures["rows"], figures["broken lines"]) == (4, 3)
    assert "--C -1" in run(path, "-t", "y", "--C", "-1", "--json", code=2)
    path.write_text("y\nyes\nno\n")
    assert "feature" in run(path, "-t", "y", "--json", code=2)
    path.write_text('{"a": 1, "y": 2.5}\n{"a": [1], "y": 3}\n')
    words = run(path, "-m", tmp_path / "n", "-t", "y", "--json", "--task", "regression", code=2)
    assert f"{path}:2" in words
    assert "'a'" in words


def test_numbers_to_predict_need_a_task(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{k},{k * k}\n" for k in range(50)))
    assert "--task" in run(path, "-m", tmp_path / "m", "-t", "y", "--json", code=2)
    figures = run(path, "-m", tmp_path / "m", "-t", "y", "--json", "--task", "regression")
    assert figures["mean absolute error"] < 300
    assert "already exists" in run(path, "-m", tmp_path / "m", "-t", "y", "--task", "regression", code=2)
    assert "missing" in run(path, "-m", tmp_path / "n", "-t", "z", "--json", code=2)


def test_the_choices_of_the_command_are_those_of_the_library() -> None:
    from dsekl import kernels, losses
    from dsekl.cli import stream
    from dsekl.online.maintenance import WAYS

    assert set(stream.WAYS) == set(WAYS)
    for name in stream.KERNELS:
        assert isinstance(kernels.resolve(name), kernels.VectorKernel)
    for task, names in stream.LOSSES.items():
        for name in names:
            losses.resolve(name, task)


def test_without_a_model_there_are_scores_alone(table: Path, tmp_path: Path) -> None:
    figures = run(table, "--target", "y", "--budget", 30, "--json")
    assert figures["rows"] == N
    assert "model" not in figures
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv"}
    assert "give --model" in run(table, "--target", "y", "--resume", code=2)
