"""Bad tables on the command line: each works as documented, or the column, the value and the row are named.

The same tables as frames are in test_frames.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl.data.folder import read_folder

N = 60
ROWS = range(N)


def written(folder: Path, bad: list[str], y: list[str] | None = None, names: str = "x,bad,y") -> Path:
    """Return a csv with a good column, a bad one and a target."""
    rng = np.random.default_rng(0)
    y = [("no", "yes")[i % 2] for i in range(len(bad))] if y is None else y
    lines = [f"{rng.normal():.3f},{field},{label}" for field, label in zip(bad, y, strict=True)]
    path = folder / "bad.csv"
    path.write_text("\n".join([names, *lines]) + "\n")
    return path


def fit(run: Any, path: Path, *further: Any) -> Any:
    return run("fit", path, "-t", "y", "-m", path.with_name("m.dsekl"), "--gamma", 0.5, "--C", 1, "--force", *further)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([""] * N, "column 'bad' is left out: all values are missing"),
        (["3"] * N, r"column 'bad' is left out: it is constant \(3\)"),
        (["red"] * N, "column 'bad' is left out: it is constant"),
        ([f"id{i}" for i in ROWS], "column 'bad' is left out: no category occurs twice"),
        (
            [f"a long text about row {i}" for i in ROWS],
            "column 'bad' is left out: it holds free texts.*TfidfVectorizer",
        ),
    ],
    ids=["all missing", "constant number", "constant text", "every level once", "free texts"],
)
def test_columns_that_say_nothing_are_left_out_and_told(run: Any, tmp_path: Path, bad: list[str], words: str) -> None:
    done = fit(run, written(tmp_path, bad))
    assert done.code == 0, done.err
    assert_said(words, done.err)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([str(i) for i in ROWS[1:]] + ["many"], "bad.csv:61: column 'bad': 'many' is not a number.*--text"),
        ([str(i) for i in ROWS[1:]] + ["inf"], "bad.csv:61: column 'bad': the number is infinite"),
        ([str(i) for i in ROWS[1:]] + ["1e200"], "bad.csv:61: column 'bad': 1e.200 is too large"),
    ],
    ids=["a text among numbers", "infinite", "huge"],
)
def test_values_that_cannot_be_read_are_named(run: Any, tmp_path: Path, bad: list[str], words: str) -> None:
    done = fit(run, written(tmp_path, bad))
    assert done.code == 2, done.err
    assert_said(words, done.err)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["x,x,y", "1,2,yes", "2,1,no"], "column 'x': occurs in the header more than once"),
        (["x,bad,y"], "has a header and no rows"),
        ([], "empty|no rows"),
        (["x,y", "1,yes", "2,no", "3,"], "bad.csv:4: column 'y'.*missing"),
        (["x,y", "1,1.5", "2,2.5", "3,?"], "bad.csv:4: column 'y'.*missing"),
    ],
    ids=["names twice", "no rows", "nothing", "a class is missing", "a number is missing"],
)
def test_bad_tables_are_named(run: Any, tmp_path: Path, lines: list[str], words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    done = fit(run, path, "--header") if "more than once" in words else fit(run, path)
    assert done.code == 2, done.err
    assert_said(words, done.err)


def test_mixed_zones_are_taken_in_utc(run: Any, tmp_path: Path) -> None:
    times = [f"2024-01-01T{i % 24:02d}:00:00{('Z', '+09:00')[i % 2]}" for i in ROWS]
    done = fit(run, written(tmp_path, times))
    assert done.code == 0, done.err


def test_new_rows_with_what_training_rows_had_not(run: Any, tmp_path: Path) -> None:
    path = written(tmp_path, ["red", "blue"] * 30)
    assert fit(run, path).code == 0
    model, new = tmp_path / "m.dsekl", tmp_path / "new.csv"
    for text, code, words in (
        ("x,bad\n1,green\n2,red\n", 0, "column 'bad': 1 rows with an unknown category"),
        ("bad,other,x\nred,7,1\n", 0, "'other' not known to the model, ignored"),
        ("x\n1\n", 2, "lacks 'bad', which the model was trained on"),
        ("x,bad\ntall,red\n", 2, "new.csv:2: column 'x': 'tall' is not a number"),
        ("x,bad\n", 2, "no rows"),
    ):
        new.write_text(text)
        done = run("predict", model, new)
        assert done.code == code, (text, done.err)
        assert_said(words, done.err)


def test_levels_beyond_a_hundred_share_a_feature(run: Any, tmp_path: Path) -> None:
    done = fit(run, written(tmp_path, [f"id{k // 2}" for k in range(600)]))
    assert done.code == 0, done.err
    assert_said("column 'bad' has 300 categories: the 100 most frequent have a feature each", done.err)


def assert_said(words: str, printed: str) -> None:
    """Check words that may be broken into lines."""
    import re

    assert re.search(words, " ".join(printed.split())), printed


def test_a_label_of_another_kind_in_a_late_row_is_named_or_taken_as_a_text(run: Any, tmp_path: Path) -> None:
    labels = ["0", "1"] * 33_000 + ["a"] * 10
    path = written(tmp_path, [str(i % 9) for i in range(len(labels))], labels)
    done = run("convert", path, "-t", "y", tmp_path / "folder", "--force")
    assert done.code == 2
    assert_said("bad.csv:66002: column 'y': 'a' is not a number.*correct it; .*--task as classification", done.err)
    done = run("convert", path, "-t", "y", tmp_path / "folder", "--force", "--task", "classification")
    assert done.code == 0, done.err
    assert read_folder(tmp_path / "folder")[0].target.classes == ["0", "1", "a"]
