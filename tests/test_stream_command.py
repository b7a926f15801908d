"""``dsekl stream``: formats, going on, kills, broken lines."""

from __future__ import annotations

import inspect
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl import persistence
from dsekl.cli import prediction_log, stream_run
from dsekl.cli.prediction_log import PredictionLog
from dsekl.data.streamed import StreamedRow
from dsekl.online import stream_file
from dsekl.online.dicts import MOST_CLASSES, DictMachine

SETTINGS = {**{name: value for name, value in stream_run.DEFAULTS.items() if name != "seed"}, "loss": "hinge",
            "C": 1.0, "classes": True}  # fmt: skip
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
    assert figures["accuracy"] > 0.75 > figures["accuracy of repeating the last label"] + 0.15
    assert figures["points"] == 30
    told = subprocess.run([*COMMAND[:-1], "info", tmp_path / "csv"], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"rows +{N:,}\naccuracy +{figures['accuracy']:.4g}\n", told)
    assert re.search(r"target +y\n", told)
    assert "broken" not in told
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
    assert "there is no column 'z'" in run(path, "-m", tmp_path / "n", "-t", "z", "--json", code=2)


def test_the_choices_of_the_command_are_those_of_the_library() -> None:
    from dsekl import kernels
    from dsekl.cli import stream
    from dsekl.online.maintenance import WAYS
    from dsekl.online.stream_settings import stream_losses

    assert set(stream.WAYS) == set(WAYS)
    for name in stream.KERNELS:
        assert isinstance(kernels.resolve(name), kernels.VectorKernel)
    for task, names in stream_run.LOSSES.items():
        for name in names:
            stream_losses(name, task)
    defaults = {name: option.default for name, option in inspect.signature(stream.stream).parameters.items()}
    assert {name: defaults[name] for name in stream_run.DEFAULTS} == stream_run.DEFAULTS


def test_labels_keep_their_digits_and_zeros(tmp_path: Path) -> None:
    """Numbers merge integers above 2^53, and 007 with 7."""
    labels = ["9007199254740992", "9007199254740993", "007", "7", "7.0"]
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{k % 5},{labels[k % 5]}\n" for k in range(50)))
    figures = run(tmp_path / "t.csv", "-t", "y", "--task", "classification", "-m", tmp_path / "m", "--json")
    assert figures["rows"] == 50
    assert list(stream_file.read(tmp_path / "m")[0].codes) == labels[:4]
    lines = [{"a": 1, "y": 9007199254740993}, {"a": 2, "y": 9007199254740992}, {"a": 2, "y": float("nan")}]
    words = run("-", "-t", "y", "--task", "classification", given="\n".join(map(json.dumps, lines)), code=2)
    assert "target is missing" in words


