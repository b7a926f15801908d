"""The command line: real files in, real files out; one clear line and an exit code where something is wrong."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import dsekl
from dsekl.cli import main

COMMANDS = ("fit", "predict", "evaluate", "tune", "info", "convert", "demo")


class Said:
    """What a command said, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command line in this process."""

    def run(*arguments: object) -> Said:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Said(left.value.code, said.out, said.err)

    return run


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def people(n: int, seed: int) -> str:
    """Return csv with numbers, texts, gaps and an id; who buys depends on age and city."""
    rng = np.random.default_rng(seed)
    lines = ["id,age,city,income,buys"]
    for i in range(n):
        age, city = int(rng.integers(18, 80)), str(rng.choice(["Rome", "Bern", "Oslo"]))
        buys = "yes" if (age > 45) ^ (city == "Rome") else "no"
        lines.append(f"{i:04d},{age if rng.random() > 0.05 else ''},{city},{rng.lognormal(10, 0.5):.1f},{buys}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with train.csv, test.csv and a model of them."""
    folder = tmp_path_factory.mktemp("bought")
    (folder / "train.csv").write_text(people(300, 0))
    (folder / "test.csv").write_text(people(120, 1))
    with pytest.raises(SystemExit) as left:
        main(["fit", str(folder / "train.csv"), "-t", "buys", "-m", str(folder / "m.dsekl"), "--text", "id", "-q"])
    assert left.value.code == 0
    return folder


def test_from_file_to_model_to_file(run: Any, bought: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    said = run("predict", bought / "m.dsekl", bought / "test.csv", "-o", output, "--keep", "id", "--decision")
    assert said.code == 0
    rows = records(output.read_text())
    assert list(rows[0]) == ["id", "prediction", "decision"]
    truth = records((bought / "test.csv").read_text())
    assert [row["id"] for row in rows] == [row["id"] for row in truth]
    assert np.mean([row["prediction"] == told["buys"] for row, told in zip(rows, truth, strict=True)]) > 0.85
    assert all((float(row["decision"]) > 0) == (row["prediction"] == "yes") for row in rows)


def test_predictions_go_to_standard_output_and_need_no_target(run: Any, bought: Path, tmp_path: Path) -> None:
    rows = records((bought / "test.csv").read_text())
    new = tmp_path / "new.csv"
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["income", "city", "age", "mood", "id"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**row, "mood": "good"} for row in rows)
    said = run("predict", bought / "m.dsekl", new)
    assert said.code == 0
    assert said.out.splitlines()[0] == "prediction"
    assert "'mood' not known to the model, ignored" in said.err
    whole = run("predict", bought / "m.dsekl", bought / "test.csv")
    assert said.out == whole.out


def test_evaluate_gives_the_scores_people_expect(run: Any, bought: Path) -> None:
    scores = run("evaluate", bought / "m.dsekl", bought / "test.csv", "--json").json
    predicted = run("predict", bought / "m.dsekl", bought / "test.csv").out.split()[1:]
    truth = [row["buys"] for row in records((bought / "test.csv").read_text())]
    right = sum(a == b for a, b in zip(predicted, truth, strict=True))
    assert scores["accuracy"] == right / len(truth)
    assert np.trace(scores["confusion"]) == right
    assert scores["classes"]["yes"]["rows"] == truth.count("yes")
    both = [a == b == "yes" for a, b in zip(predicted, truth, strict=True)]
    assert scores["classes"]["yes"]["recall"] == pytest.approx(sum(both) / truth.count("yes"))
    assert scores["classes"]["yes"]["precision"] == pytest.approx(sum(both) / predicted.count("yes"))
    assert 0.85 < scores["roc_auc"] <= 1
    assert scores["log_loss"] is None
    said = run("evaluate", bought / "m.dsekl", bought / "test.csv")
    assert "truth \\ predicted" in said.out


