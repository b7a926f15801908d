"""Seconds of the version before, of this one and of rivals, side by side, in processes of their own.

DSEKL_DATA=... python benchmarks/seconds.py measure [--before OTHER/src] [--rounds 1] [--limit 120] [TASK]...
DSEKL_DATA=... python benchmarks/seconds.py panel [--before OTHER/src] [--limit 120] [TABLE]...
python benchmarks/seconds.py publish

OTHER is a checkout of the version before. Of 0.1.0, which has no tag, it is that of the last commit of its day::

    git worktree add --detach ../dsekl-0.1.0 e61c144
    python benchmarks/seconds.py measure --before ../dsekl-0.1.0/src

It runs with the packages that are installed; nothing of it has to be. Before, now and the rival take turns, in each
round anew. A fit that takes longer than the limit is ended, and counts as one that took the limit. Figures are kept
one by one in benchmarks/results/seconds.json and are not measured again: a measurement that was stopped goes on, and
deleting a task's figures measures it anew. One round with the version before takes some 20 minutes, the panel ten.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cells import RESULTS, keep, read
from report import publish, table
from timed_tasks import FAST_TREES, TASKS, Figures, boosting, ours, panel

HERE = Path(__file__).parent.parent / "src"
FILE = RESULTS / "seconds.json"
WHO = ("before", "now", "rival")
SETTING_UP = 60
"""Seconds beside the limit for imports, data and the fits that load compiled code."""

TABLES = "panel"
"""Where the figures of the panel's tables are kept, one table a task."""


