"""Figures in a file of results, written one by one, so that a long measurement can be stopped and gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

RESULTS = Path(__file__).parent / "results"


def read(path: Path) -> Any:
    """Return all cells: a dictionary of dictionaries."""
    return json.loads(path.read_text()) if path.exists() else {}


def keep(path: Path, place: list[str], cell: Any) -> None:
    """Write one more cell; other processes may have written theirs meanwhile."""
    cells = inner = read(path)
    for name in place[:-1]:
        inner = inner.setdefault(name, {})
    inner[place[-1]] = cell
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(cells, indent=1, sort_keys=True) + "\n")
    draft.replace(path)


def has(path: Path, place: list[str]) -> bool:
    """Return whether a cell is there, so that it need not be measured again."""
    inner = read(path)
    for name in place:
        if name not in inner:
            return False
        inner = inner[name]
    return True


def forget(path: Path, section: str) -> None:
    """Remove all cells of a section, to measure them anew."""
    cells = read(path)
    if cells.pop(section, None) is not None:
        path.write_text(json.dumps(cells, indent=1, sort_keys=True) + "\n")


def spread(values: Sequence[float], digits: int) -> str:
    """Return the mean and the standard deviation, as pages print them; a single run has no deviation."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}"


def span(values: Sequence[float], digits: int = 0) -> str:
    """Return the least and the greatest, as one where they print alike."""
    return " to ".join(dict.fromkeys(f"{value:.{digits}f}" for value in (min(values), max(values))))
