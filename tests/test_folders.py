"""Converted folders and journals: replaced whole at any kill, and refused where they are not as they were written."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl import DSEKLClassifier, plain_json
from dsekl.data import DataFileError, open_table, replaced_folder
from dsekl.data.folder import RECIPE_FILE, X_FILE, Y_FILE, read_folder, write_folder
from dsekl.data.recipe import Recipe
from dsekl.data.recipe_learner import Options, learn
from dsekl.data.training_data import load_training
from dsekl.tuning import JournalFileError, tune
from dsekl.tuning.journal import checksum


def converted(folder: Path, factor: float = 1.0, dtype: str = "float32") -> Path:
    """Convert a small table, whose numbers are multiples of ``factor``."""
    path = folder / "train.csv"
    path.write_text("a,t,y\n" + "".join(f"{i * factor},{'uv'[i % 2]},{i % 3}\n" for i in range(30)))
    table = open_table(path)
    write_folder(folder / "out", table, learn(table, Options("y")), dtype)
    return folder / "out"


def refusal(folder: Path) -> str:
    with pytest.raises(DataFileError) as caught:
        read_folder(folder)
    assert str(caught.value).startswith(str(folder))
    return str(caught.value)


KILL = """
import os, signal, sys
from pathlib import Path
from dsekl.data import open_table, replaced_folder
from dsekl.data.folder import write_folder
from dsekl.data.recipe_learner import Options, learn
step, folder = int(sys.argv[1]), Path(sys.argv[2])
done = 0
def counted(function):
    def call(*arguments, **names):
        global done
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        return function(*arguments, **names)
    return call
