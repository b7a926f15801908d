"""README's Python snippets run as they stand, in order, and print what is shown under them."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import mean, stdev

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
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


def test_the_numbers_on_covertype_are_those_of_the_picture() -> None:
    root = Path(__file__).parent.parent
    points = json.loads((root / "benchmarks" / "results" / "claim.json").read_text())["points"]
    home = (root / "docs" / "index.md").read_text()
    for name in ("dsekl", "1,000 × 255"):
        found = [point for point in points if name in f"{point['name']} {point.get('setting', '')}"]
        assert len(found) == 3
        errors, seconds = [100 * point["error"] for point in found], [point["seconds"] for point in found]
        for page in (README, home):
            assert f"{mean(errors):.2f}" in page
            assert f"± {stdev(errors):.2f}" in page
        assert f"{min(seconds):.0f} to {max(seconds):.0f} s" in README
