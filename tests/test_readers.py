"""Data files: every format gives the same table, and what is wrong with a file is named with its place."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from dsekl.data import DataFileError, SparseTable, Table, many_files, open_table, opener
from dsekl.data import table as table_module
from dsekl.data.recipe_learner import Options, learn
from dsekl.data.training_data import load_training

COMPRESSIONS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, bz2.compress, lzma.compress]


def write(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def opened(path: Path, **options: Any) -> Table:
    table = open_table(path, **options)
    assert not isinstance(table, SparseTable)
    return table


def rows(table: Table) -> list[list[str]]:
    """Return all fields as they stand in the file."""
    found = []
    for chunk in table.chunks(frozenset(table.names)):
        found += list(zip(*(chunk.column(name) for name in table.names), strict=True))
    return [list(row) for row in found]


def numbers(table: Table) -> np.ndarray:
    """Return all fields as numbers."""
    parts = [np.column_stack([chunk.numbers(name) for name in table.names]) for chunk in table.chunks()]
    return np.concatenate(parts)


def problem(path: Path, **options: Any) -> str:
    """Return what reading the file says is wrong."""
    with pytest.raises(DataFileError) as caught:
        numbers(opened(path, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{path.parent}{os.sep}", "")


@pytest.mark.parametrize("compress", COMPRESSIONS)
def test_a_compressed_file_is_known_by_its_bytes(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    table = opened(write(tmp_path, compress(b"a,b\n1,2\n3,4.5\n"), "data"))
    assert list(table.names) == ["a", "b"]
    assert numbers(table).tolist() == [[1, 2], [3, 4.5]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    text = 'name,size\n"x, y; z",1\n"p | q",2\n'.replace(",", delimiter)
    table = opened(write(tmp_path, text))
    assert list(table.names) == ["name", "size"]
    assert [row[1] for row in rows(table)] == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("height,width\n1,2\n", ["height", "width"]),
        ("1,2\n3,4\n", ["column1", "column2"]),
        ("red,1\nblue,2\n", ["column1", "column2"]),
        (",height\n0,1.5\n1,2.5\n", ["column1", "height"]),
        ("\ufeffheight,width\n1,2\n", ["height", "width"]),
        (" height , width\r\n1,2\r\n", ["height", "width"]),
    ],
)
def test_a_header_is_found(tmp_path: Path, text: str, names: list[str]) -> None:
    assert list(opened(write(tmp_path, text)).names) == names


def test_a_header_can_be_forced_and_denied(tmp_path: Path) -> None:
    path = write(tmp_path, "2001,2002\n1,2\n")
    assert list(opened(path, header=True).names) == ["2001", "2002"]
    text = write(tmp_path, "a,b\nc,d\n", "text.csv")
    assert rows(opened(text, header=False)) == [["a", "b"], ["c", "d"]]


fields = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(fields, min_size=width, max_size=width), min_size=1)))
def test_what_the_csv_module_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, content: list[list[str]]
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(content)
    path = write(tmp_path_factory.mktemp("csv"), text.getvalue())
    assert rows(opened(path, header=False, delimiter=",")) == content


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["", "1.5", "-2"]), min_size=3, max_size=3), min_size=1, max_size=9),
    st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n"]), st.booleans(),
)  # fmt: skip
def test_empty_fields_are_missing_numbers(
    tmp_path_factory: pytest.TempPathFactory, content: list[list[str]], delimiter: str, end: str, last: bool
) -> None:
    text = end.join(delimiter.join(row) for row in [["1", "2", "3"], *content]) + end * last
    path = tmp_path_factory.mktemp("csv") / "gaps.csv"
    path.write_bytes(text.encode())
    (chunk,) = opened(path, header=False, delimiter=delimiter).chunks()
    for place, name in enumerate(("column1", "column2", "column3")):
        found = chunk.numbers(name)[1:]
        wanted = [float(row[place] or "nan") for row in content]
        np.testing.assert_array_equal(found, wanted)
    assert isinstance(chunk.column("column1"), np.ndarray), "without a look at each field"


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(allow_nan=False), st.text("ab é?'#\u2028", max_size=4)), min_size=1, max_size=30),
    st.sampled_from([",", ";", "\t"]),
)
def test_text_beside_numbers_is_read_as_the_csv_module_reads_them(
    tmp_path_factory: pytest.TempPathFactory, content: list[tuple[float, str]], delimiter: str
) -> None:
    path = write(tmp_path_factory.mktemp("csv"), "".join(f"{a!r}{delimiter}{b}\n" for a, b in content))
    (chunk,) = opened(path, header=False, delimiter=delimiter).chunks(frozenset({"column2"}))
    assert isinstance(chunk.column("column1"), np.ndarray)
    assert chunk.numbers("column1").tolist() == [a for a, _ in content]
    assert list(chunk.column("column2")) == [b for _, b in content]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), min_size=1, max_size=30))
def test_numbers_survive_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, content: list[tuple[float, float]]
) -> None:
    path = write(tmp_path_factory.mktemp("csv"), "".join(f"{a!r},{b!r}\n" for a, b in content))
    assert numbers(opened(path, header=False, delimiter=",")).tolist() == [list(row) for row in content]


def test_missing_values_are_not_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,\n?,2\nNA,n/a\nNaN, null\nNone,3\n")
    assert np.isnan(numbers(opened(path))).tolist() == [
        [False, True], [True, False], [True, True], [True, True], [True, False],
    ]  # fmt: skip


def test_chunks_cut_no_quoted_field_and_places_stay_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "MOST_ROWS", 2)
    path = write(tmp_path, 'a,b\n1,2\n3,4\n5,"x\ny\nz"\n\n6,7\n8,9,10\n')
    with pytest.raises(DataFileError, match=r"table\.csv:9: has 3 fields, not 2"):
        rows(opened(path))
    path.write_text(path.read_text().replace("9,10", "9"))
    assert rows(opened(path)) == [["1", "2"], ["3", "4"], ["5", "x\ny\nz"], ["6", "7"], ["8", "9"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv: is empty; give a file with a row for each example"),
        (b"\n\n", "table.csv: is empty; give a file with a row for each example"),
        (b"a,b\n", "table.csv: has a header and no rows"),
        (b"a,b\n1,2\n3\n", "table.csv:3: has 1 field, not 2"),
        (b"a,b\n1,2\n3,4,5\n", "table.csv:3: has 3 fields, not 2"),
        (b"a,b\n1,2\n3,x\n", "table.csv:3: column 'b': 'x' is not a number"),
        (b"a,a\n1,2\n", "table.csv:1: column 'a': occurs in the header more than once; rename one of them"),
        (b"a,b\n1,2\n3,\xe94\n", "table.csv:3: column 'b': byte 0xe9 is not UTF-8; save the file in UTF-8"),
        (b"a,\xe9\n1,2\n", "table.csv:1: column '\ufffd': byte 0xe9 is not UTF-8; save the file in UTF-8"),
        (b'a,b\n1,2\n3,"4\n', "table.csv:3: a quoted field is not closed"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 99999)[:-30], "table.csv: ends too early: the compressed file is cut off"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    assert problem(write(tmp_path, content), header=True if content.startswith(b"a,a") else None) == message


def test_a_damaged_compressed_file_is_named(tmp_path: Path) -> None:
    whole = bytearray(bz2.compress(os.urandom(2000).hex().encode() + b",1\n"))
    whole[len(whole) // 2] ^= 255
    assert problem(write(tmp_path, bytes(whole))).startswith("table.csv: cannot be read")


def test_no_file_a_folder_and_no_permission_are_named(tmp_path: Path) -> None:
    assert problem(tmp_path / "none.csv") == "none.csv: there is no such file"
    assert "is a folder" in problem(tmp_path)
    path = write(tmp_path, "a\n1\n")
    path.chmod(0)
    tmp_path.chmod(0o755)
    user = os.geteuid()
    if user == 0:  # root may read everything, so become nobody
        for folder in tmp_path.parents:
            if not folder.stat().st_mode & 0o001:
                folder.chmod(folder.stat().st_mode | 0o011)
        os.seteuid(65534)
    try:
        assert problem(path) == "table.csv: permission denied; change its permissions"
    finally:
        os.seteuid(user)


X = np.array([[1.5, 0.0], [2.0, 3.0], [0.0, -1.0]])


def test_every_format_gives_the_same_table(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", X)
    np.savez_compressed(tmp_path / "table.npz", X=X)
    pd.DataFrame(X, columns=["column1", "column2"]).to_parquet(tmp_path / "table.parquet")
    np.savetxt(tmp_path / "table.csv", X, delimiter=",")
    for name in ("table.npy", "table.npz", "table.parquet", "table.csv"):
        table = opened(tmp_path / name)
        assert list(table.names) == ["column1", "column2"]
        assert numbers(table).tolist() == X.tolist(), name


def test_parquet_columns_have_their_types(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pd.DataFrame(
        {"city": ["Rome", None], "yes": [True, None], "size": [1, 2], "level": pd.Categorical(["a", "b"]),
         "day": pd.to_datetime(["2020-01-01", None]), "tags": [["a"], ["b"]]}
    ).to_parquet(path)  # fmt: skip
    (chunk,) = opened(path).chunks()
    assert chunk.text("city") == ["Rome", None]
    assert chunk.text("level") == ["a", "b"]
    assert chunk.numbers("yes")[0] == 1.0
    assert np.isnan(chunk.numbers("yes")[1])
    assert chunk.numbers("size").tolist() == [1, 2]
    assert chunk.text("day")[0].startswith("2020-01-01T00:00:00")
    assert chunk.text("day")[1] is None
    with pytest.raises(DataFileError, match=r"column 'tags': has the unsupported type list.*ignore=..."):
        chunk.column("tags")


def test_a_parquet_column_of_which_nothing_is_known_is_left_out_as_in_csv(tmp_path: Path) -> None:
    """pandas writes a column of None alone with a type of its own."""
    table = pd.DataFrame({"empty": [None, None, None], "a": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    one, other = (learn(opened(tmp_path / name), Options("y")) for name in ("t.csv", "t.parquet"))
    assert other.encoder.left_out == one.encoder.left_out == {"empty": "all values are missing"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_one_name_twice_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", X)
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        for _ in range(2):
            archive.write(tmp_path / "one.npy", "X.npy")
    assert "t.npz: holds 'X.npy' more than once" in problem(tmp_path / "t.npz")


def test_an_archive_has_targets(tmp_path: Path) -> None:
    np.savez(tmp_path / "table.npz", X=X, y=np.array(["a", "b", "c"]))
    (chunk,) = opened(tmp_path / "table.npz").chunks()
    assert chunk.text("y") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (dict(Z=X), "table.npz: holds Z.npy, and no array 'X'"),
        (dict(X=X.ravel()), "table.npz: array 'X' has shape (6,) and type float64"),
        (dict(X=X.astype(str)), "table.npz: array 'X' has shape (3, 2) and type <U"),
        (dict(X=X[:0]), "table.npz: is empty: its array has shape (0, 2)"),
        (dict(X=np.asfortranarray(X)), "table.npz: array 'X' is in Fortran order; save numpy.ascontiguousarray of it"),
        (dict(X=X, y=X), "table.npz: array 'y' has shape (3, 2) and type float64"),
    ],
)
def test_unusable_arrays_are_named(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "table.npz", **arrays)
    assert problem(tmp_path / "table.npz").startswith(message)


def test_objects_in_a_numpy_file_are_refused_and_no_code_of_theirs_runs(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    assert "type object" in problem(tmp_path / "table.npy")


def test_a_cut_numpy_file_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", X)
    content = (tmp_path / "table.npy").read_bytes()
    assert problem(write(tmp_path, content[:-8], "table.npy")) == (
        "table.npy: ends too early: its header promises 3 rows"
    )


@pytest.mark.parametrize("compress", COMPRESSIONS)
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_is_read(tmp_path: Path, compress: Callable[[bytes], bytes], zero_based: bool) -> None:
    text = io.BytesIO()
    dump_svmlight_file(X, [1, -1, 1], text, zero_based=zero_based, comment="made by a test")
    table = open_table(write(tmp_path, compress(text.getvalue()), "table.svm"))
    assert isinstance(table, SparseTable)
    (chunk,) = table.chunks()
    assert [float(label) for label in chunk.labels] == [1, -1, 1]
    assert chunk.matrix.toarray()[:, 0 if zero_based else 1 :].tolist() == X.tolist()


@pytest.mark.parametrize(
    ("line", "reason"), [("1 2:x", "is not 'label index:value ...'"), ("x 2:1", "is not"), ("1 2:inf", "not finite")]
)
def test_a_bad_line_of_svmlight_is_named(tmp_path: Path, line: str, reason: str) -> None:
    table = SparseTable(write(tmp_path, f"# comment\n1 1:2\n{line}\n"))
    with pytest.raises(DataFileError, match=f"table.csv:3: .*{reason}"):
        list(table.chunks())


def test_reading_takes_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "CELLS", 2**12)

    def peak(n_rows: int) -> int:
        path = write(tmp_path, "a,b,c,d\n" + "1,2,x,4\n" * n_rows)
        tracemalloc.start()
        try:
            assert sum(chunk.n_rows for chunk in opened(path).chunks(frozenset("c"))) == n_rows
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1_000)
    assert peak(50_000) < 1.2 * peak(15_000)


def test_the_files_of_a_pattern_are_one_table(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n1,2\n", "part-1.csv")
    write(tmp_path, "a,b\n3,4\n5,6\n", "part-2.csv")
    whole = opened(tmp_path / "part-*.csv")
    assert list(whole.names) == ["a", "b"]
    np.testing.assert_array_equal(numbers(whole), [[1, 2], [3, 4], [5, 6]])
    write(tmp_path, "a,c\n1,2\n", "part-3.csv")
    assert "part-3.csv: lacks the column 'b'; all files of a table" in problem(tmp_path / "part-*.csv")
    assert "matches no file" in problem(tmp_path / "other-*.csv")
    write(tmp_path, "1 1:2\n-1 2:1\n", "part-0.csv")
    assert "part-0.csv: is an SVMlight file" in problem(tmp_path / "part-*.csv")


def test_row_groups_of_parquet_are_pieces_that_know_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_files, "MOST_ROWS", 4)
    frame = pd.DataFrame({"a": [*range(9), "text"], "b": range(10)}).astype({"a": str})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=2)
    pieces = many_files.pieces_of(opened(tmp_path / "t.parquet"), opener(None, None, None))
    assert [piece.groups for piece in pieces] == [range(2), range(2, 4), range(4, 5)]
    found = [row for piece in pieces for row in rows(piece.table())]
    assert [row[0] for row in found] == frame["a"].tolist()
    with pytest.raises(DataFileError, match=r"t.parquet: row 10: column 'a': 'text' is not a number"):
        next(iter(pieces[2].table().chunks())).numbers("a")
    again = pickle.loads(pickle.dumps(DataFileError("file", "is wrong", "a", "; set {target}")))
    assert str(again) == "file: column 'a': is wrong; set target=..."
    assert again.message.with_names({"target": "--target"}).endswith("--target")


def test_a_zip_archive_of_one_file_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "table.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        archive.writestr("folder/table.csv", "a,b\n1,x\n2,y\n")
    (chunk,) = opened(path).chunks(frozenset({"b"}))
    assert chunk.numbers("a").tolist() == [1, 2]
    assert chunk.text("b") == ["x", "y"]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.csv", "a,b\n")
    assert problem(path).endswith("and no array 'X'; give an npz file, or a zip archive of one csv file")


def test_booleans_of_parquet_are_labels_and_numbers(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    truth = [True, False, True, False]
    pd.DataFrame({"x": [1, 2, 3, 4], "b": truth, "gap": [True, None, False, True], "y": truth}).to_parquet(path)
    recipe, X, y = load_training(path, Options(target="y"))
    assert recipe.target.classes == ["False", "True"]
    assert y.tolist() == [1, 0, 1, 0]
    assert recipe.encoder.to_dict()["columns"][1]["kind"] == "number"
    np.testing.assert_array_equal(X[:, 1], truth)
