"""A model and a checkpoint, cut off after each of their bytes: the file itself, or a draft beside the old one."""

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
"""All lengths of both files, twice: once in sixteen as a draft."""


STRIDE = 7919
"""A prime: lengths come in no order, and each of them once."""


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
    length = seed * STRIDE % sum(len(content) + 1 for content in contents.values())
    name = "model" if length <= len(contents["model"]) else "run"
    length -= 0 if name == "model" else len(contents["model"]) + 1
    as_draft = seed % 16 == 0
    path = folder / f"cut {name}"
    if as_draft:
        shutil.copy(folder / name, path)
        (folder / f"{_draft_prefix(path)}00000000.part").write_bytes(contents[name][:length])
    else:
        path.write_bytes(contents[name][:length])
    try:
        model = dsekl.load(path) if name == "model" else estimator().set_params(checkpoint=path).fit(X[:12], SIDES[:12])
    except ModelFileError as error:
        if as_draft or length == len(contents[name]) or not str(error).startswith(f"{path}: "):
            raise
        return "refused"
    np.testing.assert_array_equal(model.dual_coef_, np.load(folder / "coef.npy"))
    if as_draft and name == "model":
        model.save(path)
    assert not as_draft or not list(folder.glob(".*.part"))
    return "right"