os.rename, os.fsync, os.mkdir, os.rmdir = map(counted, (os.rename, os.fsync, os.mkdir, os.rmdir))
table = open_table(folder / "train.csv")
write_folder(folder / "out", table, learn(table, Options("y")))
"""


def test_a_kill_at_any_step_loses_neither_the_old_folder_nor_the_new_one(tmp_path: Path) -> None:
    converted(tmp_path, 2.0)
    (old,) = (read_folder(tmp_path / "out")[1][1, 0],)
    seen = set()
    for step in range(40):
        shutil.rmtree(tmp_path / "out")
        converted(tmp_path, 2.0)
        text = (tmp_path / "train.csv").read_text()
        (tmp_path / "train.csv").write_text(text.replace("2.0,v", "5.0,v"))
        done = subprocess.run([sys.executable, "-c", KILL, str(step), str(tmp_path)], check=False)
        found = load_training(tmp_path / "out", Options("y"))[1][1, 0]
        assert found in (old, 5.0)
        seen.add(float(found))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    assert done.returncode == 0
    assert seen == {2.0, 5.0}
    converted(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "train.csv"]


def test_a_folder_left_aside_is_put_back(tmp_path: Path) -> None:
    folder = converted(tmp_path)
    prefix = replaced_folder._prefix(folder)
    os.rename(folder, tmp_path / f"{prefix}00000000.old")
    replaced_folder.restore_folder(folder)
    assert read_folder(folder)[1].shape == (30, 3)


def test_a_draft_that_somebody_writes_is_left_alone(tmp_path: Path) -> None:
    with replaced_folder.replacing_folder(tmp_path / "out") as draft:
        replaced_folder.restore_folder(tmp_path / "out")
        assert draft.is_dir()
    assert (tmp_path / "out").is_dir()


def test_each_reader_sees_one_whole_folder(tmp_path: Path) -> None:
    tables = []
    for factor in (1.0, 2.0):
        (tmp_path / f"{factor}").mkdir()
        converted(tmp_path / f"{factor}", factor)
        table = open_table(tmp_path / f"{factor}" / "train.csv")
        tables.append((table, learn(table, Options("y"))))
    folder = tmp_path / "out"
    write_folder(folder, *tables[0])
    ended, failures = threading.Event(), []

    def read() -> None:
        while not ended.is_set():
            try:
                recipe, X, _ = read_folder(folder)
                fill = recipe.encoder.to_dict()["columns"][0]["fill"]
                assert X[:, 0].max() == 2 * fill
            except BaseException as error:
                failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for k in range(60):
        write_folder(folder, *tables[k % 2])
    ended.set()
    for reader in readers:
        reader.join()
    assert failures == []


def test_a_long_name_and_the_mode_are_kept(tmp_path: Path) -> None:
    folder = converted(tmp_path)
    long = tmp_path / ("é" * 120)
    table = open_table(tmp_path / "train.csv")
    recipe = learn(table, Options("y"))
    write_folder(long, table, recipe)
    folder.chmod(0o700)
    write_folder(folder, table, recipe)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_whose_files_were_changed_is_refused(tmp_path: Path) -> None:
    folder = converted(tmp_path)
    genuine = tmp_path / "genuine"
    shutil.copytree(folder, genuine)
    (tmp_path / "other").mkdir()
    other = converted(tmp_path / "other", 3.0)

    def changed(words: str, *, name: str = X_FILE, content: bytes | None = None) -> None:
        if content is not None:
            (folder / name).write_bytes(content)
        assert words in refusal(folder)
        shutil.rmtree(folder)
        shutil.copytree(genuine, folder)

    X = bytearray((folder / X_FILE).read_bytes())
    changed("X.npy has another size than its header says", content=bytes(X[:-4]))
    X[-1] ^= 1
    changed("X.npy is corrupted: its checksum differs", content=bytes(X))
    changed("X.npy is corrupted: its checksum differs", content=(other / X_FILE).read_bytes())
    changed("X.npy does not fit table.json", content=(folder / Y_FILE).read_bytes())
    np.save(folder / X_FILE, np.load(folder / X_FILE).astype(">f4"))
    changed("X.npy is corrupted")
    np.save(folder / X_FILE, np.full((30, 3), np.nan, np.float32))
    changed("X.npy has a number that is not finite")
    np.save(folder / Y_FILE, np.full(30, 7, np.int32))
    changed("y.npy is corrupted")
    recipe = (folder / RECIPE_FILE).read_text()
    changed(
        "table.json is corrupted (its checksum differs)",
        name=RECIPE_FILE,
        content=re.sub(r'"fill": 1\d', '"fill": 9', recipe).encode(),
    )
    changed("nested too deep", name=RECIPE_FILE, content=b"[" * 100_000)
    changed("stands twice", name=RECIPE_FILE, content=b'{"a": 1, "a": 2}')
    changed("larger than", name=RECIPE_FILE, content=b" " * (plain_json.MOST_BYTES + 1))
    (folder / X_FILE).unlink()
    (folder / X_FILE).symlink_to(other / X_FILE)
    changed("cannot be read")
    (folder / X_FILE).unlink()
    os.mkfifo(folder / X_FILE)
    changed("X.npy is no file")
    (folder / RECIPE_FILE).unlink()
    changed("that 'dsekl convert' did not make")
    assert read_folder(folder)[1].shape == (30, 3)


def test_a_folder_of_the_first_version_is_read(tmp_path: Path) -> None:
    folder = converted(tmp_path)
    saved = json.loads((folder / RECIPE_FILE).read_text())
    (folder / RECIPE_FILE).write_text(json.dumps(saved["recipe"], indent=1))
    assert read_folder(folder)[1].shape == (30, 3)


def test_numbers_that_float32_does_not_hold_are_refused_with_their_place(run: Any, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a,b,y\n1,2,0\n3,1e39,1\n4,5,0\n")
    arguments = ["convert", tmp_path / "train.csv", tmp_path / "out", "-t", "y"]
    result = run(*arguments)
    assert result.code == 2
    assert "train.csv:3: column 'b': 1e+39 is beyond the largest float32, 3.4e+38; set --dtype to float64" in result.err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["train.csv"]
    assert run(*arguments, "--dtype", "float64").code == 0
    assert read_folder(tmp_path / "out")[1].max() == 1e39


@pytest.mark.parametrize("command", ["convert", "tune"])
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, command: str) -> None:
    (tmp_path / "train.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(200)))
    code = (
        "import resource, signal, sys; from dsekl.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (90, 90))\n"
        "main(sys.argv[1:])"
    )
    path = tmp_path / "written"
    outputs = [path] if command == "convert" else ["-m", tmp_path / "m", "--journal", path]
    arguments = [command, tmp_path / "train.csv", "-t", "y", *outputs]
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["train.csv"]


SAVED = {
    "version": 1, "kind": "table", "n_rows": 6,
    "encoder": {
        "columns": [
            {"kind": "number", "name": "a", "fill": 2.0, "missing": True, "centre": 0.0, "scale": 1.0},
            {"kind": "text", "name": "b", "levels": ["u", "v"], "missing": False, "other": False},
        ],
        "left_out": {"c": "it is constant (5)"},
    },
    "target": {"name": "y", "classes": [0, 1]},
    "layout": {"names": ["a", "b", "c", "y"], "has_header": True, "target": "y"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("version", 0), ("version", True), ("kind", "pickle"), ("n_rows", 0), ("n_rows", 1e3), ("n_rows", None),
        ("encoder.columns", []), ("encoder.columns", {}), ("encoder.columns.0.fill", "2"),
        ("encoder.columns.0.fill", 10**400), ("encoder.columns.0.scale", 0.0), ("encoder.columns.0.scale", -1),
        ("encoder.columns.0.missing", 1), ("encoder.columns.0.name", "b"), ("encoder.columns.0.name", "y"),
        ("encoder.columns.0.name", "nobody"), ("encoder.columns.1.levels", ["u", "u"]),
        ("encoder.columns.1.levels", [1]), ("encoder.columns.1.levels", []), ("encoder.columns.1.kind", "number"),
        ("encoder.left_out", ["c"]), ("encoder.left_out", {"c": 5}), ("encoder.left_out", {"a": "x"}),
        ("target.classes", [0]), ("target.classes", [0, 0]), ("target.classes", [0, "1"]),
        ("target.classes", [0, True]), ("target.classes", [0, 2**64]), ("target.classes", list(range(1001))),
        ("target.name", "a"), ("layout", None), ("layout.names", ["a", "b"]),
        ("layout.names", ["a", "a", "b", "c", "y"]), ("layout.has_header", None), ("layout.target", 7),
    ],
)  # fmt: skip
def test_a_forged_recipe_is_refused_with_its_file(place: str, value: Any) -> None:
    assert Recipe.from_dict(SAVED, "m.dsekl").to_dict() == SAVED
    forged = json.loads(json.dumps(SAVED))
    *path, last = place.split(".")
    part = forged
    for name in path:
        part = part[int(name)] if isinstance(part, list) else part[name]
    part[last] = value
    with pytest.raises(DataFileError, match=r"^m\.dsekl: its description of the table is corrupted"):
        Recipe.from_dict(forged, "m.dsekl")


@pytest.mark.parametrize(
    "change",
    [
        dict(first=2),
        dict(last=0),
        dict(last=2**40),
        dict(dense=1),
        dict(last=10**9),
        dict(scale=[1.0]),
        dict(scale=[0.0] * 3),
    ],
)
def test_a_forged_sparse_recipe_is_refused(change: dict[str, Any]) -> None:
    saved = {
        "version": 1, "kind": "sparse", "n_rows": 6, "target": {"name": "label", "classes": []}, "layout": None,
        "encoder": {"first": 1, "last": 3, "dense": True, "scale": [1.0, 2.0, 3.0]},
    }  # fmt: skip
    assert Recipe.from_dict(saved, "m.dsekl").to_dict() == saved
    with pytest.raises(DataFileError, match=r"m\.dsekl: .*corrupted"):
        Recipe.from_dict({**saved, "encoder": {**saved["encoder"], **change}}, "m.dsekl")  # type: ignore[dict-item]


def test_a_journal_that_was_changed_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(int)
    path = tmp_path / "journal.json"

    def search() -> Any:
        return tune([DSEKLClassifier(gamma=1.0, C=1.0, max_epochs=2)], X, y, journal=path, n_jobs=1)

    search()
    genuine = path.read_text()
    first = next(iter(json.loads(genuine)["found"]))
    for content, words in [
        (genuine.replace('"C": 1.0', '"C": 3.0', 1), "its checksum differs"),
        (genuine[:-9], "is no journal of a search"),
        ("[" * 10**6, "nested too deep"),
        ('{"identity": {}, "found": {}}', "does not hold identity, findings and a checksum"),
        ("NaN", "NaN is no number of JSON"),
        ("", "is no journal of a search"),
    ]:
        path.write_text(content)
        with pytest.raises(JournalFileError, match=re.escape(words)) as caught:
            search()
        assert str(caught.value).startswith(str(path))
    for finding in (
        {"gamma": -1.0, "C": 1.0},
        {"gamma": [1.0], "C": 1.0},
        {"gamma": 1.0},
        {"gamma": 1.0, "C": 0},
        "x",
        None,
        -1,
        True,
    ):
        kept = {name: part for name, part in json.loads(genuine).items() if name != "sha256"}
        kept["found"][first] = finding
        path.write_text(json.dumps({**kept, "sha256": checksum(kept)}))
        with pytest.raises(JournalFileError, match="is no journal of a search"):
            search()
    path.unlink()
    path.mkdir()
    with pytest.raises(JournalFileError, match="it is a folder, a pipe or a device"):
        search()
