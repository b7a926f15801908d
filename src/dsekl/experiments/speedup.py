"""The speed-up of Algorithm 2: seconds for one batch of rows against the number of workers, on twice covertype.

Both readings of the algorithm are timed. A model with two terms predicts more cores than there are here::

    T(p) = serial + max((T(1) - serial) / p, traffic / bandwidth)

The serial part is what the measured times leave over (Amdahl); the traffic is counted from the sizes of the blocks, and
the bandwidth is that of copying memory with all cores of this machine. The local reading's blocks are small enough for
a large cache, so its traffic is an upper bound: the model is given with it and without.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from sklearn.preprocessing import StandardScaler

from dsekl.data import catalogue
from dsekl.solvers import Problem, SharedMemory
from dsekl.workers import ALONE

from .covertype_run import papers_problem
from .results import Results, Row, Table
from .runner import bar
from .sections import AGREES, DIFFERS, NOT_TESTED, PARTLY, Finding, Numbers, Picture, Section, untested
from .settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "speedup"
KEY = ("reading", "workers", "repeat")
READINGS = {"local": "local: each worker its own f, as in the paper's listing",
            "global": "global: one f, pairs out of reach skipped"}  # fmt: skip
BANDWIDTH = "copying memory"
PAPER = {1: 1.0, 20: 16.0}
"""Cores and speed-up, as far as the paper states them in words; after 20 cores its curve flattens out."""

EFFICIENCY = PAPER[20] / 20
LINEAR_CLAIM = "The speed-up is linear up to 20 cores."
FLAT_CLAIM = "At 20 cores the speed-up is 16; then the curve flattens."

PREDICTED = (1, 2, 4, 8, 12, 16, 20, 24, 32, 48)
RUN_OF_ROWS = 96
"""Rows that meet a column while it is in the cache, in products without blocks."""


def worker_counts() -> list[int]:
    """1, 2, 3, 4, then every second, up to all cores."""
    cores = os.cpu_count() or 1
    return sorted({1, *range(2, min(cores, 4) + 1), *range(6, cores + 1, 2), cores})


def run(results: Results, settings: Settings) -> None:
    table = results.table(NAME, KEY)
    repeats = range(2 if settings.quick else 3)
    units: list[Row] = [
        {"reading": reading, "workers": workers, "repeat": repeat}
        for repeat in repeats for reading in READINGS for workers in worker_counts()
    ]  # fmt: skip
    missing = table.missing(units)
    if not missing:
        return
    problem, batch, row_bytes = _problem(settings)
    if not table.where(reading=BANDWIDTH):
        table.add([{"reading": BANDWIDTH, "workers": os.cpu_count() or 1, "repeat": 0, "bytes_a_second": _bandwidth()}])
    before = len(units) - len(missing)
    with bar("speed-up", len(units), before) as progress:
        for done, unit in enumerate(missing, start=before + 1):
            reading, workers = str(unit["reading"]), int(unit["workers"])
            solver = SharedMemory(batch, batch, n_workers=workers, gradient=reading, steps="paper")
            state = solver.start(problem, np.random.default_rng(settings.seed))
            steps = solver.epoch(problem, state)
            next(steps)  # the first batch of an epoch packs all columns, for the others too
            started = time.perf_counter()
            next(steps)
            seconds = time.perf_counter() - started
            traffic = _traffic(problem, batch, reading, row_bytes)
            table.add([{**unit, "seconds": seconds, "rows": batch, "cols": problem.n_rows, "traffic": traffic}])
            progress.advance(done, f"{reading}, {workers} workers: {seconds:.1f} s")


def _problem(settings: Settings) -> tuple[Problem, int, int]:
    """Return the data twice over, the size of a batch, and the bytes of a row."""
    if settings.quick:
        data, batch = catalogue.xor(10_000, np.random.default_rng(settings.seed)), 1_000
    else:
        data, batch = catalogue.load("covertype"), 10_000
    X = np.concatenate([StandardScaler().fit_transform(data.X)] * 2)
    y = np.concatenate([data.y] * 2)
    return papers_problem(X, y, ALONE), batch, 4 * X.shape[1]


def _traffic(problem: Problem, batch: int, reading: str, row_bytes: int) -> float:
    """Return the bytes that one batch of rows moves through memory.

    Blocks of the local reading are written once and read twice. Products of the global one read each column in reach
    once for every run of rows, in two passes.
    """
    if reading == "local":
        return 3.0 * 4.0 * batch * problem.n_rows
    rows = np.arange(0, problem.n_rows, max(1, problem.n_rows // batch))
    evaluations = problem.gram.add_product(rows, np.zeros((len(rows), 1)), np.zeros((problem.n_rows, 1)))
    return float(2.0 * evaluations / RUN_OF_ROWS * row_bytes)


def _bandwidth() -> float:
    """Return the bytes read and written a second when all cores copy."""
    cores = os.cpu_count() or 1
    arrays = [np.ones(2**23) for _ in range(cores)]
    copies = [np.empty_like(array) for array in arrays]
    rates = []
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(5):
            started = time.perf_counter()
            list(pool.map(np.copyto, copies, arrays))
            rates.append(2 * sum(array.nbytes for array in arrays) / (time.perf_counter() - started))
    return float(max(rates))


def predict(table: Table, reading: str, cores: int, memory: bool = True) -> float:
    """Return the model's seconds for one batch of rows, with or without the limit of ``memory``."""
    seconds = best_seconds(table, reading)
    one = seconds[1]
    # T(p) = serial + (T(1) - serial) / p for the cores that were measured, by least squares through T(1).
    shares = np.array([1 - 1 / p for p in seconds if p > 1])
    left = np.array([time_p - one / p for p, time_p in seconds.items() if p > 1])
    serial = float(np.clip(left @ shares / (shares @ shares), 0, one)) if len(shares) else 0.0
    floor = float(table.where(reading=reading)[0]["traffic"]) / _bytes_a_second(table) if memory else 0.0
    return float(serial + max((one - serial) / cores, min(floor, one - serial)))