def test_labels_that_training_did_not_have_count_as_wrong(run: Any, bought: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text("id,age,city,income,buys\n1,30,Rome,100,yes\n2,30,Rome,100,maybe\n")
    said = run("evaluate", bought / "m.dsekl", odd, "--json")
    assert said.json["unknown_labels"] == 1
    assert said.json["accuracy"] == 0.5
    assert said.json["balanced_accuracy"] == 0.5
    assert "1 rows have a label that training did not have" in said.err


def test_probabilities_and_several_classes(run: Any, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    path, model = tmp_path / "iris.csv", tmp_path / "iris.dsekl"
    np.savetxt(path, np.column_stack([X, y]), delimiter=";", fmt="%g")
    fitted = run("fit", path, "-t", "-1", "-m", model, "--loss", "logistic", "--gamma", "0.5", "--scale", "--json")
    assert fitted.json["task"] == "classification"
    assert fitted.json["validation"]["rows"] == 15
    assert fitted.json["validation"]["log_loss"] < 0.5
    rows = records(run("predict", model, path, "--proba", "--decision").out)
    assert list(rows[0]) == [
        "prediction", "decision 0", "decision 1", "decision 2", "probability 0", "probability 1", "probability 2",
    ]  # fmt: skip
    assert float(rows[0]["probability 0"]) > 0.5
    assert rows[0]["prediction"] == "0"
    assert run("evaluate", model, path, "--json").json["roc_auc"] > 0.99


def test_regression(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, (300, 2))
    path, model = tmp_path / "wave.csv", tmp_path / "wave.dsekl"
    np.savetxt(path, np.column_stack([x, np.sin(x[:, 0])]), delimiter=",", header="a,b,y", comments="")
    fitted = run("fit", path, "-t", "y", "-m", model, "--json")
    assert fitted.json["task"] == "regression"
    assert "many numbers, so this is regression" in fitted.err
    scores = run("evaluate", model, path, "--json").json
    assert scores["r2"] > 0.98
    assert scores["rmse"] ** 2 == pytest.approx((1 - scores["r2"]) * np.sin(x[:, 0]).var(), rel=1e-6)
    assert "--decision" in run("predict", model, path, "--decision").err


@pytest.mark.parametrize("form", ["npz", "svm", "parquet", "folder"])
def test_other_formats_train_the_same_model(run: Any, tmp_path: Path, form: str) -> None:
    import pandas as pd
    from sklearn.datasets import dump_svmlight_file

    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    plain, other = tmp_path / "iris.csv", tmp_path / f"iris.{form}"
    np.savetxt(plain, np.column_stack([X, y]), delimiter=",", fmt="%g")
    settings = ["--gamma", "0.5", "--C", "2", "--validation", "0", "--json"]
    names = {"npz": "y", "parquet": "y"}
    if form == "npz":
        np.savez(other, X=X, y=y)
    elif form == "svm":
        dump_svmlight_file(X, y, str(other), zero_based=False)
    elif form == "parquet":
        pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_parquet(other)
    else:
        assert run("convert", plain, other, "-t", "-1", "--dtype", "float64").code == 0
    target = ["-t", names[form]] if form in names else []
    assert run("fit", plain, "-t", "-1", "-m", tmp_path / "a.dsekl", *settings).code == 0
    assert run("fit", other, *target, "-m", tmp_path / "b.dsekl", *settings).code == 0
    a, b = dsekl.load(tmp_path / "a.dsekl"), dsekl.load(tmp_path / "b.dsekl")
    assert np.array_equal(a.dual_coef_, b.dual_coef_)
    assert np.array_equal(a.decision_function(X), b.decision_function(X))


def test_info_tells_what_is_in_a_model(run: Any, bought: Path) -> None:
    found = run("info", bought / "m.dsekl", "--json").json
    assert found["class"] == "DSEKLClassifier"
    assert found["table"]["target"]["classes"] == ["no", "yes"]
    said = run("info", bought / "m.dsekl").out
    assert "city" in said
    assert "3 levels" in said
    assert "no text occurs twice" in said


def test_a_quiet_run_says_nothing(run: Any, bought: Path, tmp_path: Path) -> None:
    said = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m.dsekl", "--gamma", "1", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_no_colour_and_no_bar_in_a_pipe(run: Any) -> None:
    said = run("demo")
    assert said.code == 0
    assert "\x1b" not in said.out + said.err
    assert "accuracy" in said.out


def test_demo_as_json(run: Any) -> None:
    assert run("demo", "--json").json["accuracy"] > 0.95


BAD = [
    (b"", "train.csv: is empty"),
    (b"a,b,y\n1,2,u\n1,2\n", "train.csv:3: has 2 fields, not 3"),
    (b"a,b,y\n1,2,u\n\xff,2,v\n", "train.csv:3: column 'a': byte 0xff is not UTF-8"),
    (b"a,b,y\n1,2,u\n3,4,v\n5,x,v\n", "train.csv:4: column 'b': 'x' is not a number"),
    (b"a,b,y\n1,2,u\n3,4,\n", "train.csv:3: column 'y': the target is missing"),
    (b"a,b,z\n1,2,u\n3,4,v\n", "train.csv: there is no column 'y'; the columns are 'a', 'b', 'z'"),
    (b'a,b,y\n1,2,"u\n', "train.csv:2: a quote is opened and not closed"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
@pytest.mark.parametrize("command", ["fit", "tune", "convert"])
def test_bad_training_files_end_in_one_line_and_nothing_written(
    run: Any, tmp_path: Path, content: bytes, message: str, command: str
) -> None:
    path = tmp_path / "train.csv"
    path.write_bytes(content)
    out = [tmp_path / "out"] if command == "convert" else ["-m", tmp_path / "m.dsekl"]
    said = run(command, path, "-t", "y", *out)
    assert said.code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"dsekl: {tmp_path}/{message}")
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
    said = run("predict", bought / "m.dsekl", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert said.code == 2
    assert f"dsekl: {tmp_path}/{message}" in said.err
    assert (tmp_path / "out.csv").read_text() == "as before\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.csv", "out.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "none.csv", "-t", "y", "-m", "m"], "none.csv: there is no such file"),
        (["fit", ".", "-t", "y", "-m", "m"], ".: is a folder, and not one made by 'dsekl convert'"),
        (["fit", "train.csv", "-m", "m"], "say which column to predict: --target NAME"),
        (["fit", "train.csv", "-t", "buys", "-m", "m.dsekl"], "--model m.dsekl: is there already; .* --force"),
        (["fit", "train.csv", "-t", "buys", "-m", "no/m"], "--model no/m: there is no folder no; make it first"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--gamma", "-1"], "--gamma -1: give auto, learn, scale, median"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "-C", "zero"], "--C zero: give auto or a number"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--kernel", "rbff"], "--kernel rbff is not known"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--loss", "huber"], "--loss huber is not known"),
        (
            ["fit", "train.csv", "-t", "city", "-m", "m", "--validation", "0.001"],
            "--validation 0.001 cannot be .*--val",
        ),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--resume"], "--resume: say with --checkpoint"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--checkpoint", "m.dsekl"], "m.dsekl: is there already; add"),
        (["predict", "none.dsekl", "test.csv"], "none.dsekl: No such file"),
        (["predict", "train.csv", "test.csv"], "train.csv: it is damaged, or no file of dsekl"),
        (["predict", "m.dsekl", "test.csv", "--proba"], "--proba: m.dsekl has loss='hinge'.*--loss logistic"),
        (["predict", "m.dsekl", "test.csv", "--json"], "--json: say with --output"),
        (["predict", "m.dsekl", "test.csv", "--keep", "mood"], "there is no column 'mood'"),
        (["predict", "m.dsekl", "."], "is a folder"),
        (["info", "test.csv"], "test.csv: it is damaged, or no file of dsekl"),
        (["convert", "train.csv", "m.dsekl", "-t", "buys"], "m.dsekl: is there already"),
        (["convert", "train.csv", ".", "-t", "buys", "--force"], "--force replaces only folders that 'dsekl convert'"),
        (["predict", "m.dsekl", "test.csv", "-o", "test.csv"], "--output test.csv: has another part in this command"),
        (["predict", "m.dsekl", "test.csv", "-o", "m.dsekl"], "--output m.dsekl: has another part in this command"),
        (["predict", "m.dsekl", "test.csv", "-o", "/dev/null"], "--output /dev/null: is a device or a pipe"),
        (["predict", "m.dsekl", "test.csv", "-o", "/proc/out.csv"], "--output /proc/out.csv: cannot be written there"),
        (["fit", "train.csv", "-t", "buys", "-m", "train.csv", "--force"], "--model train.csv: has another part"),
        (["fit", "train.csv", "-t", "buys", "-m", "/proc/m"], "--model /proc/m: cannot be written there"),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--checkpoint", "m"], "--model m: has another part"),
        (
            ["fit", "train.csv", "-t", "buys", "-m", "m", "--checkpoint", "no/c"],
            "--checkpoint no/c: there is no",
        ),
        (["fit", "train.csv", "-t", "buys", "-m", "m", "--no-header"], "no column 'buys'.*line 1 was taken as data"),
        (["tune", "train.csv", "-t", "buys", "-m", "m", "--journal", "train.csv"], "train.csv: is no journal"),
    ],
)
def test_a_request_that_cannot_be_met_names_option_and_fix(
    run: Any, bought: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(bought)
    before = sorted(bought.iterdir())
    said = run(*arguments)
    assert said.code == 2
    assert said.out == ""
    assert re.search(message, said.err.replace("\n", " "))
    assert sorted(bought.iterdir()) == before


def test_what_convert_did_not_make_is_not_deleted(run: Any, bought: Path, tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    assert run("convert", bought / "train.csv", folder, "-t", "buys").code == 0
    assert run("convert", bought / "train.csv", folder, "-t", "buys", "--force").code == 0
    (folder / "thesis.txt").write_text("all of it")
    assert run("convert", bought / "train.csv", folder, "-t", "buys", "--force").code == 2
    assert (folder / "thesis.txt").read_text() == "all of it"


def test_results_go_where_a_link_points(run: Any, bought: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    for name in ("out.csv", "m.dsekl"):
        (tmp_path / name).symlink_to(tmp_path / "disk" / name)
    assert run("predict", bought / "m.dsekl", bought / "test.csv", "-o", tmp_path / "out.csv").code == 0
    dsekl.load(bought / "m.dsekl").save(tmp_path / "m.dsekl")
    for name in ("out.csv", "m.dsekl"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "disk" / name).stat().st_size > 0


def test_a_first_line_of_texts_that_is_taken_as_data_is_noted(run: Any, tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(40))
    (tmp_path / "years.csv").write_text("2019,2020,label\n" + rows)
    (tmp_path / "numbers.csv").write_text("".join(f"{i},{i % 7},{i % 2}\n" for i in range(40)))
    note = "line 1 is taken as data, not as a header (--header says otherwise)"
    for name, noted in [("years.csv", True), ("numbers.csv", False)]:
        said = run("fit", tmp_path / name, "-t", "-1", "-m", tmp_path / f"{name}.dsekl", "--gamma", "1", "-C", "1")
        assert said.code == 0
        assert (note in said.err) == noted


def test_a_file_in_utf_16_is_named_as_such(run: Any, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("a,label\n1,yes\n2,no\n", encoding="utf-16")
    said = run("fit", tmp_path / "wide.csv", "-t", "label", "-m", tmp_path / "m")
    assert said.code == 2
    assert "is in UTF-16; save the file in UTF-8" in said.err


def test_unknown_options_are_refused(run: Any) -> None:
    said = run("fit", "--frobnicate")
    assert said.code == 2


def test_a_model_from_python_says_how_to_use_it(run: Any, bought: Path, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    dsekl.DSEKLClassifier(gamma=1.0).fit(X, y).save(tmp_path / "python.dsekl")
    said = run("predict", tmp_path / "python.dsekl", bought / "test.csv")
    assert said.code == 2
    assert "saved from Python and knows no table; load it there with dsekl.load" in said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Any, command: str) -> None:
    said = run(command, "--help")
    assert said.code == 0
    assert "Usage" in said.out


def test_help_needs_neither_scikit_learn_nor_numba() -> None:
    code = (
        "import sys; from dsekl.cli import main\n"
        "try: main(['fit', '--help'])\n"
        "except SystemExit: print([name for name in ('sklearn', 'numba', 'scipy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_a_reader_that_leaves_early_is_no_error_message(bought: Path) -> None:
    command = f"{sys.executable} -m dsekl predict {bought / 'm.dsekl'} {bought / 'train.csv'} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "prediction\n"
    assert done.stderr == ""


def test_the_memory_of_predictions_does_not_grow_with_the_rows(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 3))
    labels = (rows[:, 0] > 0).astype(int)
    train = tmp_path / "train.csv"
    np.savetxt(train, np.column_stack([rows, labels])[:200], delimiter=",", fmt="%.4f", header="a,b,c,y", comments="")
    lines = "".join(f"{a:.4f},{b:.4f},{c:.4f}\n" for a, b, c in rows.tolist())
    assert run("fit", train, "-t", "y", "-m", tmp_path / "m.dsekl", "--gamma", "0.5", "--validation", "0").code == 0

    def peak(n: int) -> float:
        data = tmp_path / "new.csv"
        data.write_text("a,b,c\n" + n // len(rows) * lines)
        code = (
            "import resource, sys; from dsekl.cli import main\n"
            "try: main(sys.argv[1:])\n"
            "except SystemExit: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
        )
        arguments = ["predict", str(tmp_path / "m.dsekl"), str(data), "-o", str(tmp_path / "out.csv"), "-q"]
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        return float(done.stdout)

    # Four times the rows would take 70 MB more as Python texts and 20 MB more as numbers.
    assert peak(400_000) < peak(100_000) + 10


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


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("dsekl")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == f"dsekl {dsekl.__version__}\n"
