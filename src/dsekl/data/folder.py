"""Converted training data: a folder with X.npy and y.npy, which are mapped into memory, and table.json.

table.json holds the recipe, and a checksum of each part: what is not as ``write_folder`` left it is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dsekl import plain_json

from .errors import DataFileError
from .npy_header import ArrayHeader, read_header
from .recipe import Recipe, Rows
from .replaced_folder import replacing_folder, restore_folder
from .saved_values import entries
from .sparse_encoding import SparseEncoder
from .svmlight import SparseTable
from .table import ProgressHook, Table, no_progress

X_FILE, Y_FILE, RECIPE_FILE = "X.npy", "y.npy", "table.json"

X_TYPES = ("float32", "float64")
BLOCK_BYTES = 2**24
AGAIN = "; convert the data again"


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
    restore_folder(folder)
    if folder.exists() and not is_replaceable(folder):
        raise DataFileError(folder, "holds other files than converted data; give another name")
    if isinstance(recipe.encoder, SparseEncoder) and not recipe.encoder.dense:
        raise DataFileError(
            table.path, f"has {recipe.encoder.n_features} columns, most entries 0: too sparse to convert to dense "
            "rows; train on the file itself",
        )  # fmt: skip
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing_folder(folder) as draft:
            sums = _write_arrays(draft, table, recipe, np.dtype(dtype), progress)
            _write_recipe(draft, table, recipe, sums)
            return sum(file.stat().st_size for file in draft.iterdir())
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; nothing was written", os.fspath(folder)) from error


def is_replaceable(folder: Path) -> bool:
    """Tell whether a folder holds converted data alone, or nothing: other files must not be deleted."""
    ours = {X_FILE, Y_FILE, RECIPE_FILE}
    return folder.is_dir() and not folder.is_symlink() and {file.name for file in folder.iterdir()} <= ours


def read_folder(folder: Path) -> tuple[Recipe, NDArray[Any], NDArray[Any]]:
    """Return the recipe, X mapped into memory, and y (codes of the classes, or numbers); all of it is checked."""
    with _reading(folder):
        while True:
            before = _identity(folder)
            try:
                return _read(folder)
            except FileNotFoundError:
                restore_folder(folder)  # which waits for whoever is replacing it
                if _identity(folder) in (None, before):
                    raise


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from the one that replaces it, None if there is none."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def _read(folder: Path) -> tuple[Recipe, NDArray[Any], NDArray[Any]]:
    with _files_of(folder) as (X_file, y_file, recipe_file):
        recipe, sums = _read_recipe(folder, recipe_file)
        targets = "int32" if recipe.target.classes else "float64"
        X_header = _header(X_file, (recipe.n_rows, recipe.encoder.n_features), X_TYPES)
        y_header = _header(y_file, (recipe.n_rows,), (targets,))
        for name, file, header in ((X_FILE, X_file, X_header), (Y_FILE, y_file, y_header)):
            _check_array(name, file, header, sums.get(name))
        X = np.memmap(X_file, X_header.dtype, "r", X_header.offset, X_header.shape)
        y_file.seek(y_header.offset)
        y = np.fromfile(y_file, y_header.dtype)
        if recipe.target.classes and not 0 <= y.min() <= y.max() < len(recipe.target.classes):
            raise ValueError(f"{Y_FILE} has classes that {RECIPE_FILE} has not")
        return recipe, X, y


def _write_arrays(
    draft: Path, table: Table | SparseTable, recipe: Recipe, dtype: np.dtype[Any], progress: ProgressHook
) -> dict[str, str]:
    """Write X and y, and return their checksums."""
    targets = np.dtype(np.int32 if recipe.target.classes else np.float64)
    with _Summed(draft / X_FILE) as X_file, _Summed(draft / Y_FILE) as y_file:
        X_file.write_header((recipe.n_rows, recipe.encoder.n_features), dtype)
        y_file.write_header((recipe.n_rows,), targets)
        done = 0
        for rows in recipe.encoded(table, with_target=True, progress=progress, total=recipe.n_rows):
            X_file.write(_converted(recipe, rows, dtype))
            y_file.write(recipe.y(rows.chunk).astype(targets))
            done += rows.chunk.n_rows
        if done != recipe.n_rows:
            raise DataFileError(table.path, "changed while it was read")
        return {X_FILE: X_file.finish(), Y_FILE: y_file.finish()}


def _converted(recipe: Recipe, rows: Rows, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return encoded rows as numbers of a type that may be too small for them."""
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(rows.X, dtype=dtype)
    if not np.isfinite(converted).all():
        row, place = (int(axis[0]) for axis in np.nonzero(~np.isfinite(converted)))
        raise DataFileError(
            rows.raw.where(row), f"{rows.X[row, place]:g} is beyond the largest {dtype}, {np.finfo(dtype).max:.3g}",
            recipe.encoder.feature(place), "; set {dtype} to float64, or give the column in another unit",
        )  # fmt: skip
    return converted