def test_a_file_that_has_learned_from_labels_names_them(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{k % 7},no\n" for k in range(20)))
    run(tmp_path / "t.csv", "-t", "y", "--task", "classification", "-m", tmp_path / "m", "--json")
    header, arrays = persistence.read(tmp_path / "m")
    persistence.write(tmp_path / "m", {**header, "codes": []}, arrays)
    with pytest.raises(persistence.ModelFileError, match="names no class"):
        stream_file.read(tmp_path / "m")


def test_a_stream_goes_on_with_its_own_settings_alone(table: Path, tmp_path: Path) -> None:
    given = [table, "-t", "y", "--json", "-m", tmp_path / "m"]
    run(*given, "--budget", 30)
    assert "--budget 30" in run(*given, "--resume", "--budget", 40, code=2)
    assert "--seed 0" in run(*given, "--resume", "--seed", 1, code=2)
    assert "without it" in run(*given, "--resume", "-o", tmp_path / "p.csv", code=2)
    assert run(*given, "--resume")["points"] == 30


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_stream_that_was_stopped_has_all_predictions_and_the_same_model(table: Path, tmp_path: Path) -> None:
    """By Ctrl-C in the middle of a row, over and over; then by a kill."""
    options = ["-t", "y", "--budget", "30", "--json", "--checkpoint-interval", "0.01"]
    run(table, "-m", tmp_path / "whole", *options, "-o", tmp_path / "whole.csv")
    wanted = (tmp_path / "whole.csv").read_text().replace(str(table), "-")
    lines, rng = table.read_text().splitlines(keepends=True), random.Random(1)
    command = [*COMMAND, "-", "-m", str(tmp_path / "m"), *options, "-o", str(tmp_path / "p.csv"), "--resume"]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        before = (tmp_path / "m").stat().st_mtime_ns if (tmp_path / "m").exists() else 0
        process.stdin.write("".join(lines[: rng.randrange(500, 800)]).encode())
        process.stdin.flush()
        while not (tmp_path / "m").exists() or (tmp_path / "m").stat().st_mtime_ns == before:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(number)
        assert process.wait() == code
        process.stdin.close()
    run("-", "-m", tmp_path / "m", *options, "-o", tmp_path / "p.csv", "--resume", given="".join(lines))
    assert same(tmp_path / "whole", tmp_path / "m")
    assert (tmp_path / "p.csv").read_text() == wanted
    left = {path.name for path in tmp_path.iterdir()} - {"t.csv", "m", "whole", "whole.csv", "p.csv"}
    assert left <= {name for name in left if name.startswith(".")}  # drafts of the kill, removed by the next writer


def test_without_a_model_there_are_scores_alone(table: Path, tmp_path: Path) -> None:
    figures = run(table, "--target", "y", "--budget", 30, "--json")
    assert figures["rows"] == N
    assert "model" not in figures
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv"}
    assert "give --model" in run(table, "--target", "y", "--resume", code=2)


def test_a_disk_that_is_full_for_a_while_costs_no_stream(table: Path, tmp_path: Path) -> None:
    """As a checkpoint of a fit: a warning, and the file before it is kept."""
    given = {name: value for name, value in stream_run.DEFAULTS.items() if name != "seed"}
    run_of = stream_run.StreamRun.of({**given, "budget": 20}, "classification", "y", 0, None, False)
    run_of.model, run_of.interval, run_of.ignored, run_of.skip_broken = tmp_path / "m", 0.0, {"y"}, False
    rows = iter([StreamedRow("t", {"a": 1.0 * k, "y": "uv"[k % 2]}, "uv"[k % 2]) for k in range(9)])
    run_of.take(next(rows))
    before = (tmp_path / "m").read_bytes()
    run_of.model = tmp_path / "nothing" / "m"
    with pytest.warns(UserWarning, match="could not be written .*Make room on the disk"):
        run_of.take(next(rows))
    run_of.model = tmp_path / "m"
    assert (tmp_path / "m").read_bytes() == before
    for row in rows:
        run_of.take(row)
    assert stream_file.read(tmp_path / "m")[2]["lines"] == 9


@pytest.mark.skipif(os.name != "posix", reason="limits of resources")
def test_predictions_wait_for_room_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's buffers drop what a disk does not take: most predictions of a stream were lost, with exit code 0."""
    import resource

    log = PredictionLog(tmp_path / "p.csv", None)
    places = range(20_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.flushed() + 1000, hard))
    try:
        for place in places:
            log.add(place, "u", None)
        with pytest.raises(OSError, match=r"p.csv.unfinished"):
            log.flushed()
        monkeypatch.setattr(prediction_log, "MOST_WAITING", 10_000)
        with pytest.raises(OSError, match="too large"):
            log.add(len(places), "v", None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    log.finish()
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines == ["place,prediction,target", *(f"{place},u," for place in places), f"{len(places)},v,"]


@pytest.mark.parametrize(
    ("line", "words"),
    [(r'{"a":1,"a":2,"y":"u"}', "a name stands twice"), (r'{"a":1,"y":"\ud800"}', "surrogate"),
     (r'{"a":1,"\udfff":2,"y":"u"}', "surrogate")],
)  # fmt: skip
def test_json_that_says_two_things_or_no_text_is_a_broken_line(tmp_path: Path, line: str, words: str) -> None:
    lines = ['{"a":1,"y":"u\\u00e9\\ud83d\\ude00"}', line, '{"a":2,"y":"v"}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert f"t.jsonl:2: {'is no JSON' if 'twice' in words else 'has half'}" in run(
        tmp_path / "t.jsonl", "-t", "y", code=2
    )
    options = ["-t", "y", "--skip-broken", "--json", "-m", tmp_path / "m", "-o", tmp_path / "p.csv"]
    assert run(tmp_path / "t.jsonl", *options)["broken lines"] == 1
    assert list(stream_file.read(tmp_path / "m")[0].codes) == ["ué😀", "v"]


def test_a_stream_has_no_more_classes_than_its_file(tmp_path: Path) -> None:
    """Its file was refused, after all that it had learned."""
    machine = DictMachine(stream_file.settings_of({**SETTINGS, "budget": 1, "n_cols": 0}), 0)
    machine.codes = {f"c{k}": k for k in range(MOST_CLASSES)}
    with pytest.raises(ValueError, match=r"'new', and there are 1,000 classes already"):
        machine.learn({"a": 1.0}, "new")
    assert len(machine.codes) == MOST_CLASSES
    assert len(machine.slots) == 0
    del machine.codes["c7"]
    with pytest.raises(ValueError, match="label has 2,000 characters"):
        machine.learn({"a": 1.0}, "y" * 2000)


def test_categories_that_are_long_texts_leave_room_in_a_file(tmp_path: Path) -> None:
    """Texts that never repeat are no features; a stream of them could not be written."""
    machine = DictMachine(stream_file.settings_of({**SETTINGS, "budget": 1, "n_cols": 0}), 0)
    texts = [f"{k}" + "[,\U0001f600" * 30_000 for k in range(20)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for k, text in enumerate(texts):
            machine.learn({"z": 1.0, f"b{k}": 1.0, "text": text}, "uv"[k % 2])
    assert "'text' and others are left out" in str(told[0].message)
    stream_file.write(tmp_path / "m", machine, {**SETTINGS, "budget": 1, "n_cols": 0}, {})
    assert len(stream_file.read(tmp_path / "m")[0].slots) == len(machine.slots) > 21
