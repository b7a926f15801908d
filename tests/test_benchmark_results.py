"""The files of results: measured once, gone on with, and told with their spread."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="needs dsekl[report]")
BENCHMARKS = str(Path(__file__).parent.parent / "benchmarks")


@pytest.fixture
def scripts() -> Iterator[Any]:
    """Scripts of the benchmarks, which find each other by their folder."""
    sys.path.insert(0, BENCHMARKS)
    yield import_module
    sys.path.remove(BENCHMARKS)


def test_a_cell_is_kept_until_its_section_is_forgotten(scripts: Any, tmp_path: Path) -> None:
    cells, path = scripts("cells"), tmp_path / "results.json"
    for section in ("skin", "mnist"):
        cells.keep(path, [section, "dsekl", "0"], {"error": 0.1})
    assert cells.has(path, ["skin", "dsekl", "0"])
    assert not cells.has(path, ["skin", "dsekl", "1"])
    cells.forget(path, "skin")
    assert not cells.has(path, ["skin", "dsekl", "0"])
    assert cells.has(path, ["mnist", "dsekl", "0"])


def test_one_run_has_no_spread(scripts: Any) -> None:
    cells = scripts("cells")
    assert cells.spread([1.5], 2) == "1.50"
    assert cells.spread([1.0, 2.0, 3.0], 1) == "2.0 ± 1.0"
    assert cells.span([3.2, 3.3]) == "3"
    assert cells.span([36.4, 70.0]) == "36 to 70"


def test_the_claim_measured_again_keeps_what_was_chosen_for_the_same_rivals(scripts: Any) -> None:
    begun = scripts("claim").begun
    versions = {"dsekl": "0.1.0", "scikit-learn": "1", "scikit-learn-intelex": "2", "lightgbm": "3"}
    points = [{"name": "dsekl, seed 0"}, {"name": "LightGBM, seed 0"}]
    old = {"versions": versions, "data": {"name": "covertype"}, "chosen": {"SVC": {"C": 4}}, "points": points}
    around = {"versions": {**versions, "dsekl": "0.2.0"}, "data": old["data"]}
    assert begun(old, around, False, "") is old
    assert begun(old, around, True, "dsekl")["points"] == points[1:]
    anew = begun(old, around, True, "")
    assert (anew["points"], anew["chosen"], anew["versions"]["dsekl"]) == ([], old["chosen"], "0.2.0")
    around["versions"]["lightgbm"] = "4"
    assert begun(old, around, True, "")["chosen"] == {}


@pytest.fixture
def pages() -> Iterator[Any]:
    """The script that fills the pages; last on the path, as one of its neighbours is called as Dask's package."""
    pytest.importorskip("dask", reason="needs dsekl[dask]")
    pytest.importorskip("river", reason="needs dsekl[river]")
    sys.path.append(BENCHMARKS)
    yield import_module("pages")
    sys.path.remove(BENCHMARKS)


def test_the_tables_are_those_of_the_files_of_results(pages: Any) -> None:
    page = pages.PAGE.read_text()
    assert len(list(pages.sections())) > 15
    assert pages.filled(page) == page, "run: python benchmarks/pages.py"


def test_a_table_that_was_changed_by_hand_is_found(pages: Any) -> None:
    page = pages.PAGE.read_text()
    typed = page.replace("| mean rank | ", "| mean rank | 1.00 ± 0.10; ")
    assert typed != page
    assert pages.filled(typed) == page


def test_every_file_of_results_fills_a_section(pages: Any) -> None:
    told = {path.name for files in pages.SCRIPTS.values() for path in pages.RESULTS.glob(files)}
    published_by_their_commands = {"seconds.json", "cost.json"}
    assert {path.name for path in pages.RESULTS.glob("*.json")} - published_by_their_commands == told


def test_every_section_names_its_version_and_day(pages: Any) -> None:
    page = pages.PAGE.read_text()
    titles = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert len(titles) > 30
    for title in titles:
        machine = pages.Section(title, "", "").machine(page)
        assert machine, title
        assert re.match(r"dsekl \d\S*, \d{4}-\d\d-\d\d; ", machine), title
