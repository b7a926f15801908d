"""Tables as they come: texts, dates, gaps and categories, the same encoder in Python and on the command line."""

from __future__ import annotations

import pickle
import tracemalloc
from datetime import date, time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor, persistence
from dsekl.data import target_statistics
from dsekl.data.calendar_names import places_in_cycle
from dsekl.data.encoder_learner import EncoderLearner
from dsekl.data.encoding import TableEncoder
from dsekl.data.frames import FrameTable
from dsekl.data.ranks import Ranks
from dsekl.data.target_statistics import (
    PRIOR_ROWS,
    LevelBook,
    LevelColumn,
    Spread,
    Statistic,
    TargetMeans,
    crowded_pairs,
    within_bounds,
)
from dsekl.estimators.units import spreads
from dsekl.persistence import ModelFileError
from dsekl.rows import InformedRows

pd = pytest.importorskip("pandas")

QUICK: dict[str, Any] = dict(random_state=0, n_jobs=1)
GIVEN: dict[str, Any] = dict(**QUICK, gamma=0.5, C=1.0)
N = 300


def a_frame(n: int = N, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "city": rng.choice(["Rome", "Oslo", "Bonn", "Lima"], n),
            "member": rng.random(n) > 0.5,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300 * 24, n), unit="h"),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
            "visits": pd.array(rng.integers(0, 5, n), dtype="Int64"),
        }
    )
    for step, name in ((7, "age"), (11, "city"), (13, "seen"), (17, "visits"), (19, "size")):
        frame.loc[::step, name] = None
    return frame


def answers(frame: Any) -> Any:
    return ((frame["city"] == "Rome") ^ (frame["age"] > 50)).astype(int).to_numpy()


@pytest.fixture(scope="module")
def fitted() -> DSEKLClassifier:
    frame = a_frame()
    return DSEKLClassifier(**QUICK).fit(frame, answers(frame))


def test_a_frame_is_fitted_and_predicted(fitted: DSEKLClassifier) -> None:
    new = a_frame(500, seed=1)
    assert fitted.score(new, answers(new)) > 0.93
    assert fitted.predict_proba(new).shape == (500, 2)
    assert fitted.feature_names_in_.tolist() == list(new.columns)
    assert fitted.n_features_in_ == 6
    assert dict(zip(new.columns, fitted.feature_importances_, strict=True))["member"] < 0.1
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)


def test_categories_share_a_weight(fitted: DSEKLClassifier) -> None:
    features = fitted.encoder_.features
    cities = [fitted.gamma_[place] for place, name in enumerate(features) if name.startswith("city")]
    assert len(cities) == 5  # four, and one for missing
    assert np.ptp(cities) == pytest.approx(0.0, abs=1e-9 * max(cities))


def test_columns_are_found_by_name(fitted: DSEKLClassifier) -> None:
    new = a_frame(50, seed=1)
    f = fitted.decision_function(new)
    np.testing.assert_array_equal(fitted.decision_function(new[new.columns[::-1]].assign(more=1)), f)
    with pytest.raises(ValueError, match="lacks the column 'city'"):
        fitted.predict(new.drop(columns="city"))


def test_polars_frames_give_the_same_predictions(fitted: DSEKLClassifier) -> None:
    pl = pytest.importorskip("polars")
    new = a_frame(50, seed=1)
    np.testing.assert_array_equal(fitted.decision_function(pl.from_pandas(new)), fitted.decision_function(new))
    frame = a_frame().drop(columns="size")
    of_pandas = DSEKLClassifier(**GIVEN).fit(frame, answers(frame))
    of_polars = DSEKLClassifier(**GIVEN).fit(pl.from_pandas(frame), answers(frame))
    np.testing.assert_array_equal(of_polars.decision_function(new), of_pandas.decision_function(new))


def test_files_pickles_and_clones_keep_the_encoder(fitted: DSEKLClassifier, tmp_path: Path) -> None:
    new = a_frame(50, seed=1)
    f = fitted.decision_function(new)
    fitted.save(tmp_path / "model")
    loaded = dsekl.load(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.decision_function(new), f)
        np.testing.assert_array_equal(other.feature_importances_, fitted.feature_importances_)
        assert other.feature_names_in_.tolist() == list(new.columns)
    frame = a_frame()
    np.testing.assert_array_equal(clone(fitted).fit(frame, answers(frame)).decision_function(new), f)
    assert not hasattr(fitted.fit(np.zeros((4, 2)) + np.eye(4, 2), [0, 1, 0, 1]), "encoder_")


