"""Damaged and forged data files of every format: each is read to its end as a table, or refused by name.

What a trial makes of a file: csv and its compressions, SVMlight, npy, npz and Parquet, with bytes changed, cut out,
doubled or moved, and with parts that only look right: headers of other shapes, quotes that do not close, lines without
end, archives of archives.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dsekl.data import DataFileError, open_table
from dsekl.data.recipe import Recipe
from dsekl.data.recipe_learner import Options, learn

from .damage import damaged, odd_number, odd_text

NAME = "data files"
COUNT = 5_000

COMPRESS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress]

FORMATS = ("csv", "quoted.csv", "wide.csv", "svm", "npy", "npz", "text.npz", "parquet", "dictionary.parquet")


def prepare(folder: Path) -> None:
    """Write a genuine file of each format."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)).round(3)
    y = (X[:, 0] > 0).astype(np.int64)
    names = "a,b,c,d,y"
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    (folder / "csv").write_text("\n".join([names, *rows]) + "\n")
    quoted = [f'{i},"Rome, {i % 3}",,"x""{i % 4}\nz",{i % 2:03d}' for i in range(40)]
    (folder / "quoted.csv").write_text("\n".join([names, *quoted]) + "\n")
    wide = [",".join(str((i * k) % 7) for k in range(300)) for i in range(12)]
    (folder / "wide.csv").write_text("\n".join([",".join([*(f"w{k}" for k in range(299)), "y"]), *wide]) + "\n")
    sparse = [
        f"{label} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row)) for row, label in zip(X, y, strict=True)
    ]
    (folder / "svm").write_text("# made up\n" + "\n".join(sparse) + "\n")
    content = io.BytesIO()
    np.save(content, np.column_stack([X, y]))
    (folder / "npy").write_bytes(content.getvalue())
    for name, labels in (("npz", y), ("text.npz", np.where(y == 1, "yes", "nö"))):
        content = io.BytesIO()
        (np.savez if name == "npz" else np.savez_compressed)(content, X=X, y=labels)
        (folder / name).write_bytes(content.getvalue())
    for name, label in (("parquet", y), ("dictionary.parquet", np.where(y == 1, "yes", "no"))):
        table = pyarrow.table({"a": X[:, 0], "b": y * 2**60, "c": [None, "u", "v", "w"] * 15, "y": label})
        parquet.write_table(table, folder / name, use_dictionary=name != "parquet", row_group_size=25)


def trial(folder: Path, seed: int) -> str:
    """Forge a file and read it."""
    draw = random.Random(seed)
    path = folder / f"forged-{os.getpid()}"
    try:
        path.write_bytes(_forged(folder, draw))
        return _read(path, draw)
    finally:
        path.unlink(missing_ok=True)


def _read(path: Path, draw: random.Random) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = open_table(path, draw.choice([None, None, True, False]))
            options = Options(draw.choice(["y", "-1", "-1", "1", None]), scale=draw.random() < 0.3)
            recipe = learn(table, options)
            X, y = recipe.load(table)
            again = Recipe.from_dict(recipe.to_dict(), path)
            new = [rows.X.shape for rows in again.encoded(open_table(path), with_target=False)]
        except DataFileError as error:
            if str(path) not in str(error) or "\n" in str(error):
                raise AssertionError(f"an error of several lines, or without the file: {error}") from error
            return "refused"
    values = X.data if hasattr(X, "indptr") else X
    if len(y) != recipe.n_rows or X.shape != (recipe.n_rows, recipe.encoder.n_features):
        raise AssertionError(f"X {X.shape} and y {y.shape} of {recipe.n_rows} rows")
    if not np.isfinite(values).all() or not np.isfinite(y).all() or not new:
        raise AssertionError("numbers that are not finite")
    return "right"


def _forged(folder: Path, draw: random.Random) -> bytes:
    if draw.random() < 0.35:
        return draw.choice(FORGERS)(folder, draw)
    content = (folder / draw.choice(FORMATS)).read_bytes()
    for _ in range(draw.choice([0, 1, 1, 1, 3])):
        content = damaged(content, draw)
    if draw.random() < 0.3:
        content = draw.choice(COMPRESS)(content)
        if draw.random() < 0.7:
            content = damaged(content, draw)
    return content


def _npy(descr: object, shape: object, order: object = False, data: bytes = b"", version: int = 1) -> bytes:
    header = f"{{'descr': {descr!r}, 'fortran_order': {order!r}, 'shape': {shape!r}, }}".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


