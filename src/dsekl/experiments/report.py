"""The report: one HTML file that needs nothing else, made from the tables in the folder."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dsekl.atomic import replacing

from . import covertype, figure2, last_paragraph, open_question, plots, relatives, speedup, table1, xor
from .results import Results
from .sections import AGREES, DIFFERS, NO_CLAIM, NOT_TESTED, PARTLY, Section
from .settings import Settings

if TYPE_CHECKING:
    from jinja2 import Template


class Experiment(Protocol):
    """A module of this folder."""

    NAME: str

    def run(self, results: Results, settings: Settings) -> None:
        """Fill the experiment's table; what is there already is not done again."""

    def section(self, results: Results) -> Section | None:
        """Return the experiment's part of the report, None while it has no results."""


_MODULES: tuple[Experiment, ...] = (xor, figure2, relatives, open_question, table1, covertype, speedup, last_paragraph)
EXPERIMENTS = {module.NAME: module for module in _MODULES}
MARKS = {AGREES: "yes", PARTLY: "partly", DIFFERS: "no", NO_CLAIM: "beyond", NOT_TESTED: "beyond"}
LIBRARIES = ("dsekl", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")


@dataclass(frozen=True)
class Drawn:
    """A section and its figures as SVG."""

    section: Section
    drawings: list[tuple[str, str, str]]


def provenance(command: str, seconds: float) -> dict[str, object]:
    """Return what a reader needs to know of one experiment's run."""
    return {
        "command": command,
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "versions": {name: metadata.version(name) for name in LIBRARIES},
    }


def write(results: Results, left_out: dict[str, str]) -> Path:
    """Draw the figures of every experiment that has results, and write ``report.html``.

    ``left_out`` gives the reason for each experiment that was wanted and could not run.
    """
    drawn = []
    for module in EXPERIMENTS.values():
        section = module.section(results)
        if section is not None:
            figures = [(p.name, plots.save(p.figure, results.folder, p.name), p.caption) for p in section.pictures]
            drawn.append(Drawn(section, figures))
    there = {each.section.name for each in drawn}
    missing = {name: "has not been run" for name in EXPERIMENTS if name not in there} | left_out
    html = _template().render(
        drawn=drawn, missing=missing, marks=MARKS, settings=results.read("settings"), runs=results.read("provenance")
    )
    path = results.folder / "report.html"
    with replacing(path) as file:
        file.write(html.encode())
    return path


def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    source = resources.files("dsekl.experiments").joinpath("report.html.jinja").read_text()
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
        source
    )
