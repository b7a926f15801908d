"""Fills the figures of README.md from the files of results: ``python benchmarks/readme.py``.

The words stand in readme.md.in, with the names of the figures (``python benchmarks/headline.py`` prints them all). Each
part goes between the marks of its name in README. A test compares the two.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import fill

from headline import everything

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PART = re.compile(r"<!-- (?!end of )([^>]*) -->\n(.*?)<!-- end of \1 -->", re.DOTALL)
WIDTH = 120


def wrapped(text: str) -> str:
    """Break lines anew, as figures differ in length: a table's line and the first line of a bullet stay beginnings."""
    whole = re.sub(r"`[^`]*`|\d (?=%|s\b)", lambda found: found[0].replace(" ", "\0"), text)  # code, numbers with units
    pieces = re.split(r"\n(?=- |\|)", whole.strip())
    lines = "\n".join(
        piece
        if piece.startswith("|")
        else fill(
            " ".join(piece.split()),
            WIDTH,
            subsequent_indent="  " if piece.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for piece in pieces
    )
    return lines.replace("\0", " ")


def filled(page: str) -> str:
    """Return the page with all of its parts from the results."""
    figures = everything()
    for name, text in PART.findall((HERE / "readme.md.in").read_text()):
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = page.split(start)
        page = before + start + wrapped(text.format(**figures)) + "\n" + end + rest.split(end, 1)[1]
    return page


if __name__ == "__main__":
    README.write_text(filled(README.read_text()))
    print(f"filled {README}")
