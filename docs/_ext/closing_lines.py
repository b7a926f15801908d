"""Leaves out the empty line at the end of a code block, which doctest needs in Markdown and a reader does not."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def _strip(app: Sphinx, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        if (text := block.astext()) != text.rstrip("\n"):
            block.children = [nodes.Text(text.rstrip("\n"))]
            block.rawsource = text.rstrip("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _strip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
