"""Fills docs/benchmarks.md and README.md from the files of results: ``python benchmarks/pages.py``.

Nothing is measured. A test compares the pages with the files, so that no two pages can disagree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

if sys.path[0] == str(Path(__file__).resolve().parent):
    sys.path.append(sys.path.pop(0))  # or distributed.py would be Dask's package of the same name

import readme
from cells import RESULTS
from report import PAGE, Section, today

SCRIPTS = {
    "ablation": "ablation.json",
    "claim": "claim.json",
    "curves": "curves.json",
    "distributed_tables": "distributed.json",
    "exact": "exact.json",
    "frames": "frames-*.json",
    "panel": "panel.json",
    "streams": "streams_*.json",
    "tables": "tables.json",
}
"""The commands that keep what they measure, and where; the other sections of the page are kept on it alone."""


def sections() -> Iterator[Section]:
    """Yield all sections that are made from files of results."""
    for script, files in SCRIPTS.items():
        if any(RESULTS.glob(files)):
            yield from import_module(script).sections()


def filled(page: str) -> str:
    """Return the page with these sections, on the machines and days that it names."""
    for section in sections():
        page = section.put(page, section.machine(page) or today())
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
    readme.README.write_text(readme.filled(readme.README.read_text()))
    print(f"filled {PAGE} and {readme.README}")
