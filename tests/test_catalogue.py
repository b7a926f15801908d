"""The data sets by name: the folder first, scikit-learn's fetchers next, and words that help where neither has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest

from dsekl.data import catalogue
from tests.problems import real_data


def write(folder: Path, name: str, **arrays: Any) -> None:
    np.savez(folder / f"{name}.npz", **arrays)


def no_connection() -> tuple[Any, Any]:
    raise URLError("no route to host")


def test_the_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setitem(catalogue._SOURCES, "sonar", catalogue.Source("task", ("1",), no_connection))
    with pytest.raises(catalogue.DataNotFoundError):
        catalogue.load("sonar")
    write(tmp_path, "sonar", X=np.arange(6).reshape(3, 2), y=np.array([-1, 1, 1]))
    data = catalogue.load("sonar")
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [-1, 1, 1]


def test_mnist_is_read_as_digit_0_against_digit_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.FOLDER_VARIABLE, str(tmp_path))
    write(tmp_path, "mnist", X=np.eye(4, dtype=np.uint8), y=np.array([0, 5, 1, 9]))
    data = catalogue.load("mnist")
    assert data.y.tolist() == [-1, 1]
    assert data.X.argmax(axis=1).tolist() == [0, 2]


def test_the_sample_number_is_no_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.FOLDER_VARIABLE, str(tmp_path))
    X = np.ones((4, 10))
    X[:, 0] = [1001, 1002, 1003, 1004]
    X[0, 5] = np.nan
    write(tmp_path, "breast-cancer", X=X, y=np.array([2, 4, 2, 4]))
    data = catalogue.load("breast-cancer")
    assert data.X.shape == (4, 9)
    assert (data.X == 1).all()
    assert data.y.tolist() == [-1, 1, -1, 1]


def test_fetched_text_labels_and_categories_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What OpenML would give for mushrooms: codes of categories, and letters for the classes."""
    monkeypatch.delenv(catalogue.FOLDER_VARIABLE, raising=False)
    source = catalogue._SOURCES["mushrooms"]
    raw = np.array([[0.0, 2.0], [1.0, np.nan], [0.0, 1.0]]), np.array(["p", "e", "p"])
    fetched = catalogue.Source(source.task, source.positive, lambda: raw, source.kept, source.prepare)
    monkeypatch.setitem(catalogue._SOURCES, "mushrooms", fetched)
    data = catalogue.load("mushrooms")
    assert data.X.shape == (3, 5)
    assert (data.X.sum(axis=1) == 2).all()
    assert data.y.tolist() == [1, -1, 1]


def test_what_cannot_be_fetched_says_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(catalogue.FOLDER_VARIABLE, raising=False)
    monkeypatch.setitem(catalogue._SOURCES, "skin", catalogue.Source("task", ("1",), no_connection))
    with pytest.raises(catalogue.DataNotFoundError, match=r"skin.*no route to host.*skin\.npz.*DSEKL_DATA"):
        catalogue.load("skin")


def test_unknown_names_and_wrong_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'iris' is not known; choose one of mnist"):
        catalogue.load("iris")
    monkeypatch.setenv(catalogue.FOLDER_VARIABLE, str(tmp_path))
    write(tmp_path, "sonar", rows=np.ones((2, 2)))
    with pytest.raises(ValueError, match="it needs X and y"):
        catalogue.load("sonar")


@pytest.mark.parametrize("name", ["digits", "wdbc", "wine"])
def test_bundled_sets_need_neither_folder_nor_connection(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(catalogue.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("socket.socket", None)
    data = catalogue.load(name)
    assert set(data.y) == {-1, 1}
    assert len(data.sample(100, np.random.default_rng(0)).y) == 100
    assert catalogue.task(name)


@pytest.mark.parametrize(
    ("name", "shape", "share"),
    [("diabetes", (768, 8), 0.349), ("mushrooms", (8124, 112), 0.518), ("skin", (245057, 3), 0.208)],
)
def test_real_sets_have_their_published_sizes(name: str, shape: tuple[int, int], share: float) -> None:
    real_data(name)
    data = catalogue.load(name)
    assert data.X.shape == shape
    assert (data.y == 1).mean() == pytest.approx(share, abs=0.001)