def test_a_model_of_the_command_line_predicts_frames(run: Any, tmp_path: Path) -> None:
    frame = a_frame()
    frame.assign(y=answers(frame)).to_csv(tmp_path / "table.csv", index=False)
    result = run(
        "fit", tmp_path / "table.csv", "-m", tmp_path / "m.dsekl", "--target", "y", "--gamma", "0.5", "-j", "1"
    )
    assert result.code == 0, result.err
    new = a_frame(50, seed=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    said = run("predict", tmp_path / "m.dsekl", tmp_path / "new.csv").out.split()[1:]
    model = dsekl.load(tmp_path / "m.dsekl")
    assert "seen" in [column.name for column in model.encoder_.columns]
    assert model.predict(new.astype({"size": str})).astype(str).tolist() == said


def test_a_model_of_python_predicts_files(run: Any, tmp_path: Path) -> None:
    frame, new = a_frame(), a_frame(50, seed=1)
    model = DSEKLClassifier(**GIVEN).fit(frame, answers(frame))
    model.save(tmp_path / "m.dsekl")
    new.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", tmp_path / "m.dsekl", tmp_path / "new.csv", "--proba")
    assert result.code == 0, result.err
    assert [line.split(",")[0] for line in result.out.splitlines()[1:]] == model.predict(new).astype(str).tolist()


def test_arrays_with_gaps() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0].copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    model = DSEKLRegressor(**QUICK, gamma=0.5).fit(X, y)
    assert model.n_features_in_ == 3
    assert model.feature_importances_.shape == (3,)
    assert model.encoder_.features == ["x0", "x0 missing", "x1", "x1 missing", "x2", "x2 missing"]
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("kind", ["array", "frame", "with texts", "file"])
def test_gaps_that_training_rows_had_not_are_medians_and_told(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] > 0
    data = X if kind in ("array", "file") else pd.DataFrame(X, columns=["a", "b"])
    if kind == "with texts":
        data["city"] = rng.choice(["Rome", "Oslo"], 120)
    model = DSEKLClassifier(**GIVEN).fit(data, y)
    if kind == "file":
        model.save(tmp_path / "m.dsekl")
        model = dsekl.load(tmp_path / "m.dsekl")
    new, full = data[:3].copy(), data[:3].copy()
    if isinstance(new, np.ndarray):
        new[1, 1], full[1, 1] = np.nan, np.median(X[:, 1])
    else:
        new.loc[1, "b"], full.loc[1, "b"] = np.nan, np.median(X[:, 1])
    with pytest.warns(UserWarning, match=r"(x1|b)' ?.*1 rows.*imputed by the median"):
        found = model.decision_function(new)
    np.testing.assert_allclose(found, model.decision_function(full))


def test_gaps_that_training_rows_had_not_are_noted_on_the_command_line(run: Any, tmp_path: Path) -> None:
    rows = [f"{i % 13},{'Rome' if i % 2 else 'Oslo'},{i % 13 > 5}" for i in range(65)]
    (tmp_path / "a.csv").write_text("\n".join(["size,city,y", *rows]))
    run("fit", tmp_path / "a.csv", "-t", "y", "-m", tmp_path / "m.dsekl", "--gamma", 1, "--C", 1)
    (tmp_path / "b.csv").write_text("size,city\n,Rome\n6,Rome\n3,Bonn\n")
    done = run("predict", tmp_path / "m.dsekl", tmp_path / "b.csv", "--decision")
    lines = done.out.splitlines()
    assert lines[1] == lines[2]
    assert "column 'size': 1 rows with a missing value, where training rows had none: imputed by the median" in done.err
    assert "column 'city': 1 rows with an unknown category, encoded as zeros" in done.err


def shops(n: int, seed: int = 0) -> Any:
    """Return a frame with a category of many levels, of which each has an effect, and the effects of the rows."""
    rng = np.random.default_rng(seed)
    shop = rng.integers(0, 150, n)
    effects = np.random.default_rng(7).normal(size=150)
    return pd.DataFrame({"size": rng.normal(size=n), "shop": [f"s{k}" for k in shop]}), effects[shop]


