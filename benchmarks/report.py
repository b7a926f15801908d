"""Tables of the benchmarks: printed, and kept in docs/benchmarks.md with the command that makes them."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def publish(section: str, command: str, text: str, path: Path = PAGE) -> None:
    """Print ``text`` and put it into its section of a page."""
    print(f"\n## {section}\n\n{text}\n")
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    body = f"Made by `{command}` ({machine}).\n\n{text}\n"
    start, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    page = path.read_text()
    if start not in page:
        page += f"\n## {section}\n\n{start}\n{end}\n"
    before, rest = page.split(start)
    path.write_text(before + start + "\n" + body + end + rest.split(end)[1])


def best_of(*tasks: Callable[[], Any], rounds: int = 5) -> list[float]:
    """Return the least seconds of each task over interleaved rounds, so that a busy moment hits all alike."""
    best = [float("inf")] * len(tasks)
    for task in tasks:
        task()
    for _ in range(rounds):
        for k, task in enumerate(tasks):
            start = perf_counter()
            task()
            best[k] = min(best[k], perf_counter() - start)
    return best


def memory(field: str) -> float:
    """Return a figure of the process's memory in megabytes (Linux): VmRSS is what it holds, VmHWM the most it has."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[field].split()[0]) / 1024


def load(name: str) -> tuple[Any, Any]:
    """Return X and y of a data set in the folder DSEKL_DATA, or end the benchmark with a word on how to set it."""
    folder = os.environ.get("DSEKL_DATA")
    if not folder or not (Path(folder) / f"{name}.npz").exists():
        print(f"skipped what needs {name}: set DSEKL_DATA to a folder with {name}.npz")
        raise SystemExit(0)
    data = np.load(Path(folder) / f"{name}.npz")
    return data["X"], data["y"]
