"""Cost against N, up to four million rows, and where the seconds of a default fit go.

DSEKL_DATA=... python benchmarks/cost.py measure [ROWS]...
DSEKL_DATA=... python benchmarks/cost.py profile [ROWS]...
python benchmarks/cost.py publish

Rows are covertype's; beyond its 559,890 training rows, they are drawn again with noise of a hundredth of each column's
range on the ten columns of numbers, so that no two are equal. Every size is a process of its own. Figures are kept in
benchmarks/results/cost.json one by one, and are not measured again.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from cells import RESULTS, keep, read
from report import load, memory, publish, table

FILE = RESULTS / "cost.json"
SIZES = (70_000, 140_000, 280_000, 560_000, 1_000_000, 2_000_000, 4_000_000)
PROFILED = (3_000, 60_000, 560_000)
NUMBERS, NOISE = 10, 0.01
"""Columns that are no indicators, and the noise on them as a share of their ranges."""

DSEKL, BOOSTING = "dsekl", "LightGBM 1000 x 255"
EXACT: dict[str, Any] = dict(gamma=100.0, C=4.0, random_state=0)


def rows_of(n: int) -> tuple[Any, Any]:
    """Return so many training rows in [0, 1] and their labels, class 2 against the rest."""
    X, y = load("covertype")
    X = X.astype(np.float32)
    X -= X.min(axis=0)
    X /= np.maximum(X.max(axis=0), 1e-12)
    train = np.random.default_rng(0).permutation(len(X))[21_122:]
    rng = np.random.default_rng(1)
    again = rng.integers(0, len(train), max(0, n - len(train)))
    chosen = np.concatenate([train[:n], train[again]])
    rows = X[chosen]
    rows[len(train) :, :NUMBERS] += rng.normal(0.0, NOISE, (len(again), NUMBERS)).astype(np.float32)
    return rows, y[chosen] == 2


def model_of(label: str) -> Any:
    if label == DSEKL:
        from dsekl import DSEKLClassifier

        return DSEKLClassifier(**EXACT)
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=1000, num_leaves=255, verbose=-1)


def one_fit(label: str, n: int) -> dict[str, float]:
    """Return the seconds of a fit, and the memory that it took beside the rows."""
    X, y = rows_of(n)
    model_of(label).fit(X[:9_000], y[:9_000])  # loads code, compiled and other
    held = memory("VmRSS")
    start = perf_counter()
    model = model_of(label).fit(X, y)
    found = {"seconds": perf_counter() - start, "megabytes": max(0.0, memory("VmHWM") - held)}
    if label == DSEKL:
        found["evaluations"] = float(model.history_[-1]["kernel_evaluations"])
    return found


def parts_of_a_fit() -> dict[str, Callable[..., Any]]:
    """Return the functions whose time is told; products are called by the others."""
    from dsekl.gram.columns import DenseColumns
    from dsekl.metric import learn
    from dsekl.models import fitting
    from dsekl.solvers.dual import ascent, certificate

    return {
        "search: weights, kernel, width, C": learn,
        "solver: steps over blocks": ascent.ActiveRows.step,
        "solver: predictions of rows that join or return": ascent._predict,
        "solver: gap and audit": certificate.audited,
        "all kernel products": DenseColumns.add_product,
        "importances": fitting.importances,
    }


def one_profile(n: int) -> dict[str, Any]:
    """Return where the seconds of a default fit go, and how fast kernel values are made in it and alone."""
    from dsekl import DSEKLClassifier, gram
    from dsekl.kernels import RBF
    from dsekl.rows import as_rows
    from dsekl.workers import Threads

    X, y = rows_of(n)
    DSEKLClassifier(random_state=0).fit(X[:9_000], y[:9_000])
    profiler, start = cProfile.Profile(), perf_counter()
    profiler.enable()
    model = DSEKLClassifier(random_state=0).fit(X, y)
    profiler.disable()
    total = perf_counter() - start
    stats: Any = pstats.Stats(profiler)
    spent = {}
    for part, function in parts_of_a_fit().items():
        code = function.__code__
        spent[part] = float(stats.stats.get((code.co_filename, code.co_firstlineno, code.co_name), (0,) * 4)[3])
    some = X[np.random.default_rng(0).choice(len(X), min(len(X), 10_000), replace=False)]
    product, best = gram.build(RBF(), as_rows(some), 1.0, workers=Threads.of(None)), np.inf
    for _ in range(3):
        begun = perf_counter()
        product.product(slice(None), slice(None), np.ones((len(some), 1)))
        best = min(best, perf_counter() - begun)
    evaluations = float(model.history_[-1]["kernel_evaluations"])
    return {"seconds": total, "parts": spent, "evaluations": evaluations, "plain": len(some) ** 2 / best}


def cell(what: str, label: str, n: int) -> None:
    """Measure one cell in a process of its own, unless it is there."""
    if str(n) in read(FILE).get(what, {}).get(label, {}):
        return
    command = [sys.executable, __file__, "run", what, label, str(n)]
    done = subprocess.run(command, env={**os.environ}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"  {what}, {label}, {n:,} rows: {(done.stderr.strip().splitlines() or ['ended'])[-1]}", file=sys.stderr)
        return
    found = json.loads(done.stdout.splitlines()[-1])
    keep(FILE, [what, label, str(n)], found)
    print(f"  {what}, {label}, {n:,} rows: {found['seconds']:.1f} s", flush=True)


def exponent(found: dict[str, Any], figure: str) -> float:
    """Return the slope of a figure against the rows, both as logarithms."""
    sizes = sorted(map(int, found))
    values = [max(found[str(n)][figure], 1e-3) for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else float("nan")


def publish_fits(fits: dict[str, Any]) -> None:
    rows = [
        [label, f"{int(n):,}", f"{found['seconds']:.1f}", f"{found['megabytes']:.0f}", _squares(found, int(n))]
        for label, sizes in fits.items()
        for n, found in sorted(sizes.items(), key=lambda item: int(item[0]))
    ]
    slopes = "; ".join(
        f"{label}: time {exponent(sizes, 'seconds'):.2f}, memory {exponent(sizes, 'megabytes'):.2f}"
        for label, sizes in fits.items()
    )
    publish(
        "Cost up to four million rows", "DSEKL_DATA=... python benchmarks/cost.py measure; "
        "python benchmarks/cost.py publish",
        "Covertype, class 2 against the rest, gamma 100, C 4, default tolerance; rows beyond 559,890 are drawn again "
        "with noise. Memory is the most that the process had, less what it had before the fit.\n\n"
        + table(["model", "rows", "fit, s", "memory, MB", "kernel values, N^2"], rows)
        + f"\n\nFitted exponents. {slopes}.",
    )  # fmt: skip


def _squares(found: dict[str, float], n: int) -> str:
    return f"{found['evaluations'] / n**2:.4f}" if "evaluations" in found else ""


def publish_profiles(profiles: dict[str, Any]) -> None:
    sizes = sorted(profiles, key=int)
    parts = list(profiles[sizes[0]]["parts"])
    rows = [
        [part, *(f"{profiles[n]['parts'][part]:.2f} ({_share(profiles[n], part)})" for n in sizes)] for part in parts
    ]
    rows.append(["whole fit, under the profiler", *(f"{profiles[n]['seconds']:.1f}" for n in sizes)])
    rows.append(["kernel values of the solver", *(f"{profiles[n]['evaluations']:.2e}" for n in sizes)])
    rows.append(["plain product, million values a second", *(f"{profiles[n]['plain'] / 1e6:.0f}" for n in sizes)])
    rows.append(["seconds that these values take alone", *(f"{_limit(profiles[n]):.2f}" for n in sizes)])
    publish(
        "Where the seconds of a default fit go", "DSEKL_DATA=... python benchmarks/cost.py profile; "
        "python benchmarks/cost.py publish",
        "Covertype, class 2 against the rest, all defaults. Seconds and shares. Kernel products are inside "
        "the other parts, so that lines overlap. The last line is the machine's limit for the "
        "solver: its kernel values at the speed of an unpruned product on the same columns.\n\n"
        + table(["part", *(f"{int(n):,} rows, s" for n in sizes)], rows),
    )  # fmt: skip


def _share(profile: dict[str, Any], part: str) -> str:
    return f"{100 * profile['parts'][part] / profile['seconds']:.0f} %"


def _limit(profile: dict[str, Any]) -> float:
    return float(profile["evaluations"] / profile["plain"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "profile", "publish", "run"))
    parser.add_argument("rest", nargs="*", metavar="ROWS")
    asked = parser.parse_args()
    if asked.what == "run":
        warnings.simplefilter("ignore")
        what, label, n = asked.rest
        print(json.dumps(one_profile(int(n)) if what == "profiles" else one_fit(label, int(n))))
    elif asked.what == "measure":
        for n in map(int, asked.rest) if asked.rest else SIZES:
            for label in (DSEKL, BOOSTING):
                cell("fits", label, n)
    elif asked.what == "profile":
        for n in map(int, asked.rest) if asked.rest else PROFILED:
            cell("profiles", DSEKL, n)
    else:
        cells = read(FILE)
        if "fits" in cells:
            publish_fits(cells["fits"])
        if "profiles" in cells:
            publish_profiles(cells["profiles"][DSEKL])


if __name__ == "__main__":
    main()
