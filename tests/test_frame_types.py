"""Every type of column that a frame may have is encoded as what it is, or named with its row, its value and a fix."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dsekl import DSEKLClassifier, DSEKLRegressor, OnlineDSEKLClassifier
from dsekl.data.frames import FrameTable, Kind, is_frame, kinds

pd = pytest.importorskip("pandas")

N = 60
GIVEN: dict[str, Any] = dict(random_state=0, n_jobs=1, gamma=0.5, C=1.0)
X = np.random.default_rng(0).normal(size=N)
Y = X > 0


@pytest.fixture(autouse=True)
def of_one_scale() -> Iterator[None]:
    """The widths are given here, and columns are what they are."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*times as much as column.*")
        yield


def with_column(values: Any) -> Any:
    return pd.DataFrame({"x": X, "c": values})


def objects(values: Any) -> Any:
    return pd.Series(list(values), dtype=object)


def fitted(values: Any, **settings: Any) -> DSEKLClassifier:
    return DSEKLClassifier(**GIVEN, **settings).fit(with_column(values), Y)


def gap(value: Any, absent: Any = None) -> Any:
    return lambda i: absent if i % 7 == 0 else value(i)


COLUMNS: dict[str, tuple[Any, Kind]] = {
    "dates of Python": (lambda: objects(date(2024, 1, 1) + timedelta(days=i) for i in range(N)), Kind.DATE),
    "dates and gaps": (lambda: objects(map(gap(lambda i: date(2024, 1, 1 + i % 9)), range(N))), Kind.DATE),
    "times of Python": (lambda: objects(time(i % 24, 30) for i in range(N)), Kind.DATE),
    "durations of Python": (lambda: objects(timedelta(hours=i) for i in range(N)), Kind.DATE),
    "periods": (lambda: pd.period_range("2024-01", periods=N, freq="D"), Kind.DATE),
    "decimals": (lambda: objects(Decimal(i) / 8 for i in range(N)), Kind.NUMBER),
    "decimals and gaps": (lambda: objects(map(gap(lambda i: Decimal(i) / 8), range(N))), Kind.NUMBER),
    "integers and NA": (lambda: objects(map(gap(lambda i: i, pd.NA), range(N))), Kind.NUMBER),
    "NumPy's booleans": (lambda: objects(np.bool_(i % 2) for i in range(N)), Kind.NUMBER),
    "sparse numbers": (lambda: pd.arrays.SparseArray(np.arange(N) * (np.arange(N) % 3 == 0.0)), Kind.NUMBER),
    "sparse gaps": (lambda: pd.arrays.SparseArray(np.where(np.arange(N) % 3, np.nan, X)), Kind.NUMBER),
    "long numbers": (lambda: X.astype(np.longdouble), Kind.NUMBER),
    "intervals of numbers": (lambda: pd.cut(X, 4), Kind.ORDERED),
}  # fmt: skip


@pytest.mark.parametrize("what", COLUMNS)
def test_a_column_is_what_its_values_are(what: str) -> None:
    make, kind = COLUMNS[what]
    frame = with_column(make())
    assert kinds(FrameTable(frame), None)["c"] is kind
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*sparse columns")  # scikit-learn's own words
        model = DSEKLClassifier(**GIVEN).fit(frame, Y)
        assert model.predict(frame).shape == (N,)


def test_objects_of_dates_are_the_dates_that_they_are() -> None:
    days = [datetime(2024, 1, 1) + timedelta(days=i) for i in range(N)]
    model = fitted(pd.Series(days))
    f = model.decision_function(with_column(pd.Series(days)))
    for same in (objects(days), objects(day.date() for day in days), objects(map(np.datetime64, days))):
        np.testing.assert_array_equal(model.decision_function(with_column(same)), f)


def test_zones_that_differ_from_row_to_row_are_taken_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    moments = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=5 * i) for i in range(N)]
    model = fitted(pd.Series(moments))
    mixed = objects(moment.astimezone(tokyo) if i % 2 else moment for i, moment in enumerate(moments))
    np.testing.assert_array_equal(
        model.decision_function(with_column(mixed)), model.decision_function(with_column(pd.Series(moments)))
    )