@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_categories_of_many_levels_have_a_statistic_of_the_targets(task: str, tmp_path: Path) -> None:
    X, effect = shops(500)
    rng = np.random.default_rng(1)
    number = effect + 0.3 * rng.normal(size=500)
    y = number if task == "regression" else np.digitize(number, [0.0] if task == "two classes" else [-0.5, 0.5])
    kind = DSEKLRegressor if task == "regression" else DSEKLClassifier
    model = kind(**QUICK).fit(X[:400], y[:400])
    means = model.encoder_.statistics
    assert means.sum() == (3 if task == "three classes" else 1)
    assert model.gamma_[means].all(), "held-out rows want it"
    again = kind(**QUICK).fit(X[:400], y[:400])
    np.testing.assert_array_equal(model.predict(X[400:]), again.predict(X[400:]))
    model.save(tmp_path / "m.dsekl")
    for copy in (dsekl.load(tmp_path / "m.dsekl"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(X[400:]), model.predict(X[400:]))
    assert "encoder_" not in vars(clone(model))


def means_by_shop(n_rows: int = 300) -> TargetMeans:
    """Return the means of random targets by a category of 40 levels."""
    rng = np.random.default_rng(0)
    book = LevelBook(1)
    numbers = book.of([f"s{k}" for k in rng.integers(0, 40, n_rows)])
    column = LevelColumn.read(book, numbers, slice(0, 1))
    return TargetMeans.of([column], rng.normal(size=(n_rows, 1)), np.ones(n_rows), np.random.default_rng(3))


def with_targets(means: TargetMeans, targets: Any) -> TargetMeans:
    return TargetMeans.of(means.columns, targets, means.weights, np.random.default_rng(3))


def values_of(means: TargetMeans) -> Any:
    values = np.empty((len(means.targets), 1))
    means.write(values, np.arange(len(values)))
    return values


def test_a_training_row_does_not_see_its_own_target() -> None:
    means = means_by_shop()
    for row in (0, 17, 211):
        other = means.targets.copy()
        other[row] += 100.0
        found = values_of(with_targets(means, other))
        assert found[row] == pytest.approx(values_of(means)[row])
        assert not np.allclose(found, values_of(means)), "the others do"


def test_nothing_shows_the_targets_of_rows_that_judge() -> None:
    means = means_by_shop()
    held_out = np.arange(0, 300, 5)
    other = means.targets.copy()
    other[held_out] += 100.0
    found, same = (values_of(made.without(held_out)) for made in (means, with_targets(means, other)))
    np.testing.assert_allclose(found, same, atol=1e-9)
    # As if the fitted rows were all there is: the others are new to them.
    fitted = np.setdiff1d(np.arange(300), held_out)
    weights = np.ones(300)
    weights[held_out] = 0.0
    alone = TargetMeans.of(means.columns, means.targets, weights, np.random.default_rng(3))
    np.testing.assert_allclose(found, values_of(alone), atol=1e-12)
    new = alone.statistics()[0].of([means.columns[0].levels[k] for k in means.columns[0].of_row[held_out]])
    np.testing.assert_allclose(found[held_out], new, atol=1e-12)
    rows = InformedRows(values_of(means), means, np.arange(300))
    np.testing.assert_array_equal(rows.without(held_out)[fitted], found[fitted])
    np.testing.assert_array_equal(
        rows.take(fitted).without(np.arange(3))[:5], values_of(means.without(fitted[:3]))[fitted][:5]
    )


def test_the_means_of_new_rows_count_weights() -> None:
    means = means_by_shop()
    twice = np.r_[np.arange(300), np.arange(0, 300, 3)]
    (column,) = means.columns
    repeated = LevelColumn(column.levels, column.of_row[twice], column.features)
    found = TargetMeans.of([repeated], means.targets[twice], np.ones(400), np.random.default_rng(3)).statistics()
    weights = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    (weighted,) = TargetMeans.of(means.columns, means.targets, weights, np.random.default_rng(3)).statistics()
    np.testing.assert_allclose(weighted.means, found[0].means)
    assert weighted.of_all == pytest.approx(found[0].of_all)


def test_statistics_leave_room_in_a_file(tmp_path: Path) -> None:
    """A fit of hours could not be saved: a header has so many values, and each level and mean is one."""
    n, classes = 110_000, 10
    few, many = LevelBook(classes), LevelBook(classes)
    shops = [f"shop {k % 90_000}" for k in range(n)]
    encoded = np.hstack([few.of([f"s{k % 50}" for k in range(n)]), many.of(shops)])
    read = [LevelColumn.read(book, encoded, slice(10 * k, 10 * (k + 1))) for k, book in enumerate((few, many))]
    columns = within_bounds(read)
    levels, of_row = columns[1].levels, columns[1].of_row
    assert columns[0] is read[0]
    assert levels == sorted(levels)
    assert len(levels) < 90_000
    assert set(levels) > {f"shop {k}" for k in range(20_000)}, "those that occur twice"
    assert all(
        (shop in levels) == (level < len(levels)) for shop, level in list(zip(shops, of_row, strict=True))[::997]
    )
    assert all(levels[level] == shop for shop, level in zip(shops, of_row, strict=True) if level < len(levels))
    means = TargetMeans.of(columns, np.eye(classes)[np.arange(n) % classes], np.ones(n), np.random.default_rng(0))
    header = {"table": [found.to_dict() for found in means.statistics()]}
    persistence.write(tmp_path / "m", header, {})
    assert persistence.read(tmp_path / "m")[0]["table"] == header["table"]


def test_rows_that_judge_are_honest_where_categories_say_nothing() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"shop": [f"s{k}" for k in rng.integers(0, 120, 400)], "x": rng.normal(size=400)})
    model = DSEKLClassifier(objective="probabilities", **QUICK).fit(X, rng.permutation(np.arange(400) % 2))
    assert model.calibration_.log_loss > 0.66, "noise has a log loss of log 2"


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_both_doors_have_the_same_statistic(run: Any, tmp_path: Path, task: str) -> None:
    X, effect = shops(300)
    X["size"] = X["size"].round(3)
    noisy = (effect + 0.3 * np.random.default_rng(1).normal(size=300)).round(3)
    y = noisy if task == "regression" else np.where(noisy > 0, "yes", "no")
    X.assign(y=y).to_csv(tmp_path / "shops.csv", index=False)
    given = ["fit", tmp_path / "shops.csv", "-t", "y", "-m", tmp_path / "m.dsekl", "-j", 1, "--force"]
    whole = run(*given, "--validation", 0)
    assert whole.code == 0, whole.err
    loaded = dsekl.load(tmp_path / "m.dsekl")
    kind = DSEKLRegressor if task == "regression" else DSEKLClassifier
    model = kind(**QUICK).fit(X, y)
    assert loaded.encoder_ == model.encoder_
    assert loaded.encoder_.statistics.sum() == 1
    np.testing.assert_allclose(loaded.gamma_, model.gamma_)
    name = "predict" if task == "regression" else "decision_function"
    np.testing.assert_allclose(getattr(loaded, name)(X), getattr(model, name)(X), rtol=1e-6, atol=1e-6)
    # Rows that are held out are predicted as new rows are, and then all rows are in the file's statistic.
    judged = run(*given, "--json").json
    assert judged["validation"]["r2" if task == "regression" else "accuracy"] > 0.5
    assert dsekl.load(tmp_path / "m.dsekl").encoder_ == model.encoder_


