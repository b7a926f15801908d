"""Numbers and dates of csv files as people write them: read as such, or named; never taken for texts in silence."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsekl.data import DataFileError, open_table
from dsekl.data.date_spelling import as_time, day_comes_first
from dsekl.data.dialect import find_delimiter, looks_like_header
from dsekl.data.encoding import TableEncoder
from dsekl.data.field_values import as_numbers
from dsekl.data.number_spelling import find_decimal, in_points
from dsekl.data.recipe import Recipe
from dsekl.data.recipe_learner import Options, learn


def no_error(i: int, field: str) -> Exception:
    return AssertionError(field)


def learned(path: Path, **options: Any) -> tuple[Recipe, Any, Any]:
    table = open_table(path)
    recipe = learn(table, Options(target="y", **options))
    return recipe, *recipe.load(table)


@pytest.mark.parametrize(
    ("field", "decimal", "number"),
    [
        ("1,5", ",", 1.5), ("-1.234,5", ",", -1234.5), ("1.234", ",", 1234.0), ("1.5", ",", 1.5), (",5", ",", 0.5),
        ("1,234", ".", 1234.0), ("1,234,567.25", ".", 1234567.25), ("1'234", ".", 1234.0), ("1 234,5", ",", 1234.5),
        ("2,5e3", ",", 2500.0),
    ],
)  # fmt: skip
def test_numbers_are_read_with_their_marks(field: str, decimal: str, number: float) -> None:
    assert as_numbers([field], no_error, decimal).tolist() == [number]


@pytest.mark.parametrize("field", ["1,2,3", "12,34.5", "1,23,456", "a,5", ",", ""])
def test_what_is_no_number_stays_as_it_is(field: str) -> None:
    assert in_points(field, ".") == field


@pytest.mark.parametrize(
    ("column", "mark"),
    [
        (["1,5", "1,234"], ","), (["1,234", "1,234,567"], "."), (["1,234", "5"], ""), (["1.5", "2"], None),
        (["a, b", "c, d", "1,5"], None), (["0,125"], ","),
    ],
)  # fmt: skip
def test_the_decimal_mark_is_what_the_numbers_give_away(column: list[str], mark: str | None) -> None:
    assert find_decimal([column]) == mark


def test_decimal_commas_between_semicolons_are_no_delimiters() -> None:
    assert find_delimiter(["1,5;2,5;3\n", "2,5;3,5;4\n"]) == ";"
    assert not looks_like_header(["2024-03-04", "Rome"])
    assert not looks_like_header(["1,5", "Rome"])


def test_a_file_with_decimal_commas(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(1000, 800, (50, 2)).round(2)
    path = tmp_path / "table.csv"
    rows = [";".join([*(f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in row), "x;1"]) for row in values]
    path.write_text("\n".join(["a;b;c;y", *rows[:-1], rows[-1].replace("x;1", "z;0")]))
    recipe, X, _ = learned(path)
    assert recipe.decimal == ","
    assert any("decimals" in str(note) and "decimal=..." in str(note) for note in recipe.notes)
    np.testing.assert_array_equal(X[:, :2], values)
    assert Recipe.from_dict(recipe.to_dict(), path).decimal == ","
    # A file to predict that does not tell is read like the training file.
    new = tmp_path / "new.csv"
    new.write_text("a;b;c\n1.234;5;x\n")
    (rows_,) = recipe.encoded(open_table(new), with_target=False)
    assert rows_.X[0, :2].tolist() == [1234.0, 5.0]
    # One that has decimal points is read with them.
    new.write_text('a,b,c\n1.234,5,x\n1.5,5,x\n"1,234.5",5,x\n')
    (rows_,) = recipe.encoded(open_table(new), with_target=False)
    assert rows_.X[:, 0].tolist() == [1.234, 1.5, 1234.5]


def test_thousands_and_targets_with_commas(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('price,y\n"1,200","10,500.5"\n900,"9,000"\n"2,500",1.5\n')
    recipe, X, y = learned(path)
    assert X[:, 0].tolist() == [1200.0, 900.0, 2500.0]
    assert y.tolist() == [10500.5, 9000.0, 1.5]
    assert recipe.target.task == "regression"


def test_commas_that_may_be_either_are_noted_and_can_be_told(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a;y\n1,234;u\n2,500;v\n")
    recipe, X, _ = learned(path)
    assert X[:, 0].tolist() == [1.234, 2.5]
    assert any("1,500 is one and a half" in str(note) for note in recipe.notes)
    table = open_table(path, decimal=".")
    assert learn(table, Options(target="y")).load(table)[0][:, 0].tolist() == [1234.0, 2500.0]
    with pytest.raises(DataFileError, match=r"decimal mark 'x'; give \. or , as decimal=\.\.\."):
        open_table(path, decimal="x")


@pytest.mark.parametrize(
    "spelled",
    [
        "2024-03-04", "2024-03-04 00:00:00", "2024-03-04T00:00:00Z", "04.03.2024", "4.3.24", "2024/3/4", "4 Mar 2024",
        "04-Mar-2024", "March 4, 2024", "3/4/2024", "3/4/24 12:00 AM", "2024-03-04 01:00:00+01:00", "4. March 2024",
        "Monday, 4 March 2024", "Mon 4 Mar 2024", "Mon, 04 Mar 2024 01:00:00 +0100", "04Mar2024",
        "04/Mar/2024:00:00:00", "3/4/2024 00:00 UTC", "4.3.2024 00:00Z",
    ],
)  # fmt: skip
def test_dates_in_the_usual_spellings(spelled: str) -> None:
    assert as_time(spelled) == datetime(2024, 3, 4, tzinfo=UTC).timestamp()


def test_days_first_times_and_no_dates() -> None:
    assert as_time("3/4/2024", day_first=True) == datetime(2024, 4, 3, tzinfo=UTC).timestamp()
    assert as_time("3/4/2024 1:30 pm") == datetime(2024, 3, 4, 13, 30, tzinfo=UTC).timestamp()
    assert as_time("10:30") == 37_800.0
    for text in (
        "2024",
        "31.02.2024",
        "13/13/2024",
        "1.5",
        "Maybe 4, 2024x",
        "12.5.x",
        "25:00",
        "13:00 pm",
        "marble",
        "Monday",
        "Sunny 4",
        "Jan 2024",
        "2024-03",
    ):
        assert as_time(text) is None, text
    assert day_comes_first(["13/4/2024", "3/4/2024"]) is True
    assert day_comes_first(["3/4/2024", "3/14/2024"]) is False
    assert day_comes_first(["3/4/2024"]) is None


def test_columns_of_dates_with_slashes(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    lines = [f"{1 + i % 12}/{1 + i % 9}/2024,{i % 2}" for i in range(40)]
    path.write_text("\n".join(["seen,y", *lines]))
    recipe, months, _ = learned(path)
    assert any("month first" in str(note) and "day_first=..." in str(note) for note in recipe.notes)
    told, days, _ = learned(path, day_first=True)
    assert not any("month first" in str(note) for note in told.notes)
    assert not np.allclose(months[:, 0], days[:, 0])
    assert isinstance(told.encoder, TableEncoder)
    assert TableEncoder.from_dict(told.encoder.to_dict()) == told.encoder
    # The order that the column gives away is kept for new rows, and one that does not fit is named.
    path.write_text("\n".join(["seen,y", "13/1/2024,1", *lines]))
    recipe, X, _ = learned(path)
    np.testing.assert_allclose(X[1:, 0] - X[1, 0], days[:, 0] - days[0, 0])
    path.write_text("seen\n1/13/2024\n")
    with pytest.raises(DataFileError, match=r":2: column 'seen': '1/13/2024' is no date with the day first.*day_first"):
        list(recipe.encoded(open_table(path), with_target=False))


def test_dates_of_parquet_files(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    n = 60
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D")
    frame = pd.DataFrame(
        {"seen": seen, "zoned": seen.tz_localize("UTC"), "day": seen.date, "at": [s.time() for s in seen],
         "took": pd.to_timedelta(np.arange(n), unit="h"), "y": np.arange(n) % 2}
    )  # fmt: skip
    frame.loc[3, "seen"] = None
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    recipe, X, _ = learned(path)
    names = recipe.encoder.features if isinstance(recipe.encoder, TableEncoder) else []
    assert {"seen in days", "seen missing", "zoned in days", "day in days", "took in days"} <= set(names)
    days = X[:, names.index("day in days")]
    np.testing.assert_allclose(np.diff(days), 1.0)
    with pytest.raises(DataFileError, match=r"column 'seen': '2024-01-01.* is not a number"):
        learned(path, numeric=("seen",))


@pytest.mark.parametrize(("task", "kind"), [(None, "classifier"), ("regression", "regressor")])
def test_few_integers_in_a_pipe_are_classes_and_say_so(task: str | None, kind: str, run: Any, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,y", *(f"{i % 17},{i % 3}" for i in range(120))]))
    told = [] if task is None else ["--task", task]
    done = run("fit", path, "-t", "y", "-m", tmp_path / "m.dsekl", "--gamma", 1, "--C", 1, *told)
    assert done.code == 0
    assert ("3 classes, all integers: fitting a classifier; override with --task" in done.err) == (task is None)


def test_few_integers_at_a_terminal_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,y", *(f"{i % 17},{i % 3}" for i in range(120))]))
    asked: list[Any] = []

    def choose(name: str, values: Any) -> str:
        asked.append((name, list(values)))
        return "regression"

    table = open_table(path)
    assert learn(table, Options(target="y"), choose=choose).target.task == "regression"
    assert asked == [("y", [0, 1, 2])]
    assert learn(table, Options(target="y", task="classification"), choose=choose).target.task == "classification"
    assert len(asked) == 1


LOOK_ALIKES: dict[str, tuple[Any, str]] = {
    "dollars": (
        lambda i: f"${i / 7:.2f}",
        r"categories, and '\$0.00' looks like numbers with a unit; leave the unit out",
    ),
    "percent": (lambda i: f"{i} %", "'0 %' looks like numbers with a unit"),
    "months": (lambda i: f"2024-{1 + i % 12:02d}", "'2024-01' looks like months; spell them as dates"),
    "months by name": (lambda i: f"{('Jan', 'May')[i % 2]} {2000 + i % 9}", "'Jan 2000' looks like months"),
    "codes": (lambda i: f"{i % 30:05d}", "'00000' is read as the number 0; if it is a code, make categories"),
    "days": (lambda i: f"202401{1 + i % 31:02d}", "'20240101' is read as a number; if it is a day"),
    "a count": (lambda i: 1000 + i, "it counts the rows; leave it out with ignore"),
}


@pytest.mark.parametrize("what", LOOK_ALIKES)
def test_columns_that_look_like_something_else_are_noted(what: str, tmp_path: Path) -> None:
    make, words = LOOK_ALIKES[what]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,x,y", *(f"{make(i)},{i % 7}.5,{'uv'[i % 2]}" for i in range(60))]))
    said = [str(note) for note in learned(path)[0].notes]
    assert sum(bool(re.search(words, note)) for note in said) == 1, said
    decided = Options(target="y", categorical=["a"])
    assert not any(
        "looks like" in str(note) or "read as" in str(note) for note in learn(open_table(path), decided).notes
    )


def test_columns_that_are_what_they_are_taken_for_are_not_noted(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    lines = [f"{i % 7}.5,{20240101 + 50 * i},A{i % 5},{i * 3},{'uv'[i % 2]}" for i in range(60)]
    path.write_text("\n".join(["a,b,c,d,y", *lines]))
    assert learned(path)[0].notes == []


def test_a_header_that_counts_the_columns_is_doubted(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("0,1\n" + "\n".join(f"{i}.5,{i % 2}" for i in range(9)))
    assert open_table(path).doubts_header
    assert not open_table(path, header=True).doubts_header
