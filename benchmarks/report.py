"""Tables of the benchmarks: printed, and kept in docs/benchmarks.md with the command that makes them."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


@dataclass(frozen=True)
class Section:
    """A section of a page: its title, the command that measures it, and its words and tables."""

    title: str
    command: str
    text: str

    def put(self, page: str, machine: str) -> str:
        """Return the page with this section in its place, or at the end."""
        start, end = f"<!-- {self.title} -->", f"<!-- end of {self.title} -->"
        if start not in page:
            page += f"\n## {self.title}\n\n{start}\n{end}\n"
        before, rest = page.split(start)
        return f"{before}{start}\nMade by `{self.command}` ({machine}).\n\n{self.text}\n{end}{rest.split(end)[1]}"

    def machine(self, page: str) -> str | None:
        """Return what the page says of the machine, the versions and the day of this section."""
        found = re.search(rf"<!-- {re.escape(self.title)} -->\nMade by `[^`]*` \((.*)\)\.\n", page)
        return found and found[1]


def today() -> str:
    """Return the machine, the versions and the day of what is measured now."""
    return (
        f"dsekl {version('dsekl')}, {date.today()}; {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )


def publish(title: str, command: str, text: str, path: Path = PAGE) -> None:
    """Print ``text`` and put it into its section of a page."""
    print(f"\n## {title}\n\n{text}\n")
    path.write_text(Section(title, command, text).put(path.read_text(), today()))


def publish_all(sections: Iterable[Section]) -> None:
    """Publish sections that are made from files of results."""
    for section in sections:
        publish(section.title, section.command, section.text)


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
