"""Converted training data: a folder with X.npy and y.npy, which are mapped into memory, and table.json, the recipe."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .errors import DataFileError
from .recipe import Recipe
from .sparse_encoding import SparseEncoder
from .svmlight import SparseTable
from .table import ProgressHook, Table, no_progress

X_FILE, Y_FILE, RECIPE_FILE = "X.npy", "y.npy", "table.json"


def write_folder(
    folder: Path,
    table: Table | SparseTable,
    recipe: Recipe,
    dtype: str = "float32",
    progress: ProgressHook = no_progress,
) -> int:
    """Write the rows of a table in chunks and return the bytes written. The folder appears when it is complete.

    A folder that an earlier call made is replaced.
    """
    if folder.exists() and not is_replaceable(folder):
        raise DataFileError(folder, "holds other files than converted data; give another name")
    if isinstance(recipe.encoder, SparseEncoder) and not recipe.encoder.dense:
        raise DataFileError(
            table.path, f"has {len(recipe.encoder.features)} columns, most entries 0: too sparse to convert to dense "
            "rows; train on the file itself",
        )  # fmt: skip
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write_arrays(draft, table, recipe, np.dtype(dtype), progress)
        (draft / RECIPE_FILE).write_text(json.dumps(recipe.to_dict(), indent=1))
        size = sum(file.stat().st_size for file in draft.iterdir())
        draft.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return size


def is_replaceable(folder: Path) -> bool:
    """Tell whether a folder holds converted data alone, or nothing: other files must not be deleted."""
    ours = {X_FILE, Y_FILE, RECIPE_FILE}
    return folder.is_dir() and not folder.is_symlink() and {file.name for file in folder.iterdir()} <= ours


def read_folder(folder: Path) -> tuple[Recipe, NDArray[Any], NDArray[Any]]:
    """Return the recipe, X mapped into memory, and y (codes of the classes, or numbers)."""
    try:
        saved = json.loads((folder / RECIPE_FILE).read_text())
        X = np.load(folder / X_FILE, mmap_mode="r", allow_pickle=False)
        y = np.load(folder / Y_FILE, allow_pickle=False)
    except FileNotFoundError as error:
        raise DataFileError(folder, "is a folder that 'dsekl convert' did not make") from error
    except (OSError, ValueError) as error:
        raise DataFileError(folder, f"cannot be read ({error}); convert the data again") from error
    recipe = Recipe.from_dict(saved, folder / RECIPE_FILE)
    classes = recipe.target.classes
    wanted = (recipe.n_rows, len(recipe.encoder.features))
    if X.shape != wanted or y.shape != wanted[:1] or (classes and not 0 <= y.min() <= y.max() < len(classes)):
        raise DataFileError(folder, f"{X_FILE} and {Y_FILE} do not fit {RECIPE_FILE}; convert the data again")
    return recipe, X, y


def _write_arrays(
    draft: Path, table: Table | SparseTable, recipe: Recipe, dtype: np.dtype[Any], progress: ProgressHook
) -> None:
    targets = np.dtype(np.int32 if recipe.target.classes else np.float64)
    with (draft / X_FILE).open("wb") as X_file, (draft / Y_FILE).open("wb") as y_file:
        _write_header(X_file, (recipe.n_rows, len(recipe.encoder.features)), dtype)
        _write_header(y_file, (recipe.n_rows,), targets)
        done = 0
        for _, chunk, rows in recipe.encoded(table, with_target=True, progress=progress, total=recipe.n_rows):
            X_file.write(np.ascontiguousarray(rows, dtype=dtype).data)
            y_file.write(recipe.y(chunk).astype(targets).data)
            done += chunk.n_rows
        if done != recipe.n_rows:
            raise DataFileError(table.path, "changed while it was read")
        for file in (X_file, y_file):
            file.flush()
            os.fsync(file.fileno())


def _write_header(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    description = {"shape": shape, "fortran_order": False, "descr": npy.dtype_to_descr(dtype)}
    npy.write_array_header_1_0(file, description)
