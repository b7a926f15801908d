"""What the command line refuses: one clear line, an exit code, nothing half-written and nothing deleted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris

import dsekl
from dsekl.cli import predict
from dsekl.data import replaced_folder
from dsekl.data.folder import read_folder

BAD = [
    (b"", "train.csv: is empty"),
    (b"a,b,y\n1,2,u\n1,2\n", "train.csv:3: has 2 fields, not 3"),
    (b"a,b,y\n1,2,u\n\xff,2,v\n", "train.csv:3: column 'a': byte 0xff is not UTF-8"),
    (
        b"a,b,y\n1,2,u\n3,4,v\n5,x,v\n",
        "train.csv:4: column 'b': 'x' is not a number, but most of the column is; correct it, or encode the column as "
        "categories with --text",
    ),
    (b"a,b,y\n1,2,u\n3,4,\n", "train.csv:3: column 'y': the target is missing"),
    (b"a,b,z\n1,2,u\n3,4,v\n", "train.csv: there is no column 'y'; the columns are 'a', 'b', 'z'"),
    (b'a,b,y\n1,2,"u\n', "train.csv:2: a quoted field is not closed"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
@pytest.mark.parametrize("command", ["fit", "tune", "convert"])
def test_bad_training_files_end_in_one_line_and_nothing_written(
    run: Any, tmp_path: Path, content: bytes, message: str, command: str
) -> None:
    path = tmp_path / "train.csv"
    path.write_bytes(content)
    out = [tmp_path / "out"] if command == "convert" else ["-m", tmp_path / "m.dsekl"]
    result = run(command, path, "-t", "y", *out)
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.startswith(f"dsekl: {tmp_path}/{message}")
    assert [file.name for file in tmp_path.iterdir()] == ["train.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,age,income\n1,2,3\n", "new.csv: lacks 'city', which the model was trained on"),
        (b"id,age,city,income\n1,2,Rome,3\n1,old,Rome,3\n", "new.csv:3: column 'age': 'old' is not a number"),
        (b"id,age,city,income\n1,2,Rome\n", "new.csv:2: has 3 fields, not 4"),
        (b"1 2:3\n", "new.csv: the model was trained on a table with columns; give a file of that kind"),
    ],
)
def test_bad_rows_to_predict_leave_the_old_output_alone(
    run: Any, bought: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "new.csv").write_bytes(content)
    (tmp_path / "out.csv").write_text("as before\n")
    result = run("predict", bought / "m.dsekl", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert result.code == 2
    assert f"dsekl: {tmp_path}/{message}" in result.err
    assert (tmp_path / "out.csv").read_text() == "as before\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.csv", "out.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "none.csv", "-t", "y", "-m", "m"], "none.csv: there is no such file"),
        (["fit", ".", "-t", "y", "-m", "m"], ".: is a folder that 'dsekl convert' did not make"),
        (["fit", "train.csv", "-m", "m"], "which column is the target. give --target, its name or its number"),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m.dsekl"],
            r"--model m.dsekl: already exists \(use --force to overwrite\)",
        ),
        (["fit", "train.csv", "-t", "buys", "-m", "no/m"], "--model no/m: there is no folder no; make it first"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--gamma", "-1"], "--gamma -1: give auto, learn, scale, median"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "-C", "zero"], "--C zero: give auto or a number"),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m", "--kernel", "rbff"],
            "--kernel rbff is not known; did you mean rbf",
        ),
        (["fit", "train.csv", "-t", "buy", "-m", "m"], "there is no column 'buy'; did you mean 'buys'"),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m", "--loss", "huber"],
            "--loss huber is for regression, and this is .* logistic",
        ),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--solver", "sgd"], "--solver sgd is not known; .* dual"),
        (["tune", "train.csv", "-t", "buys", "-m", "m", "--kernel", "rbff"], "--kernel rbff is not known; .* rbf"),
        (
            ["tune", "train.csv", "-t", "buys", "-m", "m", "--loss", "huber"],
            "--loss huber is for regression, and this is .* logistic",
        ),
        (
            ["fit", "train.csv", "-t", "city", "-m", "m", "--validation", "0.001"],
            "--validation 0.001 cannot be .*--val",
        ),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m", "--resume"],
            "--resume: give the checkpoint to resume from with --checkpoint",
        ),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m", "--checkpoint", "m.dsekl"],
            "m.dsekl: already exists; add --resume",
        ),
        (["predict", "none.dsekl", "test.csv"], "none.dsekl: there is no such file"),
        (["info", "none.dsekl"], "none.dsekl: there is no such file"),
        (["predict", ".", "test.csv"], ".: is a folder; give a file"),
        (["predict", "train.csv", "test.csv"], "train.csv: not a dsekl file, or corrupted"),
        (["predict", "test.csv", "m.dsekl"], "test.csv: is not a model file, but m.dsekl is; name the model first"),
        (["evaluate", "test.csv", "m.dsekl"], "test.csv: is not a model file, but m.dsekl is; name the model first"),
        (["predict", "m.dsekl", "test.csv", "--json"], "--json: .* with --output"),
        (["predict", "m.dsekl", "test.csv", "--keep", "mood"], "there is no column 'mood'"),
        (["predict", "m.dsekl", "."], "is a folder"),
        (["info", "test.csv"], "test.csv: not a dsekl file, or corrupted"),
        (["convert", "train.csv", "m.dsekl", "-t", "buys"], r"m.dsekl: already exists \(use --force to overwrite\)"),
        (
            ["convert", "train.csv", ".", "-t", "buys", "--force"],
            "--force overwrites only folders that 'dsekl convert'",
        ),
        (["predict", "m.dsekl", "test.csv", "-o", "test.csv"], "--output test.csv: is used by another option"),
        (["predict", "m.dsekl", "test.csv", "-o", "m.dsekl"], "--output m.dsekl: is used by another option"),
        (["predict", "m.dsekl", "test.csv", "-o", "/dev/null"], "--output /dev/null: is a device or a pipe"),
        (["predict", "m.dsekl", "test.csv", "-o", "/proc/out.csv"], "--output /proc/out.csv: cannot be written"),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "train.csv", "--force"],
            "--model train.csv: is used by another option",
        ),
        (["fit", "train.csv", "-t", "buys", "-m", "/proc/m"], "--model /proc/m: cannot be written"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--checkpoint", "m"], "--model m: is used by another option"),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m", "--checkpoint", "no/c"],
            "--checkpoint no/c: there is no",
        ),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m", "--no-header"],
            "no column 'buys'.*line 1 was read as data; if it is a header, give --header",
        ),
        (["tune", "train.csv", "-t", "buys", "-m", "m", "--journal", "test.csv"], "test.csv: is no journal"),
        (["tune", "train.csv", "-t", "buys", "-m", "m", "--journal", "train.csv"], "--journal train.csv: is used by"),
    ],
)
def test_a_request_that_cannot_be_met_names_option_and_fix(
    run: Any, bought: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(bought)
    before = sorted(bought.iterdir())
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert re.search(message, result.err.replace("\n", " "))
    assert sorted(bought.iterdir()) == before


def test_a_table_that_is_refused_prints_no_header(run: Any, bought: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,age\n1,2\n")
    result = run("predict", bought / "m.dsekl", tmp_path / "new.csv")
    assert result.code == 2
    assert result.out == ""


def test_what_convert_did_not_make_is_not_deleted(run: Any, bought: Path, tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    assert run("convert", bought / "train.csv", folder, "-t", "buys").code == 0
    assert run("convert", bought / "train.csv", folder, "-t", "buys", "--force").code == 0
    (folder / "thesis.txt").write_text("all of it")
    assert run("convert", bought / "train.csv", folder, "-t", "buys", "--force").code == 2
    assert (folder / "thesis.txt").read_text() == "all of it"


def test_a_file_in_utf_16_is_named_as_such(run: Any, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("a,label\n1,yes\n2,no\n", encoding="utf-16")
    result = run("fit", tmp_path / "wide.csv", "-t", "label", "-m", tmp_path / "m")
    assert result.code == 2
    assert "is in UTF-16; save the file in UTF-8" in result.err


def test_help_and_mistakes_have_no_boxes_in_a_pipe(tmp_path: Path) -> None:
    for words in (["fit", "--help"], ["fitt"]):
        done = subprocess.run([sys.executable, "-m", "dsekl", *words], capture_output=True, text=True, cwd=tmp_path)
        told = done.stdout + done.stderr
        assert "Usage" in told
        assert told.isascii()
    assert "Did you mean 'fit'?" in told


def test_a_choice_that_is_nearly_right_is_proposed(tmp_path: Path) -> None:
    words = ["fit", "a.csv", "-m", "m", "--task", "clasification"]
    done = subprocess.run([sys.executable, "-m", "dsekl", *words], capture_output=True, text=True, cwd=tmp_path)
    assert "'clasification' is not one of 'classification', 'regression'." in done.stderr
    assert "Did you mean 'classification'?" in done.stderr
    assert "Value error" not in done.stderr


def test_summaries_of_commands_fit_80_columns(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "dsekl", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "COLUMNS": "80"})
    assert "..." not in done.stdout.partition("Commands:")[2]
    assert "Fit a model to a table and write it to a file." in done.stdout


def test_unknown_options_are_refused(run: Any) -> None:
    result = run("fit", "--frobnicate")
    assert result.code == 2


def test_a_model_from_python_says_how_to_use_it(run: Any, bought: Path, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    dsekl.DSEKLClassifier(gamma=1.0).fit(X, y).save(tmp_path / "python.dsekl")
    result = run("predict", tmp_path / "python.dsekl", bought / "test.csv")
    assert result.code == 2
    assert "was saved from Python, without the columns of a table; use dsekl.load in Python" in result.err


def test_a_full_disk_fails_cleanly(bought: Path, tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from dsekl.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "main(sys.argv[1:])"
    )
    arguments = ["predict", str(bought / "m.dsekl"), str(bought / "test.csv"), "-o", str(tmp_path / "out.csv")]
    done = subprocess.run([sys.executable, "-B", "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


HOSTILE = "[/red] bad100.csv:100: [bold]x \x1b[31m\x07\u202e"


def test_messages_are_printed_as_they_are_and_do_nothing_to_a_terminal(run: Any, tmp_path: Path) -> None:
    path = tmp_path / f"{HOSTILE}.csv"
    path.parent.mkdir()
    path.write_text("a,y\n1,2\n3\n")
    result = run("fit", path, "-t", "y", "-m", tmp_path / "m")
    assert result.code == 2
    shown = HOSTILE.replace("\x1b", r"\x1b").replace("\x07", r"\x07").replace("\u202e", r"\u202e")
    assert result.err == f"dsekl: {tmp_path}/{shown}.csv:3: has 1 field, not 2\n"


def test_names_and_labels_from_a_file_are_printed_as_they_are(run: Any, tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 5},{HOSTILE if i % 2 else ':smile:'}\n" for i in range(120))
    (tmp_path / "train.csv").write_text(f"{HOSTILE},same,[y]\n{rows}")
    fitted = run("fit", tmp_path / "train.csv", "-t", "-1", "-m", tmp_path / "m", "--gamma", "1", "-C", "1")
    assert fitted.code == 0
    described = run("info", tmp_path / "m")
    for printed in (fitted.out, fitted.err, described.out):
        assert "\x1b" not in printed
        assert "\u202e" not in printed
    assert ":smile:" in fitted.out
    assert "[/red] bad100.csv:100:" in fitted.out + described.out
    assert "[y]" in described.out


def test_a_recipe_that_does_not_fit_its_model_is_refused(run: Any, bought: Path, tmp_path: Path) -> None:
    from dsekl.estimators.files import read

    saved = read(bought / "m.dsekl")
    assert saved.table is not None
    columns = saved.table["encoder"]["columns"]
    for encoder, target in [
        ({**saved.table["encoder"], "columns": columns[:1]}, saved.table["target"]),
        (saved.table["encoder"], {**saved.table["target"], "classes": ["no", "never"]}),
        ({**saved.table["encoder"], "columns": [{**columns[0], "scale": 0.0}, *columns[1:]]}, saved.table["target"]),
    ]:
        saved.estimator.save(tmp_path / "m.dsekl", table={**saved.table, "encoder": encoder, "target": target})
        result = run("predict", tmp_path / "m.dsekl", bought / "test.csv")
        assert result.code == 2
        assert result.err.startswith(f"dsekl: {tmp_path}/m.dsekl: ")
        assert "corrupted" in result.err


def test_predictions_are_escaped_on_a_terminal_and_data_in_a_pipe(
    run: Any, bought: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (bought / "test.csv").read_text().splitlines()
    (tmp_path / "new.csv").write_text(f"{text[0]}\n\x1b[31m{text[1]}\n")
    arguments = ["predict", bought / "m.dsekl", tmp_path / "new.csv", "--keep", "id"]
    assert "\x1b[31m" in run(*arguments).out
    monkeypatch.setattr(predict.sys.stdout, "isatty", lambda: True, raising=False)
    shown = run(*arguments).out
    assert "\x1b[31m" not in shown
    assert "\\x1b[31m" in shown


def test_a_folder_that_a_kill_left_aside_is_not_overwritten_unasked(run: Any, bought: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert run("convert", bought / "train.csv", folder, "-t", "buys").code == 0
    folder.rename(tmp_path / f"{replaced_folder._prefix(folder)}01234567.old")
    result = run("convert", bought / "train.csv", folder, "-t", "buys")
    assert result.code == 2
    assert "already exists (use --force to overwrite)" in result.err
    assert read_folder(folder)[0].n_rows == 300


@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_large_ids_and_labels_keep_their_digits(run: Any, tmp_path: Path, form: str) -> None:
    import numpy as np
    import pandas as pd

    ids = [2**53 + k for k in range(60)]
    frame = pd.DataFrame({"id": ids, "x": list(range(60)), "y": [2**60 + (k > 29) for k in range(60)]})
    path = tmp_path / f"table.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        np.save(path, np.ascontiguousarray(frame.to_numpy()))
    kept = "1" if form == "npy" else "id"
    model = ["-m", tmp_path / "m", "--gamma", "0.1", "-C", "10", "--validation", "0"]
    assert run("fit", path, "-t", "-1", "--ignore", kept, *model).code == 0
    lines = run("predict", tmp_path / "m", path, "--keep", kept).out.splitlines()[1:]
    assert [int(line.split(",")[0]) for line in lines] == ids
    assert {line.split(",")[1] for line in lines} == {str(2**60), str(2**60 + 1)}


@pytest.mark.parametrize("command", ["fit", "tune", "convert", "predict", "evaluate", "info"])
def test_a_loop_of_links_is_named(run: Any, bought: Path, tmp_path: Path, command: str) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    arguments = {
        "fit": [loop, "-t", "y", "-m", tmp_path / "m"], "tune": [loop, "-t", "y", "-m", tmp_path / "m"],
        "convert": [loop, tmp_path / "out", "-t", "y"], "predict": [bought / "m.dsekl", loop],
        "evaluate": [loop, bought / "test.csv"], "info": [loop],
    }  # fmt: skip
    result = run(command, *arguments[command])
    assert result.code == 2
    assert f"{loop}: " in result.err
    assert "Too many levels of symbolic links" in result.err


def test_a_delimiter_of_two_characters_is_named(run: Any, bought: Path, tmp_path: Path) -> None:
    result = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m", "--delimiter", "ab")
    assert result.code == 2
    assert "cannot be cut at 'ab'; give one character as --delimiter" in result.err
