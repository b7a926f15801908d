"""docs/reproduction.md says what the kept results say, and its verdicts follow from its figures by the rules."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path
from statistics import stdev

import pytest

from dsekl.experiments import covertype, grid, speedup
from dsekl.experiments.report import EXPERIMENTS
from dsekl.experiments.results import Results
from dsekl.experiments.sections import NO_CLAIM, NOT_TESTED, Section
from dsekl.experiments.settings import Settings

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "benchmarks" / "results" / "reproduction"
PAGE = (ROOT / "docs" / "reproduction.md").read_text()
README = (ROOT / "README.md").read_text()
CHAPTERS = {
    "xor": "Figure 1", "figure2": "Figure 2", "relatives": "The relatives", "open-question": "The open question",
    "table1": "Table 1", "last-paragraph": "The last paragraph",
}  # fmt: skip


def chapter(title: str) -> str:
    return re.split(r"^##+ ", PAGE.split(f"# {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text, header first, cells without markup."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    return [
        [[cell.strip(" *") for cell in line.strip("|\n").split("|")] for line in block.splitlines(keepends=True)
         if not re.fullmatch(r"[|\-\n]+", line)]
        for block in blocks
    ]  # fmt: skip


VERDICTS = dict(tables(chapter("What was found"))[0][1:])
COVERTYPE = {(name, epochs): cells for name, epochs, *cells in tables(chapter("Covertype"))[0][1:]}


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    folder = tmp_path_factory.mktemp("kept") / "results"
    shutil.copytree(KEPT, folder)
    results = Results(folder, Settings().lasting())
    found = {name: EXPERIMENTS[name].section(results) for name in CHAPTERS}
    return {name: section for name, section in found.items() if section is not None}


@pytest.mark.parametrize("name", list(CHAPTERS))
def test_the_tables_are_those_of_the_kept_results(name: str, sections: dict[str, Section]) -> None:
    on_page = tables(chapter(CHAPTERS[name]))
    made = sections[name].tables
    assert len(on_page) == len(made)
    for (header, *rows), numbers in zip(on_page, made, strict=True):
        assert header == list(numbers.header)
        of_row = {row[0].split(":")[0]: list(row[1:]) for row in numbers.rows}
        assert rows
        for first, *cells in rows:
            assert cells == of_row[first]


def test_the_verdicts_are_those_of_the_kept_results(sections: dict[str, Section]) -> None:
    found = {f.claim: f.verdict for section in sections.values() for f in section.findings if f.verdict != NO_CLAIM}
    assert {claim: VERDICTS.get(claim) for claim in found} == found
    assert set(VERDICTS) - set(found) == {
        covertype.FIRST_CLAIM, covertype.LAST_CLAIM, speedup.LINEAR_CLAIM, speedup.FLAT_CLAIM
    }  # fmt: skip


def test_the_verdicts_on_covertype_follow_from_the_figures() -> None:
    first = [share(cell) for cell in COVERTYPE["Algorithm 2", "1"][:2]]
    assert VERDICTS[covertype.FIRST_CLAIM] == covertype.judge_first_pass(*first)
    end = share(COVERTYPE["", "44, by its rule"][1])
    assert VERDICTS[covertype.LAST_CLAIM] == covertype.judge_end(end, stopped=True)
    assert share(COVERTYPE["the paper", "1"][0]) == covertype.PAPER_FIRST
    assert share(COVERTYPE["the paper", "54, by its rule"][1]) == covertype.PAPER_LAST


def test_the_verdicts_on_the_speed_up_follow_from_the_figures() -> None:
    efficiency = [share(cells[4]) for cells in tables(chapter("Speed-up"))[0][1:]]
    assert VERDICTS[speedup.LINEAR_CLAIM] == speedup.linear(efficiency, most_workers=2)
    assert VERDICTS[speedup.FLAT_CLAIM] == NOT_TESTED


def test_readme_has_the_figures_and_the_verdicts_of_the_page() -> None:
    said = README[README.index("## The paper, reproduced") :]
    validation, evaluation = COVERTYPE["Algorithm 2", "1"][0], COVERTYPE["", "44, by its rule"][1]
    assert f"{validation} validation error after one pass (the paper: 17 % validation error)" in " ".join(said.split())
    assert f"{evaluation} evaluation error at its stopping rule, after 44 epochs" in " ".join(said.split())
    assert "the paper: 13.34 % evaluation error, after 54" in said
    counts = re.search(
        r"(\d+) claims, (\d+) agree, (\d+) agree in part, (\d+) does not, and (\d+)", " ".join(said.split())
    )
    assert counts is not None
    outcomes = list(VERDICTS.values())
    assert [int(count) for count in counts.groups()] == [
        len(outcomes), *(outcomes.count(v) for v in ("agrees", "agrees in part", "does not agree", NOT_TESTED))
    ]  # fmt: skip


def test_the_page_names_the_selection_rule(sections: dict[str, Section]) -> None:
    for name, section in sections.items():
        # The last paragraph compares schemes at the same settings, which are given.
        assert (grid.SELECTION in section.setting) == (name != "last-paragraph")
    words = " ".join(PAGE.split())
    assert "within one standard error of the least" in words
    assert "neighbours on the grid have the lowest mean error" in words


def test_the_example_has_the_spread_of_the_benchmark_that_it_names() -> None:
    text = " ".join((ROOT / "examples" / "paper" / "plot_xor.py").read_text().replace("# ", " ").split())
    said = re.search(r"standard deviation is ([\d.]+) points \(see the reproduction\)", text)
    assert said is not None
    with (KEPT / "xor.csv").open() as file:
        errors = [float(row["error"]) for row in csv.DictReader(file) if row["method"] == "Algorithm 1"]
    assert said[1] == f"{100 * stdev(errors):.1f}"


def share(text: str) -> float:
    return round(float(text.removesuffix("%")) / 100, 6)
