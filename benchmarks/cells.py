"""Figures in a file of results, written one by one, so that a long measurement can be stopped and gone on with."""

from __future__ import annotations

import json
import os
from pathlib import Path
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
