"""Training on a file larger than memory: peak memory of a fit on a mapped file, and its time against one in memory.

python benchmarks/large_data.py [--gigabytes 8] [--compared-gigabytes 2] [--features 1000] [--learn]

Writes files of random rows (and the library its points, as large again) to the folder for temporary files, TMPDIR.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from report import publish, table

from dsekl import DSEKLClassifier

BUDGET = 256
"""Megabytes: the estimators' default."""

MEGABYTE, GIGABYTE = 2**20, 2**30
PART = 10_000


def write_rows(path: Path, n_rows: int, n_features: int) -> None:
    """Write ``rows.npy`` and ``labels.npy``: a board of 4 x 4 fields, apart, bent into a space of many features."""
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


def memory(field: str) -> float:
    """Return a field of the process's status, in megabytes (Linux)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[field].split()[0]) / 1024


def fit(folder: Path, where: str, learn: bool) -> dict[str, Any]:
    """Fit the file's rows, mapped or read into memory; return what it cost. Run in a process of its own."""
    warm = np.random.default_rng(0).standard_normal((2000, 4))
    DSEKLClassifier(gamma=1.0, dtype="float32", random_state=0).fit(warm, warm[:, 0] > 0).predict(warm)
    X = np.load(folder / "rows.npy", mmap_mode="r" if where == "mapped" else None)
    labels = np.load(folder / "labels.npy")
    settings: dict[str, Any] = {} if learn else dict(gamma=50.0 / X.shape[1], C=10.0)
    before, start = memory("VmRSS"), perf_counter()
    model = DSEKLClassifier(memory_budget=BUDGET, random_state=0, **settings).fit(X, labels)
    seconds = perf_counter() - start
    return dict(
        seconds=seconds,
        before=before,
        peak=memory("VmHWM"),
        support=len(model.support_),
        coefficients=hashlib.sha256(model.dual_coef_.tobytes()).hexdigest(),
        wrong=float(np.mean(model.predict(X[:PART]) != labels[:PART])),
    )


def fit_apart(folder: Path, where: str, learn: bool) -> dict[str, Any]:
    """Run ``fit`` in a process of its own and return its figures."""
    command = [sys.executable, __file__, "--one", str(folder), where, *(["--learn"] if learn else [])]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    print(f"  {where}: {found}", flush=True)
    return found


def measure(gigabytes: float, n_features: int, both: bool, learn: bool) -> list[list[str]]:
    """Return the lines of the table for one size."""
    n_rows = int(gigabytes * GIGABYTE / (4 * n_features))
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, n_rows, n_features)
        size = (folder / "rows.npy").stat().st_size / MEGABYTE
        allowed = size / 10 + n_rows * 8 / MEGABYTE + BUDGET
        found = {where: fit_apart(folder, where, learn) for where in (["mapped", "memory"] if both else ["mapped"])}
    for where, figures in found.items():
        ratio = f"{figures['seconds'] / found['memory']['seconds']:.2f}" if both else ""
        lines.append([
            f"{size:,.0f}", f"{n_rows:,}", where, f"{figures['peak']:,.0f}", f"{figures['before']:,.0f}",
            f"{allowed:,.0f}" if where == "mapped" else "", f"{figures['seconds']:.1f}", ratio,
            f"{figures['support']:,}", f"{100 * figures['wrong']:.2f} %",
        ])  # fmt: skip
    if both and found["mapped"]["coefficients"] != found["memory"]["coefficients"]:
        raise SystemExit("the two fits differ, and should be the same to the bit")
    if found["mapped"]["peak"] > allowed:
        raise SystemExit(f"the mapped fit took {found['mapped']['peak']:.0f} MB, and {allowed:.0f} are allowed")
    return lines


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
    lines = measure(chosen.compared_gigabytes, chosen.features, True, chosen.learn)
    lines += measure(chosen.gigabytes, chosen.features, False, chosen.learn)
    header = [
        "file, MB", "rows", "rows are", "peak, MB", "before the fit, MB", "allowed, MB", "fit, s", "times memory",
        "support vectors", "training error",
    ]  # fmt: skip
    flags = " --learn" if chosen.learn else ""
    publish(
        "Training on a mapped file" + (", all defaults" if chosen.learn else ""),
        "python benchmarks/large_data.py" + flags,
        f"{chosen.features} features, float32, "
        + ("all defaults" if chosen.learn else f"gamma {50 / chosen.features:g}, C 10")
        + ", each fit in a process of its own. Peak is the most that the whole process held, with Python, the "
        "libraries and mapped pages; allowed is a tenth of the file, 8 bytes for each coefficient, and the "
        f"memory budget of {BUDGET} MB. Fitted both ways, the coefficients are the same to the bit.\n\n"
        + table(header, lines),
    )


if __name__ == "__main__":
    main()
