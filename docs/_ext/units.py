"""Keeps a number and its unit on one line, in cells of tables above all: 19.27 % and 28 s."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

UNIT = re.compile(r"(?<=\d) (?=(%|s|MB|GB|kB)(?!\w))")


def _join(app: Sphinx, doctree: nodes.document) -> None:
    for text in list(doctree.findall(nodes.Text)):
        inside = text.parent
        if UNIT.search(text) and not isinstance(inside, nodes.literal | nodes.literal_block | nodes.raw):
            inside.replace(text, nodes.Text(UNIT.sub("\N{NO-BREAK SPACE}", text)))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _join)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
