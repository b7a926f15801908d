"""Forged encoders and online models, with right checksums: refused by name when they are loaded, whatever is in them.

Each of these files once loaded, and gave numbers that are not finite, blamed the rows, ran for ever, or asked for
memory without end.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dsekl
from dsekl import (
    DSEKLClassifier,
    DSEKLRegressor,
    ModelFileError,
    OnlineDSEKLClassifier,
    OnlineDSEKLRegressor,
    kernels,
    persistence,
)
from tests.fuzz.forging import content
from tests.fuzz.models import SIDES, THREE, X, frame

LARGEST = np.finfo(np.float64).max
Header, Arrays = dict[str, Any], dict[str, Any]


def table() -> Any:
    """Return rows with a column of each kind, and one with a heavy tail."""
    rows = pd.concat([frame()] * 6, ignore_index=True)
    rows["heavy"] = np.exp(6 * np.random.default_rng(0).normal(size=len(rows)))
    return rows


@pytest.fixture(scope="module")
def encoder_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Header, Arrays]:
    path = tmp_path_factory.mktemp("encoder") / "model"
    DSEKLClassifier(random_state=0, n_jobs=1).fit(table(), np.tile(THREE, 6)).save(path)
    return persistence.read(path)


ENCODERS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a huge stand-in for gaps": ("number", lambda column: column.update(fill=1e200)),
    "a tiny scale": ("number", lambda column: column.update(scale=1e-170)),
    "a stand-in that is huge when it is scaled": ("number", lambda column: column.update(scale=1e-160, fill=1.0)),
    "an origin that is no time": ("day", lambda column: column.update(origin=1e300)),
    "a date that is no time": ("day", lambda column: column.update(fill=-1e12)),
    "an ordered category without levels": ("size", lambda column: column.update(levels=[])),
    "huge means": ("city", lambda column: column["statistic"].update(of_all=[1e160] * 3)),
    "scores beyond all normal ones": ("heavy", lambda column: column["ranks"]["scores"].__setitem__(-1, 1e5)),
    "knots that are too far apart": ("heavy", lambda column: column["ranks"]["knots"].__setitem__(-1, 1.7e308)),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_that_cannot_be_is_refused(name: str, encoder_file: tuple[Header, Arrays], tmp_path: Path) -> None:
    header, arrays = copy.deepcopy(encoder_file[0]), encoder_file[1]
    column, change = ENCODERS[name]
    (found,) = [each for each in header["columns"]["encoder"]["columns"] if each["name"] == column]
    change(found)
    refused(header, arrays, tmp_path)


def test_columns_without_names_have_no_names(encoder_file: tuple[Header, Arrays], tmp_path: Path) -> None:
    header, arrays = copy.deepcopy(encoder_file[0]), encoder_file[1]
    header["columns"]["named"] = False
    refused(header, arrays, tmp_path)


def refused(header: Header, arrays: Arrays, folder: Path) -> None:
    path = folder / "forged"
    path.write_bytes(content(header, arrays))
    with pytest.raises(ModelFileError, match=f"^{path}: "):
        dsekl.load(path)


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("scores", lambda scores: scores * 1e306),
        ("shares", lambda shares: np.full_like(shares, LARGEST)),
        ("shares", lambda shares: shares * 0.5),
    ],
)
def test_intervals_that_cannot_be_are_refused(array: str, change: Callable[[Any], Any], tmp_path: Path) -> None:
    y = X[:, 0] + np.random.default_rng(0).normal(size=len(X))
    model = DSEKLRegressor(gamma=0.5, random_state=0, n_jobs=1).fit(X, y)
    low, high = model.predict_interval(X[:5], coverage=0.5).T
    assert (low < high).all()
    model.save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model")
    name = f"fitted.intervals_.{array}"
    refused(header, {**arrays, name: change(arrays[name])}, tmp_path)


SMALL: dict[str, Any] = dict(budget=12, random_state=0)


@pytest.fixture(scope="module")
def online_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Header, Arrays]]:
    folder = tmp_path_factory.mktemp("online")
    machines = {
        "classes": OnlineDSEKLClassifier(**SMALL).fit(X, SIDES),
        "numbers": OnlineDSEKLRegressor(kernels.Polynomial(2), gamma="scale", **SMALL).fit(X, X[:, :2]),
        "large": OnlineDSEKLRegressor(budget=5_000, random_state=0).fit(X, X[:, :2]),
        "went online": OnlineDSEKLRegressor.from_model(
            DSEKLRegressor(trend=True, gamma=0.5, random_state=0, n_jobs=1).fit(X, X[:, 0]), **SMALL
        ),
    }
    for name, machine in machines.items():
        machine.save(folder / name)
    return {name: persistence.read(folder / name) for name in machines}


def entry(array: str, value: float) -> Callable[[Header, Arrays], Any]:
    def change(header: Header, arrays: Arrays) -> None:
        forged = arrays[array].copy()
        forged.flat[-1] = value
        arrays[array] = forged

    return change


def multiplied(arrays: Arrays, name: str) -> None:
    arrays[name] = 1e80 * arrays[name]


def shuffled_kernel(header: Header, arrays: Arrays) -> None:
    arrays["basis.kernel"] = np.random.default_rng(0).permutation(arrays["basis.kernel"].ravel()).reshape(12, 12)


def no_points(header: Header, arrays: Arrays) -> None:
    """Say that no point has come in, so that arrays of any width have no bytes."""
    n = header["fitted"]["n_features_in_"] = 2**31
    arrays["basis.points"], arrays["basis.kernel"] = np.empty((n, 0)), np.empty((0, 0))
    arrays["basis.lines"] = arrays["basis.lines"][:, :0]
    arrays["basis.counts"] = np.array([0, 1], dtype=np.uint64)


def many_outputs(header: Header, arrays: Arrays) -> None:
    arrays["basis.unit"] = np.ones(10**6)


def lopsided(arrays: Arrays) -> Any:
    forged = arrays["basis.mixture.variance"].copy()
    forged[0, 0, 1] += 0.5 * np.sqrt(forged[0, 0, 0] * forged[0, 1, 1])
    return forged


def both_ways(correlation: float, every: bool = False) -> Callable[[Header, Arrays], Any]:
    """Give the first two columns, or every two, a correlation."""

    def change(header: Header, arrays: Arrays) -> None:
        forged = arrays["basis.mixture.variance"].copy()
        size = np.sqrt(np.diagonal(forged[0]))
        wanted = correlation * np.outer(size, size)
        columns = len(size) if every else 2
        changed = np.s_[0, :columns, :columns]
        forged[changed] = np.where(np.eye(columns, dtype=bool), forged[changed], wanted[:columns, :columns])
        arrays["basis.mixture.variance"] = forged

    return change


ONLINE: dict[str, tuple[str, Callable[[Header, Arrays], Any]]] = {
    "more features than there is memory for": ("classes", no_points),
    "more outputs than there is memory for": ("numbers", many_outputs),
    "steps without end": ("classes", lambda header, arrays: header["parameters"].update(n_cols=10**18)),
    "kernel values of no points": ("classes", shuffled_kernel),
    "points far from their kernel values": ("numbers", entry("basis.points", 1e37)),
    "a kernel that overflows": (
        "numbers", lambda header, arrays: header["parameters"]["kernel"]["settings"].update(coef0=1e308),
    ),
    "a huge intercept": ("classes", entry("basis.intercept", LARGEST)),
    "a huge unit": ("numbers", entry("basis.unit", LARGEST)),
    "a huge trend": ("went online", entry("basis.beside.trend", LARGEST)),
    "a tiny unit": ("numbers", entry("basis.unit", 1e-300)),
    "masses of more rows than there are": ("classes", lambda header, arrays: multiplied(arrays, "basis.lines")),
    "variances that overflow": ("classes", entry("basis.mixture.variance", 1e151)),
    "variances that are not symmetric": (
        "classes", lambda header, arrays: arrays.update({"basis.mixture.variance": lopsided(arrays)}),
    ),
    "variances of more than they can be": ("numbers", both_ways(1.01)),
    "variances of correlations that cannot be": ("classes", both_ways(-0.9, every=True)),
    "classes that are no labels": (
        "classes", lambda header, arrays: arrays.update({"fitted.classes_": np.array([0.25, 1.5])}),
    ),
    "a C that overflows": ("classes", lambda header, arrays: header["parameters"].update(C=1e-300)),
    "a gamma that overflows": ("large", lambda header, arrays: header["parameters"].update(gamma=1e200)),
    "coefficients beyond float32": ("large", entry("basis.coef", 1e37)),
    "a kernel beyond float32": (
        "large",
        lambda header, arrays: header["parameters"].update(
            kernel={"object": "Polynomial", "settings": {"degree": 3, "coef0": 1e300}}
        ),
    ),
    "a huge intercept of many points": ("large", entry("basis.intercept", LARGEST)),
    "a unit of many points that overflows": ("large", entry("basis.unit", 1e-300)),
    "one target with two outputs": ("numbers", lambda header, arrays: header["fitted"].update(_one_target=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONLINE)
def test_an_online_model_that_cannot_be_is_refused(
    name: str, online_files: dict[str, tuple[Header, Arrays]], tmp_path: Path
) -> None:
    file, change = ONLINE[name]
    header, arrays = copy.deepcopy(online_files[file][0]), dict(online_files[file][1])
    change(header, arrays)
    refused(header, arrays, tmp_path)


def test_what_was_not_forged_is_loaded(
    encoder_file: tuple[Header, Arrays], online_files: dict[str, tuple[Header, Arrays]], tmp_path: Path
) -> None:
    for header, arrays in (encoder_file, *online_files.values()):
        (tmp_path / "model").write_bytes(content(header, arrays))
        dsekl.load(tmp_path / "model")