def test_months_and_weekdays_have_a_place_in_their_cycle(tmp_path: Path) -> None:
    months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sept", "oct", "nov", "dec"]
    X = pd.DataFrame({"m": [months[k % 12] for k in range(48)], "x": np.arange(48.0)})
    X.loc[5, "m"] = None
    model = DSEKLRegressor(**GIVEN).fit(X, np.arange(48.0))
    encoder = model.encoder_
    assert encoder.features[12:15] == ["m missing", "m sine", "m cosine"]
    assert encoder.groups[:15].tolist() == [0] * 13 + [1, 1]
    places = encoder.encode(FrameTable(X).chunk())[:, 13:15]
    apart = np.linalg.norm(places[:12] - places[11], axis=1)
    assert apart[0] == pytest.approx(apart[10]), "December is as near to January as to November"
    assert places[5].tolist() == [0.0, 0.0], "a missing one is in the middle"
    assert encoder.encode(FrameTable(X.assign(m="?!")).chunk())[:, 13:15].max() == 0.0
    model.save(tmp_path / "m.dsekl")
    assert dsekl.load(tmp_path / "m.dsekl").encoder_ == encoder
    forged = encoder.to_dict()
    forged["columns"][0]["levels"][0] = "brumaire"
    with pytest.raises(ValueError, match="are in no cycle"):
        TableEncoder.from_dict(forged)


def test_names_of_months_and_weekdays() -> None:
    assert places_in_cycle(["Mon", "tues", "SUNDAY", "Thu."]) == {
        "Mon": 0,
        "tues": 1 / 7,
        "SUNDAY": 6 / 7,
        "Thu.": 3 / 7,
    }
    assert places_in_cycle(["march", "May", "april"]) == {"march": 2 / 12, "May": 4 / 12, "april": 3 / 12}
    assert places_in_cycle(["may", "april"]) is None, "two people"
    assert places_in_cycle(["may", "april", "june", "claudia"]) is None
    assert places_in_cycle(["jan", "mon", "tue", "wed"]) is None


def trips(n: int) -> tuple[Any, Any]:
    """Return a frame of trips from one of 14 places to another, some of them often, and the minutes they take."""
    rng = np.random.default_rng(0)
    share = np.r_[np.full(4, 0.2), np.full(10, 0.02)]
    start, end = (rng.choice(14, n, p=share) for _ in range(2))
    minutes = rng.permutation(14 * 14).reshape(14, 14)[start, end] / 30 + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({"start": [f"p{k}" for k in start], "end": [f"q{k}" for k in end], "load": rng.normal(size=n)})
    return frame, minutes.round(3)