def measured(task: str, who: str, source: Path, limit: float, path: Path | None = None) -> dict[str, Any]:
    """Run one task in a process of its own; the first fit finds no compiled code."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "PYTHONPATH": os.fspath(source)}
        if task == "first":
            environment["NUMBA_CACHE_DIR"] = empty
        command = [sys.executable, __file__, "run", "--who", who, *([task] if path is None else [os.fspath(path)])]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=limit + SETTING_UP
            )
        except subprocess.TimeoutExpired:
            return {"seconds": limit, "stopped": True}
    if done.returncode != 0 or not done.stdout.strip():
        why = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["ended without a word"])[-1]
        print(f"  {task}, {who}: {why}", file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    imported = found.pop("source", None)
    assert imported is None or Path(imported).is_relative_to(source), imported
    return found


def measure(tasks: list[str], before: Path | None, rounds: int, limit: float) -> None:
    for task in tasks:
        for turn in map(str, range(rounds)):
            for who in WHO:
                take_turn([task], who, turn, before, limit)


def measure_panel(names: list[str], before: Path | None, limit: float) -> None:
    """Measure the first split of each table of the panel."""
    from panel import split
    from tabular_data import panel_data

    with tempfile.TemporaryDirectory() as folder:
        for name, (regression, X, y) in panel_data().items():
            if names and name not in names:
                continue
            (X, y), (X_test, y_test) = split(np.asarray(X, dtype=np.float32), y, regression, 0)
            codes, path = {label: code for code, label in enumerate(np.unique(y))}, Path(folder) / "table.npz"
            if not regression:
                y, y_test = (np.array([codes[label] for label in part]) for part in (y, y_test))
            np.savez(path, X=X, y=y, X_test=X_test, y_test=y_test, regression=regression)
            for who in WHO:
                take_turn([TABLES, name], who, "0", before, limit, path)


def take_turn(
    place: list[str], who: str, turn: str, before: Path | None, limit: float, path: Path | None = None
) -> None:
    """Measure one cell, unless it is there or nobody can."""
    source, known = before if who == "before" else HERE, read(FILE)
    for name in [*place, who]:
        known = known.get(name, {})
    if source is None or turn in known or (path is None and who == "rival" and TASKS[place[0]][3] is None):
        return
    found = measured(place[-1], who, source.resolve(), limit, path)
    if found:
        keep(FILE, [*place, who, turn], found)
        more = "more than " if found.get("stopped") else ""
        print(f"  {place[-1]}, {who}: {more}{found['seconds']:.4g} s, error {found.get('error')}", flush=True)


def run(task: str, who: str) -> None:
    """Measure one task here, a table of the panel where it is a file, and print its figures."""
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {**(of_table(Path(task), who) if task.endswith(".npz") else of_task(task, who))}
    if who != "rival":
        import dsekl

        found |= {"source": dsekl.__file__, "version": dsekl.__version__}
    print(json.dumps(found))


def of_task(task: str, who: str) -> Figures:
    own, rival = TASKS[task][2:]
    chosen = rival if who == "rival" else own
    assert chosen is not None
    return chosen()


def of_table(path: Path, who: str) -> Figures:
    with np.load(path) as file:
        regression = bool(file["regression"])
    if who == "rival":
        return panel(boosting(regression, **FAST_TREES), (boosting(regression),), path)
    return panel(ours(regression), (ours(regression),), path)


def figures(cells: dict[str, Any], who: str, figure: str) -> float:
    """Return the median of a figure over the rounds; NaN where there is none."""
    found = [one[figure] for one in cells.get(who, {}).values() if figure in one]
    return median(found) if found else float("nan")


def written(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else ""


def seconds_written(cells: dict[str, Any], who: str) -> str:
    """Return the seconds; those of a fit that was ended are a bound."""
    stopped = any(one.get("stopped") for one in cells.get(who, {}).values())
    return ("> " if stopped else "") + written(figures(cells, who, "seconds"), ".3g")


def put_on_the_page() -> None:
    cells, rows = read(FILE), []
    for task, (words, rival, *_) in TASKS.items():
        if task in cells:
            errors = [written(figures(cells[task], who, "error"), ".4f") for who in WHO]
            ratio = figures(cells[task], "now", "seconds") / figures(cells[task], "before", "seconds")
            seconds = [seconds_written(cells[task], who) for who in WHO]
            rows.append([words, *seconds, written(ratio, ".2f"), rival, *errors])
    header = ["", "before, s", "now, s", "rival, s", "now / before", "rival"]
    publish(
        "Seconds", "DSEKL_DATA=... python benchmarks/seconds.py measure --before OTHER/src; "
        "python benchmarks/seconds.py publish",
        "Medians over the rounds of benchmarks/results/seconds.json; before, now and the rival in turns, each in a "
        "process of its own. Errors are shares of wrong labels, and for regression root mean squared errors of "
        "standardised targets.\n\n" + table([*header, *(f"error {who}" for who in WHO)], rows),
    )  # fmt: skip
    if cells.get(TABLES):
        publish_panel(cells[TABLES])


def publish_panel(tables: dict[str, Any]) -> None:
    """Put on the page how long small tables take, and in how many of them the errors fell or rose."""
    ratios = {
        kind: {name: figures(of, "now", kind) / figures(of, "rival", kind) for name, of in tables.items()}
        for kind in ("seconds", "cpu")
    }
    errors = {name: [figures(of, who, "error") for who in WHO] for name, of in tables.items()}
    rows = [
        [name, *(seconds_written(of, who) for who in WHO), f"{ratios['seconds'][name]:.1f}",
         *(written(error, ".4f") for error in errors[name])]
        for name, of in sorted(tables.items(), key=lambda item: -ratios["seconds"][item[0]])
    ]  # fmt: skip
    told = "; ".join(
        f"{words}: median {np.nanmedian(list(ratios[kind].values())):.1f}, largest "
        f"{np.nanmax(list(ratios[kind].values())):.1f}"
        for kind, words in (("seconds", "seconds over LightGBM's"), ("cpu", "CPU seconds over LightGBM's"))
    )
    compared = [(now, before) for before, now, _ in errors.values() if np.isfinite(before + now)]
    fell, rose = (sum(now < before for now, before in compared), sum(now > before for now, before in compared))
    versions = f" Errors fell on {fell} tables since the version before and rose on {rose}." if compared else ""
    header = ["table", "before, s", "now, s", "LightGBM, s", "now / LightGBM", *(f"error {who}" for who in WHO)]
    publish(
        "Seconds of small tables", "DSEKL_DATA=... python benchmarks/seconds.py panel --before OTHER/src; "
        "python benchmarks/seconds.py publish",
        "The panel's tables, first split, at most 3,000 training rows, all defaults; the rival is LightGBM 500 x .05. "
        f"Over {len(tables)} tables, {told}.{versions}\n\n" + table(header, rows),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "panel", "publish", "run"))
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that a fit may take")
    parser.add_argument("--who", choices=WHO, default="now")
    asked = parser.parse_intermixed_args()
    unknown = sorted(set(asked.tasks) - set(TASKS)) if asked.what == "measure" else []
    if unknown:
        parser.error(f"no task {', '.join(unknown)}; there are {', '.join(TASKS)}")
    if asked.what == "publish":
        put_on_the_page()
    elif asked.what == "run":
        run(asked.tasks[0], asked.who)
    elif asked.what == "panel":
        measure_panel(asked.tasks, asked.before, asked.limit)
    else:
        measure(asked.tasks or list(TASKS), asked.before, asked.rounds, asked.limit)


if __name__ == "__main__":
    main()
