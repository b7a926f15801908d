"""A model and a checkpoint, cut off after each of their bytes: as the file itself, and as a draft beside the old one."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np

import dsekl
from dsekl import DSEKLClassifier, ModelFileError
from dsekl.atomic import _draft_prefix

from .models import PLAIN, SIDES, X

NAME = "power cuts"
COUNT = 30_000
"""All lengths of both files, twice."""


def estimator() -> DSEKLClassifier:
    return DSEKLClassifier(solver="doubly_stochastic", **{**PLAIN, "max_epochs": 1})


def prepare(folder: Path) -> None:
    """Save both, and the answers that the whole files give."""
    rows, sides = X[:12], SIDES[:12]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator().set_params(checkpoint=folder / "run").fit(rows, sides)
    model.save(folder / "model")
    np.save(folder / "coef.npy", model.dual_coef_)
    assert 2 * sum((folder / name).stat().st_size + 1 for name in ("model", "run")) <= COUNT


def trial(folder: Path, seed: int) -> str:
    """Cut one file off where the seed says, and use it."""
    contents = {name: (folder / name).read_bytes() for name in ("model", "run")}
    places = [(name, length) for name, content in contents.items() for length in range(len(content) + 1)]
    name, length = places[seed % len(places)]
    as_draft = seed // len(places) % 2 == 1
    path = folder / f"cut {name}"
    if as_draft:
        shutil.copy(folder / name, path)
        (folder / f"{_draft_prefix(path)}00000000.part").write_bytes(contents[name][:length])
    else:
        path.write_bytes(contents[name][:length])
    try:
        model = dsekl.load(path) if name == "model" else estimator().set_params(checkpoint=path).fit(X[:12], SIDES[:12])
    except ModelFileError as error:
        assert str(error).startswith(f"{path}: ")
        assert not as_draft and length < len(contents[name])
        return "refused"
    np.testing.assert_array_equal(model.dual_coef_, np.load(folder / "coef.npy"))
    if as_draft and name == "model":
        model.save(path)
    assert not as_draft or not list(folder.glob(".*.part"))
    return "right"
