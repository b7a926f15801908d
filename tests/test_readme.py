"""README's Python snippets run as they stand, in order, and print what is shown under them."""

from __future__ import annotations

import re
from collections.abc import Callable
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
def results(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Scripts of the benchmarks, which find each other by their folder."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return import_module


def test_the_figures_are_those_of_the_results(results: Callable[[str], Any]) -> None:
    assert results("readme").filled(README) == README, "run: python benchmarks/readme.py"


def test_a_figure_that_was_typed_is_found(results: Callable[[str], Any]) -> None:
    figures = results("headline").everything()
    for told in (figures["covertype"]["dsekl"]["error"], figures["panel"]["rank"], figures["digits"]["accuracy"]):
        typed = README.replace(told, "0.00")
        assert typed != README
        assert results("readme").filled(typed) == README


def test_the_site_states_no_figure_of_its_own(results: Callable[[str], Any]) -> None:
    """Where a result has a file, the page is filled from it."""
    headline = results("headline")
    for page in ("index", "benchmark-summary"):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        for model in ("dsekl", "boosting"):
            figures = headline.covertype()[model]
            assert figures["error"] not in text
            assert figures["seconds"] not in text
        assert headline.panel()["rank"] not in text
