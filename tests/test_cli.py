"""The command line: real files in, real files out."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_moons

import dsekl

COMMANDS = ("fit", "predict", "evaluate", "tune", "info", "convert", "demo", "reproduce")


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_from_file_to_model_to_file(run: Any, bought: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    result = run("predict", bought / "m.dsekl", bought / "test.csv", "-o", output, "--keep", "id", "--decision")
    assert result.code == 0
    rows = records(output.read_text())
    assert list(rows[0]) == ["id", "prediction", "decision"]
    truth = records((bought / "test.csv").read_text())
    assert [row["id"] for row in rows] == [row["id"] for row in truth]
    assert np.mean([row["prediction"] == true["buys"] for row, true in zip(rows, truth, strict=True)]) > 0.85
    assert all((float(row["decision"]) > 0) == (row["prediction"] == "yes") for row in rows)


def test_predictions_go_to_standard_output_and_need_no_target(run: Any, bought: Path, tmp_path: Path) -> None:
    rows = records((bought / "test.csv").read_text())
    new = tmp_path / "new.csv"
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["income", "city", "age", "mood", "id"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**row, "mood": "good"} for row in rows)
    result = run("predict", bought / "m.dsekl", new)
    assert result.code == 0
    assert result.out.splitlines()[0] == "prediction"
    assert "'mood' not known to the model, ignored" in result.err
    whole = run("predict", bought / "m.dsekl", bought / "test.csv")
    assert result.out == whole.out


def test_evaluate_gives_the_usual_scores(run: Any, bought: Path) -> None:
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
    assert 0 < scores["log_loss"] < 0.6
    result = run("evaluate", bought / "m.dsekl", bought / "test.csv")
    assert "Confusion matrix" in result.out
    assert "true \\ predicted" in result.out
    assert f"accuracy           {scores['accuracy']:.4f}" in result.out


def test_labels_that_training_did_not_have_count_as_wrong(run: Any, bought: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text("id,age,city,income,buys\n1,30,Rome,100,yes\n2,30,Rome,100,maybe\n")
    result = run("evaluate", bought / "m.dsekl", odd, "--json")
    assert result.json["unknown_labels"] == 1
    assert result.json["accuracy"] == 0.5
    assert result.json["balanced_accuracy"] == 0.5
    assert "1 rows have a label that the training rows did not have" in result.err


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


def test_classes_are_in_the_order_of_the_estimator(run: Any, tmp_path: Path) -> None:
    # As numbers 2.5 comes before 10.5, as text after it.
    rows = [f"{x / 50},{2.5 if x < 50 else 10.5}" for x in range(100)]
    path, model = tmp_path / "halves.csv", tmp_path / "halves.dsekl"
    path.write_text("x,y\n" + "\n".join(rows) + "\n")
    fitted = run("fit", path, "-t", "y", "--task", "classification", "--gamma", "1", "-m", model, "--json")
    assert fitted.json["validation"]["accuracy"] > 0.8
    scores = run("evaluate", model, path, "--json").json
    assert scores["accuracy"] > 0.9
    assert list(scores["classes"]) == dsekl.load(model).classes_.tolist()


def test_the_scores_of_held_out_rows_come_first(run: Any, bought: Path, tmp_path: Path) -> None:
    printed = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m.dsekl", "--gamma", "1").out
    assert (
        printed.index("Scores on rows held out") < printed.index("Confusion matrix") < printed.index("support vectors")
    )
    assert re.search(r"accuracy +[01]\.\d{4}\b", printed)


def test_regression(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, (300, 2))
    path, model = tmp_path / "wave.csv", tmp_path / "wave.dsekl"
    np.savetxt(path, np.column_stack([x, np.sin(x[:, 0])]), delimiter=",", header="a,b,y", comments="")
    fitted = run("fit", path, "-t", "y", "-m", model, "--json")
    assert fitted.json["task"] == "regression"
    assert "has numbers: fitting a regressor; override with --task" in fitted.err
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
    result = run("info", bought / "m.dsekl").out
    assert "city" in result
    assert "3 categories" in result
    assert "no category occurs twice" in result
    assert "most important" in result
    assert "support vectors" in result
    assert "array of shape" not in result
    assert not [line for line in result.splitlines() if line.endswith(" ")]


def test_info_of_a_frame_names_columns_and_settings_that_are_not_defaults(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(rng.choice(["s", "m"], 40), categories=["s", "m"], ordered=True),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 40), unit="D"),
            "x": rng.normal(size=40),
        }
    )
    dsekl.DSEKLRegressor(gamma=1.0, C=2.5, random_state=3).fit(frame, 3 * frame["x"]).save(tmp_path / "m.dsekl")
    lines = [line.split() for line in run("info", tmp_path / "m.dsekl").out.splitlines()]
    assert ["size", "ordered", "2", "levels"] in lines
    assert any(line[:2] == ["day", "date"] for line in lines)
    assert ["random_state", "3"] in lines
    assert ["columns", "3"] in lines
    assert not any(line[:1] == ["max_epochs"] for line in lines)
    assert set(run("info", tmp_path / "m.dsekl", "--json").json["most_important"]) <= {"size", "day", "x"}


def test_a_quiet_run_says_nothing(run: Any, bought: Path, tmp_path: Path) -> None:
    result = run("fit", bought / "train.csv", "-t", "buys", "-m", tmp_path / "m.dsekl", "--gamma", "1", "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_no_colour_and_no_bar_in_a_pipe(run: Any) -> None:
    result = run("demo")
    assert result.code == 0
    assert "\x1b" not in result.out + result.err
    assert "accuracy" in result.out


def test_demo_as_json(run: Any) -> None:
    assert run("demo", "--json").json["accuracy"] > 0.95


def test_results_go_where_a_link_points(run: Any, bought: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    for name in ("out.csv", "m.dsekl"):
        (tmp_path / name).symlink_to(tmp_path / "disk" / name)
    assert run("predict", bought / "m.dsekl", bought / "test.csv", "-o", tmp_path / "out.csv").code == 0
    dsekl.load(bought / "m.dsekl").save(tmp_path / "m.dsekl")
    for name in ("out.csv", "m.dsekl"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "disk" / name).stat().st_size > 0


def test_a_first_line_of_text_that_is_read_as_data_is_noted(run: Any, tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(40))
    (tmp_path / "years.csv").write_text("2019,2020,label\n" + rows)
    (tmp_path / "numbers.csv").write_text("".join(f"{i},{i % 7},{i % 2}\n" for i in range(40)))
    note = "line 1 is read as data, not as a header; override with --header"
    for name, noted in [("years.csv", True), ("numbers.csv", False)]:
        result = run("fit", tmp_path / name, "-t", "-1", "-m", tmp_path / f"{name}.dsekl", "--gamma", "1", "-C", "1")
        assert result.code == 0
        assert (note in result.err) == noted


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Any, command: str) -> None:
    result = run(command, "--help")
    assert result.code == 0
    assert "Usage" in result.out


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

    # Four times the rows would take 70 MB more as Python strings and 20 MB more as numbers.
    assert peak(400_000) < peak(100_000) + 10


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("dsekl")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == f"dsekl {dsekl.__version__}\n"


def test_all_rows_are_fitted_after_some_have_judged(run: Any, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    path, model = tmp_path / "iris.csv", tmp_path / "iris.dsekl"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%g", header="a,b,c,d,kind", comments="")
    given = ["fit", path, "-t", "kind", "-m", model, "--force"]
    judged, whole = run(*given, "--no-refit", "--json").json, run(*given, "--json").json
    assert judged["fitted_rows"] == 135
    assert whole["fitted_rows"] == 150
    # The scores are those of the model without the held-out rows, whatever the file has.
    assert judged["validation"] == whole["validation"]
    assert judged["C"] == whole["C"]
    assert set(whole["most_important"]) <= {"a", "b", "c", "d"}
    printed = run(*given).out
    assert "Scores on rows held out from training" in printed
    assert "fitted to           all rows" in printed
    assert "135 rows, without those held out" in run(*given, "--no-refit").out


def test_all_rows_are_fitted_from_the_coefficients_of_most(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dsekl.cli import held_out
    from dsekl.solvers import DualAscent

    X, y = make_moons(3_000, noise=0.3, random_state=0)
    path, model = tmp_path / "moons.csv", tmp_path / "m.dsekl"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="", fmt="%g")
    given = ["fit", path, "-t", "y", "-m", model, "--force", "--json", "--gamma", 4, "--C", 1]
    started: list[Any] = []
    adapt = DualAscent.adapt

    def watched(self: Any, problem: Any, state: Any) -> Any:
        started.append(np.count_nonzero(state.coef))
        return adapt(self, problem, state)

    monkeypatch.setattr(DualAscent, "adapt", watched)
    warm = run(*given).json
    assert started, "a model of all rows starts from that of most"
    assert started[0] > 100
    f = dsekl.load(model).decision_function(X)
    monkeypatch.setattr(held_out, "known_coef", lambda *_: None)
    cold = run(*given).json
    assert warm["kernel_evaluations"] < cold["kernel_evaluations"]
    agree = (f > 0) == (dsekl.load(model).decision_function(X) > 0)
    assert agree.mean() > 0.98


def test_held_out_rows_take_no_part_in_the_fit(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = rng.permutation(np.arange(300) % 2)  # noise: a model that has seen a row knows its label
    path, model = tmp_path / "noise.csv", tmp_path / "m.dsekl"
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header="a,b,y", comments="", fmt="%g")
    fitted = run("fit", path, "-t", "y", "-m", model, "--gamma", 100, "--C", 1000, "--validation", 0.3, "--json").json
    assert fitted["validation"]["accuracy"] < 0.7
    assert run("evaluate", model, path, "--json").json["accuracy"] > 0.95
