"""A model of time and traffic for more rows and machines than there are here, from the cells of the benchmark."""

from __future__ import annotations

from typing import Any

from report import table

from dsekl.dask.shuffle import rows_a_task

ROWS, WORKERS, THREADS, COLUMNS = 1e8, 32, 8, 54
NETWORK = 1.25e9
"""Bytes a second of each machine: 10 Gbit/s."""

TASKS_A_SECOND = 1_000.0
"""Tasks that a scheduler deals out in a second, by the documentation of Dask: about a millisecond each."""

ROWS_A_PART = 2**17
BLOCK_ROWS, SHUFFLES = 2**16, 2
"""Rows of a block, and how often rows go to their parts: once for the choice of the width, once for the fit."""

TASKS_A_PART = 7
"""Tasks of a part in a round: ascend, outbox, sums, couple, line, move-on, measure."""

SNAPSHOT = 6
HOME = 25.0
"""Bytes for each row that come to the client at a snapshot, and go back: coefficient, prediction, rank, activity."""

PAPERS_BATCH = 10_000
"""Rows of a batch of the paper's Algorithm 2 on covertype."""

PAPERS_BYTES = 20.0
"""A number of a centre, its coefficient and its sum of squares."""

Cell = dict[str, Any]


def can_be_made(found: dict[str, dict[str, Cell]]) -> bool:
    """Tell whether the cells that the model needs are there."""
    return "covertype, 32" in found.get("traffic", {}) and "fixed, two workers" in found.get("covertype", {})


def model_table(found: dict[str, dict[str, Cell]]) -> str:
    """Return what the model says of each worker, in words and as a table."""
    measured, timed = found["traffic"]["covertype, 32"], found["covertype"]["fixed, two workers"]
    mine, growth = ROWS / WORKERS, ROWS / measured["rows"]
    rate = timed["values"] / (2 * timed["seconds"])
    a_copy = measured["received"] / max(1.0, measured["halo"] * measured["rows"])
    points, rounds = 4 * COLUMNS * mine / 1e9, measured["rounds"]
    once = (2 + measured["halo"]) * points
    a_round = a_copy * measured["halo"] * mine
    in_all = measured["sent"] / measured["rows"] * mine
    homeward = 2 * HOME * ROWS * (rounds / SNAPSHOT)
    tasks = rounds * TASKS_A_PART * ROWS / ROWS_A_PART
    group = -(-rows_a_task(int(ROWS), COLUMNS) // BLOCK_ROWS) * BLOCK_ROWS
    shuffles = SHUFFLES * (ROWS / group) * (ROWS / ROWS_A_PART)
    work = measured["values"] * growth / (WORKERS * THREADS) / rate
    naive = PAPERS_BYTES * ROWS * (1 - 1 / WORKERS)
    lines = [
        ["own points, GB", f"{points:.2f}"],
        ["copies of others' points, GB", f"{measured['halo'] * points:.2f}"],
        ["rows that arrive once, with their copies, GB (seconds)", f"{once:.1f} ({once * 1e9 / NETWORK:.1f})"],
        ["rounds", rounds],
        ["coefficients that arrive in a round, MB (seconds)", f"{a_round / 1e6:.1f} ({a_round / NETWORK:.3f})"],
        ["all that it sends in a round, parts that Dask moves included, MB (seconds)",
         f"{in_all / 1e6:.0f} ({in_all / NETWORK:.2f})"],
        ["to the client and back in all snapshots, GB (seconds of the client)",
         f"{homeward / 1e9:.1f} ({homeward / NETWORK:.0f})"],
        ["tasks that send rows to their parts (seconds of the scheduler)",
         f"{shuffles:,.0f} ({shuffles / TASKS_A_SECOND:.0f})"],
        ["tasks of all rounds (seconds of the scheduler)", f"{tasks:,.0f} ({tasks / TASKS_A_SECOND:.0f})"],
        ["minutes of work, neighbours of a row as measured", f"{work / 60:.0f}"],
        ["minutes of work, width as measured, so that neighbours grow with the rows", f"{work * growth / 60:,.0f}"],
        ["the paper's naive scheme: exchanges in an epoch", f"{ROWS / (PAPERS_BATCH * WORKERS):,.0f}"],
        ["the paper's naive scheme: coefficients that arrive in an epoch, GB (seconds)",
         f"{naive / 1e9:.2f} ({naive / NETWORK:.1f})"],
        ["the paper's naive scheme: minutes of work in an epoch, every kernel value once",
         f"{ROWS * ROWS / (WORKERS * THREADS) / rate / 60:,.0f}"],
    ]  # fmt: skip
    return f"{_words(measured, rate)}\n\n{table(['for each worker', 'model'], lines)}"


def _words(measured: Cell, rate: float) -> str:
    return (
        f"A model, not a measurement: {ROWS:.0e} rows of {COLUMNS} columns on {WORKERS} workers of {THREADS} threads, "
        f"each with {NETWORK / 1e9:.2f} GB/s. From covertype's {measured['rows']:,} rows in 32 parts come the copies "
        f"of a row ({measured['halo']:.2f}), the bytes for each copy in a round, the rounds, and the kernel values for "
        f"each row; from covertype on two workers the kernel values of a thread in a second ({rate / 1e6:.0f} million, "
        "all other work included). It assumes that the width shrinks as rows grow denser, so that a row has as many "
        "neighbours as it was measured with (the line after says what happens if not); that parts, of up to 131,072 "
        "rows, have no more copies than those of 16,000 that were measured; that rounds do not grow; that parts are "
        "alike; that the rows that are audited meet the goal, as all rows are predicted by every pair of parts else; "
        "and that network, scheduler and work do not overlap, so that times add up. The naive scheme sends the "
        "number, coefficient and sum of squares of every centre to every worker once an epoch, in as many exchanges as "
        f"there are rounds of batches of {PAPERS_BATCH:,} rows, and has no kernel value that it may leave out."
    )