def test_two_columns_of_many_levels_have_means_together(run: Any, tmp_path: Path) -> None:
    X, y = trips(600)
    model = DSEKLRegressor(**QUICK).fit(X[:500], y[:500])
    encoder = model.encoder_
    means = [name for name, is_mean in zip(encoder.features, encoder.statistics, strict=True) if is_mean]
    assert means == ["mean of target 0 by start", "mean of target 0 by start and end", "mean of target 0 by end"]
    assert len(set(encoder.groups[encoder.statistics])) == 3
    # New rows have the mean of their pair among all training rows, drawn towards the mean of all.
    pair = encoder.features.index(means[1])
    new = encoder.encode(FrameTable(X[500:]).chunk())[:, pair]
    size = spreads(y[:500, None], np.ones(500))
    for row in range(5):
        alike = y[:500][((X.iloc[500 + row] == X)[["start", "end"]].all(axis=1))[:500]]
        expected = (alike.sum() + PRIOR_ROWS * y[:500].mean()) / (len(alike) + PRIOR_ROWS)
        assert new[row] == pytest.approx(expected / size[0])
    gaps = X[500:].assign(start=None, end=None)
    assert encoder.encode(FrameTable(gaps).chunk())[:, pair] == pytest.approx(y[:500].mean() / size[0])
    model.save(tmp_path / "m.dsekl")
    loaded = dsekl.load(tmp_path / "m.dsekl")
    assert loaded.encoder_ == encoder
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    X[:500].assign(y=y[:500]).to_csv(tmp_path / "trips.csv", index=False)
    given = ["fit", tmp_path / "trips.csv", "-t", "y", "-m", tmp_path / "c.dsekl", "-j", 1, "--validation", 0]
    done = run(*given)
    assert done.code == 0, done.err
    assert dsekl.load(tmp_path / "c.dsekl").encoder_.to_dict()["columns"][:2] == encoder.to_dict()["columns"][:2]
    assert "mean of the target, with end" in run("info", tmp_path / "c.dsekl").out


def test_pairs_that_are_rare_have_no_means() -> None:
    shared = {"a": 0.1, "b": 0.2, "c": 0.01, "d": 0.3}
    many = {name: Spread(1_000, share) for name, share in shared.items()}
    assert crowded_pairs(many, 100) == []
    assert crowded_pairs(many, 400) == [("b", "d"), ("a", "d")]
    assert len(crowded_pairs(many, 10**6)) == 3
    # Where each pair has many rows, the code says enough.
    assert crowded_pairs({name: Spread(12, share) for name, share in shared.items()}, 10_000) == []
    assert crowded_pairs({}, 100) == []


def test_no_more_pairs_are_told_apart_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_statistics, "MOST_LEVELS", 3)
    book = LevelBook(1)
    assert book.of(["a", "b", "a", "c", "d", None, "b"])[:, 0].tolist() == [0, 1, 0, 2, -1, -1, 1]


def test_a_statistic_that_says_nothing_counts_for_nothing() -> None:
    X, _ = shops(400)
    y = (X["size"] > 0).to_numpy()
    model = DSEKLClassifier(**QUICK).fit(X, y)
    assert model.feature_importances_[1] < 0.02
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("broken", ["levels", "means", "of_all", "number"])
def test_a_forged_statistic_is_refused(broken: str) -> None:
    saved = Statistic(["a", "b"], [[0.1], [0.2]], [0.15]).to_dict()
    forged = {
        "levels": saved | {"levels": ["a"]}, "means": saved | {"means": [[0.1], [0.2, 0.3]]},
        "of_all": saved | {"of_all": []}, "number": saved | {"of_all": ["x"]},
    }[broken]  # fmt: skip
    with pytest.raises(ValueError, match="statistic"):
        Statistic.from_dict(forged, "statistic")
    assert Statistic.from_dict(saved, "statistic") == Statistic(["a", "b"], [[0.1], [0.2]], [0.15])


@pytest.mark.parametrize("forged", [{"b": {}}, {"size": None}, {"nowhere": None}, [], 3])
def test_forged_pairs_are_refused(forged: Any) -> None:
    statistic = Statistic(["a", "b"], [[0.1], [0.2]], [0.15]).to_dict()
    category = {"kind": "text", "levels": ["x", "y"], "missing": False, "other": False, "statistic": statistic}
    number = {"kind": "number", "name": "size", "fill": 0.0, "missing": False, "centre": 0.0, "scale": 1.0}
    columns = [category | {"name": "a", "pairs": {"b": statistic}}, category | {"name": "b"}, number]
    saved = {"columns": columns, "left_out": {}}
    assert TableEncoder.from_dict(saved).to_dict() == saved
    if isinstance(forged, dict):
        forged = {other: statistic if means is None else means for other, means in forged.items()}
    with pytest.raises((ValueError, TypeError)):
        TableEncoder.from_dict({"columns": [columns[0] | {"pairs": forged}, *columns[1:]], "left_out": {}})


def test_numbers_with_heavy_tails_have_ranks_beside_them(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"calm": rng.normal(size=300), "wild": rng.lognormal(0, 2, 300), "kind": ["a", "b", "c"] * 100})
    X = X.round(4)
    X.loc[::10, "wild"] = np.nan
    y = np.where(X["wild"].fillna(1.0) * rng.lognormal(0, 0.3, 300) > 1, "yes", "no")
    model = DSEKLClassifier(**QUICK).fit(X, y)
    assert [name for name in model.encoder_.features if "rank" in name] == ["wild rank"]
    encoded = model.encoder_.encode(dsekl.data.frames.FrameTable(X).chunk())
    place = model.encoder_.features.index("wild rank")
    known = X["wild"].notna().to_numpy()
    order = np.argsort(X["wild"].to_numpy()[known])
    assert (np.diff(encoded[known, place][order]) >= 0).all()
    assert np.abs(encoded[:, place]).max() < 4, "however far the number is"
    assert encoded[~known, place] == pytest.approx(0.0, abs=0.05), "a gap is in the middle"
    assert model.feature_importances_.shape == (3,)
    model.save(tmp_path / "m.dsekl")
    np.testing.assert_array_equal(dsekl.load(tmp_path / "m.dsekl").decision_function(X), model.decision_function(X))
    X.assign(y=y).to_csv(tmp_path / "wild.csv", index=False)
    done = run("fit", tmp_path / "wild.csv", "-t", "y", "-m", tmp_path / "c.dsekl", "-j", 1, "--validation", 0)
    assert done.code == 0, done.err
    assert dsekl.load(tmp_path / "c.dsekl").encoder_ == model.encoder_
    given = DSEKLClassifier(**GIVEN).fit(X, y)
    assert not any("rank" in name for name in given.encoder_.features), "a given gamma has the user's columns"


