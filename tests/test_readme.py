"""README's Python snippets run as they stand, in order, and print what is shown under them."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
NUMBER = r"\d+\.?\d*"
TOLERANCE = 0.02
"""Processors round differently, so scores may differ in the second place."""


def test_every_snippet_shows_its_output() -> None:
    assert len(SNIPPETS) == README.count("```python") > 0


def test_the_snippets_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code, shown in SNIPPETS:
        with redirect_stdout(StringIO()) as printed:
            exec(compile(code, "README.md", "exec"), names)
        found = printed.getvalue()
        assert words(found) == words(shown)
        assert numbers(found) == pytest.approx(numbers(shown), abs=TOLERANCE)


def test_the_papers_algorithms_are_within_a_point_of_svc() -> None:
    """On the digits that the snippets load; a doctest of the guide computes the same."""
    shown = next(shown for _, shown in SNIPPETS if shown.startswith("SVC"))
    exact, *algorithms = numbers(shown)
    assert len(algorithms) == 2
    assert min(algorithms) >= exact - 0.01


def words(text: str) -> str:
    """The text without its numbers and blanks."""
    return re.sub(rf"{NUMBER}|\s", "", text)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(NUMBER, text)]


@pytest.fixture
def headline(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that computes figures from the results of the benchmarks; scripts find each other by their folder."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return import_module("headline")


def test_the_numbers_on_covertype_are_those_of_the_results(headline: Any) -> None:
    for figures in headline.covertype().values():
        assert f"{figures['error']} ± {figures['spread']} %" in README
        assert figures["seconds"] in README
        assert figures["seeds"] == "3"


def test_the_numbers_of_the_panel_are_those_of_the_results(headline: Any) -> None:
    figures = headline.panel()
    words = " ".join(README.split())
    for told in (
        f"{figures['tables']} tables",
        f"mean rank **{figures['rank']}** of {figures['models']} (standard error over the tables "
        f"{figures['rank_error']}; {figures['rank_new']} on the {figures['new']} that no rule was designed on), "
        f"lowest error on {figures['lowest']}",
        f"on {figures['not_lowest']} of the {figures['tables']} tables another model has the lowest error",
        f"{figures['cpu']} of CPU on the {figures['tables']} tables",
        f"a median of {figures['times_boosting']} times what LightGBM takes",
        ", ".join(figures["behind"][:-1]) + f" and {figures['behind'][-1]}",
    ):
        assert told in words
    assert all(rank in README for rank in figures["rival_ranks"].values())


def test_the_site_states_no_figure_of_its_own(headline: Any) -> None:
    """Where a result has a file, the page is filled from it."""
    for page in ("index", "benchmark-summary"):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        for figures in headline.covertype().values():
            assert figures["error"] not in text
            assert figures["seconds"] not in text
        assert headline.panel()["rank"] not in text
