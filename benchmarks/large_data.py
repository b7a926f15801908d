"""Training on a file larger than memory: peak memory of a fit on a mapped file, and its time against one in memory.

DSEKL_DATA=... python benchmarks/large_data.py [--gigabytes 8] [--compared-gigabytes 2] [--features 1000] [--learn]

Writes files of random rows (and the library its points, as large again) to the folder for temporary files, TMPDIR.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from report import memory, publish, table

from dsekl import DSEKLClassifier

BUDGET = 256
"""Megabytes: the estimators' default."""

MEGABYTE, GIGABYTE = 2**20, 2**30
PART = 10_000


def write_rows(path: Path, n_rows: int, n_features: int) -> None:
    """Write ``rows.npy`` and ``labels.npy``: a checkerboard of 4 x 4 fields, embedded in many features."""
    rng = np.random.default_rng(0)
    directions = 2.0 * rng.standard_normal((2, n_features)).astype(np.float32)
    phases = rng.uniform(0.0, 2.0 * np.pi, n_features).astype(np.float32)
    labels = np.empty(n_rows, dtype=np.int8)
    with open(path / "rows.npy", "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, PART):
            fields = rng.integers(0, 4, (min(PART, n_rows - start), 2))
            places = ((fields + rng.uniform(0.25, 0.75, fields.shape)) / 4).astype(np.float32)
            labels[start : start + PART] = fields.sum(axis=1) % 2
            file.write(np.cos(places @ directions + phases).data)
    np.save(path / "labels.npy", labels)
    (path / "settings.json").write_text(json.dumps(dict(gamma=50.0 / n_features, C=10.0)))


def write_covertype(path: Path) -> None:
    """Write covertype's rows, class 2 against the rest: narrow rows, and a third of them support vectors."""
    from exact import covertype_rows  # loads the rivals, which the fits' own processes need not hold

    X, y, _, train = covertype_rows()
    np.save(path / "rows.npy", X[train])
    np.save(path / "labels.npy", y[train] == 2)
    (path / "settings.json").write_text(json.dumps(dict(gamma=100.0, C=4.0)))


def fit(folder: Path, where: str, learn: bool) -> dict[str, Any]:
    """Fit the file's rows, mapped or read into memory; return what it cost. Run in a process of its own."""
    warm = np.random.default_rng(0).standard_normal((2000, 4))
    DSEKLClassifier(gamma=1.0, dtype="float32", random_state=0).fit(warm, warm[:, 0] > 0).predict(warm)
    X = np.load(folder / "rows.npy", mmap_mode="r" if where == "mapped" else None)
    labels = np.load(folder / "labels.npy")
    settings = {} if learn else json.loads((folder / "settings.json").read_text())
    before, start = memory("VmRSS"), perf_counter()
    model = DSEKLClassifier(memory_budget=BUDGET, random_state=0, **settings).fit(X, labels)
    seconds = perf_counter() - start
    return dict(
        seconds=seconds,
        before=before,
        peak=memory("VmHWM"),
        support=len(model.support_),
        coefficients=hashlib.sha256(model.dual_coef_.tobytes()).hexdigest(),
    )


def measure(name: str, write: Callable[[Path], None], both: bool, learn: bool) -> list[list[str]]:
    """Return the lines of the table for one file, fitted mapped and, for ``both``, in memory as well."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        rows = np.load(Path(folder) / "rows.npy", mmap_mode="r")
        for where in ["mapped", "memory"] if both else ["mapped"]:
            command = [sys.executable, __file__, "--one", folder, where, *(["--learn"] if learn else [])]
            printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            found[where] = json.loads(printed.splitlines()[-1])
            print(f"  {name}, {where}: {found[where]}", flush=True)
    return lines(name, rows.nbytes, len(rows), found)


def lines(name: str, n_bytes: int, n_rows: int, found: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return the figures as lines of the table; end the benchmark where a promise is not kept."""
    bound = (n_bytes / 10 + 8 * n_rows) / MEGABYTE + BUDGET
    in_memory = found.get("memory")
    if in_memory is not None and found["mapped"]["coefficients"] != in_memory["coefficients"]:
        raise SystemExit("the two fits differ, and should be the same to the bit")
    added = found["mapped"]["peak"] - found["mapped"]["before"]
    if n_bytes >= GIGABYTE / 2 and added > bound:
        raise SystemExit(f"the mapped fit added {added:.0f} MB, and {bound:.0f} are allowed")
    return [
        [
            name, f"{n_bytes / MEGABYTE:,.0f}", f"{n_rows:,}", where, f"{figures['peak']:,.0f}",
            f"{figures['peak'] - figures['before']:,.0f}", f"{bound:,.0f}", f"{figures['seconds']:.1f}",
            f"{figures['seconds'] / in_memory['seconds']:.2f}" if in_memory else "", f"{figures['support']:,}",
        ]
        for where, figures in found.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=8.0, help="size of the file that is only mapped")
    parser.add_argument("--compared-gigabytes", type=float, default=2.0, help="size of the one also read into memory")
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--learn", action="store_true", help="with all defaults: gamma and C are learned")
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "WHERE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(fit(Path(chosen.one[0]), chosen.one[1], chosen.learn)))
        return

    def board(gigabytes: float, both: bool) -> list[list[str]]:
        n_rows = int(gigabytes * GIGABYTE / (4 * chosen.features))
        return measure("board", lambda path: write_rows(path, n_rows, chosen.features), both, chosen.learn)

    found = board(chosen.compared_gigabytes, True) + board(chosen.gigabytes, False)
    if os.environ.get("DSEKL_DATA"):
        found += measure("covertype", write_covertype, True, chosen.learn)
    report(found, chosen.features, chosen.learn)


def report(found: list[list[str]], n_features: int, learn: bool) -> None:
    """Put the table on the page."""
    header = [
        "data", "file, MB", "rows", "rows are", "peak, MB", "added by the fit, MB", "bound, MB", "fit, s",
        "times memory", "support vectors",
    ]  # fmt: skip
    settings = "all defaults" if learn else f"gamma {50 / n_features:g}, C 10; covertype: gamma 100, C 4"
    publish(
        "Training on a mapped file" + (", all defaults" if learn else ""),
        " ".join(["DSEKL_DATA=... python benchmarks/large_data.py", *sys.argv[1:]]),
        f"Board: a 4 x 4 checkerboard, embedded in {n_features} features; {settings}. Each fit has its own process. "
        "Peak is the peak resident memory of the process, with Python, the libraries and mapped pages; added by the fit is its "
        "increase during the fit. The bound is a tenth of the file, 8 bytes for each coefficient, and the "
        f"memory budget of {BUDGET} MB. The benchmark fails if the fit of a file of half a gigabyte or more adds more "
        "than that, or if the coefficients of both fits are not identical.\n\n" + table(header, found),
    )


if __name__ == "__main__":
    main()
