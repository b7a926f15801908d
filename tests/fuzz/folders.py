"""Damaged and forged folders of converted data: each is what the genuine one is, or refused by name.

Half of the forged recipes carry a right checksum. Files are cut, changed, swapped with one another and with those of
another folder, replaced by links and by folders, and given headers of other types and shapes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import warnings
from pathlib import Path

import numpy as np

from dsekl.data import DataFileError, open_table
from dsekl.data.folder import RECIPE_FILE, X_FILE, Y_FILE, _digest, read_folder, write_folder
from dsekl.data.recipe_learner import Options, learn

from .damage import damaged, forged_json

NAME = "folders"
COUNT = 700

KINDS = ("classes", "numbers", "sparse")


def prepare(folder: Path) -> None:
    """Convert three tables, each of them twice with other values."""
    for copy in range(2):
        rng = np.random.default_rng(copy)
        X = rng.standard_normal((50, 3)).round(3)
        texts = rng.choice(["u", "v", "w"], 50)
        for kind in KINDS:
            path = folder / f"{kind}-{copy}.data"
            y = (X[:, 0] > 0).astype(int) if kind != "numbers" else X[:, 0] * 7
            if kind == "sparse":
                lines = [
                    f"{label} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row))
                    for row, label in zip(X, y, strict=True)
                ]
            else:
                lines = ["a,b,c,t,y"]
                lines += [
                    ",".join(map(str, [*row, t, label]))
                    for row, t, label in zip(X.tolist(), texts, y.tolist(), strict=True)
                ]
            path.write_text("\n".join(lines) + "\n")
            table = open_table(path)
            recipe = learn(table, Options(None if kind == "sparse" else "y", scale=copy == 1))
            write_folder(folder / f"{kind}-{copy}", table, recipe, "float32" if kind == "classes" else "float64")


def trial(folder: Path, seed: int) -> str:
    """Forge a folder and read it."""
    draw = random.Random(seed)
    genuine = folder / f"{draw.choice(KINDS)}-0"
    forged = folder / f"forged-{os.getpid()}"
    shutil.copytree(genuine, forged)
    try:
        has_sum = _forge(forged, genuine, draw)
        return _read(forged, genuine, has_sum)
    finally:
        shutil.rmtree(forged)


def _read(forged: Path, genuine: Path, has_sum: bool) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            recipe, X, y = read_folder(forged)
        except DataFileError as error:
            if str(forged) not in str(error) or "\n" in str(error):
                raise AssertionError(f"an error of several lines, or without the file: {error}") from error
            return "refused"
    if X.shape != (recipe.n_rows, recipe.encoder.n_features) or y.shape != (recipe.n_rows,):
        raise AssertionError(f"X {X.shape} and y {y.shape}")
    if not np.isfinite(X).all() or not np.isfinite(y).all():
        raise AssertionError("numbers that are not finite")
    _, X_before, y_before = read_folder(genuine)
    if not has_sum and not (np.array_equal(X, X_before) and np.array_equal(y, y_before)):
        raise AssertionError("other numbers than before, without a word")
    return "right"


def _forge(forged: Path, genuine: Path, draw: random.Random) -> bool:
    """Change a folder; tell whether its checksums are right nevertheless."""
    name = draw.choice([X_FILE, Y_FILE, RECIPE_FILE])
    path = forged / name
    match draw.randrange(8):
        case 0:
            _forge_recipe(forged / RECIPE_FILE, draw, with_sum=True)
            return True
        case 1:
            _forge_recipe(forged / RECIPE_FILE, draw, with_sum=False)
        case 2 | 3:
            path.write_bytes(damaged(path.read_bytes(), draw))
        case 4:
            other = genuine.with_name(genuine.name.replace("-0", "-1"))
            shutil.copy(other / name, path)
        case 5:
            first, second = draw.sample([X_FILE, Y_FILE, RECIPE_FILE], 2)
            os.rename(forged / first, forged / "aside")
            os.rename(forged / second, forged / first)
            os.rename(forged / "aside", forged / second)
        case 6:
            path.unlink()
            match draw.randrange(5):
                case 0:
                    path.symlink_to(genuine / name)
                case 1:
                    path.mkdir()
                case 2:
                    os.mkfifo(path)
                case 3:
                    path.symlink_to(path)
        case 7:
            array = np.load(forged / draw.choice([X_FILE, Y_FILE]))
            array = draw.choice(
                [
                    array[:-1],
                    array.astype(">f4"),
                    array.astype("<i8"),
                    np.asfortranarray(array),
                    np.full_like(array, 2**30),
                ]
            )
            with np.errstate(invalid="ignore"):
                np.save(path.with_suffix(".npy"), array)
    return False


def _forge_recipe(path: Path, draw: random.Random, with_sum: bool) -> None:
    saved = json.loads(path.read_text())
    if with_sum:
        saved["recipe"] = forged_json(saved["recipe"], draw)
        saved["sha256"][RECIPE_FILE] = _digest(saved["recipe"])
    else:
        saved = forged_json(saved, draw)
    path.write_text(json.dumps(saved))