def test_levels_of_ordered_categories_are_levels_whatever_they_are_called() -> None:
    """In a file "none" is a missing value, and blanks around a text do not count."""
    for levels in (["none", "low", "high"], [" a", "a", "a "]):
        model = fitted(pd.Categorical([levels[i % 3] for i in range(N)], levels, ordered=True))
        frame = with_column(pd.Categorical([levels[i % 3] for i in range(N)], levels, ordered=True))
        encoded = model.encoder_.encode(FrameTable(frame).chunk())
        assert model.encoder_.features == ["x", "c"]
        assert sorted(set(encoded[:, 1])) == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("absent", [None, pd.NA, np.nan, ""])
def test_texts_that_are_all_missing_are_told(absent: Any) -> None:
    with pytest.warns(UserWarning, match="left out of X: column 'c', since all values are missing"):
        fitted(objects([absent] * N))


def test_an_arrow_table_is_a_frame() -> None:
    pa = pytest.importorskip("pyarrow")
    frame = with_column(["abc"[i % 3] for i in range(N)])
    table = pa.Table.from_pandas(frame)
    assert is_frame(table)
    model = DSEKLClassifier(**GIVEN).fit(table, Y)
    assert model.feature_names_in_.tolist() == ["x", "c"]
    np.testing.assert_array_equal(model.decision_function(table), model.decision_function(frame))


