"""Data files from anybody: what a file claims is checked against what it holds before anything is allocated for it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dsekl.data import DataFileError, SparseTable, lines, open_table, svmlight
from dsekl.data import table as table_module
from dsekl.data.delimited import DelimitedTable
from dsekl.data.recipe import Recipe
from dsekl.data.recipe_learner import Options, learn

MEGABYTE = 2**20


def read(path: Path, **options: Any) -> tuple[Recipe, Any, Any]:
    table = open_table(path)
    recipe = learn(table, Options(**{"target": "-1", **options}))
    return recipe, *recipe.load(table)


def problem(path: Path, **options: Any) -> str:
    """Return what is said of a file that is refused: one line, with its name."""
    with pytest.raises(DataFileError) as caught:
        read(path, **options)
    words = str(caught.value)
    assert "\n" not in words
    assert words.startswith(str(path))
    return words.removeprefix(f"{path}").lstrip(": ")


def peak(work: Callable[[], object]) -> int:
    """Return the bytes that a piece of work holds at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def npy(shape: object, descr: str = "<f8", data: bytes = b"", order: bool = False) -> bytes:
    header = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape!r}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy((3, 3 * 10**8)), "ends too early: its header promises 3 rows"),
        (npy((-1, 3)), "is not an array of numbers (its shape (-1, 3) has a negative axis)"),
        (npy((2**40, 2**40)), "is not an array of numbers (its shape"),
        (npy((2, 1), data=bytes(24)), "goes on after the 2 rows that its header promises"),
        (npy((2, 1), "|O"), "is not an array of numbers (it is of type object, which could run code)"),
        (npy((2, 1), "<c16"), "neither numbers nor strings"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "is not an array of numbers (its header of 4,294,967,295 bytes"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"{" * 16, "does not tell type, order and shape"),
        (gzip.compress(npy((1, 3 * 10**8))), "has 300,000,000 columns, more than 524,288"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "bytes",
)
def test_an_array_is_no_larger_than_its_file(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "table.npy"
    path.write_bytes(content)
    assert words in problem(path)
    assert peak(lambda: problem(path)) < MEGABYTE


def archive(method: int = zipfile.ZIP_DEFLATED, X: bytes | None = None) -> bytearray:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as made:
        made.writestr("X.npy", npy((4, 2), data=os.urandom(64)) if X is None else X)
        made.writestr("y.npy", npy((4,), "<i8", data=np.array([0, 1, 0, 1]).tobytes()))
    return bytearray(content.getvalue())


def test_a_genuine_archive_is_read(tmp_path: Path) -> None:
    (tmp_path / "table.npz").write_bytes(archive(X=npy((4, 2), data=np.arange(8.0).tobytes())))
    assert read(tmp_path / "table.npz", target=None)[2].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_numpy_does_not_write_is_refused(tmp_path: Path, method: int) -> None:
    (tmp_path / "table.npz").write_bytes(archive(method))
    assert "is compressed in a rare way; compress it with deflate" in problem(tmp_path / "table.npz")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    whole = archive()
    encrypted = bytearray(whole)
    encrypted[6] |= 1
    encrypted[whole.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(encrypted)
    assert "is encrypted" in problem(path)
    flipped = bytearray(whole)
    flipped[60] ^= 255
    for content in (flipped, whole[:-30], whole[: len(whole) // 2], whole[:4], b"PK\x05\x06"):
        path.write_bytes(content)
        assert "corrupted" in problem(path)
    path.write_bytes(gzip.compress(whole))
    assert "is an archive (npz) in a compressed file; decompress it" in problem(path)


@pytest.mark.parametrize("start", [b"", b"a,y\n1,2\n", b"1 1:2\n1 2:"])
def test_one_line_without_end_is_refused_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", MEGABYTE)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(start + b"7" * (64 * MEGABYTE), 1))
    target = None if b":" in start else "-1"
    assert "the line is longer than 1,048,576 characters" in problem(path, target=target)
    assert peak(lambda: problem(path, target=target)) < 16 * MEGABYTE


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_what_stands_behind_a_compressed_stream_is_not_lost(compress: Any, tmp_path: Path) -> None:
    path, rows = tmp_path / "rows.csv", b"".join(b"%d,%d\n" % (i, i % 2) for i in range(50))
    path.write_bytes(compress(b"a,y\n" + rows) + compress(rows) + 8 * b"\0")
    assert read(path)[0].n_rows == 100
    damaged = bytearray(compress(b"a,y\n" + rows) + compress(rows))
    damaged[len(compress(b"a,y\n" + rows))] ^= 1
    path.write_bytes(bytes(damaged))
    with pytest.raises(DataFileError, match=str(path)):
        read(path)


def test_a_text_of_parquet_takes_its_length_once(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path, n = tmp_path / "rows.parquet", 2_000
    columns = {"a": ["x" * 10**6, "y" * 10**6] * (n // 2), "b": ["u", None] * (n // 2), "y": [0, 1] * (n // 2)}
    parquet.write_table(pyarrow.table(columns), path)
    tracemalloc.start()
    recipe, X, _ = read(path)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
    assert X.shape[0] == recipe.n_rows == n


def test_an_xz_file_may_not_ask_for_any_dictionary_it_likes(tmp_path: Path) -> None:
    """Of several streams each has its own, and zeros may stand between them."""
    path = tmp_path / "some.csv.xz"
    large = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
    first, second = lzma.compress(b"a,y\n1,2\n", preset=9), lzma.compress(b"3,4\n", filters=large)
    path.write_bytes(first + second)
    assert "would take more than 128 MB; compress it with xz -9 or less, or with gzip" in problem(path)
    path.write_bytes(first + bytes(8) + lzma.compress(b"3,4\n") + bytes(4))
    assert "".join(lines.text_lines(path)) == "a,y\n1,2\n3,4\n"
    whole = b"".join(b"%d,%d\n" % (i, i * i) for i in range(50_000))
    packed = lzma.compress(whole)
    path.write_bytes(packed)
    assert "".join(lines.text_lines(path)).encode() == whole
    path.write_bytes(packed[:-1])
    assert "ends too early" in problem(path)
    path.write_bytes(packed + b"garbage" * 3)
    assert "corrupted" in problem(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_short_lines_and_blank_lines_are_read_many_at_a_time(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small compressed file may hold millions of them; one by one they take several times as long."""
    monkeypatch.setattr(DelimitedTable, "_parsed", None)
    path = tmp_path / "short.csv"
    path.write_text(end.join(["1", "", "2.5", "", "", "3", ""]))
    found = [chunk.numbers("column1").tolist() for chunk in DelimitedTable(path).chunks()]
    assert found == [[1.0, 2.5, 3.0]]
    path.write_text(end.join(["a,b", "", "1,2", "", "", "3,4", ""]))
    assert [chunk.numbers("b").tolist() for chunk in DelimitedTable(path).chunks()] == [[2.0, 4.0]]
    path.write_text(end.join(["a,b", "1,2", *[""] * 70_000, "3,4", ""]))
    assert [chunk.numbers("b").tolist() for chunk in DelimitedTable(path).chunks()] == [[2.0], [4.0]]


def test_a_line_of_blanks_in_one_column_is_a_missing_value(tmp_path: Path) -> None:
    path = tmp_path / "blanks.csv"
    path.write_text("1\n  \n3\n\n")
    (found,) = [chunk.numbers("column1") for chunk in DelimitedTable(path).chunks()]
    np.testing.assert_array_equal(found, [1.0, np.nan, 3.0])


def test_a_quote_that_does_not_close_is_no_row_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", MEGABYTE)
    path = tmp_path / "quotes.csv"
    path.write_text('a,y\n"' + '","\n' * (8 * MEGABYTE // 4))
    assert "has a row of more than 1,048,576 characters" in problem(path)


def test_chunks_are_bounded_by_their_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.csv"
    path.write_text("a,y\n" + "".join(f"{'x' * 1000}{i % 3},{i % 2}\n" for i in range(3000)))
    monkeypatch.setattr(lines.some_lines, "__defaults__", (100_000,))
    assert max(chunk.n_rows for chunk in open_table(path).chunks(frozenset({"a"}))) == 100  # type: ignore[call-arg,arg-type]
    # One long field among short ones must not make all of them as long.
    path.write_text("a,b,y\n" + "u,1,0\n" * 2000 + "v" * 100_000 + ",1,1\n")
    assert peak(lambda: list(open_table(path).chunks(frozenset({"a"})))) < 10 * MEGABYTE  # type: ignore[call-arg,arg-type]


def test_forty_thousand_columns_take_no_square_of_it(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"

    def seconds(n: int) -> float:
        names = [*(f"c{k}" for k in range(n - 1)), "y"]
        path.write_text(
            ",".join(names) + "\n" + "".join(",".join([str(i), *["0"] * (n - 2), str(i % 2)]) + "\n" for i in range(4))
        )
        took = []
        for _ in range(3):
            started = time.process_time()
            open_table(path)
            took.append(time.process_time() - started)
        return min(took)

    few, many = seconds(5_000), seconds(40_000)
    assert many < 24 * few  # eight times the columns; with their square it would be 64 times
    assert learn(open_table(path), Options("y")).encoder.n_features == 1


def test_too_many_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "MOST_COLUMNS", 3)
    (tmp_path / "wide.csv").write_text("a,b,c,y\n1,2,3,4\n")
    pd.DataFrame({name: [1.0] for name in "abcy"}).to_parquet(tmp_path / "wide.parquet")
    np.save(tmp_path / "wide.npy", np.zeros((2, 4)))
    for name in ("wide.csv", "wide.parquet", "wide.npy"):
        assert "has 4 columns, more than 3" in problem(tmp_path / name)


def test_a_large_index_costs_no_more_than_a_small_one(tmp_path: Path) -> None:
    path = tmp_path / "sparse.svm"
    path.write_text("1 1:1 100000000:2\n-1 2:1\n")
    read(path, target=None)
    assert peak(lambda: read(path, target=None)) < MEGABYTE
    recipe, X, _ = read(path, target=None)
    assert X.shape == (2, 10**8)
    assert recipe.encoder.n_features == 10**8
    assert "columns beyond 524,288 cannot be scaled" in problem(path, target=None, scale=True)
    path.write_text(f"1 1:1\n1 {2**31 - 1}:1\n")
    assert problem(path, target=None).startswith("2: ")


def test_sparse_lines_of_any_width_are_read_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svmlight, "CHUNK_BYTES", 100_000)
    path = tmp_path / "wide.svm"
    row = " ".join(f"{k}:1" for k in range(1, 1001))
    path.write_text("".join(f"{i % 2} {row}\n" for i in range(150)))
    table = open_table(path)
    assert isinstance(table, SparseTable)
    assert max(chunk.matrix.nnz for chunk in table.chunks()) < 30_000
    # A dense encoding of short lines is as bounded as one of long lines.
    recipe = learn(table, Options())
    path.write_text("".join(f"{i % 2} 1:1\n" for i in range(5000)))
    assert max(rows.X.size for rows in recipe.encoded(open_table(path), False)) <= table_module.CELLS


@pytest.mark.parametrize("line", ["1 1:1_0", "1_0 1:1", "1 1:1e200", "1 1:1e400", "1 -1:2", "1 2:1 1:1"])
def test_what_is_no_number_or_too_large_a_one_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "sparse.svm"
    path.write_text(f"1 1:1\n-1 1:2\n{line}\n")
    with pytest.raises(DataFileError, match=r"sparse\.svm:3: "):
        read(SparseTable(path).path, target=None)


def test_a_column_too_large_to_square_is_named(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    path.write_text("a,y\n1,0\n1e200,1\n")
    assert problem(path).startswith("3: column 'a': 1e+200 is too large: squares of numbers beyond 1e+150 overflow")
    path.write_text("when,y\n2020_01,0\n2020_02,1\n2020_01,0\n")
    assert read(path)[0].encoder.to_dict()["columns"][0]["kind"] == "text"


def test_links_pipes_and_folders_are_named_and_nothing_hangs(tmp_path: Path) -> None:
    loop, pipe = tmp_path / "loop", tmp_path / "pipe"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    assert "Too many levels of symbolic links" in problem(loop)
    assert "is a pipe or a device; give a file" in problem(pipe)
    assert "is a pipe or a device; give a file" in problem(Path("/dev/zero"))
    assert "is a folder; give a file" in problem(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x28\xb5\x2f\xfd" + bytes(20), "is compressed with zstd; decompress it, or compress it with gzip"),
        ("a,y\n1,2\n3,4\n".encode("utf-16"), "is in UTF-16; save the file in UTF-8"),
        ("a,y\n1,2\n3,4\n".encode("utf-16-le"), "1: holds a NUL character; give a text file in UTF-8"),
        (b"a,y\n1,0\n\x00,1\n", "3: holds a NUL character"),
        (b"a,y\n1,0\n2,1,", "3: has 3 fields, not 2"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "bytes",
)
def test_what_is_no_text_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    assert words in problem(tmp_path / "table.csv")


def test_blank_lines_before_the_header_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("\n\na,y\n1,0\n2,1\n")
    assert read(tmp_path / "table.csv")[1].tolist() == [[1], [2]]


def test_damaged_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["u", "v", "u"]}).to_parquet(path)
    whole = path.read_bytes()
    for content in (whole[:-20], whole[: len(whole) // 2], whole[:4], whole[:-8] + b"\xff\xff\xff\x7fPAR1"):
        path.write_bytes(content)
        assert problem(path)


LARGE = [2**53, 2**53 + 1, 2**53, 2**53 + 1]


def written(folder: Path, form: str, labels: list[int]) -> Path:
    """Write rows with labels in one of the formats."""
    path, X = folder / f"table.{form}", np.arange(len(labels), dtype=np.float64)
    if form == "csv":
        path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(X, labels, strict=True)))
    elif form == "parquet":
        pd.DataFrame({"x": X, "y": labels}).to_parquet(path)
    elif form == "npz":
        np.savez(path, X=X[:, None], y=np.array(labels))
    elif form == "npy":
        np.save(path, np.column_stack([np.arange(len(labels)), labels]))
    else:
        path.write_text("".join(f"{b} 1:{a + 1}\n" for a, b in zip(X, labels, strict=True)))
    return path


@pytest.mark.parametrize("form", ["csv", "parquet", "npz", "npy", "svm"])
@pytest.mark.parametrize("labels", [LARGE, [-5, 3, 3, -5], [0, 1, 1, 0]])
def test_integer_labels_are_the_same_in_every_format(tmp_path: Path, form: str, labels: list[int]) -> None:
    recipe, _, y = read(written(tmp_path, form, labels), target=None if form == "svm" else "-1")
    assert list(recipe.target.classes) == sorted(set(labels))
    assert recipe.target.decoded(y).tolist() == labels
    assert recipe.target.decoded(y).dtype == np.int64


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["007", "8", "007"], ["007", "8"]),
        (["3", "3.0", "+3", "4"], [3, 4]),
        (["-0", "0", "1"], [0, 1]),
        (["0.50", ".5", "1.5"], ["0.5", "1.5"]),
        (["18446744073709551616", "1"], ["1", "18446744073709551616"]),
        (["9007199254740993.0", "9007199254740992"], [2**53, 2**53 + 1]),
    ],
)
def test_labels_keep_what_tells_them_apart(tmp_path: Path, labels: list[str], classes: list[Any]) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    recipe, _, y = read(path, task="classification")
    assert list(recipe.target.classes) == classes
    again = Recipe.from_dict(recipe.to_dict(), path)
    assert [rows.chunk.n_rows for rows in again.encoded(open_table(path), True)] == [len(labels)]
    assert again.load(open_table(path))[1].tolist() == y.tolist()
    assert (y >= 0).all()


def test_integers_of_parquet_keep_their_digits_beside_missing_ones(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    values = pd.array([2**53 + 1, None, 2**62 + 1], dtype="Int64")
    pd.DataFrame({"id": values, "small": pd.array([1, None, 3], dtype="Int64")}).to_parquet(path)
    (chunk,) = open_table(path).chunks()  # type: ignore[misc]
    assert chunk.text("id") == [str(2**53 + 1), None, str(2**62 + 1)]  # type: ignore[union-attr]
    assert chunk.text("small") == ["1", None, "3"]  # type: ignore[union-attr]