def best_seconds(table: Table, reading: str) -> dict[int, float]:
    """Return the least seconds by number of workers: what disturbs a run only makes it longer."""
    rows = table.where(reading=reading)
    counts = sorted({int(row["workers"]) for row in rows})
    return {count: min(float(row["seconds"]) for row in rows if row["workers"] == count) for count in counts}


def _bytes_a_second(table: Table) -> float:
    return float(table.where(reading=BANDWIDTH)[0]["bytes_a_second"])


def section(results: Results) -> Section | None:
    table = results.table(NAME, KEY)
    if any(1 not in best_seconds(table, reading) for reading in READINGS):
        return None
    rows = []
    for reading, words in READINGS.items():
        seconds = best_seconds(table, reading)
        for p, value in seconds.items():
            gain = seconds[1] / value
            rows.append([words.split(":")[0], str(p), f"{value:.2f}", f"{gain:.2f}", f"{100 * gain / p:.0f} %"])
    size, real = table.where(reading="local")[0], not results.quick
    header = ["cores", *READINGS, *(["paper"] if real else [])]
    diamonds = "; diamonds: what the paper states for its machine with 24 physical cores" if real else ""
    predicted = [
        [str(p), *(_predicted(table, reading, p) for reading in READINGS),
         *([f"{PAPER[p]:.0f}" if p in PAPER else ""] if real else [])]
        for p in PREDICTED
    ]  # fmt: skip
    return Section(
        NAME, "Speed-up of Algorithm 2", (
            f"One batch of {size['rows']:,} rows against all {size['cols']:,} centres in batches of {size['rows']:,}; "
            f"the least of {table.count('repeat')} times. Copying memory with all cores here: "
            f"{_bytes_a_second(table) / 1e9:.1f} GB/s."
        ),
        _findings(table) if real else untested(_findings(table)),
        [Picture("speedup", draw(table, real), (
            "Speed-up against one worker. Marks: measured here; dashed lines: the model with the limit of memory, thin "
            f"ones without{diamonds}."
        ))],
        [
            Numbers("Measured here", ["reading", "workers", "seconds", "speed-up", "efficiency"], rows),
            Numbers("By the model, with and without the limit of memory", header, predicted),
        ],
    )  # fmt: skip


