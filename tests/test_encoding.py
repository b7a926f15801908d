"""Tables as numbers: what is learned of each column, what predictions make of rows, and that JSON keeps all of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dsekl.data import DataFileError, column_learners, encoder_learner, open_table
from dsekl.data import table as table_module
from dsekl.data.column_learners import NumericLearner
from dsekl.data.folder import read_folder, write_folder
from dsekl.data.messages import Message
from dsekl.data.recipe import Recipe
from dsekl.data.recipe_learner import Options, learn
from dsekl.data.seen_rows import Columns, Seen
from dsekl.data.training_data import load_training


def write(folder: Path, text: str, name: str = "train.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def taught(path: Path, **options: Any) -> tuple[Recipe, Any, Any]:
    """Return the recipe after a trip through JSON, X and y."""
    recipe = learn(open_table(path), Options(**{"target": "y", **options}))
    again = Recipe.from_dict(json.loads(json.dumps(recipe.to_dict())), path)
    assert again.to_dict() == recipe.to_dict()
    X, y = again.load(open_table(path))
    return recipe, X, recipe.target.decoded(y)


def encoded(recipe: Recipe, path: Path) -> tuple[np.ndarray, list[str]]:
    """Return new rows as X, and the notes."""
    notes: list[Message] = []
    parts = [rows.X for rows in recipe.encoded(open_table(path), with_target=False, notes=notes)]
    return np.concatenate(parts), [str(note) for note in notes]


def problem(path: Path, **options: Any) -> str:
    with pytest.raises(DataFileError) as caught:
        taught(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "")


TABLE = """size,city,y
1,Rome,a
3,Bern,b
,Rome,a
8,,b
2,Bern,b
2,Oslo,a
"""


def test_missing_numbers_become_the_median_and_categories_are_one_hot(tmp_path: Path) -> None:
    recipe, X, y = taught(write(tmp_path, TABLE))
    assert recipe.encoder.features == [
        "size", "size missing", "city = Bern", "city = Rome", "city missing", "city other",
    ]  # fmt: skip
    assert X.tolist() == [
        [1, 0, 0, 1, 0, 0],
        [3, 0, 1, 0, 0, 0],
        [2, 1, 0, 1, 0, 0],
        [8, 0, 0, 0, 1, 0],
        [2, 0, 1, 0, 0, 0],
        [2, 0, 0, 0, 0, 1],
    ]
    assert y.tolist() == ["a", "b", "a", "b", "b", "a"]


def test_new_rows_go_by_name_and_unknown_categories_are_zeros(tmp_path: Path) -> None:
    recipe, _, _ = taught(write(tmp_path, "size,city,y\n1,Rome,a\n3,Bern,b\n5,Rome,a\n7,Bern,b\n"))
    X, notes = encoded(recipe, write(tmp_path, "extra,city,size\n9,Bern,1\n9,Lima,\n", "new.csv"))
    assert X.tolist() == [[1, 1, 0], [4, 0, 0]]
    assert len(notes) == 3
    assert "'extra' not known to the model, ignored" in notes[0]
    assert "column 'size': 1 rows with a missing value, where training rows had none" in notes[1]
    assert "column 'city': 1 rows with an unknown category, encoded as zeros" in notes[2]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    recipe, _, _ = taught(write(tmp_path, TABLE))
    with pytest.raises(DataFileError, match=r"new\.csv: lacks 'city', which the model was trained on"):
        encoded(recipe, write(tmp_path, "size,town\n1,Rome\n", "new.csv"))


def test_columns_without_a_header_go_by_place_with_or_without_the_target(tmp_path: Path) -> None:
    recipe, _, _ = taught(write(tmp_path, "a,1,5\nb,2,6\na,3,7\nb,4,9\n"), target="1")
    assert recipe.target.name == "column1"
    with_target, _ = encoded(recipe, write(tmp_path, "a,1,2\n", "new.csv"))
    without, _ = encoded(recipe, write(tmp_path, "1,2\n", "new.csv"))
    assert with_target.tolist() == without.tolist() == [[1, 2]]
    with pytest.raises(DataFileError, match=r"has 4 columns; .* the 3 of the training file .* or the 2 without"):
        encoded(recipe, write(tmp_path, "1,2,3,4\n", "new.csv"))


def test_columns_that_tell_nothing_are_left_out_with_a_note(tmp_path: Path) -> None:
    path = write(tmp_path, "size,same,name,void,label,y\n1,5,u,,x,0\n2,5,v,?,x,1\n3,5,w,NA,x,1\n")
    recipe, X, _ = taught(path)
    assert recipe.encoder.features == ["size"]
    assert X.shape == (3, 1)
    assert set(recipe.encoder.to_dict()["left_out"]) == {"same", "name", "void", "label"}
    assert any("'name' is left out: no category occurs twice" in str(note) for note in recipe.notes)


def test_only_the_most_frequent_categories_have_features_and_a_note_says_so(tmp_path: Path) -> None:
    cities = "aaaabbbccd"
    recipe, X, _ = taught(
        write(tmp_path, "city,y\n" + "".join(f"{c},{i % 2}\n" for i, c in enumerate(cities))), max_categories=2
    )
    assert recipe.encoder.features == ["city = a", "city = b", "city other"]
    assert X.sum(axis=0).tolist() == [4, 3, 3]
    assert str(recipe.notes[0]) == (
        "column 'city' has 4 categories: the 2 most frequent have a feature each, the others (3 rows) share one; "
        "change that with max_categories=..., or leave the column out with ignore=..."
    )


def test_too_many_categories_to_count_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_learners, "MOST_COUNTED_CATEGORIES", 3)
    path = write(tmp_path, "city,size,y\n" + "".join(f"c{i % 5},{i},{i % 2}\n" for i in range(20)))
    recipe, _, _ = taught(path)
    assert recipe.encoder.features == ["size"]


def test_types_can_be_forced_and_columns_ignored(tmp_path: Path) -> None:
    path = write(tmp_path, "code,id,y\n07,1,a\n08,2,b\n07,3,a\n08,4,b\n")
    recipe, _, _ = taught(path, categorical=["code"], ignore=["id"])
    assert recipe.encoder.features == ["code = 07", "code = 08"]
    assert "'07' is not" not in problem(write(tmp_path, "a,y\nx,1\ny,2\n"), numeric=["a"])


def test_scaling_is_kept(tmp_path: Path) -> None:
    recipe, X, _ = taught(write(tmp_path, "a,b,y\n1,100,u\n2,300,v\n6,200,u\n,500,v\n"), scale=True)
    size, hundred = X[:3, 0], X[:, 2]
    assert np.allclose([size.mean(), size.std(), hundred.mean(), hundred.std()], [0, 1, 0, 1])
    new, _ = encoded(recipe, write(tmp_path, "a,b\n1,100\n", "new.csv"))
    assert np.array_equal(new, X[:1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.integers(1, 7))
def test_moments_do_not_depend_on_the_chunks(values: list[float], size: int) -> None:
    learner = NumericLearner("a")
    for start in range(0, len(values), size):
        learner.observe(np.array(values[start : start + size]))
    assert np.isclose(learner.mean, np.mean(values), atol=1e-6)
    assert np.isclose(learner.squares / len(values), np.var(values), atol=1e-3, rtol=1e-6)


def test_medians_of_a_sample_do_not_depend_on_the_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_learner, "SAMPLE_ROWS", 50)
    values = np.random.default_rng(0).standard_normal(500)
    path = write(tmp_path, "a,y\n" + "".join(f"{v},{i % 2}\n" for i, v in enumerate(values)))
    whole, _, _ = taught(path)
    monkeypatch.setattr(table_module, "MOST_ROWS", 7)
    assert taught(path)[0].to_dict() == whole.to_dict()
    (column,) = whole.encoder.to_dict()["columns"]
    assert column["fill"] != np.median(values)
    assert abs(column["fill"] - np.median(values)) < 0.5


@pytest.mark.parametrize(
    ("target", "task", "classes"),
    [
        ("yes no no", "classification", ["no", "yes"]),
        ("0 1 1", "classification", [0, 1]),
        ("1.0 2.0 2.0", "classification", [1, 2]),
        ("0.5 1 2", "regression", []),
        (" ".join(map(str, range(21))), "regression", []),
        (" ".join(map(str, range(20))), "classification", list(range(20))),
    ],
)
def test_the_task_is_inferred(tmp_path: Path, target: str, task: str, classes: list[Any]) -> None:
    path = write(tmp_path, "a,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(target.split())))
    recipe, _, _ = taught(path)
    assert recipe.target.task == task
    assert list(recipe.target.classes) == classes


def test_the_task_can_be_forced(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n1,0.5\n2,1.5\n3,0.5\n")
    assert taught(path, task="classification")[2].tolist() == ["0.5", "1.5", "0.5"]
    padded = write(tmp_path, "a,y\n1,0.50\n2,1.5\n3,.5\n4,2.0\n")
    assert taught(padded, task="classification")[2].tolist() == ["0.5", "1.5", "0.5", "2"]
    whole = write(tmp_path, "a,y\n1,0\n2,1\n3,0\n")
    assert taught(whole, task="regression")[2].tolist() == [0.0, 1.0, 0.0]
    mixed = write(tmp_path, "a,y\n1,3\n2,4\n3,x\n")
    assert taught(mixed, task="classification")[2].tolist() == ["3", "4", "x"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,y\n1,2\n", dict(target="z"), "train.csv: there is no column 'z'; the columns are 'a', 'y'"),
        ("a,y\n1,2\n", dict(target=None), "train.csv: which column is the target? give target=..., its name or"),
        ("a,y\n1,2\n", dict(ignore=["b"]), "train.csv: there is no column 'b'"),
        ("a,y\n1,2\n2,\n", {}, "train.csv:3: column 'y': the target is missing; fill it in, or remove the row"),
        ("a,y\n1,2\n2,inf\n", {}, "train.csv:3: column 'y': the number is infinite"),
        ("a,y\n1,2\n-inf,3\n", {}, "train.csv:3: column 'a': the number is infinite"),
        ("a,y\n1,2\n3,2\n", {}, "train.csv: column 'y': has one class only, 2; give rows of at least two"),
        ("a,y\n1,2\n1,3\n", {}, "train.csv: no column is left to learn from beside 'y'"),
        (
            "a,y\n1,2\n2,3\nx,3\n",
            {},
            "train.csv:4: column 'a': 'x' is not a number, but most of the column is; correct it, or encode the column "
            "as categories with categorical=...",
        ),
        ("a,y\n1,2.5\n2,x\n3,4\n", {}, "train.csv:3: column 'y': 'x' is not a number"),
        ("a,y\n1,u\n2,v\n", dict(task="regression"), "train.csv:2: column 'y': 'u' is not a number"),
    ],
)
def test_what_is_wrong_with_training_rows_is_named(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    assert problem(write(tmp_path, text), **options).startswith(message)


SPARSE = "1 1:2 3:1\n-1 2:4\n1 1:1 3:0.5\n"


def test_svmlight_rows_become_dense_where_columns_are_few(tmp_path: Path) -> None:
    recipe, X, y = taught(write(tmp_path, SPARSE, "train.svm"), target=None)
    assert X.tolist() == [[2, 0, 1], [0, 4, 0], [1, 0, 0.5]]
    assert y.tolist() == [1, -1, 1]
    new, notes = encoded(recipe, write(tmp_path, "0 2:1 9:5\n", "new.svm"))
    assert new.tolist() == [[0, 1, 0]]
    assert "1 entries with an unknown index, ignored" in notes[0]


def test_svmlight_rows_stay_sparse_where_columns_are_many(tmp_path: Path) -> None:
    recipe, X, _ = taught(write(tmp_path, "1 0:2 9999:4\n2 5:1\n", "train.svm"), target=None, scale=True)
    assert sparse.issparse(X)
    assert X.shape == (2, 10_000)
    assert X.toarray().max() == 1.0
    with pytest.raises(DataFileError, match="too sparse to convert to dense rows"):
        write_folder(tmp_path / "out", open_table(tmp_path / "train.svm"), recipe)


def test_a_model_of_one_kind_of_file_refuses_the_other(tmp_path: Path) -> None:
    table, svm = write(tmp_path, TABLE), write(tmp_path, SPARSE, "train.svm")
    with pytest.raises(DataFileError, match="trained on a table with columns"):
        encoded(taught(table)[0], svm)
    with pytest.raises(DataFileError, match="trained on an SVMlight file"):
        encoded(taught(svm, target=None)[0], table)
    assert "lines begin with the target" in problem(svm, target="y")


def test_a_corrupted_recipe_is_refused(tmp_path: Path) -> None:
    saved = taught(write(tmp_path, TABLE))[0].to_dict()
    for damage in ({}, [], {**saved, "encoder": {"columns": [{"kind": "os"}]}}, {**saved, "layout": {"x": 1}}):
        with pytest.raises(DataFileError, match="corrupted"):
            Recipe.from_dict(damage, "m.dsekl")
    with pytest.raises(DataFileError, match="of version 99; update dsekl"):
        Recipe.from_dict({**saved, "version": 99}, "m.dsekl")


def test_a_converted_folder_holds_what_the_file_does(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    recipe, X, y = taught(path)
    seen: list[tuple[int, int | None]] = []

    def progress(chunks: Iterator[Any], total: int | None) -> Iterator[Any]:
        for chunk in chunks:
            seen.append((chunk.n_rows, total))
            yield chunk

    write_folder(tmp_path / "folder", open_table(path), recipe, progress=progress)
    assert seen == [(6, 6)]
    again, mapped, codes = load_training(tmp_path / "folder", Options(target="y"))
    assert isinstance(mapped, np.memmap)
    assert mapped.dtype == np.float32
    assert np.array_equal(mapped, X)
    assert np.array_equal(recipe.target.decoded(codes), y)
    assert again.to_dict() == recipe.to_dict()
    with pytest.raises(DataFileError, match="was converted with its target, task and encoding"):
        load_training(tmp_path / "folder", Options(target="size"))


def test_a_folder_that_fails_leaves_nothing_and_keeps_the_old_one(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    recipe = taught(path)[0]
    write_folder(tmp_path / "folder", open_table(path), recipe)
    before = sorted(tmp_path.iterdir())
    write(tmp_path, TABLE + "9,Rome\n")
    with pytest.raises(DataFileError, match=r"train\.csv:8: has 2 fields, not 3"):
        write_folder(tmp_path / "folder", open_table(path), recipe)
    assert sorted(tmp_path.iterdir()) == before
    assert read_folder(tmp_path / "folder")[1].shape == (6, 6)


def test_a_folder_of_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="that 'dsekl convert' did not make"):
        read_folder(tmp_path)
    path = write(tmp_path, TABLE)
    write_folder(tmp_path / "folder", open_table(path), taught(path)[0], "float64")
    np.save(tmp_path / "folder" / "y.npy", np.zeros(3, dtype=np.int32))
    with pytest.raises(DataFileError, match=r"y\.npy does not fit table\.json"):
        read_folder(tmp_path / "folder")


def test_unknown_categories_are_counted(tmp_path: Path) -> None:
    recipe, _, _ = taught(write(tmp_path, "city,y\nu,0\nv,1\nu,1\nv,0\n"))
    (chunk,) = open_table(write(tmp_path, "city\nu\nw\nz\n", "new.csv")).chunks(frozenset({"city"}))
    unknown: Counter[str] = Counter()
    recipe.encoder.encode(chunk, unknown)  # type: ignore[call-arg, arg-type]
    assert unknown == {"city": 2}


def test_what_pieces_of_a_table_have_seen_can_be_joined(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    towns, gaps = rng.choice(["x", "y", ""], 300), rng.choice(["", "7", "8"], 300)
    lines = [f"{rng.normal():.3f},{towns[k]},2024-0{1 + k % 8}-03,{gaps[k]},{k % 3}" for k in range(300)]
    header = "a,town,day,gappy,label\n"
    (tmp_path / "whole.csv").write_text(header + "\n".join(lines) + "\n")
    for k, (start, stop) in enumerate([(0, 90), (90, 91), (91, 300)]):
        (tmp_path / f"piece-{k}.csv").write_text(header + "\n".join(lines[start:stop]) + "\n")
    options = Options(target="label", scale=True)
    whole = learn(open_table(tmp_path / "whole.csv"), options)

    def look(columns: Columns) -> Seen:
        seen = [columns.seen(open_table(tmp_path / f"piece-{k}.csv"), k) for k in range(3)]
        for further in seen[1:]:
            seen[0].join(further)
        assert seen[0].lengths == [90, 1, 209]
        return seen[0]

    joined = learn(open_table(tmp_path / "piece-*.csv"), options, look=look)
    assert joined.target == whole.target
    assert joined.n_rows == whole.n_rows
    for one, other in zip(joined.encoder.columns, whole.encoder.columns, strict=True):
        assert one.to_dict() == pytest.approx(other.to_dict()) if hasattr(one, "scale") else one == other
