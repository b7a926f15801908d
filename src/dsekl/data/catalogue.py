"""The data sets of the paper, by name: from the folder that ``DSEKL_DATA`` names, from scikit-learn, or made up.

A folder holds ``<name>.npz`` with the arrays X and y. Without it, scikit-learn's fetchers are asked, which need a
connection; what scikit-learn bundles and what is made up needs neither. Labels come as -1 and 1.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataFileError

FOLDER_VARIABLE = "DSEKL_DATA"

Array = NDArray[Any]
Raw = tuple[Array, Array]
"""Rows and labels as they are stored: numbers or text."""


class DataNotFoundError(LookupError):
    """A data set is neither in the folder nor within reach of a fetcher."""


@dataclass(frozen=True)
class Dataset:
    """One two-class problem: rows X (n, n_features) float32 and labels y (n,) of -1 and 1."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]

    def sample(self, size: int, rng: np.random.Generator) -> Dataset:
        """Return ``min(size, n)`` different random rows."""
        chosen = rng.permutation(len(self.y))[:size]
        return Dataset(self.X[chosen], self.y[chosen])


@dataclass(frozen=True)
class Source:
    """Where one data set comes from and which two classes it is read as.

    ``task`` is said in the report. ``positive`` are the labels of class 1, as text; ``kept`` the only ones to keep, if
    not all.
    """

    task: str
    positive: tuple[str, ...]
    fetch: Callable[[], Raw]
    kept: tuple[str, ...] | None = None
    prepare: Callable[[Array], Array] = lambda X: X


def xor(n: int, rng: np.random.Generator) -> Dataset:
    """Return the XOR problem: Gaussians of variance 0.2 around a square's corners, opposite corners of one class."""
    corners = rng.choice([-1.0, 1.0], (n, 2))
    X = corners + np.sqrt(0.2) * rng.standard_normal((n, 2))
    return Dataset(X.astype(np.float32), np.where(corners.prod(axis=1) > 0, 1, -1))


def task(name: str) -> str:
    """Return in words which two classes ``name`` is read as."""
    return _source(name).task


def load(name: str) -> Dataset:
    """Return a data set; ``DataNotFoundError`` says what would bring it here."""
    source = _source(name)
    raw = _from_folder(name)
    if raw is None:
        raw = _fetched(name, source)
    X, labels = raw
    labels = _as_text(labels)
    if source.kept is not None:
        kept = np.isin(labels, source.kept)
        X, labels = X[kept], labels[kept]
    rows = np.ascontiguousarray(source.prepare(np.asarray(X)), dtype=np.float32)
    return Dataset(rows, np.where(np.isin(labels, source.positive), 1, -1))


def _as_text(labels: Array) -> Array:
    """Return labels as text, 1 and 1.0 as "1": folders hold numbers, fetchers give text."""
    labels = np.asarray(labels)
    if np.issubdtype(labels.dtype, np.number):
        labels = labels.astype(np.int64)
    return np.asarray(labels.astype(str))


def _source(name: str) -> Source:
    if name not in _SOURCES:
        raise ValueError(f"data set {name!r} is not known; choose one of {', '.join(_SOURCES)}")
    return _SOURCES[name]


def _from_folder(name: str) -> Raw | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    path = None if folder is None else Path(folder) / f"{name}.npz"
    if path is None or not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if "X" in arrays and "y" in arrays:
                return arrays["X"], arrays["y"]
            held = ", ".join(arrays)
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataFileError(path, f"cannot be read ({error})") from error
    raise DataFileError(path, f"holds the arrays {held}; it needs X and y")


def _fetched(name: str, source: Source) -> Raw:
    advice = f"put {name}.npz (arrays X, y) into a folder and set {FOLDER_VARIABLE} to it"
    try:
        return source.fetch()
    except (OSError, ValueError) as error:
        raise DataNotFoundError(
            f"data set {name!r} could not be fetched ({error}); {advice}, or connect this machine"
        ) from error


def _openml(name: str) -> Callable[[], Raw]:
    def fetch() -> Raw:
        from sklearn.datasets import fetch_openml

        found = fetch_openml(name, version=1, as_frame=False, parser="liac-arff")
        return found.data, found.target

    return fetch


def _covertype() -> Raw:
    from sklearn.datasets import fetch_covtype

    found = fetch_covtype()
    return found.data, found.target


def _bundled(name: str) -> Callable[[], Raw]:
    def fetch() -> Raw:
        from sklearn import datasets

        found = getattr(datasets, f"load_{name}")()
        return found.data, found.target

    return fetch


def _filled(X: Array) -> Array:
    """Fill the few missing values of a column with its median."""
    X = np.asarray(X, dtype=np.float64)
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X)


def _without_sample_id(X: Array) -> Array:
    """The folder's breast-cancer table begins with the sample's number; the fetched one does not."""
    return _filled(X[:, 1:] if X.shape[1] == 10 else X)


def _one_hot(X: Array) -> Array:
    """Codes of categories become one column each; columns of zeros and ones are left alone."""
    if X.shape[1] > 100:
        return X
    from sklearn.preprocessing import OneHotEncoder

    return np.asarray(OneHotEncoder(sparse_output=False).fit_transform(X))


_SOURCES: dict[str, Source] = {
    "mnist": Source("digit 0 against digit 1", ("1",), _openml("mnist_784"), kept=("0", "1")),
    "diabetes": Source("diabetes against none (Pima)", ("1", "tested_positive"), _openml("diabetes")),
    "breast-cancer": Source(
        "malignant against benign (Wisconsin, original)", ("4", "malignant"), _openml("breast-w"),
        prepare=_without_sample_id,
    ),
    "mushrooms": Source("poisonous against edible", ("2", "p"), _openml("mushroom"), prepare=_one_hot),
    "sonar": Source("mine against rock", ("1", "Mine"), _openml("sonar")),
    "skin": Source("skin against non-skin", ("1",), _openml("skin-segmentation")),
    "madelon": Source("the challenge's two classes", ("1",), _openml("madelon")),
    "covertype": Source("class 2 (lodgepole pine) against the rest", ("2",), _covertype),
    "digits": Source("digit 3 against digit 8, 8 x 8 pixels", ("8",), _bundled("digits"), kept=("3", "8")),
    "wdbc": Source("benign against malignant (Wisconsin, diagnostic)", ("1",), _bundled("breast_cancer")),
    "wine": Source("cultivar 1 against the rest", ("1",), _bundled("wine")),
}  # fmt: skip