def _predicted(table: Table, reading: str, cores: int) -> str:
    """Return the model's speed-up, from the limit of memory to none."""
    one = best_seconds(table, reading)[1]
    low, high = (f"{one / predict(table, reading, cores, memory):.1f}" for memory in (True, False))
    return low if low == high else f"{low} to {high}"


def _findings(table: Table) -> list[Finding]:
    measured, model, efficiency = [], [], []
    for reading in READINGS:
        seconds = best_seconds(table, reading)
        p = max(seconds)
        gain = seconds[1] / seconds[p]
        efficiency.append(gain / p)
        measured.append(f"{reading}: {gain:.2f} with {p} workers (efficiency {100 * gain / p:.0f} %)")
        model.append(f"{reading}: {_predicted(table, reading, 20)}")
    most = max(best_seconds(table, "local"))
    return [
        Finding(
            LINEAR_CLAIM, "; ".join(measured) + ".", linear(efficiency, most),
            f"Linear: an efficiency of {EFFICIENCY:g} at least, which the paper has at 20 cores, and of 1.1 at most. "
            f"Measured up to {most} workers; one machine, the least of the repeated times.",
        ),
        Finding(
            FLAT_CLAIM,
            f"By the model, at 20 cores: {'; '.join(model)}.",
            NOT_TESTED if most < max(PAPER) else (AGREES if _near_the_paper(table) else DIFFERS),
            "Needs 20 cores. The model has two free parameters, from the measured times and the bandwidth of one "
            "machine: it is no measurement.",
        ),
    ]  # fmt: skip


def linear(efficiency: list[float], most_workers: int) -> str:
    """The claim is of 20 cores: fewer can only agree in part. More than 1.1 says that one worker was disturbed."""
    if max(efficiency) > 1.1:
        return NOT_TESTED
    if min(efficiency) < EFFICIENCY:
        return DIFFERS
    return AGREES if most_workers >= max(PAPER) else PARTLY


def _near_the_paper(table: Table) -> bool:
    """Whether the measured speed-up of the paper's reading is within a tenth of the paper's at 20 cores, either way."""
    seconds = best_seconds(table, "local")
    at = min(seconds, key=lambda p: abs(p - max(PAPER)))
    return abs(seconds[1] / seconds[at] - PAPER[max(PAPER)]) <= 0.1 * PAPER[max(PAPER)]


def draw(table: Table, real: bool) -> Figure:
    """Draw the speed-up, measured and by the model; the paper's beside the paper's data alone."""
    from . import plots

    with plots.panels(1, 1, (5.4, 3.8)) as (figure, axes):
        ax = axes[0, 0]
        cores = np.arange(1, PREDICTED[-1] + 1)
        ax.plot(cores, cores, color=plots.INK, linestyle=":", linewidth=1, label="linear")
        for (reading, words), colour in zip(READINGS.items(), ("orange", "blue"), strict=True):
            seconds = best_seconds(table, reading)
            gains = [seconds[1] / predict(table, reading, int(p)) for p in cores]
            free = [seconds[1] / predict(table, reading, int(p), memory=False) for p in cores]
            ax.plot(cores, gains, color=plots.PALETTE[colour], linestyle="--", linewidth=1.2)
            ax.plot(cores, free, color=plots.PALETTE[colour], linewidth=0.6)
            ax.plot(
                list(seconds), [seconds[1] / value for value in seconds.values()], plots.MARKERS[colour],
                color=plots.PALETTE[colour], label=words, markersize=7,
            )  # fmt: skip
        if real:
            red, label = plots.PALETTE["red"], "the paper (24 physical cores)"
            ax.plot(list(PAPER), list(PAPER.values()), "-D", color=red, label=label)
        ax.set(xlabel="workers", ylabel="speed-up", xlim=(0, 49), ylim=(0, 49))
        plots.legend_below(figure, ax, 1)
    return figure
