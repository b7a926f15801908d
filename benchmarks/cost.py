"""Cost against N, up to four million rows, and where the seconds of a default fit go.

DSEKL_DATA=... python benchmarks/cost.py measure [ROWS]...   # some ten minutes, and 6 GB for four million rows
DSEKL_DATA=... python benchmarks/cost.py profile [ROWS]...   # some two minutes
python benchmarks/cost.py publish

Rows are covertype's; beyond its 559,890 training rows, they are drawn again with noise of a hundredth of each column's
range on the ten columns of numbers, so that no two are equal. Every size is a process of its own, which is ended after
ten minutes. Figures are kept in benchmarks/results/cost.json one by one, and are not measured again.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from cells import RESULTS, keep, read
from report import PAGE, best_of, load, memory, publish, table

FILE = RESULTS / "cost.json"
PROFILE_PAGE = PAGE.parent / "design" / "seconds.md"
SIZES = (62_500, 250_000, 1_000_000, 4_000_000)
PROFILED = (3_000, 60_000, 560_000)
NUMBERS, NOISE = 10, 0.01
"""Columns that are no indicators, and the noise on them as a share of their ranges."""

LIMIT = 600
"""Seconds of a process, its data included."""

PLAIN_ROWS = 10_000
"""Rows of the product, and of the matrix product, that tell what the machine can do."""

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
    """Return the functions whose time is told, with all that they call; those with a dash are parts of others."""
    from dsekl import metric
    from dsekl.gram.dense import DenseGram
    from dsekl.metric.candidates import Candidates
    from dsekl.metric.descent import Learner
    from dsekl.metric.search import Search
    from dsekl.models import fitting
    from dsekl.solvers.dual import active_rows, ascent

    return {
        "search": metric.learn,
        "- weights of the features": Candidates.learned,
        "- steps of the descents": Learner.descend,
        "- regions fitted at widths and C": Search.lines,
        "solver: steps over blocks": active_rows.ActiveRows.step,
        "- rows of blocks solved at once": active_rows.solve_boxed,
        "solver: predictions of rows that join or return": ascent._predict,
        "solver: rows that may rest": active_rows.ActiveRows.confirmed_slack,
        "solver: the gap": ascent._AllRows.certify,
        "solver: the gap's audit in float64": ascent._AllRows.audit,
        "importances": fitting.importances,
        "- coordinate descent, wherever": active_rows.descend,
        "- all kernel products, wherever": DenseGram.add_product,
        "- all kernel blocks, wherever": DenseGram.block,
    }


def seconds_of(profiler: cProfile.Profile) -> dict[str, float]:
    """Return the seconds of each part, which the main thread takes part in whatever the workers."""
    found, stats = {}, pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    for part, function in parts_of_a_fit().items():
        code = function.__code__
        found[part] = float(stats.get((code.co_filename, code.co_firstlineno, code.co_name), (0,) * 4)[3])
    return found


def values_a_second(rows: Any, workers: Any) -> dict[str, float]:
    """Return how many kernel values a product makes in a second, and how many a matrix product alone would."""
    from dsekl import gram
    from dsekl.kernels import RBF
    from dsekl.rows import as_rows

    some = rows[np.random.default_rng(0).choice(len(rows), min(len(rows), PLAIN_ROWS), replace=False)]
    matrix, V = gram.build(RBF(), as_rows(some), 1.0, "float32", workers=workers), np.ones((len(some), 1))
    tasks = {"plain": lambda: matrix.product(slice(None), slice(None), V), "matrix product": lambda: some @ some.T}
    return {name: len(some) ** 2 / seconds for name, seconds in zip(tasks, best_of(*tasks.values()), strict=True)}


def one_profile(n: int) -> dict[str, Any]:
    """Return where the seconds of a default fit go, and how fast kernel values are made in it and alone."""
    from dsekl import DSEKLClassifier
    from dsekl.workers import Threads

    X, y = rows_of(n)
    DSEKLClassifier(random_state=0).fit(X[:9_000], y[:9_000])
    profiler, start = cProfile.Profile(perf_counter), perf_counter()
    profiler.enable()
    model = DSEKLClassifier(random_state=0).fit(X, y)
    profiler.disable()
    total = perf_counter() - start
    ends = [0.0, *(float(line["seconds"]) for line in model.history_)]
    return {
        "seconds": total, "parts": seconds_of(profiler), "last epoch": ends[-1] - ends[-2],
        "evaluations": float(model.history_[-1]["kernel_evaluations"]),
        **values_a_second(X, Threads.of(None)),
    }  # fmt: skip


def cell(what: str, label: str, n: int) -> None:
    """Measure one cell in a process of its own, unless it is there."""
    if str(n) in read(FILE).get(what, {}).get(label, {}):
        return
    command = [sys.executable, __file__, "run", what, label, str(n)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        print(f"  {what}, {label}, {n:,} rows: more than {LIMIT} s", file=sys.stderr)
        return
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
    rows = [
        [part, *(f"{profiles[n]['parts'][part]:.2f} ({_share(profiles[n], part)})" for n in sizes)]
        for part in parts_of_a_fit()
    ]
    lines: dict[str, Callable[[dict[str, Any]], str]] = {
        "whole fit, under the profiler": lambda found: f"{found['seconds']:.1f}",
        "the last epoch, which found that predictions have settled": lambda found: f"{found['last epoch']:.2f}",
        "kernel values of the solver": lambda found: f"{found['evaluations']:.2e}",
        "in the solver, million values a second": lambda found: f"{_in_the_fit(found) / 1e6:.0f}",
        "plain product, million values a second": lambda found: f"{found['plain'] / 1e6:.0f}",
        "matrix product alone, million values a second": lambda found: f"{found['matrix product'] / 1e6:.0f}",
    }
    rows += [[name, *(line(profiles[n]) for n in sizes)] for name, line in lines.items()]
    publish(
        "Where the seconds of a default fit go", "DSEKL_DATA=... python benchmarks/cost.py profile; "
        "python benchmarks/cost.py publish",
        "Covertype, class 2 against the rest, all defaults, without a scaler. Seconds, and their shares of the whole "
        "fit; lines with a dash are parts of the others. The machine's limit is the matrix product over as many "
        "columns, which has no kernel function and adds nothing up.\n\n"
        + table(["part", *(f"{int(n):,} rows, s" for n in sizes)], rows),
        PROFILE_PAGE,
    )  # fmt: skip


def _share(profile: dict[str, Any], part: str) -> str:
    return f"{100 * profile['parts'][part] / profile['seconds']:.0f} %"


def _in_the_fit(profile: dict[str, Any]) -> float:
    """Return the kernel values of the solver in a second, all that it does counted."""
    seconds = sum(spent for part, spent in profile["parts"].items() if part.startswith("solver"))
    return float(profile["evaluations"] / seconds)


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