@pytest.mark.parametrize("broken", ["fewer scores", "falling", "none", "no number"])
def test_forged_ranks_are_refused(broken: str) -> None:
    saved = Ranks([0.0, 1.0], [-1.0, 1.0]).to_dict()
    forged = {
        "fewer scores": saved | {"scores": [0.0]}, "falling": saved | {"knots": [1.0, 0.0]},
        "none": {"knots": [], "scores": []}, "no number": saved | {"scores": [0.0, "x"]},
    }[broken]  # fmt: skip
    with pytest.raises(ValueError, match="ranks"):
        Ranks.from_dict(forged, "ranks")
    assert Ranks.from_dict(saved, "ranks") == Ranks([0.0, 1.0], [-1.0, 1.0])


def test_names_of_the_columns() -> None:
    frame = a_frame(120)
    model = DSEKLClassifier(**GIVEN).fit(frame, answers(frame))
    names = model.get_feature_names_out()
    assert names.tolist() == list(frame.columns)
    assert len(names) == len(model.feature_importances_)
    plain = DSEKLClassifier(**GIVEN).fit(np.eye(4), [0, 1, 0, 1])
    assert plain.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["other"] * 6)


def test_categorical_features_by_name_place_and_mask() -> None:
    frame = pd.DataFrame({"code": np.tile([1, 2, 3, 4], 30), "x": np.arange(120.0)})
    y = (frame["code"] % 2).to_numpy()
    models = [
        DSEKLClassifier(**GIVEN, categorical_features=given).fit(X, y)
        for given, X in (
            (["code"], frame), ([0], frame), ([True, False], frame), ([0], frame.to_numpy(float)),
        )
    ]  # fmt: skip
    for model in models:
        assert len(model.encoder_.columns[0].features) == 4
    assert not hasattr(DSEKLClassifier(**GIVEN).fit(frame, y), "encoder_")
    for wrong in (["nothing"], [7]):
        with pytest.raises(ValueError, match=r"categorical_features=.* no column of X"):
            DSEKLClassifier(**GIVEN, categorical_features=wrong).fit(frame, y)


def test_an_unknown_category_is_none_of_the_known() -> None:
    frame = pd.DataFrame({"city": ["Rome", "Oslo"] * 30, "x": np.arange(60.0)})
    model = DSEKLClassifier(**GIVEN).fit(frame, [0, 1] * 30)
    encoded = model.encoder_.encode(dsekl.data.frames.FrameTable(pd.DataFrame({"city": ["Bonn"], "x": [1.0]})).chunk())
    assert encoded.tolist() == [[0.0, 0.0, 1.0]]