REFUSED: dict[str, tuple[Any, str]] = {
    "arrays": (lambda: objects(np.arange(2) for _ in range(N)), r"row 0 of X: column 'c': holds '\[0 1\]' of type"),
    "bytes": (lambda: objects([b"a"] * N), r"of type bytes.*\[str\(value\) for value in X\['c'\]\]"),
    "dates and numbers": (lambda: objects([date(2024, 1, 1), 3] * (N // 2)), "row 1 .* holds 3, and row 0 a date"),
    "infinite": (lambda: np.where(np.arange(N) == 5, np.inf, X), "row 5 of X: column 'c': the number is infinite"),
    "huge": (lambda: np.where(np.arange(N) == 5, 1e200, X), r"row 5 of X: column 'c': 1e\+200 is too large"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_column_that_cannot_be_used_is_named(what: str) -> None:
    make, words = REFUSED[what]
    with pytest.raises(ValueError, match=words):
        fitted(make())


NEW: dict[str, tuple[Any, Any, str]] = {
    "dates for numbers": (X, pd.date_range("2024", periods=N), "row 0 of X: column 'c': '2024-01-01.*is not a number"),
    "numbers for dates": (pd.date_range("2024", periods=N), X, "row 0 of X: column 'c': .* is a number, and training"),
}


@pytest.mark.parametrize("what", NEW)
def test_new_rows_of_another_type_are_named(what: str) -> None:
    old, new, words = NEW[what]
    frame = with_column(old).assign(t=["a", "b"] * (N // 2))
    model = DSEKLClassifier(**GIVEN).fit(frame, Y)
    with pytest.raises(ValueError, match=words):
        model.predict(frame.assign(c=new))


def test_categories_that_are_all_unknown_are_told() -> None:
    model = fitted(["a", "b"] * (N // 2))
    with pytest.warns(UserWarning, match=r"column 'c' of X has none .* '1' is not among \['a', 'b'\]"):
        model.predict(with_column([1] * N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(with_column(["new", "a"] * (N // 2)))
        model.predict(with_column(["new"] * N)[:3])


def test_numbers_that_come_as_texts_are_told() -> None:
    with pytest.warns(UserWarning, match=r"'c' has numbers as texts, such as '0.0'.*pandas.to_numeric\(X\['c'\]"):
        fitted([str(i / 2) for i in range(30)] * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted([str(i) for i in range(30)] * 2, categorical_features=["c"])
        fitted(["1", "2"] * (N // 2))  # few whole numbers may well be codes


def test_none_takes_all_columns_for_numbers() -> None:
    frame = with_column(pd.Categorical([1, 2, 3] * (N // 3)))
    assert not hasattr(DSEKLClassifier(**GIVEN, categorical_features=None).fit(frame, Y), "encoder_")
    with pytest.raises(ValueError, match="row 0 of X: column 'c': 'a' is not a number; categorical_features=None"):
        fitted(["a", "b"] * (N // 2), categorical_features=None)


def test_arrays_and_lists_with_texts_are_encoded_as_frames_are() -> None:
    """A ColumnTransformer gives such arrays, and so do meta-estimators that take frames apart."""
    rows = [[x, "abc"[i % 3]] for i, x in enumerate(X)]
    f = fitted([text for _, text in rows]).decision_function(with_column([text for _, text in rows]))
    took = [[x, timedelta(hours=i), date(2024, 1, 1) + timedelta(days=i)] for i, x in enumerate(X)]
    for given in (rows, np.array(rows), np.array(rows, dtype=object)):
        for settings in ({}, {"categorical_features": [1]}):
            model = DSEKLClassifier(**GIVEN, **settings).fit(given, Y)
            assert model.encoder_.features == ["x0", "x1 = a", "x1 = b", "x1 = c"]
            np.testing.assert_array_equal(model.decision_function(given), f)
    times = DSEKLClassifier(**GIVEN).fit(np.array(took, dtype=object), Y)
    assert times.encoder_.features[:4] == ["x0", "x1 in days", "x2 in days", "x2 sine of weekday"]
    assert times.predict(np.array(took, dtype=object)).shape == (N,)
    assert not hasattr(DSEKLClassifier(**GIVEN).fit(np.array([[str(x)] for x in X]), Y), "encoder_")
    with pytest.raises(ValueError, match="row 1 of X: column 'x1': holds 'b', and row 0 a number"):
        DSEKLClassifier(**GIVEN).fit(np.array([[x, "b" if i % 2 else 1.0] for i, x in enumerate(X)], dtype=object), Y)
    with pytest.raises(ValueError, match="X holds 'a' in row 0, column 'x1', which is no number"):
        DSEKLClassifier(**GIVEN, strict=True).fit(np.array(rows, dtype=object), Y)
    matrix = sparse.csr_array(np.column_stack([X, X > 0]))
    with pytest.raises(ValueError, match=r"categorical_features=\[1\] is for frames and dense arrays"):
        DSEKLClassifier(**GIVEN, categorical_features=[1]).fit(matrix, Y)


def test_an_array_at_fit_and_a_frame_at_predict_go_by_places() -> None:
    gaps = np.column_stack([X, np.where(np.arange(N) % 5, X, np.nan)])
    model = DSEKLClassifier(**GIVEN).fit(gaps, Y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        f = model.decision_function(pd.DataFrame(gaps, columns=["a", "b"]))
    np.testing.assert_array_equal(f, model.decision_function(gaps))
    with pytest.raises(ValueError, match="X has 3 columns, but DSEKLClassifier is expecting 2 features"):
        model.predict(pd.DataFrame(np.zeros((3, 3))))


def test_columns_that_are_numbered_are_taken_by_places() -> None:
    """So pandas reads a file without a header."""
    texts = ["abc"[i % 3] for i in range(N)]
    frame = pd.DataFrame({0: X, 1: texts})
    model = DSEKLClassifier(**GIVEN).fit(frame, Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.encoder_.features == ["x0", "x1 = a", "x1 = b", "x1 = c"]
    f = fitted(texts).decision_function(with_column(texts))
    for new in (frame, frame.to_numpy(), pd.DataFrame({5: X, 2: texts})):
        np.testing.assert_array_equal(model.decision_function(new), f)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        model.predict(with_column(texts))
    gaps = pd.DataFrame({0: X, 1: np.where(np.arange(N) % 5, X, np.nan)})
    assert DSEKLClassifier(**GIVEN).fit(gaps, Y).encoder_.features == ["x0", "x1", "x1 missing"]


def test_durations_have_no_place_in_a_cycle() -> None:
    hours = pd.Series(pd.to_timedelta(9 * np.arange(N), unit="h"))
    for took in (hours, objects(timedelta(hours=9 * i) for i in range(N)), objects(hours.to_numpy())):
        model = fitted(took)
        assert model.encoder_.features == ["x", "c in days"]
        np.testing.assert_allclose(np.diff(model.encoder_.encode(FrameTable(with_column(took)).chunk())[:, 1]), 9 / 24)
    at = fitted([time(i % 24, i) for i in range(N)])
    assert at.encoder_.features == ["x", "c in days", "c sine of hour", "c cosine of hour"]


def test_categories_that_are_booleans_are_known_as_booleans_later() -> None:
    truth = np.arange(N) % 2 == 0
    model = fitted(pd.Categorical(truth))
    assert model.encoder_.features == ["x", "c = False", "c = True"]
    f = model.decision_function(with_column(pd.Categorical(truth)))
    for same in (truth, pd.array(truth, dtype="boolean"), objects(truth.tolist()), [str(value) for value in truth]):
        np.testing.assert_array_equal(model.decision_function(with_column(same)), f)
    named = fitted(truth, categorical_features=["c"])
    np.testing.assert_array_equal(named.decision_function(with_column(truth)), f)


def test_integers_of_128_bits_are_numbers() -> None:
    pl = pytest.importorskip("polars")
    whole = np.arange(N) % 7
    f = fitted(whole).decision_function(with_column(whole))
    wide = pl.DataFrame({"x": X, "c": pl.Series(whole.tolist(), dtype=pl.Int128)})
    np.testing.assert_array_equal(DSEKLClassifier(**GIVEN).fit(wide, Y).decision_function(wide), f)


def test_a_text_among_new_numbers_has_a_place() -> None:
    model = DSEKLClassifier(**GIVEN).fit(pd.DataFrame({"a": X, "b": X}), Y)
    with pytest.raises(ValueError, match=r"X holds 'n\.k\.' in row 2, column 'b', which is no number"):
        model.predict(pd.DataFrame({"a": X[:3], "b": ["1", "2", "n.k."]}))
    with pytest.raises(ValueError, match=r"X holds 'n\.k\.' in row 0, column 'x1', which is no number"):
        DSEKLClassifier(**GIVEN).fit(np.column_stack([X, X]), Y).predict(np.array([[1.0, "n.k."]], dtype=object))


def test_numbers_that_cannot_be_used_have_a_place() -> None:
    bad = np.column_stack([X, X])
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity: inf in row 3, column 1"):
        DSEKLClassifier(**GIVEN).fit(bad, Y)
    model = DSEKLClassifier(**GIVEN).fit(pd.DataFrame({"a": X, "b": X}), Y)
    with pytest.raises(ValueError, match="Input X contains infinity: inf in row 3, column 'b'"):
        model.predict(pd.DataFrame(bad, columns=["a", "b"]))
    with pytest.raises(ValueError, match=r"contains NaN: nan in row 0, column 'c', and strict=True"):
        fitted(np.where(np.arange(N) % 5, X, np.nan), strict=True)
    with pytest.raises(ValueError, match="X has 0 columns"):
        DSEKLClassifier(**GIVEN).fit(pd.DataFrame(index=range(N)), Y)


def test_a_lazy_frame_is_to_be_collected() -> None:
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"X is a LazyFrame, .* give X.collect\(\)"):
        DSEKLClassifier(**GIVEN).fit(pl.DataFrame({"x": X}).lazy(), Y)


def test_texts_in_a_stream_are_named() -> None:
    with pytest.raises(ValueError, match=r"X cannot be read as numbers .*'a'.*OneHotEncoder"):
        OnlineDSEKLClassifier().partial_fit(with_column(["a"] * N), Y, classes=[False, True])


LABELS = np.where(Y, "a", "b")


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(np.where(np.arange(N) == 3, None, LABELS), dtype=object),
        pd.Series(np.where(np.arange(N) == 3, None, LABELS)).astype("string"),
        pd.Series(pd.Categorical(np.where(np.arange(N) == 3, None, LABELS))),
        pd.Series(pd.array([None if i == 3 else bool(i % 2) for i in range(N)], dtype="boolean")),
        pd.Series([pd.NaT if i == 3 else pd.Timestamp(2024, 1, 1 + i % 2) for i in range(N)]),
    ],
    ids=["objects", "texts", "categories", "booleans", "dates"],
)
def test_missing_labels_are_named_with_their_row(y: Any) -> None:
    with pytest.raises(ValueError, match=r"y holds (None|nan|<NA>|NaT) in row 3, a missing value.*pandas.notna"):
        DSEKLClassifier(**GIVEN).fit(pd.DataFrame({"x": X}), y)


def test_targets_that_are_dates_are_refused() -> None:
    for days in (pd.Series(pd.date_range("2024", periods=N)), pd.Series(pd.to_timedelta(np.arange(N), unit="h"))):
        with pytest.raises(ValueError, match="y holds times"):
            DSEKLRegressor(**GIVEN).fit(pd.DataFrame({"x": X}), days)


def test_targets_with_the_rows_in_another_order_are_told() -> None:
    frame, order = pd.DataFrame({"x": X}), np.random.default_rng(0).permutation(N)
    with pytest.warns(UserWarning, match=r"index of y has the rows of X in another order.*y.loc\[X.index\]"):
        DSEKLClassifier(**GIVEN).fit(frame, pd.Series(Y)[order])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DSEKLClassifier(**GIVEN).fit(frame, pd.Series(Y, index=range(N, 2 * N)))
        DSEKLClassifier(**GIVEN).fit(frame.loc[order], pd.Series(Y)[order])
