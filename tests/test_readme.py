"""README's Python snippets run as they stand, in order, and print what is shown under them."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

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


def words(text: str) -> str:
    """The text without its numbers and blanks."""
    return re.sub(rf"{NUMBER}|\s", "", text)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(NUMBER, text)]