def test_dates_have_the_cycles_that_vary() -> None:
    """What has been seen of less than half a cycle, the trend says as well."""
    days = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(20), unit="D"), "x": range(20)})
    model = DSEKLRegressor(**GIVEN).fit(days, np.arange(20.0))
    assert model.encoder_.features == ["day in days", "day sine of weekday", "day cosine of weekday", "x"]
    years = days.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(10 * np.arange(20), unit="D"))
    assert "day sine of season" in DSEKLRegressor(**GIVEN).fit(years, np.arange(20.0)).encoder_.features
    zoned = days.assign(day=days["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    np.testing.assert_array_equal(model.predict(zoned), model.predict(days))


BAD: dict[str, tuple[Any, str]] = {
    "mixed types": ({"x": [1, "a"] * 5}, "row 1 of X: column 'x': holds 'a', and row 0 a number"),
    "lists": ({"x": [[1, 2]] * 10}, "column 'x'"),
    "objects": ({"x": [object()] * 10}, "column 'x'.*type object"),
    "infinite": ({"x": [np.inf] + [1.0] * 9, "c": list("ab") * 5}, "row 0 of X: column 'x': the number is infinite"),
    "all missing": ({"x": [np.nan] * 10}, "no column to learn from: column 'x', since all values are missing"),
    "constant texts": ({"x": ["a"] * 10}, "no column to learn from: column 'x', since it is constant"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_columns_are_named(bad: str) -> None:
    columns, words = BAD[bad]
    with pytest.raises(ValueError, match=words):
        DSEKLRegressor(**GIVEN).fit(pd.DataFrame(columns), np.arange(10.0))


def test_bad_names_are_named() -> None:
    frame = pd.DataFrame([["a", 1.0], ["b", 2.0]] * 5)
    y = np.arange(10.0)
    frame.columns = ["x", 0]
    with pytest.raises(ValueError, match="column name 0 of type int; make all names texts"):
        DSEKLRegressor(**GIVEN).fit(frame, y)
    frame.columns = ["x", "x"]
    with pytest.raises(ValueError, match="column 'x': occurs more than once"):
        DSEKLRegressor(**GIVEN).fit(frame, y)
    frame.columns = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    with pytest.raises(ValueError, match="MultiIndex"):
        DSEKLRegressor(**GIVEN).fit(frame, y)
    with pytest.raises(ValueError, match="0 rows"):
        DSEKLRegressor(**GIVEN).fit(pd.DataFrame({"x": pd.Series([], dtype=str)}), [])


def test_a_number_that_became_a_text_is_named(fitted: DSEKLClassifier) -> None:
    frame = pd.DataFrame({"city": ["Rome", "Oslo"] * 30, "x": np.arange(60.0)})
    model = DSEKLClassifier(**GIVEN).fit(frame, [0, 1] * 30)
    with pytest.raises(ValueError, match="row 1 of X: column 'x': 'many' is not a number"):
        model.predict(pd.DataFrame({"city": ["Rome", "Rome"], "x": ["3", "many"]}))
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(np.zeros((3, 5)))


def test_free_texts_are_left_to_the_user() -> None:
    frame = pd.DataFrame({"note": [f"a letter of {k} words" for k in range(100)], "x": np.arange(100.0)})
    with pytest.warns(UserWarning, match="column 'note', since it holds free texts.*TfidfVectorizer"):
        DSEKLRegressor(**GIVEN).fit(frame, np.arange(100.0))


def test_many_levels_share_a_feature() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"k{k}" for k in rng.integers(0, 3000, 6000)]})
    model = DSEKLRegressor(**GIVEN, max_epochs=2, tol=0.9).fit(frame, np.zeros(6000))
    assert len(model.encoder_.features) == 101


def test_a_forged_encoder_is_refused(fitted: DSEKLClassifier, tmp_path: Path) -> None:
    frame = a_frame()
    model = DSEKLClassifier(**GIVEN).fit(frame, answers(frame))
    columns = model.encoder_.columns
    model.encoder_ = dsekl.data.encoding.TableEncoder(columns[:-1], {columns[-1].name: "gone"})
    vars(model)["n_features_in_"] = 6
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError):
        dsekl.load(tmp_path / "model")


def test_pipelines_around_it() -> None:
    frame = a_frame().drop(columns=["seen", "size", "visits", "age"])
    y = answers(a_frame())
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["city"]), remainder="passthrough")
    pipeline = make_pipeline(encoder.set_output(transform="pandas"), DSEKLClassifier(**GIVEN))
    assert pipeline.fit(frame, y).predict(frame).shape == (N,)


def test_skrub_wraps_it() -> None:
    skrub = pytest.importorskip("skrub")
    frame = a_frame()
    pipeline = skrub.tabular_pipeline(DSEKLClassifier(**GIVEN)).fit(frame, answers(frame))
    assert pipeline.score(frame, answers(frame)) > 0.8


def test_strict_takes_numbers_only() -> None:
    frame = a_frame(120)
    with pytest.raises(ValueError, match="X holds 'Lima' in row 1, column 'city', which is no number"):
        DSEKLClassifier(strict=True, **GIVEN).fit(frame[["city"]], answers(frame))
    gaps = np.array([[0.0, np.nan], [1.0, 2.0]] * 30)
    with pytest.raises(ValueError, match="contains NaN"):
        DSEKLClassifier(strict=True, **GIVEN).fit(gaps, [0, 1] * 30)
    model = DSEKLClassifier(strict=True, **GIVEN).fit(np.nan_to_num(gaps), [0, 1] * 30)
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(gaps)
    assert not model.__sklearn_tags__().input_tags.allow_nan
    assert DSEKLClassifier().__sklearn_tags__().input_tags.allow_nan