def _forged_npy(folder: Path, draw: random.Random) -> bytes:
    descr = draw.choice(
        ["<f8", ">f4", "<i8", "<u8", "|b1", "<f2", "<f16", "|O", "<U9", "<c16", "<M8[s]", [("a", "<f8")], 7]
    )
    axis = [1, 2, 3, 0, -1, 10**8, 3 * 10**8, 2**62, 10**40]
    shape = tuple(draw.choice(axis) for _ in range(draw.choice([2, 2, 2, 1, 0, 3])))
    return _npy(
        descr,
        shape,
        draw.choice([False, False, True, "x"]),
        os.urandom(draw.choice([0, 16, 48, 480])),
        draw.choice([1, 2, 3, 9]),
    )


def _forged_npz(folder: Path, draw: random.Random) -> bytes:
    content = io.BytesIO()
    method = draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(content, "w", method) as archive:
        for name in draw.choice([["X"], ["X", "y"], ["y"], ["X", "y", "z"], []]):
            genuine = _npy("<f8", (6,) if name == "y" else (6, 2), False, bytes(48 if name == "y" else 96))
            archive.writestr(f"{name}.npy", draw.choice([genuine, genuine, _forged_npy(folder, draw), b""]))
    forged = bytearray(content.getvalue())
    if draw.random() < 0.6 and len(forged) > 60:
        # Fields of the archive's own records: flags (encryption), method, sizes, offsets.
        records = [i for i in range(len(forged) - 4) if forged[i : i + 4] in (b"PK\1\2", b"PK\3\4", b"PK\5\6")]
        place = draw.choice(records) + draw.randrange(4, 46)
        if place < len(forged):
            forged[place] = draw.randrange(256)
    return bytes(forged)


def _forged_csv(folder: Path, draw: random.Random) -> bytes:
    kinds: list[Callable[[], str]] = [
        lambda: odd_number(draw), lambda: odd_text(draw), lambda: str(draw.randrange(4)), lambda: f'"{odd_text(draw)}"',
    ]  # fmt: skip
    width = draw.choice([1, 2, 3, 5, 2000])
    lines = [
        ",".join(draw.choice(kinds)() for _ in range(width)) for _ in range(draw.choice([0, 1, 2, 9, 200 // width + 1]))
    ]
    if draw.random() < 0.5:
        lines.insert(0, ",".join([*(f"c{k}" for k in range(width - 1)), "y"]))
    text = draw.choice(["\n", "\r\n", "\r", "\n\n"]).join(lines)
    return text.encode(draw.choice(["utf-8", "utf-8", "utf-8", "utf-16", "utf-16-le", "utf-8-sig"]), "replace")


def _forged_svm(folder: Path, draw: random.Random) -> bytes:
    lines = []
    for _ in range(draw.choice([1, 5, 50])):
        indices = sorted(draw.sample(range(1, 40), draw.randrange(1, 6)))
        if draw.random() < 0.1:
            indices.append(draw.choice([10**8, 2**31 - 2, 2**31 - 1, 2**40, 2**63, 10**30, -1, 5]))
        values = [odd_number(draw) if draw.random() < 0.05 else f"{draw.random():.3f}" for _ in indices]
        label = (
            draw.choice(["1", "-1", "+1", "2", odd_number(draw)]) if draw.random() < 0.3 else draw.choice(["1", "-1"])
        )
        lines.append(f"{label} " + " ".join(f"{i}:{v}" for i, v in zip(indices, values, strict=True)))
    return ("\n".join(lines) + draw.choice(["", "\n", " # end", "\x00"])).encode("utf-8", "replace")


def _bomb(folder: Path, draw: random.Random) -> bytes:
    """Return a small file that holds a long line, a long row, or many columns."""
    piece = draw.choice([b"1", b",", b"x,", b'","\n', b'"\n"', b" 7:1", b"\n", b"0,\n", b"\xff"])
    # What is read line by line takes a time that grows with the lines.
    size = draw.choice([2**18, 2**19] if b"\n" in piece else [2**22, 2**25])
    start = draw.choice([b"", b"a,y\n1,2\n", b"1 1:", b'a,y\n1,"', b"y\n"])
    content = start + piece * size
    return gzip.compress(content[:size], compresslevel=1)


def _other(folder: Path, draw: random.Random) -> bytes:
    start = draw.choice(
        [b"", b"PAR1", b"PK\3\4", b"\x93NUMPY", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"]
    )
    return start + os.urandom(draw.choice([0, 1, 8, 200, 5000]))


FORGERS = [_forged_npy, _forged_npz, _forged_npz, _forged_csv, _forged_csv, _forged_svm, _forged_svm, _bomb, _other]