def _write_recipe(draft: Path, table: Table | SparseTable, recipe: Recipe, sums: dict[str, str]) -> None:
    described = recipe.to_dict()
    content = json.dumps(
        {"recipe": described, "sha256": {**sums, RECIPE_FILE: _digest(described)}}, indent=1, allow_nan=False
    ).encode()
    if len(content) > plain_json.MOST_BYTES:
        raise DataFileError(
            table.path, f"has so many columns and categories that their description takes {len(content):,} bytes, more "
            f"than {plain_json.MOST_BYTES:,}", advice="; leave some out with {ignore}",
        )  # fmt: skip
    with (draft / RECIPE_FILE).open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _digest(described: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


class _Summed:
    """A file of an array, written with its checksum."""

    def __init__(self, path: Path) -> None:
        self._file, self._sum = path.open("xb"), hashlib.sha256()

    def __enter__(self) -> _Summed:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write_header(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        description = {"shape": shape, "fortran_order": False, "descr": npy.dtype_to_descr(dtype)}
        npy.write_array_header_1_0(self._file, description)

    def write(self, part: NDArray[Any]) -> None:
        self._sum.update(part.data)
        self._file.write(part.data)

    def finish(self) -> str:
        """Flush the file to the disk and return the checksum of the array."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._sum.hexdigest()


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Turn what is wrong with a folder into a DataFileError."""
    try:
        yield
    except DataFileError:
        raise
    except FileNotFoundError as error:
        raise DataFileError(folder, "is a folder that 'dsekl convert' did not make") from error
    except OSError as error:
        raise DataFileError(folder, f"cannot be read ({error.strerror or error}){AGAIN}") from error
    except MemoryError as error:
        raise DataFileError(folder, "cannot be read in the memory that is left") from error
    except ValueError as error:
        raise DataFileError(folder, f"{error}{AGAIN}") from error


@contextmanager
def _files_of(folder: Path) -> Iterator[list[IO[bytes]]]:
    """Open the files of one folder, whatever replaces it meanwhile."""
    files: list[IO[bytes]] = []
    handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)) if os.name == "posix" else None

    def opener(path: str, flags: int) -> int:
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        return os.open(path if handle is None else os.path.basename(path), flags, dir_fd=handle)

    try:
        for name in (X_FILE, Y_FILE, RECIPE_FILE):
            files.append(open(os.path.abspath(folder / name), "rb", opener=opener))  # noqa: SIM115 (closed below)
            if not stat.S_ISREG(os.fstat(files[-1].fileno()).st_mode):
                raise ValueError(f"{name} is no file")
        yield files
    finally:
        for file in files:
            file.close()
        if handle is not None:
            os.close(handle)


def _read_recipe(folder: Path, file: IO[bytes]) -> tuple[Recipe, dict[str, str]]:
    """Return the recipe and the checksums of the arrays; folders of version 0.1.0 have none."""
    try:
        saved = plain_json.read(file)
        if not isinstance(saved, dict) or "recipe" not in saved:
            return Recipe.from_dict(saved, folder / RECIPE_FILE), {}
        saved = entries(saved, "it", {"recipe", "sha256"})
        sums = entries(saved["sha256"], "sha256", {X_FILE, Y_FILE, RECIPE_FILE})
        recipe = Recipe.from_dict(saved["recipe"], folder / RECIPE_FILE)
        if sums[RECIPE_FILE] != _digest(saved["recipe"]):
            raise ValueError("its checksum differs")
    except DataFileError:
        raise
    except ValueError as error:
        raise ValueError(f"{RECIPE_FILE} is corrupted ({error})") from error
    return recipe, sums


def _header(file: IO[bytes], shape: tuple[int, ...], types: tuple[str, ...]) -> ArrayHeader:
    """Return the header of an array that is as the recipe has it."""
    name = X_FILE if len(shape) == 2 else Y_FILE
    try:
        header = read_header(file)
    except ValueError as error:
        raise ValueError(f"{name} is not an array of numbers ({error})") from error
    if header.shape != shape or header.fortran_order or header.dtype.name not in types:
        raise ValueError(f"{name} does not fit {RECIPE_FILE}")
    if header.offset + header.n_bytes != os.fstat(file.fileno()).st_size:
        raise ValueError(f"{name} has another size than its header says")
    return header


def _check_array(name: str, file: IO[bytes], header: ArrayHeader, expected: str | None) -> None:
    """Read an array once, in blocks: its checksum must be the one given, and its numbers finite."""
    found = hashlib.sha256()
    while block := file.read(BLOCK_BYTES // header.dtype.itemsize * header.dtype.itemsize):
        found.update(block)
        if not np.isfinite(np.frombuffer(block, header.dtype)).all():
            raise ValueError(f"{name} has a number that is not finite")
    if expected is not None and found.hexdigest() != expected:
        raise ValueError(f"{name} is corrupted: its checksum differs")