def a_bad_frame(what: str) -> Any:
    frame = a_frame(60)[["age", "city"]].copy()
    n = len(frame)
    values: dict[str, Any] = {
        "lists": [[1, 2]] * n, "objects": [{"a": 1}] * n, "mixed": [1, "a"] * (n // 2), "infinite": [np.inf] * n,
        "complex": [1 + 2j] * n, "times and dates": [time(3), date(2024, 1, 1)] * (n // 2),
    }  # fmt: skip
    if what in values:
        frame["bad"] = pd.Series(values[what], dtype=None if what in ("infinite", "complex") else object)
    elif what == "several levels":
        frame.columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    elif what == "names twice":
        frame.columns = ["age", "age"]
    elif what == "no rows":
        frame = frame[:0]
    elif what == "numbers as names":
        frame.columns = [0, "city"]
    return frame


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("lists", r"row 0 of X: column 'bad': holds '\[1, 2\]' of type list"),
        ("objects", r"column 'bad': holds .* of type dict"),
        ("mixed", r"row 1 of X: column 'bad': holds 'a', and row 0 a number"),
        ("infinite", "row 0 of X: column 'bad': the number is infinite"),
        ("complex", "column 'bad'.*omplex"),
        ("times and dates", r"row 1 of X: column 'bad': holds 2024-01-01, and row 0 a time"),
        ("several levels", "MultiIndex"),
        ("names twice", "column 'age': occurs more than once"),
        ("no rows", "0 (rows|sample)"),
        ("numbers as names", "column name 0 of type int"),
    ],
)
def test_bad_frames_are_named(what: str, words: str) -> None:
    frame = a_bad_frame(what)
    with pytest.raises((ValueError, TypeError), match=words):
        DSEKLClassifier(**GIVEN).fit(frame, np.arange(len(frame)) % 2)


@pytest.mark.parametrize("kind", [DSEKLClassifier, DSEKLRegressor])
@pytest.mark.parametrize("missing", [None, np.nan, "NA"])
def test_targets_with_gaps_are_named(kind: Any, missing: Any) -> None:
    frame = a_frame(60)
    y = pd.Series([0.0, 1.0] * 30) if missing != "NA" else pd.Series([0, 1] * 30, dtype="Int64")
    y[3] = pd.NA if missing == "NA" else missing
    with pytest.raises(ValueError, match=r"y .*(NaN|missing|None|NA)"):
        kind(**GIVEN).fit(frame, y)


def test_a_hundred_thousand_levels_share_a_feature() -> None:
    n = 2_000
    rng = np.random.default_rng(0)
    levels = np.char.add("id", rng.integers(0, 100_000, n).astype(str))
    frame = pd.DataFrame({"x": rng.normal(size=n), "id": levels})
    model = DSEKLClassifier(**GIVEN).fit(frame, frame["x"] > 0)
    assert model.encoder_.n_features <= 102
    assert model.predict(pd.DataFrame({"x": [1.0], "id": ["new"]})).tolist() == [True]


def test_a_frame_at_fit_and_an_array_at_predict_go_by_places() -> None:
    frame = a_frame(120)
    model = DSEKLClassifier(**GIVEN).fit(frame, answers(frame))
    np.testing.assert_array_equal(model.predict(frame.to_numpy(dtype=object)), model.predict(frame))
    with pytest.raises(ValueError, match=r"X has shape \(5, 2\), but DSEKLClassifier is expecting 6 features"):
        model.predict(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="lacks the column 'city'"):
        model.predict(frame.drop(columns="city"))


def test_numbers_are_copied_once() -> None:
    """Learning an encoder, and encoding beside the encoded rows, need a few columns, not the numeric part again."""
    n, d = 20_000, 30
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n, d)), columns=[f"n{k}" for k in range(d)])
    frame["kind"] = pd.Categorical(["a", "b"] * (n // 2))
    learner = EncoderLearner(list(frame.columns), ["kind"], np.random.default_rng(0))
    table = dsekl.data.frames.FrameTable(frame.astype({f"n{k}": "Float32" for k in range(0, d, 2)}))
    learner._sample_rows = 100
    tracemalloc.start()
    learner.observe(table.chunk())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * 8 * n
    encoder, _ = learner.learned(scale=False, max_categories=10)
    encoder.encode(table.chunk())
    tracemalloc.start()
    encoded = encoder.encode(table.chunk())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert encoded.shape == (n, d + 2)
    assert peak < encoded.nbytes + 8 * 8 * n


def test_columns_around_it_may_come_as_frames() -> None:
    frame = a_frame(200)
    scaler = make_column_transformer((OneHotEncoder(sparse_output=False), ["city"]), remainder="passthrough")
    pipeline = make_pipeline(scaler.set_output(transform="pandas"), DSEKLClassifier(**GIVEN))
    pipeline.fit(frame, answers(frame))
    assert "remainder__age" in pipeline[-1].feature_names_in_.tolist()
    assert pipeline.predict(frame[:3]).shape == (3,)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "epsilon_insensitive"])
def test_the_unit_of_y_does_not_matter_where_categories_have_means_of_it(loss: str) -> None:
    X, effect = shops(300)
    y = effect + 0.3 * np.random.default_rng(1).normal(size=300)
    answers = []
    for unit in (1.0, 2.0**-20, 1e-6, 1e5, 1e155):
        model = DSEKLRegressor(loss=loss, **QUICK).fit(X, y * unit)
        assert model.encoder_.statistics.any()
        answers.append(model.predict(X) / unit)
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], atol=1e-9)
